"""Commands that a killed daemon has left: the next daemon ends them, and no other process."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from conftest import CONFIGURATION
from daemon import STOPPED, Binaries, Daemon
from test_commands import is_alive, prepared
from waiting import eventually, listens

# A command may take its time to end. The tests do not wait for it at a stop.
AT_ONCE = ("--stop-limit", "0")
ENDED = "ended a command of the previous run of mediatord"
OUTSIDE = "a process of the previous run of mediatord still runs outside its group"
NOT_ENDED = "cannot end a command of the previous run of mediatord"
NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")


class Place:
    """A control socket of several daemons, one after the other, and what their command reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "control"
        self.records = folder / "control.runs"
        # Commands of other users write here.
        self.shared = folder / "shared"

    def command(
        self, last: str = "exec sleep 1000", first: str = ":", before: Sequence[str] = (), user: str | None = None
    ) -> dict[str, str]:
        """A configuration with one command. It reports its number, and that of the process that `first` began."""
        script = f"{first}\necho $$ $! >{self.shared}/new; mv {self.shared}/new {self.shared}/pids; {last}"
        run: dict[str, object] = {"command": [*before, "sh", "-c", script]}
        if user:
            run["user"] = user
        return {
            "job.yaml": f"""\
system: job
states: {{ Working: {{}} }}
events: {{}}
initialState: Working
feedbacks:
  work: {{ onState: Working, run: {json.dumps(run)}, onFailure: log }}
"""
        }

    def pids(self) -> list[int]:
        """Waits for the report of a command, and takes it."""
        path = self.shared / "pids"
        eventually(path.exists)
        found = [int(word) for word in path.read_text().split()]
        path.unlink()
        return found

    def files(self) -> list[Path]:
        return sorted(self.records.iterdir()) if self.records.exists() else []

    def record(self, text: str, name: str = "00112233445566778899aabbccddeeff") -> Path:
        """Writes a record as a daemon does."""
        self.records.mkdir(mode=0o700, exist_ok=True)
        path = self.records / name
        path.write_text(text)
        return path


@pytest.fixture
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="mediatord-", dir="/tmp"))
    folder.chmod(0o711)
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o777)
    try:
        yield Place(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def foreign() -> Iterator[int]:
    """A process in a group of its own that is none of the daemon's business."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def kill(one: Daemon) -> None:
    one.process.kill()
    assert one.wait_exit() == -signal.SIGKILL


def reap(pid: int) -> None:
    """Kills an orphan, of which this process is the parent now."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def begin_of(pid: int) -> int:
    """The start of a process, in ticks since the machine's start."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def text_of(leader: int, begin: int, *, boot: str | None = None, namespace: int = 0) -> str:
    """The text of a record, with the checksum FNV-1a."""
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = namespace or os.stat("/proc/self/ns/pid").st_ino
    text = "\t".join(["1", boot, str(namespace), str(os.getsid(0)), "job", "work", "sleep"]) + f"\n{leader}\t{begin}\t"
    checksum = 0xCBF29CE484222325
    for byte in text.encode():
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return f"{text}{checksum:x}\n"


def test_a_command_of_a_killed_daemon_ends_before_it_starts_again(daemon: Callable[..., Daemon], place: Place) -> None:
    # The lock shows that two never run at once, not even for a moment.
    lock = f"flock --nonblock --conflict-exit-code 7 {place.folder}/lock sleep 1000; test $? -ne 7 || touch {place.shared}/twice"
    config = place.command(last=lock)
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    (first,) = place.pids()
    eventually(lambda: (place.folder / "lock").exists())
    kill(one)
    assert is_alive(first)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    line = two.wait_log(ENDED)
    assert f"pid={first}" in line and "system=job" in line and "feedback=work" in line and "since=" in line, line
    (second,) = place.pids()
    assert second != first and not is_alive(first) and is_alive(second)
    assert len(place.files()) == 1 and not (place.shared / "twice").exists()
    assert two.stop() == STOPPED
    assert not place.records.exists()


def test_a_command_has_the_name_of_its_record(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(
        place.command(first=f"echo $MEDIATOR_RUN >{place.shared}/run"), arguments=AT_ONCE, socket=place.socket
    )
    (pid,) = place.pids()
    run = (place.shared / "run").read_text().strip()
    # The second line is written when the command has started.
    eventually(lambda: [path.read_text().count("\n") for path in place.files()] == [2])
    (path,) = place.files()
    assert (path.name, path.stat().st_mode & 0o777, place.records.stat().st_mode & 0o777) == (run, 0o600, 0o700)
    assert path.read_text().splitlines()[1].split("\t")[:2] == [str(pid), str(begin_of(pid))]
    assert one.stop() == STOPPED
    assert ENDED not in one.log and not place.records.exists()


def test_a_command_that_has_ended_has_no_record(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(place.command(last="exit 3", first="setsid sleep 1000 &"), arguments=AT_ONCE, socket=place.socket)
    (_, child) = place.pids()
    eventually(lambda: place.records.exists() and not place.files())
    kill(one)
    two = daemon(place.command(), arguments=AT_ONCE, socket=place.socket)
    place.pids()
    assert "previous run" not in two.log and is_alive(child)
    reap(child)


def test_a_member_of_the_group_ends_without_its_leader(daemon: Callable[..., Daemon], place: Place) -> None:
    config = place.command(first="sleep 1000 &")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    leader, member = place.pids()
    kill(one)
    reap(leader)
    assert is_alive(member)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    assert f"pid={leader}" in two.wait_log(ENDED)
    assert not is_alive(member)


def test_a_process_that_has_left_the_group_is_only_reported(daemon: Callable[..., Daemon], place: Place) -> None:
    config = place.command(first="setsid sleep 1000 &")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    leader, child = place.pids()
    eventually(lambda: os.getsid(child) == child)
    kill(one)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    line = two.wait_log(OUTSIDE)
    assert f"pid={child}" in line and "command=sh" in line and "feedback=work" in line, line
    assert f"pid={leader}" in two.wait_log(ENDED)
    assert is_alive(child) and not is_alive(leader)
    reap(child)
    _, child = place.pids()
    assert two.stop() == STOPPED
    reap(child)


def test_a_command_without_its_environment_ends_with_its_group(daemon: Callable[..., Daemon], place: Place) -> None:
    config = place.command(first="sleep 1000 &", before=["env", "-i", "PATH=/usr/bin:/bin"])
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    kill(one)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    two.wait_log(ENDED)
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("rest", [0, 1, 9])
def test_a_daemon_that_is_killed_before_it_records_the_start(
    daemon: Callable[..., Daemon], place: Place, rest: int
) -> None:
    config = place.command(first="sleep 1000 &")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    kill(one)
    (path,) = place.files()
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + second[:rest])
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    line = two.wait_log(ENDED)
    assert f"pid={pids[0]}" in line and "since=" not in line
    assert not any(is_alive(pid) for pid in pids)


@needs_root
@pytest.mark.parametrize("is_started", [True, False])
def test_a_command_of_another_user_ends(daemon: Callable[..., Daemon], place: Place, is_started: bool) -> None:
    config = place.command(user="nobody")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    (pid,) = place.pids()
    assert os.stat(f"/proc/{pid}").st_uid == NOBODY
    kill(one)
    if not is_started:
        (path,) = place.files()
        path.write_text(path.read_text().splitlines(keepends=True)[0])
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    assert f"pid={pid}" in two.wait_log(ENDED)
    assert not is_alive(pid)


def test_several_daemons_are_killed_one_after_the_other(daemon: Callable[..., Daemon], place: Place) -> None:
    # The command ignores SIGTERM, so the next daemon waits before it kills it.
    config = place.command(first="trap '' TERM")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    seen = place.pids()
    kill(one)
    for _ in range(2):
        # This one is killed while it ends the command.
        one = daemon(config, ready=False, arguments=AT_ONCE, socket=place.socket)
        eventually(lambda: listens(place.socket))
        kill(one)
    for _ in range(2):
        one = daemon(config, arguments=AT_ONCE, socket=place.socket)
        one.wait_log(ENDED)
        seen += place.pids()
        assert [is_alive(pid) for pid in seen] == [False] * (len(seen) - 1) + [True]
        kill(one)
    last = daemon(arguments=AT_ONCE, socket=place.socket)
    assert not any(is_alive(pid) for pid in seen)
    assert last.stop() == STOPPED
    assert not place.records.exists()


@pytest.mark.parametrize(
    ("case", "message"), [("used again", None), ("another boot", None), ("another namespace", "another PID namespace")]
)
def test_a_foreign_process_with_the_number_lives(
    daemon: Callable[..., Daemon], place: Place, foreign: int, case: str, message: str | None
) -> None:
    begin = begin_of(foreign)
    path = place.record(
        text_of(foreign, begin - 1)
        if case == "used again"
        else text_of(foreign, begin, boot="11111111-2222-3333-4444-555555555555")
        if case == "another boot"
        else text_of(foreign, begin, namespace=1)
    )
    one = daemon(socket=place.socket)
    assert is_alive(foreign) and not path.exists()
    assert (f"{NOT_ENDED}: it ran in {message}" if message else "") in one.log
    assert message or "previous run" not in one.log
    assert one.stop() == STOPPED
    assert is_alive(foreign) and not place.records.exists()


def test_a_group_without_leader_and_name_of_the_run_lives(daemon: Callable[..., Daemon], place: Place) -> None:
    shell = subprocess.Popen(
        ["sh", "-c", "sleep 1000 >/dev/null & echo $!"], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    member = int(shell.communicate()[0])
    path = place.record(text_of(shell.pid, 1))
    try:
        one = daemon(socket=place.socket)
        assert f"pid={shell.pid}" in one.wait_log(f"{NOT_ENDED}: nothing shows that the group still belongs to it")
        assert is_alive(member) and not path.exists()
    finally:
        reap(member)


def test_the_recorded_process_itself_is_ended(daemon: Callable[..., Daemon], place: Place, foreign: int) -> None:
    """This shows that the records of the tests above are valid, so only their difference saves the process."""
    path = place.record(text_of(foreign, begin_of(foreign)))
    one = daemon(socket=place.socket)
    assert f"pid={foreign}" in one.wait_log(ENDED)
    assert not is_alive(foreign) and not path.exists()


@needs_root
def test_a_command_that_may_not_be_ended_is_reported_each_time(
    open_binaries: Binaries, place: Place, tmp_path: Path, foreign: int
) -> None:
    path = place.record(text_of(foreign, begin_of(foreign)))
    for owned in (place.folder, place.records, path):
        os.chown(owned, NOBODY, NOBODY)
    preparation = (
        f'chown {NOBODY} "$CONFIG" "$CONFIG/.."; cd /; exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups'
    )
    for _ in range(2):
        one = Daemon(prepared(open_binaries, tmp_path / "mediatord", preparation), CONFIGURATION, socket=place.socket)
        try:
            one.wait_ready()
            assert f"pid={foreign}" in one.wait_log(f"{NOT_ENDED}: not permitted")
            assert one.stop() == STOPPED
        finally:
            one.discard()
        assert is_alive(foreign) and path.exists()


@pytest.mark.parametrize("case", ["locked", "for everybody", pytest.param("another's", marks=needs_root)])
def test_records_of_others_are_left_alone(
    daemon: Callable[..., Daemon], place: Place, foreign: int, case: str
) -> None:
    path = place.record(text_of(foreign, begin_of(foreign)))
    lock = os.open(place.records, os.O_RDONLY)
    try:
        if case == "locked":
            fcntl.flock(lock, fcntl.LOCK_EX)
        elif case == "for everybody":
            place.records.chmod(0o777)
        else:
            os.chown(place.records, NOBODY, NOBODY)
        one = daemon(place.command(), arguments=AT_ONCE, socket=place.socket)
        reason = "another daemon may use it" if case == "locked" else "not a directory that only the daemon's user can write"
        assert reason in one.wait_log("commands are not recorded")
        # Commands run all the same, and the warning comes once.
        (pid,) = place.pids()
        assert b"MEDIATOR_RUN=" not in Path(f"/proc/{pid}/environ").read_bytes()
        assert one.log.count("commands are not recorded") == 1
        assert one.stop() == STOPPED
        assert is_alive(foreign) and place.files() == [path]
    finally:
        os.close(lock)


def test_damaged_files_and_those_of_others(daemon: Callable[..., Daemon], place: Place) -> None:
    texts = ["", "1\tabc", "1\t\t\t\t\t\t\n", "x" * 100_000, "\0" * 5000]
    records = [place.record(text, f"{number:032x}") for number, text in enumerate(texts)]
    (place.records / f"{99:032x}").mkdir()
    (place.records / "notes.txt").write_text("no record")
    (place.records / f"{98:032x}").symlink_to("/etc/passwd")
    os.mkfifo(place.records / f"{97:032x}")
    one = daemon(socket=place.socket)
    assert len(one.wait_lines("removed a damaged record", 4)) == 4
    assert not any(path.exists() for path in records)
    assert [path.name for path in place.files()] == [f"{99:032x}", "notes.txt"]
    assert Path("/etc/passwd").exists()
    assert one.stop() == STOPPED
    assert len(place.files()) == 2


def test_nothing_is_made_or_said_without_commands(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(socket=place.socket)
    assert not place.records.exists() and "previous run" not in one.log
