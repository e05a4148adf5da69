"""Commands that a killed daemon has left: the next daemon ends them, and no other process."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import STOPPED, Daemon
from previous import AT_ONCE, ENDED, NOBODY, OUTSIDE, Place, kill, needs_root, new_place, processes_of, reap
from test_commands import is_alive
from waiting import WAIT, eventually


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


def stubborn(place: Place) -> dict[str, str]:
    """A command that notes a SIGTERM and goes on, with a child that ignores it."""
    return place.command(
        first=f"trap '' TERM; sleep 1000 &\ntrap ': >{place.term}' TERM", last="while :; do wait; done"
    )


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextmanager
def reaping(group: int) -> Iterator[None]:
    """Reaps the processes of a group as soon as they end, as the first process of a machine does."""

    def reap_all() -> None:
        # When no process of the group is left, there is no child to wait for. The children of one that has ended become
        # children of this process before it can be reaped.
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-group, 0)

    thread = threading.Thread(target=reap_all, daemon=True)
    thread.start()
    yield
    thread.join(WAIT)
    assert not thread.is_alive(), "a process of the group still runs"


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


def test_a_command_that_has_ended_has_no_record(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(place.command(last="exit 3", first="setsid sleep 1000 &"), arguments=AT_ONCE, socket=place.socket)
    (_, child) = place.pids(recorded=False)
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


@pytest.mark.parametrize("is_reaped", [True, False])
def test_a_member_that_begins_while_the_group_is_ended(
    daemon: Callable[..., Daemon], place: Place, is_reaped: bool
) -> None:
    # At SIGTERM the leader begins another process, and ends. All processes that the next daemon knew are gone then.
    forked = place.shared / "forked"
    first = f"trap 'sleep 1000 & echo $! >{forked}; exit' TERM\nsleep 1000 &"
    one = daemon(place.command(first=first, last="while :; do wait; done"), arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    (path,) = place.files()
    # While a process begins its program, its environment is empty.
    eventually(lambda: processes_of(path.name) >= set(pids))
    kill(one)
    with reaping(pids[0]) if is_reaped else contextlib.nullcontext():
        two = daemon(arguments=AT_ONCE, socket=place.socket)
        assert f"pid={pids[0]}" in two.wait_log(ENDED)
        assert not is_alive(int(forked.read_text()))
        assert not processes_of(path.name) and not path.exists()


def test_a_command_that_is_halted_ends(daemon: Callable[..., Daemon], place: Place) -> None:
    first = f"trap ': >{place.term}; exit' TERM\nsleep 1000 &"
    one = daemon(place.command(first=first, last="while :; do wait; done"), arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    kill(one)
    # After that, because the kernel would send SIGHUP and SIGCONT to a group that is halted when the daemon ends.
    os.killpg(pids[0], signal.SIGSTOP)
    eventually(lambda: all(state_of(pid) == "T" for pid in pids))
    two = daemon(arguments=AT_ONCE, socket=place.socket)
    two.wait_log(ENDED)
    assert not any(is_alive(pid) for pid in pids)
    # It went on, and could handle SIGTERM.
    assert place.term.exists()


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
    config = stubborn(place)
    one = daemon(config, arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    records = place.files()
    kill(one)
    for _ in range(2):
        place.term.unlink(missing_ok=True)
        one = daemon(config, ready=False, arguments=AT_ONCE, socket=place.socket)
        # This one is killed while it waits for the end of the command, before it would kill it.
        eventually(place.term.exists)
        kill(one)
        assert all(is_alive(pid) for pid in pids) and place.files() == records
    last = daemon(place.command(), arguments=AT_ONCE, socket=place.socket)
    assert f"pid={pids[0]}" in last.wait_log(ENDED)
    (new,) = place.pids()
    assert is_alive(new) and not any(is_alive(pid) for pid in pids)
    assert last.stop() == STOPPED
    assert not place.records.exists()


def test_a_daemon_that_ends_a_command_can_be_stopped(daemon: Callable[..., Daemon], place: Place) -> None:
    one = daemon(stubborn(place), arguments=AT_ONCE, socket=place.socket)
    pids = place.pids()
    kill(one)
    two = daemon(place.command(), ready=False, arguments=AT_ONCE, socket=place.socket)
    eventually(place.term.exists)
    # The command would run for much longer than this wait.
    assert two.stop() == STOPPED
    for pid in pids:
        reap(pid)
