"""Daemons that are killed while they start a command, and commands that the next daemon cannot recognise or end."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kill_at_call
from daemon import STOPPED, Binaries, Daemon
from previous import AT_ONCE, ENDED, NOBODY, NOT_ENDED, OUTSIDE, Place, begin_of, kill, needs_root, new_place, reap
from test_commands import is_alive, prepared
from waiting import WAIT, eventually


# The kernel gives the number after this one to the next process (pid_namespaces(7)).
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


def alone(place: Place) -> dict[str, str]:
    """A command that notes if another one runs at the same time."""
    lock = f"flock --nonblock --conflict-exit-code 7 {place.folder}/lock sleep 1000"
    return place.command(last=f"{lock}; test $? -ne 7 || touch {place.shared}/twice")


def running(place: Place) -> set[int]:
    """The processes of all commands at a place. A shell that is about to start a program is seen twice."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(place.shared).encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            # It has ended.
            continue
    return found


def runs_alone(place: Place, one: Daemon) -> bool:
    """Whether one command runs, and the daemon has begun and recorded it."""
    try:
        begins = [begin_of(pid) for pid in running(place)]
        return len(begins) == len(place.files()) == 1 and begins[0] > begin_of(one.pid)
    except OSError:
        # A process has ended.
        return False


def starts_until(one: Daemon, place: Place, number: int) -> list[str]:
    """Lets a daemon start its command again, and kills it at a call of that. Returns the calls and the outcome."""
    killer = subprocess.Popen(
        [sys.executable, kill_at_call.__file__, str(one.pid), str(place.records), str(number)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert killer.stdout is not None
    if killer.stdout.readline() != "attached\n":
        reason = killer.communicate()[1]
        if os.environ.get("CI") == "true":
            pytest.fail(f"no daemon can be traced on this machine: {reason}", pytrace=False)
        pytest.skip(f"no daemon can be traced on this machine: {reason}")
    one.ctl("emit", "job", "Again", check=False)
    output, errors = killer.communicate(timeout=WAIT)
    assert killer.returncode == 0, errors
    return output.split()


@pytest.mark.nightly
def test_a_daemon_that_is_killed_at_any_call_of_a_start(
    daemon: Callable[..., Daemon], place: Place, say: Callable[[str], None]
) -> None:
    config = alone(place)

    def start() -> Daemon:
        # The library tries to start the program in each directory of the path.
        return daemon(config, arguments=AT_ONCE, socket=place.socket, environment={"PATH": "/usr/bin:/bin"})

    one = start()
    eventually(lambda: runs_alone(place, one))
    killed: Counter[str] = Counter()
    ended = completed = 0
    for number in itertools.count(1):
        *calls, outcome = starts_until(one, place, number)
        if outcome == "written":
            # Some starts have a few calls more.
            completed += 1
            if completed == 3:
                break
            eventually(lambda one=one: runs_alone(place, one))
            continue
        assert one.wait_exit() == -signal.SIGKILL
        has_begun = "clone3" in calls[:-1]
        killed[f"{calls[-1]} {'after' if has_begun else 'before'} the spawn"] += 1
        one = start()
        eventually(lambda one=one: runs_alone(place, one))
        assert not (place.shared / "twice").exists(), (calls, one.log)
        # A start of which nothing is found may have made a process, or not.
        assert not (NOT_ENDED in one.log and ENDED in one.log) and OUTSIDE not in one.log, (calls, one.log)
        # If another thread makes the last call, the kernel may not have made the process. The second file that is opened has the
        # state of the process.
        is_sure = calls.count("openat") > 1
        assert is_sure <= one.log.count(ENDED) <= has_begun, (calls, one.log)
        ended += one.log.count(ENDED)
    wanted = {"openat before the spawn", "write before the spawn", "clone3 before the spawn"}
    wanted |= {f"{call} after the spawn" for call in ("openat", "read", "write", "close")}
    assert wanted <= killed.keys(), killed
    say(f"{sum(killed.values())} daemons were killed, each at the next call of a start; {ended} commands were ended")


@contextmanager
def held_before_its_program(one: Daemon, log: Path) -> Iterator[None]:
    """Each process that the daemon begins stays a copy of the daemon, as it does while a disk does not deliver its program."""
    calls = ["-e", "trace=execve", "-e", f"inject=execve:delay_enter={int(10 * WAIT)}s"]
    tracer = subprocess.Popen(
        ["strace", "-f", "-o", str(log), *calls, "-p", str(one.pid)], stderr=subprocess.PIPE, text=True
    )
    assert tracer.stderr is not None
    try:
        said = tracer.stderr.readline()
        if "attached" not in said:
            if os.environ.get("CI") == "true":
                pytest.fail(f"strace cannot attach to the daemon: {said}", pytrace=False)
            pytest.skip(f"strace cannot attach to the daemon: {said}")
        eventually(
            lambda: all(
                f"TracerPid:\t{tracer.pid}\n" in task.joinpath("status").read_text()
                for task in Path(f"/proc/{one.pid}/task").iterdir()
            )
        )
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=WAIT)


def children(one: Daemon) -> set[int]:
    tasks = Path(f"/proc/{one.pid}/task").iterdir()
    return {int(word) for task in tasks for word in (task / "children").read_text().split()}


def test_a_process_that_has_not_become_its_program(daemon: Callable[..., Daemon], place: Place, tmp_path: Path) -> None:
    config = place.command(before=["/usr/bin/env"])
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    (first,) = place.pids()
    held = 0
    try:
        with held_before_its_program(one, tmp_path / "trace"):
            one.ctl("emit", "job", "Again")
            eventually(lambda: children(one) - {first})
            (held,) = children(one) - {first}
            kill(one)
            two = daemon(config, arguments=AT_ONCE, socket=place.socket)
            place.pids()
            assert not is_alive(held) or NOT_ENDED in two.log
    finally:
        # The process ends only when nobody traces it.
        if held and is_alive(held):
            reap(held)


@needs_root
@pytest.mark.skipif(not LAST_PID.exists(), reason="the kernel cannot choose the next number (CONFIG_CHECKPOINT_RESTORE)")
@pytest.mark.parametrize("is_own_group", [True, False], ids=["leads a group", "is in a group"])
def test_a_process_that_got_the_number_lives(daemon: Callable[..., Daemon], place: Place, is_own_group: bool) -> None:
    """Unlike the records of other tests, this one is the daemon's, and the kernel gives the number again."""
    config = place.command(first="setsid sleep 1000 &")
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    leader, outside = place.pids()
    (path,) = place.files()
    begin = begin_of(leader)
    eventually(lambda: os.getsid(outside) == outside)
    kill(one)
    reap(leader)
    foreign = begun_with(leader, begin, is_own_group)
    try:
        two = daemon(config, arguments=AT_ONCE, socket=place.socket)
        assert f"pid={outside}" in two.wait_log(OUTSIDE)
        assert ENDED not in two.log and NOT_ENDED not in two.log and path not in place.files()
        assert foreign.poll() is None
        _, second = place.pids()
        assert two.stop() == STOPPED
        assert foreign.poll() is None
        reap(second)
    finally:
        foreign.kill()
        foreign.wait()
        reap(outside)


def begun_with(number: int, begin: int, is_own_group: bool) -> subprocess.Popen[bytes]:
    """Begins a process with a number that is free, at another time than that of the process which had it."""
    for _ in range(10_000):
        # Other processes may begin in between.
        LAST_PID.write_text(str(number - 1))
        process = subprocess.Popen(["sleep", "1000"], process_group=0 if is_own_group else None)
        if process.pid == number and begin_of(number) != begin:
            return process
        process.kill()
        process.wait()
    raise AssertionError(f"no process got the number {number}")


def test_a_group_that_nothing_proves_lives(daemon: Callable[..., Daemon], place: Place) -> None:
    config = place.command(first="sleep 1000 &", before=["env", "-i", "PATH=/usr/bin:/bin"])
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    leader, member = place.pids()
    kill(one)
    reap(leader)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    assert f"pid={leader}" in two.wait_log(f"{NOT_ENDED}: nothing shows that the group still belongs to it")
    assert is_alive(member)
    # The page says that the command may run twice then.
    place.pids()
    assert two.stop() == STOPPED
    reap(member)


class Others:
    """Daemons of an ordinary user, and a program with which this user becomes root for good."""

    def __init__(self, binaries: Binaries, place: Place, tmp_path: Path) -> None:
        self.place = place
        preparation = (
            f'chown {NOBODY} "$CONFIG" "$CONFIG/.."; cd /; '
            f"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
        )
        self.binaries = prepared(binaries, tmp_path / "mediatord", preparation)
        self.begun: list[Daemon] = []
        program = place.folder / "become-root"
        shutil.copy(shutil.which("setpriv") or "setpriv", program)
        program.chmod(0o4755)
        self.before = [str(program), "--reuid=0", "--regid=0", "--clear-groups"]
        os.chown(place.folder, NOBODY, NOBODY)

    def start(self, config: dict[str, str]) -> Daemon:
        one = Daemon(self.binaries, config, AT_ONCE, socket=self.place.socket)
        self.begun.append(one)
        # This user may not write to the socket of notifications.
        one.wait_log("ready: 1 system")
        return one


@pytest.fixture
def others(open_binaries: Binaries, place: Place, tmp_path: Path) -> Iterator[Others]:
    others = Others(open_binaries, place, tmp_path)
    try:
        yield others
    finally:
        for one in others.begun:
            one.discard()
        for pid in running(place):
            reap(pid)


def owner(pid: int) -> int:
    return os.stat(f"/proc/{pid}").st_uid


@needs_root
def test_a_program_with_more_rights_is_reported_each_time(others: Others, place: Place) -> None:
    config = place.command(before=others.before)
    one = others.start(config)
    (first,) = place.pids()
    assert owner(one.pid) == NOBODY and owner(first) == 0
    (path,) = place.files()
    kill(one)
    for _ in range(2):
        one = others.start(config)
        assert f"pid={first}" in one.wait_log(f"{NOT_ENDED}: not permitted")
        (pid,) = place.pids(recorded=False)
        assert is_alive(first) and is_alive(pid) and path in place.files()
        kill(one)
        # The next start is about the first command alone.
        reap(pid)
    reap(first)
    last = others.start(config)
    (pid,) = place.pids()
    assert NOT_ENDED not in last.log and path not in place.files()
    assert last.stop() == STOPPED
    reap(pid)


@needs_root
def test_the_rest_of_a_group_with_more_rights_ends(others: Others, place: Place) -> None:
    become = " ".join(others.before)
    one = others.start(place.command(first=f"sleep 1000 & {become} sleep 1000 &"))
    leader, child = place.pids()
    eventually(lambda: owner(child) == 0)
    kill(one)
    two = others.start(place.command())
    assert f"pid={leader}" in two.wait_log(f"{NOT_ENDED}: not permitted")
    assert is_alive(child) and not is_alive(leader)
    assert two.stop() == STOPPED
    reap(child)


# The next tests take the second line from a record, as if the daemon had been killed before it wrote that line.


def forget_start(place: Place) -> None:
    (path,) = place.files()
    path.write_text(path.read_text().splitlines(keepends=True)[0])


def test_a_command_without_its_environment_is_reported(daemon: Callable[..., Daemon], place: Place) -> None:
    config = place.command(before=["env", "-i", "PATH=/usr/bin:/bin"])
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    (first,) = place.pids()
    kill(one)
    forget_start(place)
    two = daemon(config, arguments=AT_ONCE, socket=place.socket)
    place.pids()
    try:
        assert not is_alive(first) or NOT_ENDED in two.log
    finally:
        reap(first)


@needs_root
def test_a_program_with_more_rights_is_reported_without_its_start(others: Others, place: Place) -> None:
    config = place.command(before=others.before)
    one = others.start(config)
    (first,) = place.pids()
    kill(one)
    forget_start(place)
    two = others.start(config)
    place.pids()
    assert not is_alive(first) or NOT_ENDED in two.log
