"""A user who may only read, and asks without a pause for what costs something: it costs the others little."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Daemon
from hostile import EVERYBODY_READS, OTHER, needs_root
from varlink_socket import VarlinkSocket

PING = b'{"method":"io.systemd.service.Ping"}\0'
CONTROL = b'{"method":"io.mediatord.Control.'
# What the reader asks for, and how many steps it costs at least, by the page on the control socket.
CALLS = {
    "refused": (1_500, CONTROL + b'Emit","parameters":{"system":"heartbeat","event":"Beat"}}\0'),
    "malformed": (6_500, CONTROL + b'Watch","parameters":{"patterns":["*"],"where":"("},"more":true}\0'),
    "unknown": (500, b'{"method":"a.b.C"}\0'),
    "ping": (500, PING),
    "kinds": (20_500, CONTROL + b'DescribeKinds"}\0'),
    "description": (
        30_000,
        b'{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"io.mediatord.Control"}}\0',
    ),
    "metrics": (20_000, b'{"method":"io.systemd.Metrics.List","more":true}\0'),
    "connection": (5_500, PING),
}
# The steps of a user in a second, and what it may have saved up.
STEPS = 10_000_000
CONNECTIONS = 16
# Calls that a connection sends ahead.
AHEAD = 20
# The most processor time of the daemon, in processors. A debug build is many times slower, and is held to the steps alone.
MOST = 0.5
IS_RELEASE = "MEDIATORD_BINARIES" in os.environ


@contextlib.contextmanager
def acting_as(user: int) -> Iterator[None]:
    """What is connected within this belongs to the user: the kernel notes that then."""
    os.setegid(user)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def connect(path: Path) -> socket.socket:
    with acting_as(OTHER):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(path))
    client.setblocking(False)
    return client


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Greedy:
    """Connections of one user, each with calls under way at any time, or each for one call alone."""

    def __init__(self, path: Path, call: bytes, lasting: bool) -> None:
        self.path, self.call, self.lasting, self.answers = path, call, lasting, 0
        # The number of calls that are not answered yet, and the beginning of an answer.
        self.clients: dict[socket.socket, tuple[int, bytes]] = {}
        for _ in range(CONNECTIONS):
            self.add()

    def add(self) -> None:
        client = connect(self.path)
        count = AHEAD if self.lasting else 1
        client.sendall(self.call * count)
        self.clients[client] = count, b""

    def go_on(self, wait: float) -> None:
        for client in select.select(list(self.clients), [], [], wait)[0]:
            data = client.recv(1 << 20)
            assert data, "the daemon closed the connection"
            count, begun = self.clients[client]
            *answers, rest = (begun + data).split(b"\0")
            ended = sum(b'"continues":true' not in answer for answer in answers)
            self.answers += ended
            self.clients[client] = count - ended, rest
            if count > ended:
                continue
            if self.lasting:
                client.sendall(self.call * AHEAD)
                self.clients[client] = AHEAD, b""
            else:
                del self.clients[client]
                client.close()
                self.add()

    def go_on_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.go_on(left)

    def close(self) -> None:
        for client in self.clients:
            client.close()


@needs_root
@pytest.mark.parametrize("name", CALLS)
def test_what_a_reader_asks_for_without_pause_leaves_the_processor_to_others(
    daemon: Callable[..., Daemon], name: str
) -> None:
    one = daemon(EVERYBODY_READS)
    one.directory.chmod(0o755)
    steps, call = CALLS[name]
    start = time.monotonic()
    greedy = Greedy(one.socket, call, name != "connection")
    with contextlib.closing(greedy), VarlinkSocket(one.socket) as root:
        # What the user has saved up is used up.
        greedy.go_on_for(0.7)
        begun, used, slowest = time.monotonic(), processor_time(one.pid), 0.0
        for _ in range(6):
            greedy.go_on_for(0.25)
            asked = time.monotonic()
            root.call("io.mediatord.Control.Status")
            assert (reply := root.reply()) is not None and "error" not in reply
            slowest = max(slowest, time.monotonic() - asked)
        now = time.monotonic()
        cores = (processor_time(one.pid) - used) / (now - begun)
    print(f"{name}: {greedy.answers} answers in {now - start:.2f} s, {cores:.2f} processors, root waited {slowest:.3f} s")
    assert 0 < greedy.answers <= STEPS * (now - start + 1) / steps + CONNECTIONS
    assert cores < MOST or not IS_RELEASE
    assert slowest < 1
