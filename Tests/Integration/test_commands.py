"""Commands that a configured system runs: they end with their state, with the daemon, and leave nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import STOPPED, Binaries, Daemon
from memory import anonymous
from waiting import WAIT, eventually

# A command that ignores being asked to end, with a child that does too.
STUBBORN = """\
system: job
states: { Working: {}, Resting: {} }
events: { Line: { text: string }, Rest: {} }
initialState: Working
feedbacks:
  work:
    onState: Working
    strategy: cancelOnNewState
    run: [sh, -c, "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $$ $!; wait"]
    onLine: { Line: { text: "${result.line}" } }
  say:
    onState: any
    log: entered
transitions:
  Working: { Rest: Resting, Line: stay }
"""


def pids_of(one: Daemon) -> list[int]:
    """The processes below the daemon."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == one.pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def group_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        # A process may end between the two looks.
        with contextlib.suppress(ProcessLookupError):
            if entry.name.isdigit() and is_alive(int(entry.name)) and os.getpgid(int(entry.name)) == pid:
                found.append(int(entry.name))
    return found


def test_a_new_state_ends_the_whole_group_by_force_if_need_be(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": STUBBORN})
    wait_for_children(one)
    # Looked up each time: the first process that was found may have ended before its program began.
    eventually(lambda: [len(group_of(pid)) for pid in pids_of(one)] == [2])
    (leader,) = pids_of(one)
    members = [os.pidfd_open(pid) for pid in group_of(leader)]
    one.ctl("emit", "job", "Rest")
    one.wait_log("Working → Resting")
    for pidfd in members:
        assert select.select([pidfd], [], [], WAIT)[0], "a member of the command's group was not ended"
        os.close(pidfd)
    assert group_of(leader) == []
    assert one.stop() == STOPPED


@pytest.mark.parametrize("limit", ["0", "0s", "1ms"])
def test_stopping_the_daemon_ends_its_commands(daemon: Callable[..., Daemon], limit: str) -> None:
    one = daemon({"a.yaml": STUBBORN}, arguments=["--stop-limit", limit, "--ready-limit", "1m30s"])
    (leader,) = wait_for_children(one)
    one.signal(signal.SIGTERM)
    assert one.wait_exit() == STOPPED
    assert group_of(leader) == []


def wait_for_children(one: Daemon) -> list[int]:
    """The commands of the daemon, each the leader of a group of its own.

    Between its birth and its program a command is in the daemon's group for a moment.
    """
    one.wait_log("entered")
    found: list[int] = []

    def are_leaders() -> bool:
        found[:] = pids_of(one)
        return bool(found) and all(is_leader(pid) for pid in found)

    eventually(are_leaders)
    return found


def is_leader(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def test_a_command_that_is_not_there_is_a_fault_if_nobody_asks(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {
            "a.yaml": """\
system: job
states: { Trying: {} }
events: {}
initialState: Trying
feedbacks:
  missing: { onState: Trying, run: [no-such-command-anywhere] }
  failing: { onState: Trying, run: [sh, -c, "echo bad luck >&2; exit 3"] }
"""
        }
    )
    one.wait_log("no such command")
    assert "bad luck" in one.wait_log("command failed")
    assert one.wait_status(lambda text: "degraded" in text)


def test_a_gentle_stop_lets_a_command_finish(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    one = daemon(
        {
            "a.yaml": f"""\
system: job
states: {{ Working: {{}} }}
events: {{}}
initialState: Working
feedbacks:
  work: {{ onState: Working, run: [sh, -c, "while ! test -e {tmp_path}/go; do sleep 0.05; done; touch {tmp_path}/done"] }}
  often: {{ onState: Working, strategy: continueOnNewState, every: 1h, run: ["true"] }}
"""
        }
    )
    eventually(lambda: pids_of(one))
    one.signal(signal.SIGTERM)
    line = one.wait_log("waits for side effects to end")
    assert "system=job" in line and re.search("feedbacks=.*work", line) and "until=" in line
    (tmp_path / "go").touch()
    assert one.wait_exit() == STOPPED
    assert (tmp_path / "done").exists()


ENDLESS = """\
system: worker
states: { Working: { done: int } }
events: { Done: {} }
initialState: { Working: { done: 0 } }
feedbacks:
  work:
    onState: any
    run: [sh, -c, "echo one; echo two >&2; exit $(( $0 % 3 ))", "${string(state.done)}"]
    onSuccess: Done
    onFailure: Done
transitions: { Working: { Done: { to: Working, set: { done: "${state.done + 1}" } } } }
"""


def test_thousands_of_commands_leave_nothing_behind(daemon: Callable[..., Daemon]) -> None:
    """A thousand commands one after the other; with SOAK_FACTOR so many times as many."""
    many = 1_000 * int(os.environ.get("SOAK_FACTOR", "1"))
    one = daemon({"a.yaml": ENDLESS}, arguments=("--log-level", "warning"))

    def until(count: int) -> dict[str, int]:
        end = time.monotonic() + WAIT + count / 20
        while True:
            summary = json.loads(one.ctl("show", "worker", "--json").stdout)["system"]["summary"]
            if summary["state"]["data"]["done"] >= count:
                break
            assert time.monotonic() < end, summary
            time.sleep(0.05)
        return {
            "memory": anonymous(one.pid) // 1024,
            "descriptors": len(os.listdir(f"/proc/{one.pid}/fd")),
            "children": int(subprocess.run(
                ["ps", "--ppid", str(one.pid), "-o", "pid=", "--no-headers"], capture_output=True, text=True
            ).stdout.count("\n")),
        }

    before = until(300)
    after = until(300 + many)
    # One command and its pipes may be under way at either look.
    assert after["children"] <= 2, (before, after)
    assert after["descriptors"] <= before["descriptors"] + 6, (before, after)
    assert after["memory"] <= before["memory"] + 4096 + many // 10, (before, after)
    print(many, before, after)


BECOMING = """\
system: job
states: { Working: {}, Done: { text: string } }
events: { Ended: { text: string } }
initialState: Working
feedbacks:
  work:
    onState: Working
    run: { command: [sh, -c, "id -un; id -Gn; pwd"], user: www-data }
    onSuccess: { Ended: { text: "${result.output.replace('\\\\n', ', ')}" } }
transitions:
  Working: { Ended: { to: Done, set: { text: "${event.text}" } } }
"""


def prepared(binaries: Binaries, path: Path, preparation: str) -> Binaries:
    """The daemon, started after something has been done: `$CONFIG` is its configuration directory."""
    path.write_text(f'#!/bin/sh -e\nCONFIG=$2\n{preparation} {binaries.mediatord} "$@"\n')
    path.chmod(0o755)
    return Binaries(path, binaries.mediatorctl)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_a_command_of_another_user_has_all_of_its_groups(binaries: Binaries, tmp_path: Path) -> None:
    # A database of groups of the test's own, which the rest of the machine does not see.
    groups = tmp_path / "group"
    groups.write_text(Path("/etc/group").read_text() + "mediators:x:64001:www-data\nothers:x:64002:www-data,games\n")
    preparation = f"unshare --mount sh -e -c 'mount --bind {groups} /etc/group; exec setpriv --pdeathsig KILL -- \"$@\"' sh"
    one = Daemon(prepared(binaries, tmp_path / "mediatord", f"exec {preparation}"), {"job.yaml": BECOMING})
    try:
        assert f'text: "www-data, www-data mediators others, {os.getcwd()}"' in one.wait_log("Working → Done")
        assert one.stop() == STOPPED
    finally:
        one.discard()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can begin a daemon that is not root")
def test_a_daemon_that_is_not_root_says_that_it_cannot_become_another(
    open_binaries: Binaries, tmp_path: Path
) -> None:
    preparation = 'chown 65534 "$CONFIG" "$CONFIG/.."; cd /; exec setpriv --reuid=65534 --regid=65534 --clear-groups'
    one = Daemon(prepared(open_binaries, tmp_path / "mediatord", preparation), {"job.yaml": BECOMING})
    try:
        line = one.wait_log("as another user")
        assert "only a daemon that runs as root can run a command as another user, and this one is user 65534" in line
        assert "degraded" in one.ctl("status", check=False).stdout
        assert one.stop() == STOPPED
    finally:
        one.discard()


def test_a_limit_of_trace_leaves_out_the_oldest_steps_alone(daemon: Callable[..., Daemon]) -> None:
    one = daemon({
        "work.yaml": """\
system: work
states: { Idle: {}, Busy: {} }
events: { Go: {}, Line: {}, Done: {} }
fromOutside: Go
initialState: Idle
feedbacks:
  work: { onState: Busy, run: [echo, hi], onLine: Line, onSuccess: Done, onFailure: Done }
transitions: { Idle: { Go: Busy, Line: stay, Done: stay }, Busy: { Go: stay, Line: stay, Done: Idle } }
persist: none
"""
    })
    for _ in range(2):
        one.ctl("emit", "work", "Go", "--wait", "Idle")
    steps = json.loads(one.ctl("trace", "work", "--json").stdout)["steps"]
    assert len(steps) >= 7
    for limit in range(1, len(steps)):
        numbers = [step["number"] for step in json.loads(one.ctl("trace", "work", f"--limit={limit}", "--json").stdout)["steps"]]
        assert sorted(numbers) == sorted(step["number"] for step in steps)[-limit:]
        assert "left out" not in one.ctl("trace", "work", f"--limit={limit}").stdout
