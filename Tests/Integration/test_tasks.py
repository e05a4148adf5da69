"""The daemon in a system that has room for few tasks: threads and processes of a user (RLIMIT_NPROC)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from daemon import STOPPED, Binaries, Daemon, DaemonEnded

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can begin a daemon of another user")

NO_THREADS = 7

# A command, and the state that its end leads to. `hold` creates processes until there is no room, and does not end.
SYSTEM = """\
system: a
states: { Idle: {}, Working: {}, Holding: {}, Done: { how: string } }
events: { Go: {}, Hold: {}, Ok: {}, Bad: { error: string }, Late: {} }
fromOutside: any
initialState: Idle
feedbacks:
  work:
    onState: Working
    run: { command: [sh, -c, "echo hi"], timeout: 20s }
    onSuccess: Ok
    onFailure: { Bad: { error: "${result.error}" } }
  hold:
    onState: Holding
    run: { command: [sh, -c, "(while :; do sleep 1000 & done) 2>&-; exec sleep 1000"], timeout: 1s }
    onSuccess: Ok
    onFailure: { Bad: { error: "${result.error}" } }
transitions:
  any:
    Go: Working
    Hold: Holding
    Ok: { to: Done, set: { how: ok } }
    Bad: { to: Done, set: { how: "${event.error}" } }
"""

# More tasks than a daemon on any machine takes at its start.
PLENTY = 1_000
# The tasks of a daemon on this machine, with room for a command of a shell.
ENOUGH = 16 + 3 * (os.cpu_count() or 1) + 8
# A user who has no other processes; the sweep uses those after it.
USER = 61_000
# The time, in seconds, after which a thread without work has ended, with room.
IDLE = 12.0
# The time, in seconds, within which a command must have an outcome.
BOUND = 60.0


@contextlib.contextmanager
def limited(binaries: Binaries, folder: Path, user: int, tasks: int) -> Iterator[Daemon]:
    """A daemon of a user of its own, who may have so many tasks."""
    program = folder / f"mediatord-{user}"
    script = (
        '#!/bin/sh -e\nchown %d "$2" "$2/.."\ncd /\nexec prlimit --nproc=%d '
        'setpriv --reuid=%d --regid=%d --clear-groups %s "$@"\n' % (user, tasks, user, user, binaries.mediatord)
    )
    # A file that this process writes may be open in a child of another thread, and cannot be executed until then.
    subprocess.run(["install", "-m", "755", "/dev/stdin", program], input=script, text=True, check=True)
    one = Daemon(Binaries(program, binaries.mediatorctl), {"a.yaml": SYSTEM})
    try:
        # The socket of notifications is one of root's.
        os.chmod(one.notify.directory, 0o755)
        os.chmod(one.notify.path, 0o666)
        yield one
    finally:
        one.discard()
        for process in Path("/proc").glob("[0-9]*"):
            # Only processes of this daemon have its user.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if process.stat().st_uid == user:
                    os.kill(int(process.name), signal.SIGKILL)


def outcome(one: Daemon, event: str = "Go") -> str:
    """Sends an event, and returns what became of its command."""
    one.ctl("emit", "a", event, "--wait", "Done", "--timeout", f"{BOUND:.0f}s", timeout=2 * BOUND)
    (shown,) = json.loads(one.ctl("show", "a", "--json").stdout).values()
    return shown["summary"]["state"]["data"]["how"]


def tasks(one: Daemon) -> int:
    return len(os.listdir(f"/proc/{one.pid}/task"))


def limit(one: Daemon, user: int, number: int) -> None:
    """Changes the soft limit, as its user may."""
    subprocess.run(
        ["prlimit", f"--pid={one.pid}", f"--nproc={number}:"], check=True, user=user, group=user, extra_groups=[], cwd="/"
    )


def attempt(binaries: Binaries, folder: Path, number: int) -> str:
    """Starts a daemon that may have so many tasks. Returns the outcome of a command, or `refused`."""
    with limited(binaries, folder, USER + number, number) as one:
        try:
            one.wait_ready(BOUND)
        except DaemonEnded:
            assert one.wait_exit() == NO_THREADS, one.log
            assert "the system cannot create the threads that the daemon needs; raise its limit" in one.log
            return "refused"
        how = outcome(one)
        assert one.stop() == STOPPED, one.log
        return how


@pytest.mark.gate
def test_with_any_room_for_tasks_the_daemon_says_why_it_does_not_start_or_each_command_has_an_outcome(
    open_binaries: Binaries, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    numbers = range(8, max(41, ENOUGH))
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda number: attempt(open_binaries, tmp_path, number), numbers))
    print(dict(zip(numbers, found)))
    least = next((index for index, how in enumerate(found) if how != "refused"), len(found))
    assert 0 < least < len(found)
    for how in found[least:]:
        assert how == "ok" or "Resource temporarily unavailable" in how or "cannot create a thread" in how
    assert found[-1] == "ok"


def test_a_command_without_room_fails_and_the_next_one_with_room_works(open_binaries: Binaries, tmp_path: Path) -> None:
    with limited(open_binaries, tmp_path, USER, PLENTY) as one:
        one.wait_ready()
        # The first command of the daemon comes when there is no room.
        limit(one, USER, 1)
        assert "Resource temporarily unavailable" in outcome(one)
        assert "Resource temporarily unavailable" in outcome(one)
        limit(one, USER, PLENTY)
        assert outcome(one) == "ok"
        one.ctl("restart", "a")
        assert outcome(one) == "ok"
        assert one.stop() == STOPPED


def test_signals_are_heeded_without_room(open_binaries: Binaries, tmp_path: Path) -> None:
    with limited(open_binaries, tmp_path, USER, PLENTY) as one:
        one.wait_ready()
        # A spare thread of a library would help, so all have ended first.
        time.sleep(IDLE)
        limit(one, USER, 1)
        one.signal(signal.SIGHUP)
        one.wait_log("cause=SIGHUP")
        assert one.stop() == STOPPED


def test_a_command_that_takes_all_room_is_ended_at_its_time_limit(open_binaries: Binaries, tmp_path: Path) -> None:
    with limited(open_binaries, tmp_path, USER, PLENTY) as one:
        one.wait_ready()
        limit(one, USER, tasks(one) + 8)
        assert outcome(one, "Hold") == "the time limit passed"
        assert outcome(one) == "ok"
        assert one.stop() == STOPPED
