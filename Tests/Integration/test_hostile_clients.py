"""Clients that send too much or read too little: the systems go on, and the daemon's memory stays within bounds."""

from __future__ import annotations

import json
import random
import re
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from daemon import Daemon
from hostile import CONFIGURATION, EVERYBODY_READS, GET_INFO, MESSAGE, OTHER, SLACK, another, closed_of, needs_root, unharmed
from varlink_socket import VarlinkSocket
from waiting import WAIT


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


@needs_root
def test_what_one_user_has_begun_to_send_is_bounded_however_many_clients(daemon: Callable[..., Daemon]) -> None:
    one = daemon(EVERYBODY_READS)
    one.directory.chmod(0o755)
    # 16 MiB are allowed, and what has come of a message takes no more than twice its length.
    with unharmed(one, SLACK + 32 * 1024), another(one, 40, blanks=MESSAGE - 1, least=24) as stranger:
        kept = 40 - closed_of(stranger, 40)
        assert 12 <= kept <= 16
        assert "more data than the limit allows" in one.wait_log("control client dropped")
        # Another user, and root, have room of their own.
        with another(one, 4, user=OTHER + 1, blanks=MESSAGE - 1) as other:
            assert closed_of(other, 4) == 0
        with VarlinkSocket(one.socket) as root:
            root.send(GET_INFO[:-1] + b" " * 500_000 + b"\0")
            reply = root.reply()
            assert reply is not None and reply["parameters"]["product"] == "mediatord"


@pytest.mark.parametrize("kind", ["byte by byte", "half a message", "as long as allowed", "pipelined, unread"])
def test_slow_and_greedy_clients_cost_little(one: Daemon, kind: str) -> None:
    with ExitStack() as held:
        count = 15 if kind == "as long as allowed" else 20
        clients = [held.enter_context(VarlinkSocket(one.socket)) for _ in range(count)]
        # What a client may let the daemon hold: a message as long as allowed.
        slack = SLACK + (20 * MESSAGE // 1024 * 2 if kind == "as long as allowed" else 0)
        with unharmed(one, slack):
            for client in clients:
                client.socket.settimeout(0.2)
            if kind == "byte by byte":
                for byte in GET_INFO:
                    for client in clients:
                        client.send(bytes([byte]))
            elif kind == "half a message":
                for client in clients:
                    client.send(GET_INFO[:20])
            elif kind == "as long as allowed":
                for client in clients:
                    client.socket.settimeout(WAIT)
                    client.send(b" " * (MESSAGE - 1))
            else:
                for client in clients:
                    try:
                        for _ in range(10_000):
                            client.send(GET_INFO * 10)
                    except TimeoutError:
                        # The daemon reads no more of one that does not read.
                        continue
                    pytest.fail("the daemon read everything of a client that reads nothing")
        if kind == "byte by byte":
            for client in clients:
                client.socket.settimeout(WAIT)
                reply = client.reply()
                assert reply is not None and reply["parameters"]["product"] == "mediatord"


def test_what_many_clients_leave_unread_is_bounded_in_all(
    many_descriptors: None, daemon: Callable[..., Daemon]
) -> None:
    # The list of these systems is some 850 KB.
    systems = {
        f"{number}.yaml": f"system: s{number}\ndescription: {'x' * 4_000}\nstates: {{ A: {{}} }}\ninitialState: A\n"
        for number in range(200)
    }
    one = daemon(CONFIGURATION | systems)
    assert len(one.ctl("list", "systems", "--json").stdout) > 800_000
    call = b'{"method":"io.mediatord.Control.ListSystems"}\0'
    with ExitStack() as held:
        clients = [held.enter_context(VarlinkSocket(one.socket)) for _ in range(160)]
        # 136 MB of replies, of which 64 MiB may lie there beside what every client may leave.
        with unharmed(one, 250_000):
            for client in clients:
                client.send(call)
            one.wait_log("clients leave more replies unread than the limit allows")
        # Who was there first gets an answer, also late.
        answered = sum(client.reply() is not None for client in clients)
        assert 50 <= answered < 160, answered
    # What they held is there again for others.
    for _ in range(3):
        assert one.ctl("list", "systems", "--json").stdout


def test_clients_that_do_everything_at_once_do_no_harm(one: Daemon) -> None:
    """Rubbish, half messages, floods, watches that are left, all from several threads, while others are served."""
    errors: list[BaseException] = []

    def attack(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for round in range(60):
                try:
                    with VarlinkSocket(one.socket) as client:
                        match (seed + round) % 6:
                            case 0:
                                client.send(chance.randbytes(4096) + b"\0")
                            case 1:
                                client.send(GET_INFO * 200)
                            case 2:
                                client.call("io.mediatord.Control.WatchBus", {"name": "level"}, more=True)
                                client.call("io.mediatord.Control.ListSystems")
                            case 3:
                                client.send(b"x" * 2_000_000)
                            case 4:
                                client.call("io.mediatord.Control.Publish", {"bus": "level", "value": "x" * 100_000})
                            case _:
                                client.send(b'{"method":"a.b.C","parameters":{"a":' + b"[" * 100_000)
                except (BrokenPipeError, ConnectionResetError, TimeoutError, socket.timeout):
                    continue
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=attack, args=(seed,)) for seed in range(6)]
    with unharmed(one, 60_000):
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert one.ctl("status", "--timeout", "120").returncode == 0
        for thread in threads:
            thread.join()
    assert not errors


def test_what_waits_for_a_system_is_bounded_by_its_bytes(daemon: Callable[..., Daemon]) -> None:
    sink = """\
system: sink
states: { Taking: { taken: int } }
events: { Take: { text: string } }
fromOutside: any
initialState: { Taking: { taken: 0 } }
transitions: { Taking: { Take: { to: Taking, set: { taken: "${state.taken + 1}" } } } }
---
buses: { texts: { kind: passthrough, value: string, fromOutside: write } }
links: { hand: { attach: sink, to: texts, emitEvent: { Take: { text: "${value}" } } } }
"""
    one = daemon(CONFIGURATION | {"sink.yaml": sink})
    one.ctl("pause", "sink")
    text = "x" * 900_000
    # 90 MB are sent, of which 64 MiB may wait.
    with unharmed(one, 150_000), VarlinkSocket(one.socket) as client:
        accepted = 0
        for _ in range(80):
            client.call("io.mediatord.Control.Emit", {"system": "sink", "event": "Take", "data": {"text": text}})
            reply = client.reply()
            assert reply is not None
            if "error" not in reply:
                accepted += 1
                continue
            assert reply["error"] == "io.mediatord.Control.NotAccepted", reply["error"]
            assert reply["parameters"]["obstacle"] == "full"
        assert accepted == 74
        for _ in range(20):
            client.call("io.mediatord.Control.Publish", {"bus": "texts", "value": text})
            assert "error" not in (client.reply() or {})
        # What is small has room all the same.
        one.ctl("emit", "sink", "Take", "text=x")
        refused = [one.ctl("emit", "sink", "Take", f"text={text[:100_000]}", check=False) for _ in range(6)][-1]
        assert refused.returncode == 1 and "no room for so much (10000 events, or 64 MiB of data)" in refused.stderr, refused
    shown = json.loads(one.ctl("show", "sink", "--json").stdout)["system"]["summary"]
    assert shown["counters"]["dropped"] >= 20, shown
    taken = shown["waiting"]
    assert accepted < taken <= accepted + 6
    assert accepted * 900_000 < shown["waitingBytes"] <= 64 << 20, shown
    assert re.search(r"paused +since .*; [0-9]+ events wait with 6[34]\.[0-9] MiB of data", one.ctl("show", "sink").stdout)
    assert f'mediatord_system_mailbox_bytes{{system="sink"}} {shown["waitingBytes"]}' in one.ctl("metrics").stdout
    assert 'mediatord_system_mailbox_bytes_limit{system="sink"} 67108864' in one.ctl("metrics").stdout
    # Why a large event is not taken, though a small one is.
    large, small = (one.ctl("why-not", "sink", "Take", f"text={text[:size]}").stdout for size in (100_000, 10))
    assert "is paused" in large and "no room for so much (10000 events, or 64 MiB of data)" in large, large
    assert "is paused" in small and "no room" not in small, small
    one.ctl("resume", "sink")
    # There is room again.
    for _ in range(8):
        one.ctl("emit", "sink", "Take", f"text={text[:100_000]}", "--wait", "Taking")
    assert f"taken={taken + 8}" in one.ctl("show", "sink").stdout
    assert json.loads(one.ctl("show", "sink", "--json").stdout)["system"]["summary"]["waitingBytes"] == 0
