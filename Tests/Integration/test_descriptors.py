"""A daemon whose descriptors run out goes on."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

from daemon import CANNOT_SERVE, STOPPED, Daemon
from waiting import WAIT, eventually, listens

BUSY = """\
system: busy-{number}
states: {{ Here: {{}} }}
events: {{ Ended: {{}}, Failed: {{ why: string }} }}
initialState: Here
feedbacks:
  work:
    onState: Here
    strategy: continueOnNewState
    every: 100ms
    run: {{ command: [sleep, "0.3"], input: hello }}
    onSuccess: Ended
    onFailure: {{ Failed: {{ why: "${{result.error}}" }} }}
transitions: {{ Here: {{ Ended: stay, Failed: stay }} }}
"""


def outcomes(one: Daemon) -> dict[str, float]:
    lines = one.ctl("metrics").stdout.splitlines()
    counts = {"onSuccess": 0.0, "onFailure": 0.0}
    for line in lines:
        for name in counts:
            if line.startswith("mediatord_feedback_outcomes_total") and f'outcome="{name}"' in line:
                counts[name] += float(line.rsplit(" ", 1)[1])
    return counts


def most_open(one: Daemon) -> int:
    """Returns how many descriptors are open at most within three seconds. While clients hold all places, nobody can ask the
    daemon how much it has done meanwhile."""
    most = 0
    end = time.monotonic() + 3
    while time.monotonic() < end:
        most = max(most, len(os.listdir(f"/proc/{one.pid}/fd")))
    return most


def until(one: Daemon, name: str, more_than: float) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if outcomes(one)[name] > more_than:
            return
    raise AssertionError(f"{name} is not above {more_than}: {outcomes(one)}\n{one.log[-2000:]}")


def test_commands_fail_while_there_are_few_descriptors_and_begin_again_after(daemon: Callable[..., Daemon]) -> None:
    one = daemon({f"{number}.yaml": BUSY.format(number=number) for number in range(20)})
    until(one, "onSuccess", 20)
    soft, hard = resource.prlimit(one.pid, resource.RLIMIT_NOFILE)
    for room in (20, 30, 40):
        before = outcomes(one)
        # Fewer than a command is begun with; but not none at all, which the runtime itself does not survive.
        resource.prlimit(one.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{one.pid}/fd")) + room, hard))
        until(one, "onFailure", before["onFailure"] + 5)
        resource.prlimit(one.pid, resource.RLIMIT_NOFILE, (soft, hard))
        until(one, "onSuccess", outcomes(one)["onSuccess"] + 20)
    assert one.process.poll() is None
    assert one.stop() == 0, one.log[-2000:]


def test_clients_and_commands_together_leave_descriptors_over(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {f"{number}.yaml": BUSY.format(number=number) for number in range(20)}, wrapper=["prlimit", "--nofile=64:256"]
    )
    # As far as it may, it has raised the limit.
    assert resource.prlimit(one.pid, resource.RLIMIT_NOFILE) == (256, 256)
    held: list[socket.socket] = []
    most = 0
    for _ in range(400):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(one.socket))
        held.append(client)
        most = max(most, len(os.listdir(f"/proc/{one.pid}/fd")))
    eventually(lambda: len(os.listdir(f"/proc/{one.pid}/fd")) > 100)
    most = max(most, most_open(one))
    assert 100 < most < 256 - 16, most
    for client in held:
        client.close()
    before = outcomes(one)["onSuccess"]
    until(one, "onSuccess", before + 20)
    assert one.stop() == 0, one.log[-2000:]


DOOR = """\
system: door
states: {{ A: {{}} }}
events: {{ Knock: {{}} }}
initialState: A
feedbacks:
  knocks: {{ onState: A, strategy: continueOnNewState, socket: {{ path: {path}, mode: "0666" }}, onMessage: Knock }}
transitions: {{ A: {{ Knock: stay }} }}
"""


@pytest.mark.parametrize("limit", [80, 256])
def test_senders_and_clients_and_commands_together_leave_descriptors_over(
    daemon: Callable[..., Daemon], tmp_path: Path, limit: int
) -> None:
    one = daemon(
        {"busy.yaml": BUSY.format(number=0), "door.yaml": DOOR.format(path=tmp_path / "door")},
        wrapper=["prlimit", f"--nofile={limit}:{limit}"],
    )
    until(one, "onSuccess", 1)
    held: list[socket.socket] = []
    most = 0
    for number in range(3 * limit):
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(str(tmp_path / "door" if number % 3 else one.socket))
            held.append(client)
        except BlockingIOError:
            client.close()
        most = max(most, len(os.listdir(f"/proc/{one.pid}/fd")))
    most = max(most, most_open(one))
    assert most < limit - 2, (most, limit)
    assert "Too many open files" not in one.log
    for client in held:
        client.close()
    until(one, "onSuccess", outcomes(one)["onSuccess"] + 5)
    assert one.stop() == 0, one.log[-2000:]


def test_a_user_with_many_connections_is_a_warning_and_no_fault(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    door = tmp_path / "door"
    one = daemon({"door.yaml": DOOR.format(path=door)}, wrapper=["prlimit", "--nofile=80:80"])
    eventually(lambda: listens(door))
    # With so few descriptors there are four connections to sockets, of which a user has two.
    held = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for client in held:
        client.settimeout(WAIT)
        client.connect(str(door))
    assert [client.recv(1) for client in held[2:]] == [b""] * 3
    line = one.wait_log("its user has half of all connections to sockets")
    assert "count=1" in line and f"uid={os.geteuid()}" in line
    # Only the first, the tenth, the hundredth and so on are logged.
    assert one.log.count("its user has half") == 1
    shown = json.loads(one.ctl("show", "door", "--json").stdout)["system"]["summary"]
    assert shown["health"] == "healthy" and shown["counters"]["faults"] == 0
    # The others are served, one after the other, and places that become free are given away again.
    for number, client in enumerate(held[:2]):
        client.sendall(b"%d\n" % number)
        client.close()
    eventually(lambda: events(one) == 2)

    def comes_in() -> bool:
        """Sends an event. The daemon may not yet have seen that the others have ended."""
        with socket.socket(socket.AF_UNIX) as late:
            late.settimeout(WAIT)
            late.connect(str(door))
            try:
                late.sendall(b"2\n")
                late.shutdown(socket.SHUT_WR)
                late.recv(1)
            except (BrokenPipeError, ConnectionResetError):
                return False
        return events(one) > 2

    eventually(comes_in)


def events(one: Daemon) -> int:
    return json.loads(one.ctl("show", "door", "--json").stdout)["system"]["summary"]["counters"]["events"]


# Runs a program that cannot have a descriptor of any process but itself (seccomp(2), prctl(2)): so it is where descriptors run
# out at just that moment.
WITHOUT_DESCRIPTORS_OF_PROCESSES = """
import ctypes, os, struct, sys
PIDFD_OPEN, EMFILE, ALLOW, ERROR = 434, 24, 0x7FFF0000, 0x00050000
def step(code, true, false, k): return struct.pack("HBBI", code, true, false, k)
program = b"".join([
    step(0x20, 0, 0, 0),                 # the number of the call
    step(0x15, 0, 3, PIDFD_OPEN),
    step(0x20, 0, 0, 16),                # of which process
    step(0x15, 1, 0, os.getpid()),
    step(0x06, 0, 0, ERROR | EMFILE),
    step(0x06, 0, 0, ALLOW),
])
held = ctypes.create_string_buffer(program)
header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(held)))
library = ctypes.CDLL(None, use_errno=True)
if library.prctl(38, 1, 0, 0, 0) or library.prctl(22, 2, header, 0, 0): sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_a_command_whose_end_cannot_be_watched_is_killed_and_leaves_nothing_open(daemon: Callable[..., Daemon]) -> None:
    told = BUSY.format(number=0).replace(
        "Here: {}", "Here: {}, Told: { why: string }"
    )
    told = told.replace("transitions: { Here: {", 'transitions: { any: {').replace(
        "Failed: stay", 'Failed: { to: Told, set: { why: "${event.why}" } }'
    )
    one = daemon(
        {"busy.yaml": BUSY.format(number=1), "told.yaml": told},
        wrapper=[sys.executable, "-c", WITHOUT_DESCRIPTORS_OF_PROCESSES],
    )
    until(one, "onFailure", 5)
    shown = one.ctl("show", "busy-0").stdout
    assert "its end cannot be watched, so it was killed" in shown, shown
    before = len(os.listdir(f"/proc/{one.pid}/fd"))
    until(one, "onFailure", outcomes(one)["onFailure"] + 20)
    assert len(os.listdir(f"/proc/{one.pid}/fd")) < before + 10
    assert one.stop() == 0, one.log[-2000:]


def test_with_too_few_descriptors_it_says_so_and_with_the_least_number_it_works(daemon: Callable[..., Daemon]) -> None:
    refused = daemon(ready=False, wrapper=["prlimit", "--nofile=63:63"])
    assert refused.wait_exit() == CANNOT_SERVE, refused.log
    assert "only 63 files may be open, and 64 are needed; raise LimitNOFILE= of the unit, or `ulimit -n`" in refused.log
    one = daemon(wrapper=["prlimit", "--nofile=64:64"])
    for _ in range(5):
        one.ctl("reload")
    assert one.stop() == STOPPED, one.log
