"""Users who mean harm, each with many connections or without any right: the others are served."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from daemon import Daemon
from hostile import (
    CONFIGURATION, CONNECTIONS, CONNECTIONS_PER_USER, EVERYBODY_READS, GET_INFO, OTHER, another, closed_of, go_on,
    needs_root, said, unharmed,
)
from varlink_socket import VarlinkSocket
from waiting import eventually, listens


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


@needs_root
def test_a_user_without_rights_cannot_even_connect(one: Daemon) -> None:
    one.directory.chmod(0o755)
    with unharmed(one), another(one, 1) as stranger:
        assert said(stranger) == "PermissionError"
        assert said(stranger) == "connected 0"


EMIT = b'{"method":"io.mediatord.Control.Emit","parameters":{"system":"heartbeat","event":"Beat"},"oneway":true}\0'


@needs_root
@pytest.mark.parametrize("text", [GET_INFO, GET_INFO * 100, EMIT + GET_INFO], ids=["once", "often", "oneway"])
def test_a_user_without_rights_is_denied_once_and_sent_away(one: Daemon, text: bytes) -> None:
    # As if the administrator had let everybody connect: then the rights alone stand in the way.
    one.directory.chmod(0o755)
    os.chmod(one.socket, stat.S_IMODE(os.stat(one.socket).st_mode) | 0o006)
    with unharmed(one), another(one, 1, text) as stranger:
        assert said(stranger) == "connected 1"
        go_on(stranger)
        said(stranger)
        answer = bytes.fromhex(said(stranger))
        if text.startswith(EMIT):
            assert answer == b""
        else:
            assert answer.count(b"\0") == 1 and b"org.varlink.service.PermissionDenied" in answer
    assert "event emitted by a client" not in one.log


@needs_root
def test_many_connections_of_another_user_leave_room(many_descriptors: None, daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    one.directory.chmod(0o755)
    os.chmod(one.socket, 0o666)
    with unharmed(one, 60_000), another(one, CONNECTIONS, least=CONNECTIONS - CONNECTIONS_PER_USER) as stranger:
        assert said(stranger) == f"connected {CONNECTIONS}"
        assert one.ctl("status").returncode == 0
        one.wait_log("control client refused")
        go_on(stranger)
        closed = int(said(stranger).removeprefix("closed "))
        assert CONNECTIONS - closed <= CONNECTIONS_PER_USER
        assert one.ctl("status").returncode == 0
    assert one.log.count("control client refused") < 200, "the log was flooded"


@needs_root
def test_readers_together_cannot_take_the_connections_of_root(daemon: Callable[..., Daemon]) -> None:
    # Of so few descriptors there are 128 connections, 64 of one user, and 32 that are kept.
    one = daemon(EVERYBODY_READS, wrapper=["prlimit", "--nofile=256:256"])
    one.directory.chmod(0o755)
    with ExitStack() as held:
        for number, kept in enumerate((64, 32, 0)):
            reader = held.enter_context(another(one, 100, user=OTHER + number, least=100 - kept))
            assert 100 - closed_of(reader, 100) == kept
        for _ in range(31):
            root = held.enter_context(VarlinkSocket(one.socket))
            root.call("org.varlink.service.GetInfo")
            assert root.reply() is not None
        assert one.ctl("status").returncode == 0


def test_many_connections_of_one_user_are_as_many_as_allowed(
    many_descriptors: None, daemon: Callable[..., Daemon]
) -> None:
    one = daemon(CONFIGURATION)
    # One that is there already goes on.
    with VarlinkSocket(one.socket) as early, ExitStack() as held:
        early.call("org.varlink.service.GetInfo")
        assert early.reply() is not None
        served = refused = 0
        for _ in range(CONNECTIONS_PER_USER + 200):
            connection = held.enter_context(VarlinkSocket(one.socket))
            try:
                connection.call("org.varlink.service.GetInfo")
                reply = connection.reply()
            except (BrokenPipeError, ConnectionResetError):
                reply = None
            served += reply is not None
            refused += reply is None
        assert (served, refused) == (CONNECTIONS_PER_USER - 1, 201)
        early.call("io.mediatord.Control.DescribeSystem", {"name": "heartbeat"})
        reply = early.reply()
        assert reply is not None and "error" not in reply
    with unharmed(one):
        pass


DOOR = """\
system: door
states: {{ A: {{}} }}
events: {{ Knock: {{}} }}
initialState: A
feedbacks:
  knocks: {{ onState: A, strategy: continueOnNewState, socket: {{ path: {path}, mode: "0666" }}, onMessage: Knock }}
transitions: {{ A: {{ Knock: stay }} }}
"""


@needs_root
def test_silent_senders_of_one_user_keep_no_other_out(daemon: Callable[..., Daemon]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "door"
        one = daemon({"door.yaml": DOOR.format(path=path)})

        def events() -> int:
            (described,) = json.loads(one.ctl("show", "door", "--json").stdout).values()
            return described["summary"]["counters"]["events"]

        eventually(lambda: listens(path))
        # As many as had places and could wait for them, whoever they were.
        with another(one, 129, path=path) as attacker:
            assert said(attacker) == "connected 129"
            assert f"uid={OTHER}" in one.wait_log("a connection waits because its user has no free place")
            with another(one, 1, text=b"1\n", user=OTHER + 1, path=path) as sender:
                assert said(sender) == "connected 1"
                eventually(events)
