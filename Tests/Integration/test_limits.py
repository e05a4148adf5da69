"""What a user may inject, and what one may look at, is bounded: root and other systems do not notice."""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon import Binaries, Daemon
from memory import anonymous
from varlink_socket import VarlinkSocket
from waiting import WAIT

sys.path.append(str(Path(__file__).parents[1] / "Soak"))
import attackers  # noqa: E402

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@contextlib.contextmanager
def acting_as(user: int) -> Iterator[None]:
    """What is connected within this belongs to the user: the kernel notes that then."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    result = daemon(attackers.CONFIGURATION)
    result.directory.chmod(0o755)
    return result


def injector(one: Daemon) -> VarlinkSocket:
    with acting_as(attackers.INJECTOR):
        return VarlinkSocket(one.socket)


def ask(client: VarlinkSocket, method: str, **parameters: Any) -> dict[str, Any]:
    client.call(f"io.mediatord.Control.{method}", parameters)
    reply = client.reply()
    assert reply is not None
    return reply


def add(client: VarlinkSocket, size: int) -> dict[str, Any]:
    return ask(client, "Emit", system="hog", event="Add", data={"text": "x" * size})


def hog(one: Daemon) -> dict[str, Any]:
    (shown,) = json.loads(one.ctl("show", "hog", "--json").stdout).values()
    return shown


@needs_root
def test_a_state_that_grows_beyond_the_limit_is_a_fault_and_can_be_reset(one: Daemon) -> None:
    before = anonymous(one.pid)
    with injector(one) as client:
        for _ in range(100):
            assert "error" not in add(client, 900_000)
    # 90 MB were injected, of which the state holds one text.
    assert anonymous(one.pid) - before < 60 << 20
    line = one.wait_log("the state 'Growing' would hold")
    assert "more than the limit of 1 MiB" in line and "'value' of 'limits'" in line and "system=hog" in line
    shown = hog(one)
    assert "would hold 1.8 MiB of data" in shown["lastFault"] or "would hold 1.7" in shown["lastFault"], shown["lastFault"]
    assert shown["summary"]["state"]["cut"] is True
    (text,) = shown["summary"]["state"]["data"]["texts"]
    assert text == "x" * 2048 + "…"
    assert one.ctl("status", check=False).returncode == 5
    assert one.ctl("reset", "hog").stdout
    assert hog(one)["summary"]["state"]["data"]["texts"] == []


@needs_root
def test_an_event_and_a_value_with_too_much_data_are_refused(one: Daemon) -> None:
    with injector(one) as client:
        # 600 KB of JSON are 7 MB of values.
        reply = ask(client, "Emit", system="hog", event="Numbers", data={"numbers": [1] * 300_000})
        assert reply["error"] == "io.mediatord.Control.NotAccepted", reply
        assert reply["parameters"]["obstacle"] == "tooLarge"
        reason = reply["parameters"]["reason"]
        assert reason.startswith("the event 'Numbers' would hold") and "more than the limit of 1 MiB" in reason
        # The same connection goes on.
        assert "error" not in add(client, 10)
    assert hog(one)["summary"]["counters"]["faults"] == 0


@needs_root
def test_lists_tell_the_beginning_of_long_data_and_a_watch_all_of_it(one: Daemon) -> None:
    with injector(one) as client:
        add(client, 500_000)
    with VarlinkSocket(one.socket) as root:
        root.call("io.mediatord.Control.WatchSystem", {"name": "hog"}, more=True)
        reply = root.reply()
        assert reply is not None and reply["parameters"]["state"]["data"]["texts"] == ["x" * 500_000]
    for words in (["list", "systems"], ["list", "buses"], ["status"], ["trace", "hog"], ["why", "next"]):
        text = one.ctl(*words, "--json", check=False).stdout
        assert 10 < len(text) < 60_000, (words, len(text))
    systems = {each["name"]: each for each in json.loads(one.ctl("list", "systems", "--json").stdout)["systems"]}
    assert systems["hog"]["state"]["cut"] is True and "cut" not in systems["heartbeat"]["state"]


@needs_root
def test_other_limits_come_with_a_reload(one: Daemon) -> None:
    Path(one.config, "limits.yaml").write_text("limits: { value: 4KiB }\n")
    plan = one.ctl("plan").stdout
    assert "limits" in plan and "value: 4 KiB instead of 1 MiB" in plan, plan
    one.ctl("reload")
    with injector(one) as client:
        reply = add(client, 5_000)
        assert "more than the limit of 4 KiB" in reply["parameters"]["reason"]
        assert "error" not in add(client, 3_000)


@pytest.mark.nightly
@needs_root
def test_two_users_who_do_their_worst_leave_room_and_time_for_root(one: Daemon, binaries: Binaries, seed: int) -> None:
    found = attackers.run(str(binaries.mediatorctl), str(one.socket), one.pid, seconds=25, seed=seed)
    assert not found["failures"], found
    assert found["MiB"]["most"] < 300, found
    # A machine that is busy otherwise is slow too: the soak looks closer.
    assert found["slowest"][1] < 20, found
    assert found["beats"] > 0.2, found


class Answer(socketserver.StreamRequestHandler):
    """A daemon that does what it is told to, and cannot tell how a system is."""

    def handle(self) -> None:
        server: Any = self.server
        server.connections += 1
        data = b""
        while not data.endswith(b"\0"):
            more = self.request.recv(65536)
            if not more:
                return
            data += more
        method = json.loads(data[:-1])["method"].rsplit(".", 1)[1]
        if method == "GetInfo":
            info = {"vendor": "v", "product": "p", "version": "1", "url": "u", "interfaces": ["io.mediatord.Control"]}
            self.request.sendall(json.dumps({"parameters": info}).encode() + b"\0")
            return
        server.methods.append(method)
        if method == "Status":
            return
        reply: dict[str, Any] = {"parameters": {"changed": True} if method.startswith(("Pause", "Resume")) else {}}
        if method.startswith("Describe"):
            parameters = {"limit": 16777216, "part": "state.data.texts"}
            reply = {"error": "io.mediatord.Control.ReplyTooLarge", "parameters": parameters}
        self.request.sendall(json.dumps(reply).encode() + b"\0")


@contextlib.contextmanager
def strange_daemon(path: Path) -> Iterator[Any]:
    server: Any = socketserver.ThreadingUnixStreamServer(str(path), Answer)
    server.daemon_threads = True
    server.connections, server.methods = 0, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("verb, word", [("reset", "reset"), ("restart", "restarted"), ("pause", "paused"), ("resume", "resumed")])
def test_what_cannot_be_described_can_be_acted_upon(tmp_path: Path, binaries: Binaries, verb: str, word: str) -> None:
    with strange_daemon(tmp_path / "s") as server:
        done = subprocess.run(
            [binaries.mediatorctl, "--socket", tmp_path / "s", verb, "hog"], capture_output=True, text=True, timeout=WAIT)
        assert server.methods[0].startswith(verb.capitalize()), server.methods
    assert done.returncode == 0, done
    assert done.stdout.startswith(f"hog is {word}; its present state is not known: "), done
    assert "most of it is state.data.texts" in done.stdout


def test_a_daemon_that_never_answers_is_not_asked_for_ever(tmp_path: Path, binaries: Binaries) -> None:
    begun = time.monotonic()
    with strange_daemon(tmp_path / "s") as server:
        done = subprocess.run(
            [binaries.mediatorctl, "--socket", tmp_path / "s", "status"], capture_output=True, text=True, timeout=WAIT)
        assert server.methods == ["Status"] * 8
    assert done.returncode == 69, done
    assert "mediatord closed the connection without an answer, 8 times in a row" in done.stderr, done
    assert time.monotonic() - begun < 30
