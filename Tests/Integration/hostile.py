"""Clients that mean harm, some of them as another user, and how a test sees that the daemon is well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import Daemon
from memory import anonymous
from waiting import WAIT, eventually

CONFIGURATION = {
    "heartbeat.yaml": """\
system: heartbeat
states: { Beating: { } }
events: { Beat: { } }
initialState: Beating
feedbacks:
  beat: { onState: Beating, every: 20ms, emit: Beat }
transitions: { Beating: { Beat: stay } }
""",
    "bus.yaml": "buses: { level: { kind: currentValue, value: string, initial: low, fromOutside: both } }\n",
}

# What is documented: connections in all and of one user, and the longest message.
CONNECTIONS = 4096
CONNECTIONS_PER_USER = 1024
MESSAGE = 1 << 20

# How much more anonymous memory there may be than before, in KiB.
SLACK = 30_000


def beats(one: Daemon) -> int:
    (described,) = json.loads(one.ctl("show", "heartbeat", "--json").stdout).values()
    return described["summary"]["counters"]["events"]


@contextmanager
def unharmed(one: Daemon, slack: int = SLACK) -> Iterator[None]:
    """The system goes on during and after, others are answered, memory is bounded."""
    before, size = beats(one), anonymous(one.pid)
    yield
    now = beats(one)
    assert now > before
    eventually(lambda: beats(one) > now)
    one.ctl("publish", "level", "high")
    assert anonymous(one.pid) - size < slack * 1024


# The test process stands for one user; others are programs run as them.
OTHER = 54321

AS_ANOTHER = """
import os, socket, struct, sys, time
path, text = sys.argv[1], bytes.fromhex(sys.argv[2])
count, user, blanks, least, wait = map(int, sys.argv[3:])
os.setgroups([]); os.setgid(user); os.setuid(user)
held, gone = [], 0
for _ in range(count):
    one = socket.socket(socket.AF_UNIX)
    # With a timeout of Python's own, connecting would fail where many wait to be accepted.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", wait, 0))
    try:
        one.connect(path)
        if text: one.sendall(text)
        if blanks: one.sendall(b" " * blanks)
        held.append(one)
    except OSError as error:
        print(type(error).__name__, flush=True)
        gone += 1
print("connected", len(held), flush=True)
sys.stdin.readline()
answers, closed = [], 0
if text:
    for one in held:
        one.settimeout(wait)
        try:
            data = one.recv(65536)
            if data: answers.append(data)
            else: closed += 1
        except OSError: closed += 1
else:
    # Until as many are lost as must be, and then no more for a while.
    rest, begun = set(held), time.monotonic()
    changed = begun
    while time.monotonic() - changed < 2 or (gone + closed < least and time.monotonic() - begun < wait):
        for one in list(rest):
            one.setblocking(False)
            try:
                if one.recv(65536): continue
            except BlockingIOError: continue
            except OSError: pass
            rest.discard(one)
            closed, changed = closed + 1, time.monotonic()
        time.sleep(0.02)
print("closed", closed, flush=True)
print(b"".join(answers[:1]).hex(), flush=True)
sys.stdin.readline()
"""


@contextmanager
def another(
    one: Daemon, count: int, text: bytes = b"", user: int = OTHER, blanks: int = 0, path: Path | None = None, least: int = 0
) -> Iterator[subprocess.Popen[str]]:
    """A program of another user that connects so often, sends something each time, and tells what came. If it sends no
    text, it waits until at least `least` of the connections are lost."""
    numbers = map(str, (count, user, blanks, least, int(WAIT)))
    command = [sys.executable, "-c", AS_ANOTHER, str(path or one.socket), text.hex(), *numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
GET_INFO = b'{"method":"org.varlink.service.GetInfo"}\0'
EVERYBODY_READS = {**CONFIGURATION, "access.yaml": 'access: { read: { users: "*" } }\n'}


def closed_of(process: subprocess.Popen[str], count: int) -> int:
    """How many of so many connections are closed by the daemon, or could not even send."""
    line = said(process)
    while not line.startswith("connected"):
        line = said(process)
    lost = count - int(line.removeprefix("connected "))
    go_on(process)
    return lost + int(said(process).removeprefix("closed "))
