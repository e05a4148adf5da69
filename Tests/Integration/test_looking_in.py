"""Following many parts at once, drawing them, waiting for states, and doing so from another machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from test_control import CONFIGURATION

GATE = """\
system: gate
states: { Down: {}, Up: { times: int } }
events: { Lift: {}, Drop: {} }
initialState: Down
transitions: { Down: { Lift: { to: Up, set: { times: 1 } } }, Up: { Drop: Down } }
"""


class Tap:
    """A tap that is read line by line, as JSON."""

    def __init__(self, one: Daemon, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(one.binaries.mediatorctl), "tap", "--json", *arguments],
            env=one.client_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def next(self) -> dict:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        return json.loads(line)

    def until(self, condition: Callable[[dict], object]) -> list[dict]:
        """All up to the first that meets the condition."""
        lines = [self.next()]
        while not condition(lines[-1]):
            lines.append(self.next())
        return lines

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def test_systems_buses_and_links_are_followed_together(one: Daemon) -> None:
    with Tap(one, "door", "bus:*", "link:*") as tap:
        first = [tap.next() for _ in range(2)]
        assert {(line["kind"], line["name"]) for line in first} == {("system", "door"), ("bus", "visitor")}
        assert all(line["replayed"] for line in first)
        one.ctl("emit", "door", "Push", "by=cat")
        lines = tap.until(lambda line: line["kind"] == "bus" and line["name"] == "visitor")
        door = next(line for line in lines if line["kind"] == "system")
        assert (door["previous"], door["event"], door["eventData"]) == ("Closed", "Push", {"by": "cat"})
        assert door["state"] == {"name": "Open", "data": {"by": "cat", "times": 1}}
        fired = [line for line in lines if line["topic"] == "fired"]
        assert fired and all(line["kind"] == "link" for line in fired)
        assert lines[-1]["value"] == "cat" and not lines[-1]["replayed"]


def test_what_comes_begins_anew_and_goes_is_followed(one: Daemon) -> None:
    with Tap(one, "system:*") as tap:
        assert {tap.next()["name"] for _ in range(2)} == {"bell", "door"}
        (one.config / "gate.yaml").write_text(GATE)
        one.ctl("reload")
        began, state = tap.next(), tap.next()
        assert (began["topic"], began["name"]) == ("began", "gate")
        assert (state["name"], state["state"]["name"], state["replayed"]) == ("gate", "Down", False)
        one.ctl("emit", "gate", "Lift")
        assert tap.next()["state"] == {"name": "Up", "data": {"times": 1}}
        one.ctl("restart", "gate")
        began, state = tap.next(), tap.next()
        assert (began["topic"], began["name"], state["state"]["name"]) == ("began", "gate", "Down")
        one.ctl("emit", "gate", "Lift")
        assert tap.next()["event"] == "Lift"
        (one.config / "gate.yaml").unlink()
        one.ctl("reload")
        assert tap.until(lambda line: line["topic"] == "ended")[-1]["name"] == "gate"


def test_a_condition_is_checked_against_the_types_of_what_is_followed(one: Daemon) -> None:
    one.ctl("emit", "door", "Push", "by=cat")
    one.ctl("emit", "door", "Push", "by=dog")
    with Tap(one, "door", "--where", "state.times > 1 && name == 'door'") as tap:
        assert tap.next()["state"]["data"] == {"by": "dog", "times": 2}
        # Closed has no such field, and is left out; so is the first who comes after.
        one.ctl("emit", "door", "Shut")
        for name in ("ant", "cow"):
            one.ctl("emit", "door", "Push", f"by={name}")
        assert tap.next()["state"]["data"] == {"by": "cow", "times": 2}
    with Tap(one, "link:*", "door", "--where", "eventName == 'Push'") as tap:
        # The present state was entered by such an event, too. Once it has come, all that follows is seen.
        assert tap.next()["eventData"] == {"by": "cow"}
        one.ctl("emit", "door", "Shut")
        one.ctl("emit", "door", "Push", "by=hen")
        assert tap.next()["eventData"] == {"by": "hen"}
    for condition, said in (
        ("state.tims > 1", "does not fit the system 'door': column 7: "),
        ("state.times >", "column "),
        ("1 + 1", "bool"),
        ("(" * 40 + "true" + ")" * 40, "deep"),
    ):
        result = one.ctl("tap", "door", "--where", condition, check=False)
        assert result.returncode == 1 and said in result.stderr and "Traceback" not in result.stderr, result
    assert one.ctl("tap", "zzz*", "--where", "value.x == 1", "--for", "50ms").stdout == ""


def test_what_a_rate_leaves_out_is_counted(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"gate.yaml": GATE})
    with Tap(one, "gate", "--rate", "2/500ms") as tap:
        assert tap.next()["replayed"]
        for _ in range(10):
            one.ctl("emit", "gate", "Lift")
            one.ctl("emit", "gate", "Drop")
        seen = left = 0
        while seen + left < 20:
            line = tap.next()
            if line["topic"] == "leftOut":
                assert "name" not in line
                left += line["leftOut"]
            else:
                seen += 1
        assert seen + left == 20 and left > 0 and seen >= 2


def test_a_tap_of_everything_misses_nothing_of_a_busy_bus(one: Daemon) -> None:
    with Tap(one, "bus:visitor") as tap:
        tap.next()
        for number in range(100):
            one.ctl("publish", "visitor", f"guest {number}")
        values = [tap.next() for _ in range(100)]
        assert [line["value"] for line in values] == [f"guest {number}" for number in range(100)]
        assert sum(line["dropped"] for line in values) == 0


def test_the_graph_is_a_picture_with_the_present_states(one: Daemon) -> None:
    one.ctl("emit", "door", "Push", "by=<cat>", "--wait", "Open")
    picture = ET.fromstring(one.ctl("graph", "--live", "--format", "svg").stdout)
    texts = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"door", "bell", "visitor"} <= texts and "Open by=<cat> times=1" in texts
    parts = json.loads(one.ctl("graph", "--live", "--json").stdout)
    (door,) = [part for part in parts["parts"] if part["name"] == "door"]
    assert door["state"]["name"] == "Open" and door["health"] == "healthy"
    links = {link["name"] for link in parts["links"]}
    assert links == {link["name"] for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]}
    # What runs and what is written have one shape.
    written = one.ctl("graph", "--config", str(one.config)).stdout
    assert written == one.ctl("graph").stdout and "door" in written


def test_a_state_is_waited_for_and_a_late_one_is_told(one: Daemon) -> None:
    answer = json.loads(one.ctl("emit", "door", "Push", "by=cat", "--wait", "Open", "--json").stdout)
    assert answer["reached"][0]["state"]["data"] == {"by": "cat", "times": 1}
    assert one.ctl("emit", "door", "Shut", "--wait", "Closed").stdout.splitlines()[-1] == "door is in Closed"
    late = one.ctl("emit", "door", "Shut", "--wait", "Open", "--timeout", "0.3", check=False)
    assert late.returncode == 6 and "door (Open)" in late.stderr, late
    both = json.loads(
        one.ctl("publish", "alarms", "text=x", "severity=3", "--wait", "bell=Silent", "--timeout", "10", "--json").stdout
    )
    assert [each["state"]["data"] for each in both["reached"]] == [{"rung": 2}]


def test_what_a_paused_system_is_sent_waits_and_that_is_told(one: Daemon) -> None:
    one.ctl("pause", "door")
    assert "paused already since " in one.ctl("pause", "door").stdout
    sent = one.ctl("emit", "door", "Push", "by=cat").stdout
    assert "it waits: door is paused since " in sent and "until `mediatorctl resume door`" in sent
    assert "paused" in json.loads(one.ctl("emit", "door", "Push", "by=dog", "--json").stdout)
    late = one.ctl("emit", "door", "Shut", "--wait", "Open", "--timeout", "1.2", check=False)
    assert late.returncode == 6 and "door (Open), which is in Closed, paused since " in late.stderr, late
    assert "`mediatorctl resume door` lets it go on" in late.stderr
    one.ctl("resume", "door")
    assert "door is not paused" in one.ctl("resume", "door").stdout
    # The log has the act before what it leads to.
    one.wait_log("Open → Closed")
    lines = [line for line in one.log.splitlines() if "resumed by a client" in line or "Closed → Open" in line]
    assert "resumed by a client" in lines[0] and "Closed → Open" in lines[1], lines
    steps = json.loads(one.ctl("trace", "door", "--json").stdout)["steps"]
    kinds = [step["kind"] for step in steps]
    assert kinds == ["began", "paused", "resumed", "transition", "transition", "transition"], kinds
    story = json.loads(one.ctl("why", "door", "--json").stdout)["hops"]
    event, client = (next(hop for hop in story if hop["kind"] == kind) for kind in ("event", "client"))
    assert event["event"] == "Shut" and event["sent"] == client["time"] < event["time"]
    assert "(it had waited for " in event["text"]


def test_a_long_value_is_left_out_of_what_is_told(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {
            "a.yaml": """
system: heard
states: { Nothing: {}, Something: { text: string } }
events: { Hear: { text: string } }
initialState: Nothing
transitions: { any: { Hear: { to: Something, set: { text: "${event.text}" } } } }
---
buses: { words: { kind: passthrough, value: string, external: write } }
links: { hear: { attach: heard, to: words, emitEvent: { Hear: { text: "${value}" } } } }
"""
        }
    )
    for text, is_told in (("x" * 4_000, True), ("x" * 4_100, False)):
        one.ctl("publish", "words", text)
        hops = json.loads(one.ctl("why", "heard", "--json").stdout)["hops"]
        value = next(hop for hop in hops if hop["kind"] == "value")
        assert value.get("value", "left out") == (text if is_told else "left out"), value.keys()


def test_a_trace_is_followed(one: Daemon) -> None:
    command = [str(one.binaries.mediatorctl), "trace", "door", "--follow", "--json"]
    with subprocess.Popen(command, env=one.client_environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["kind"] == "began"
        for name in ("cat", "dog"):
            one.ctl("emit", "door", "Push", f"by={name}")
            assert json.loads(process.stdout.readline())["data"] == {"by": name}
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_the_files_of_the_daemon_at_a_socket_are_looked_at(one: Daemon, binaries: Binaries, tmp_path: Path) -> None:
    for verb, said in (("validate", f"{one.config} is valid: 2 systems"), ("cat-config", f"# {one.config}/")):
        assert said in one.ctl(verb, "--socket", str(one.socket)).stdout
    # Where the daemon is told a socket, it makes no directory for it.
    missing = tmp_path / "mistyped"
    result = subprocess.run(
        [binaries.mediatord, "--config", one.config, "--socket", missing / "s"], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 4 and f"there is no directory '{missing}' for the control socket" in result.stderr
    assert not missing.exists()


# From another machine.


def remote(one: Daemon, *arguments: str, host: str = "other", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(one.binaries.mediatorctl), *arguments],
        env={**os.environ, "MEDIATORD_HOST": host, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def stand_in(one: Daemon, tmp_path: Path) -> Path:
    """A program in the place of ssh, which runs the command on this machine and notes its arguments."""
    path = tmp_path / "ssh"
    path.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nwhile [ "$1" != -- ]; do shift; done\n'
        f"PATH={one.binaries.mediatorctl.parent}:$PATH MEDIATORD_SOCKET={one.socket}\n"
        'export PATH MEDIATORD_SOCKET; exec sh -c "$3"\n'
    )
    path.chmod(0o755)
    return path


def test_another_machine_is_reached_over_ssh(one: Daemon, stand_in: Path) -> None:
    ssh = {"MEDIATORCTL_SSH": str(stand_in)}
    status = remote(one, "status", "--json", **ssh)
    assert status.returncode == 0 and json.loads(status.stdout)["pid"] == one.pid, status
    assert remote(one, "tap", "door", "--count", "1", **ssh).stdout.endswith("is Closed\n")
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", **ssh)
    assert waited.stdout.endswith("door is in Open by=cat times=1\n"), waited
    named = remote(one, "--host", "else@where", "list", "--socket", str(one.socket), host="", **ssh)
    assert named.returncode == 0, named
    arguments = (stand_in.parent / "arguments").read_text().splitlines()
    assert arguments[0] == "-T -x -o ClearAllForwardings=yes -- other mediatorctl bridge"
    assert arguments[-1].endswith(f"-- else@where mediatorctl bridge --socket '{one.socket}'")
    # A socket that is named is one of this machine.
    assert remote(one, "status", "--socket", str(one.socket), **ssh).returncode == 0
    assert len((stand_in.parent / "arguments").read_text().splitlines()) == len(arguments)


@pytest.mark.parametrize(
    ("script", "host", "code", "said"),
    [
        (None, "other", 69, "cannot be run"),
        ("#!/bin/sh\necho 'ssh: no route' >&2; exit 255\n", "other", 69, "no connection to mediatord on 'other'"),
        ("#!/bin/sh\necho 'mediatorctl: not found' >&2; exit 127\n", "other", 69, "mediatorctl must be there, too"),
        ("#!/bin/sh\necho Welcome; exec cat\n", "other", 69, "on 'other'"),
        ("#!/bin/sh\nexec sleep 100\n", "other", 69, "does not answer in time"),
        ("#!/bin/sh\nexec cat\n", "-oProxyCommand=x", 2, "no name of a machine"),
    ],
)
def test_what_is_wrong_with_another_machine_is_told(
    one: Daemon, tmp_path: Path, script: str | None, host: str, code: int, said: str
) -> None:
    path = tmp_path / "ssh"
    if script:
        path.write_text(script)
        path.chmod(0o755)
    result = remote(one, "status", "--timeout", "1", host=host, MEDIATORCTL_SSH=str(path))
    assert result.returncode == code and said in result.stderr, result


@pytest.fixture
def ssh_server(one: Daemon, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A real server on the loopback, for this user with a key of the test's."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if not server:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no sshd; install openssh-server", pytrace=False)
        pytest.skip("there is no sshd on this machine")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized")
    Path("/run/sshd").mkdir(exist_ok=True)
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "sshd.conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        f'SetEnv PATH="{one.binaries.mediatorctl.parent}:/usr/bin:/bin" MEDIATORD_SOCKET={one.socket}\n'
    )
    process = subprocess.Popen(
        [server, "-D", "-e", "-f", tmp_path / "sshd.conf"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "Server listening" in line:
            break
    client = tmp_path / "ssh"
    client.write_text(
        f"#!/bin/sh\nexec ssh -F none -p {port} -i {tmp_path}/user -o IdentitiesOnly=yes -o BatchMode=yes "
        f'-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR "$@"\n'
    )
    client.chmod(0o755)
    try:
        yield {"MEDIATORCTL_SSH": str(client)}
    finally:
        process.terminate()
        process.communicate(timeout=10)


def test_a_real_ssh_carries_everything(one: Daemon, ssh_server: dict[str, str]) -> None:
    # The shell of the user may have much to do before it begins.
    patient = ("--timeout", "100")
    status = remote(one, "status", "--json", *patient, host="127.0.0.1", **ssh_server)
    assert status.returncode == 0 and json.loads(status.stdout)["pid"] == one.pid, status
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", *patient, host="127.0.0.1", **ssh_server)
    assert waited.returncode == 0 and "door is in Open" in waited.stdout, waited
    gone = remote(
        one, "status", "--host", "127.0.0.1", "--socket", "/nowhere/x", *patient, host="", **ssh_server
    )
    assert gone.returncode == 69 and "Is mediatord running on this machine?" in gone.stderr, gone
