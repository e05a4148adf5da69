"""Clients that misbehave at the control socket: the daemon answers or closes, and serves the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Daemon
from door_and_bell import CONFIGURATION, show
from memory import anonymous
from varlink_socket import VarlinkSocket
from waiting import eventually


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def descriptors(one: Daemon) -> int:
    return len(list(Path(f"/proc/{one.pid}/fd").iterdir()))


@pytest.mark.parametrize(
    "rubbish",
    [
        b"hello\0",
        b"\0",
        b"[]\0",
        b"{}\0",
        b"null\0",
        b'{"method": 5}\0',
        b'{"method": "x"\0',
        b'{"method": "org.varlink.service.GetInfo", "surprise": 1}\0',
        b'{"method": "org.varlink.service.GetInfo", "more": true, "oneway": true}\0',
        b'{"method": "org.varlink.service.GetInfo", "parameters": []}\0',
        b'{"method": "\xff\xfe"}\0',
        b'{"method": "a", "parameters": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}\0",
        bytes(range(1, 256)) * 16 + b"\0",
    ],
    ids=range(13),
)
def test_rubbish_ends_only_its_own_connection(one: Daemon, rubbish: bytes) -> None:
    with VarlinkSocket(one.socket) as good, VarlinkSocket(one.socket) as bad:
        bad.send(rubbish)
        assert bad.is_closed()
        good.call("org.varlink.service.GetInfo")
        reply = good.reply()
        assert reply is not None and reply["parameters"]["product"] == "mediatord"


def test_unknown_methods_and_wrong_parameters_are_answered(one: Daemon) -> None:
    with VarlinkSocket(one.socket) as connection:
        for method, parameters, error in [
            ("io.mediatord.Control.Dance", {}, "org.varlink.service.MethodNotFound"),
            ("io.nowhere.Thing", {}, "org.varlink.service.InterfaceNotFound"),
            ("io.mediatord.Control.DescribeSystem", {"nom": "x"}, "org.varlink.service.InvalidParameter"),
            ("io.mediatord.Control.DescribeSystem", {"name": 5}, "org.varlink.service.InvalidParameter"),
            ("io.mediatord.Control.WatchBus", {"name": "alarms"}, "org.varlink.service.ExpectedMore"),
            (
                "io.mediatord.Control.Emit",
                {"system": "door", "event": "Push", "data": {"by": 7}},
                "io.mediatord.Control.InvalidValue",
            ),
        ]:
            connection.call(method, parameters)
            reply = connection.reply()
            assert reply is not None and reply["error"] == error, (method, reply)
    assert show(one, "door")["summary"]["counters"]["events"] == 0


def test_a_message_without_end_costs_bounded_memory(one: Daemon) -> None:
    before = anonymous(one.pid)
    with VarlinkSocket(one.socket) as connection:
        sent = 0
        try:
            while sent < 100_000_000:
                connection.send(b"x" * 65536)
                sent += 65536
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 10_000_000, "the daemon read on"
    assert anonymous(one.pid) - before < 20_000 * 1024
    assert one.ctl("status").returncode == 0


def test_clients_that_come_and_go_leave_nothing(one: Daemon) -> None:
    one.ctl("status")
    before = descriptors(one)
    for round in range(300):
        with VarlinkSocket(one.socket) as connection:
            if round % 3 == 0:
                connection.send(b'{"method": "org.varlink.service.Get')
            elif round % 3 == 1:
                connection.call("io.mediatord.Control.WatchBus", {"name": "visitor"}, more=True)
            else:
                connection.call("io.mediatord.Control.WatchSystem", {"name": "door"}, more=True)
                connection.reply()
    # The daemon closes a connection when it has seen its end.
    eventually(lambda: descriptors(one) <= before + 1)


def test_a_watcher_that_does_not_read_slows_nobody(one: Daemon) -> None:
    with VarlinkSocket(one.socket) as lazy, VarlinkSocket(one.socket) as busy:
        lazy.call("io.mediatord.Control.WatchBus", {"name": "visitor"}, more=True)
        first = lazy.reply()
        assert first is not None and first["parameters"]["value"] == "nobody"
        before = anonymous(one.pid)
        text = "x" * 1000
        # Few enough for a busy machine within the 30 s after which a client that does not read is closed.
        count = 6_000
        for number in range(count):
            busy.call("io.mediatord.Control.Publish", {"bus": "visitor", "value": f"{number} {text}"})
            reply = busy.reply()
            assert reply is not None and "error" not in reply
        assert anonymous(one.pid) - before < count * 1024
        # What it missed, it is told.
        values = []
        dropped = 0
        while not values or not values[-1].startswith(f"{count - 1} "):
            reply = lazy.reply()
            assert reply is not None
            values.append(reply["parameters"]["value"])
            dropped += reply["parameters"]["dropped"]
        assert len(values) + dropped == count
