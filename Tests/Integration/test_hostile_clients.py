"""Clients that mean harm: the systems go on, others are answered, and the daemon's memory stays within bounds."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from daemon import Daemon
from varlink_socket import VarlinkSocket

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

# How much more may be resident than before, in KiB.
SLACK = 30_000


def resident(one: Daemon) -> int:
    text = Path(f"/proc/{one.pid}/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")))


def beats(one: Daemon) -> int:
    (described,) = json.loads(one.ctl("show", "heartbeat", "--json").stdout).values()
    return described["summary"]["counters"]["events"]


@contextmanager
def unharmed(one: Daemon, slack: int = SLACK) -> Iterator[None]:
    """The system goes on during and after, others are answered, memory is bounded."""
    before, size = beats(one), resident(one)
    yield
    now = beats(one)
    assert now > before
    while beats(one) <= now:
        pass
    one.ctl("publish", "level", "high")
    assert resident(one) - size < slack


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """The daemon that is started meanwhile may have as many connections as it takes, and the test as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * CONNECTIONS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no more than {hard} descriptors on this machine")
        pytest.skip(f"no more than {hard} descriptors on this machine")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


# The test process stands for one user; others are programs run as them.
OTHER = 54321

AS_ANOTHER = """
import os, socket, struct, sys, time
path, count, text, user, blanks = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
os.setgroups([]); os.setgid(user); os.setuid(user)
held, gone = [], 0
for _ in range(count):
    one = socket.socket(socket.AF_UNIX)
    # With a timeout of Python's own, connecting would fail where many wait to be accepted.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 20, 0))
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
        one.settimeout(20)
        try:
            data = one.recv(65536)
            if data: answers.append(data)
            else: closed += 1
        except OSError: closed += 1
else:
    # Until no more have been closed for a while.
    rest, changed = set(held), time.monotonic()
    while time.monotonic() - changed < 2:
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
    one: Daemon, count: int, text: bytes = b"", user: int = OTHER, blanks: int = 0, path: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A program of another user that connects so often, sends something each time, and tells what came."""
    command = [sys.executable, "-c", AS_ANOTHER, str(path or one.socket), str(count), text.hex(), str(user), str(blanks)]
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


@needs_root
def test_a_user_without_rights_cannot_even_connect(one: Daemon) -> None:
    one.directory.chmod(0o755)
    with unharmed(one), another(one, 1) as stranger:
        assert said(stranger) == "PermissionError"
        assert said(stranger) == "connected 0"


GET_INFO = b'{"method":"org.varlink.service.GetInfo"}\0'
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
    with unharmed(one, 60_000), another(one, CONNECTIONS) as stranger:
        assert said(stranger) == f"connected {CONNECTIONS}"
        assert one.ctl("status").returncode == 0
        one.wait_log("control client refused")
        go_on(stranger)
        closed = int(said(stranger).removeprefix("closed "))
        assert CONNECTIONS - closed <= CONNECTIONS_PER_USER
        assert one.ctl("status").returncode == 0
    assert one.log.count("control client refused") < 200, "the log was flooded"


EVERYBODY_READS = {**CONFIGURATION, "access.yaml": 'access: { read: { users: "*" } }\n'}


def closed_of(process: subprocess.Popen[str], count: int) -> int:
    """How many of so many connections are closed by the daemon, or could not even send."""
    line = said(process)
    while not line.startswith("connected"):
        line = said(process)
    lost = count - int(line.removeprefix("connected "))
    go_on(process)
    return lost + int(said(process).removeprefix("closed "))


@needs_root
def test_what_one_user_has_begun_to_send_is_bounded_however_many_clients(daemon: Callable[..., Daemon]) -> None:
    one = daemon(EVERYBODY_READS)
    one.directory.chmod(0o755)
    # 16 MiB are allowed, and what has come of a message takes no more than twice its length.
    with unharmed(one, SLACK + 32 * 1024), another(one, 40, blanks=MESSAGE - 1) as stranger:
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


@needs_root
def test_readers_together_cannot_take_the_connections_of_root(daemon: Callable[..., Daemon]) -> None:
    # Of so few descriptors there are 128 connections, 64 of one user, and 32 that are kept.
    one = daemon(EVERYBODY_READS, wrapper=["prlimit", "--nofile=256:256"])
    one.directory.chmod(0o755)
    with ExitStack() as held:
        for number, kept in enumerate((64, 32, 0)):
            reader = held.enter_context(another(one, 100, user=OTHER + number))
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
                    client.socket.settimeout(10)
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
                client.socket.settimeout(10)
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
        clients = [held.enter_context(VarlinkSocket(one.socket, 60)) for _ in range(160)]
        # 136 MB of replies, of which 64 MiB may lie there beside what every client may leave.
        with unharmed(one, 250_000):
            for client in clients:
                client.send(call)
            one.wait_log("clients leave more replies unread than the limit allows", timeout=120)
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
        try:
            for round in range(60):
                try:
                    with VarlinkSocket(one.socket) as client:
                        match (seed + round) % 6:
                            case 0:
                                client.send(os.urandom(4096) + b"\0")
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
            assert one.ctl("status", "--timeout", "10").returncode == 0
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
    with unharmed(one, 150_000), VarlinkSocket(one.socket, 60) as client:
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

        while not path.exists():
            one.ctl("status")
        # As many as had places and could wait for them, whoever they were.
        with another(one, 129, path=path) as attacker:
            assert said(attacker) == "connected 129"
            assert f"uid={OTHER}" in one.wait_log("a connection waits because its user has no free place")
            with another(one, 1, text=b"1\n", user=OTHER + 1, path=path) as sender:
                assert said(sender) == "connected 1"
                end = time.monotonic() + 20
                while not events():
                    assert time.monotonic() < end
