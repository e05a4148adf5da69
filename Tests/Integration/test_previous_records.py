"""The records of commands: which of them a daemon believes, and where it makes them."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import CONFIGURATION
from daemon import STOPPED, Binaries, Daemon
from previous import (
    AT_ONCE,
    ENDED,
    NOBODY,
    NOT_ENDED,
    NOT_RECORDED,
    Place,
    begin_of,
    needs_root,
    new_place,
    reap,
    run_of,
)
from test_commands import is_alive, prepared
from waiting import eventually


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


@pytest.fixture
def foreign() -> Iterator[int]:
    """A process in a group of its own that is none of the daemon's business."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def text_of(leader: int, begin: int, *, boot: str | None = None, namespace: int = 0) -> str:
    """The text of a record, with the checksum FNV-1a."""
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = namespace or os.stat("/proc/self/ns/pid").st_ino
    text = "\t".join(["1", boot, str(namespace), str(os.getsid(0)), "job", "work", "sleep"]) + f"\n{leader}\t{begin}\t"
    checksum = 0xCBF29CE484222325
    for byte in text.encode():
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return f"{text}{checksum:x}\n"


def test_a_command_has_the_name_of_its_record(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(
        place.command(first=f"echo $MEDIATOR_RUN >{place.shared}/run"), arguments=AT_ONCE, socket=place.socket
    )
    (pid,) = place.pids()
    run = (place.shared / "run").read_text().strip()
    (path,) = place.files()
    assert (path.name, path.stat().st_mode & 0o777, place.records.stat().st_mode & 0o777) == (run, 0o600, 0o700)
    assert path.read_text().splitlines()[1].split("\t")[:2] == [str(pid), str(begin_of(pid))]
    assert one.stop() == STOPPED
    assert ENDED not in one.log and not place.records.exists()


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
    if message:
        one.wait_log(f"{NOT_ENDED}: it ran in {message}")
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
            assert f"pid={foreign}" in one.wait_log(f"{NOT_ENDED}: not permitted")
            # This user may not write to the socket of notifications.
            one.wait_log("ready: 1 system")
            assert one.stop() == STOPPED
        finally:
            one.discard()
        assert is_alive(foreign) and path.exists()


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("locked", "another daemon may use it"),
        ("for everybody", "not a directory that only the daemon's user can write"),
        pytest.param("another's", "not a directory that only the daemon's user can write", marks=needs_root),
        ("a link", "cannot open the directory"),
    ],
)
def test_records_of_others_are_left_alone(
    daemon: Callable[..., Daemon], place: Place, foreign: int, case: str, reason: str
) -> None:
    path = place.record(text_of(foreign, begin_of(foreign)))
    lock = os.open(place.records, os.O_RDONLY)
    try:
        if case == "locked":
            fcntl.flock(lock, fcntl.LOCK_EX)
        elif case == "for everybody":
            place.records.chmod(0o777)
        elif case == "a link":
            place.records.rename(place.folder / "elsewhere")
            place.records.symlink_to("elsewhere")
        else:
            os.chown(place.records, NOBODY, NOBODY)
        one = daemon(place.command(), arguments=AT_ONCE, socket=place.socket)
        assert reason in one.wait_log(NOT_RECORDED)
        # Commands run all the same, and the warning comes once.
        (pid,) = place.pids(recorded=False)
        assert run_of(pid) is None
        assert one.log.count(NOT_RECORDED) == 1
        assert one.stop() == STOPPED
        assert is_alive(foreign) and place.files() == [path]
        assert place.records.is_symlink() == (case == "a link")
    finally:
        os.close(lock)


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_directory_that_is_removed_and_made_again(daemon: Callable[..., Daemon], place: Place, mode: int) -> None:
    one = daemon(place.command(), arguments=AT_ONCE, socket=place.socket)
    (pid,) = place.pids()
    shutil.rmtree(place.records)
    place.records.mkdir()
    place.records.chmod(mode)
    is_safe = mode == 0o700
    # The warning comes once, although two commands are not recorded.
    for _ in range(2):
        one.ctl("emit", "job", "Again")
        (next_pid,) = place.pids(recorded=is_safe)
        assert is_alive(next_pid) and not is_alive(pid)
        if is_safe:
            # While a process begins its program, its environment is empty.
            eventually(lambda pid=next_pid: run_of(pid))
        assert [path.name for path in place.files()] == ([run_of(next_pid)] if is_safe else [])
        pid = next_pid
    if not is_safe:
        one.wait_log(NOT_RECORDED)
    assert one.stop() == STOPPED
    assert one.log.count(NOT_RECORDED) == (0 if is_safe else 1)
    assert place.files() == []


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
    # What cannot be read stays.
    assert len(one.wait_lines("cannot read a record", 2)) == 2
    assert [path.name for path in place.files()] == [f"{98:032x}", f"{99:032x}", "notes.txt"]
    assert Path("/etc/passwd").exists()
    assert one.stop() == STOPPED
    assert len(place.files()) == 3


def test_nothing_is_made_or_said_without_commands(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(socket=place.socket)
    assert not place.records.exists() and "previous run" not in one.log
