"""The harm that a client may try to do to a daemon, one function for each way."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable
from typing import Any

# The users who attack: one may inject into systems, one may look.
INJECTOR, READER = 60002, 60010

# A condition that takes as many steps as one may.
CONDITION = "[" + ", ".join(str(number) for number in range(60)) + "].all(a, [1, 2, 3, 4, 5, 6, 7, 8].all(b, a + b >= 0))"


def connection(path: str, timeout: float = 5.0) -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.settimeout(timeout)
    one.connect(path)
    return one


def message(method: str, parameters: dict[str, Any] | None = None, **flags: bool) -> bytes:
    call = {"method": f"io.mediatord.Control.{method}", "parameters": parameters or {}, **flags}
    return json.dumps(call).encode() + b"\0"


def emit(event: str, system: str = "hog", **data: Any) -> bytes:
    return message("Emit", {"system": system, "event": event, "data": data})


def answers(one: socket.socket, count: int) -> None:
    """Reads so many replies."""
    while count > 0:
        data = one.recv(1 << 20)
        if not data:
            raise ConnectionResetError
        count -= data.count(b"\0")


def grow(path: str) -> None:
    with connection(path) as one:
        for number in range(40):
            one.sendall(emit("Add", text="x" * random.choice([900_000, 30_000, 10])))
            answers(one, 1)
            if number % 5 == 0:
                one.sendall(emit("Double") * 20)
                answers(one, 20)


def append(path: str) -> None:
    with connection(path) as one:
        for _ in range(60):
            one.sendall(emit("Append", text="y" * 50_000))
            answers(one, 1)


def widen(path: str) -> None:
    with connection(path) as one:
        for _ in range(40):
            one.sendall(emit(f"E{random.randrange(100)}", "wide", text="w" * random.choice([300_000, 3_000])))
            answers(one, 1)


def numbers(path: str) -> None:
    with connection(path) as one:
        for _ in range(10):
            one.sendall(emit("Numbers", numbers=[1] * random.choice([40_000, 300_000])))
            answers(one, 1)


def flood(path: str) -> None:
    with connection(path) as one:
        for _ in range(20):
            one.sendall(emit("Append", text="") * 500)
            answers(one, 500)


def flood_unread(path: str) -> None:
    with connection(path, 1.0) as one:
        for _ in range(200):
            one.sendall(emit("Add", text="z" * 900_000))


def halves(path: str) -> None:
    held = [connection(path) for _ in range(30)]
    for one in held:
        one.sendall(b" " * 900_000)
    time.sleep(2)


def idle(path: str) -> None:
    held = [connection(path) for _ in range(300)]
    time.sleep(5)
    del held


def watch_costly(path: str) -> None:
    held = [connection(path) for _ in range(100)]
    call = message("Watch", {"patterns": ["heartbeat", "hog"], "condition": CONDITION}, more=True)
    for one in held:
        one.sendall(call)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for one in held:
            one.setblocking(False)
            try:
                one.recv(1 << 16)
            except BlockingIOError:
                pass
        time.sleep(0.05)


def watch_large(path: str) -> None:
    held = [connection(path) for _ in range(50)]
    for one in held:
        one.sendall(message("WatchSystem", {"name": "hog"}, more=True))
    # Half of them read nothing.
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for one in held[:25]:
            one.setblocking(False)
            try:
                one.recv(1 << 20)
            except BlockingIOError:
                pass
        time.sleep(0.02)


def long_replies(path: str) -> None:
    held = [connection(path) for _ in range(60)]
    calls = b"".join(
        [
            message("Status"), message("ListSystems"), message("ListBuses"),
            message("DescribeSystem", {"name": "hog"}), message("DescribeBus", {"name": "copies"}),
            message("Why", {"name": "next"}), message("Trace", {"name": "hog"}),
            message("WhyNot", {"name": "hog", "event": "Add"}), message("ReadMetrics"),
            message("DescribeSystem", {"name": "wide"}), message("WhyNot", {"name": "wide", "event": "E1"}),
            message("Why", {"name": "wide"}), message("Trace", {"name": "wide"}),
        ]
    )
    for one in held:
        one.sendall(calls * 20)
    time.sleep(3)


ATTACKS: dict[int, list[Callable[[str], None]]] = {
    INJECTOR: [grow, append, widen, numbers, flood, flood_unread, halves, idle],
    READER: [watch_costly, watch_large, long_replies, idle],
}
