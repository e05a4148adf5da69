"""Following many parts at once, drawing them, waiting for states, and doing so from another machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from test_control import CONFIGURATION
from varlink_socket import VarlinkSocket

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
        ("state.tims > 1", "does not fit the system 'door': column 7: 'state' (Open) has no field 'tims'; did you mean 'times'?"),
        ("state.times == 'x'", "does not fit the system 'door': column 1: '==' does not take int and string"),
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
buses: { words: { kind: passthrough, value: string, fromOutside: write } }
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
    assert arguments[-1].endswith(f"-- else@where mediatorctl bridge --socket {one.socket}")
    # A socket that is named is one of this machine.
    assert remote(one, "status", "--socket", str(one.socket), **ssh).returncode == 0
    assert len((stand_in.parent / "arguments").read_text().splitlines()) == len(arguments)


def test_a_state_is_not_missed_where_watching_begins_late(one: Daemon, tmp_path: Path) -> None:
    # Of two connections the second, over which the state is watched, takes long to come about.
    path = tmp_path / "ssh"
    path.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nmkdir {tmp_path}/first 2>/dev/null || sleep 2\n'
        f"PATH={one.binaries.mediatorctl.parent}:$PATH MEDIATORD_SOCKET={one.socket}\n"
        'export PATH MEDIATORD_SOCKET; exec sh -c "$3"\n'
    )
    path.chmod(0o755)
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", MEDIATORCTL_SSH=str(path))
    assert waited.stdout.endswith("door is in Open by=cat times=1\n"), waited
    assert (tmp_path / "first").exists()


def test_a_watch_says_when_it_has_begun(one: Daemon) -> None:
    # Of what is not there yet, too, which has nothing else to show.
    with VarlinkSocket(one.socket) as client:
        client.call("io.mediatord.Control.Watch", {"patterns": ["later"], "announce": True}, more=True)
        first = client.reply()
        assert first and first["continues"] and first["parameters"]["topic"] == "watching", first
        assert first["parameters"].keys() == {"time", "topic", "replayed", "dropped"}, first
    with VarlinkSocket(one.socket) as client:
        client.call("io.mediatord.Control.Watch", {"patterns": ["door"], "announce": False}, more=True)
        present = client.reply()
        assert present and present["parameters"]["topic"] == "state", present


@pytest.mark.parametrize(
    ("script", "host", "code", "said"),
    [
        (None, "other", 69, "cannot be run"),
        ("#!/bin/sh\necho 'ssh: no route' >&2; exit 255\n", "other", 69, "no connection to mediatord on 'other'"),
        ("#!/bin/sh\necho 'mediatorctl: not found' >&2; exit 127\n", "other", 69, "needs mediatorctl, too"),
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
    """A real server, for this user with a key of the test's."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if not server:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no sshd; install openssh-server", pytrace=False)
        pytest.skip("there is no sshd on this machine")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized")
    Path("/run/sshd").mkdir(exist_ok=True)
    (tmp_path / "sshd.conf").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        f'SetEnv PATH="{one.binaries.mediatorctl.parent}:/usr/bin:/bin" MEDIATORD_SOCKET={one.socket}\n'
    )
    # A server for each connection, over pipes: a port of the machine could be somebody else's by the time it is used.
    client = tmp_path / "ssh"
    client.write_text(
        f"#!/bin/sh\nexec ssh -F none -i {tmp_path}/user -o IdentitiesOnly=yes -o BatchMode=yes "
        f"-o 'ProxyCommand={server} -i -f {tmp_path}/sshd.conf -E {tmp_path}/sshd.log' "
        f'-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR "$@"\n'
    )
    client.chmod(0o755)
    yield {"MEDIATORCTL_SSH": str(client)}
    print((tmp_path / "sshd.log").read_text())


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


# Each of these means something to a language, and becomes one letter with the accent behind it to who counts letters.
MARKED = "".join(f"{mark}\u0301" for mark in "<>&\"'\\`#|[]{}();$")


def test_a_mark_with_an_accent_is_a_mark_to_other_programs(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    text = json.dumps(MARKED + "\uffff\ufffe")
    one = daemon({
        "a.yaml": f"""\
system: s
description: {text}
states: {{ A: {{ text: string }} }}
events: {{ E: {{ text: string }} }}
fromOutside: any
initialState: {{ A: {{ text: {text} }} }}
transitions: {{ A: {{ E: {{ to: A, set: {{ text: "${{event.text}}" }} }} }} }}
"""
    })
    one.ctl("emit", "s", "E", f"text={MARKED}")
    picture = one.ctl("graph", "--live", "--format", "svg").stdout
    texts = "".join(ET.fromstring(picture).itertext())
    assert MARKED in texts and "\ufffd\ufffd" in texts
    # Between quotes of DOT a quote has a backslash before it, and a line has an even number of others.
    for line in one.ctl("graph", "--live", "--format", "dot").stdout.splitlines():
        bare = line.replace("\\\\", "").replace('\\"', "")
        assert bare.count('"') % 2 == 0 and "\\\u0301" not in bare, line

    script = tmp_path / "ssh"
    script.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    script.chmod(0o755)
    lure = tmp_path / "lure"
    path = f"/tmp/x'\u0301; touch {lure}; : '\u0301"
    result = subprocess.run(
        [one.binaries.mediatorctl, "status", "--host", "there", "--socket", path],
        env={**one.client_environment, "MEDIATORCTL_SSH": str(script), "PATH": f"{one.binaries.mediatorctl.parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 69 and not lure.exists(), result


def test_a_wait_in_vain_says_that_the_state_was_there_already(one: Daemon) -> None:
    late = one.ctl("emit", "door", "Shut", "--wait", "Closed", "--timeout", "0.3", check=False)
    assert late.returncode == 6
    assert "door (Closed), which is in Closed and has not entered it again" in late.stderr, late.stderr
    assert "`mediatorctl trace door` shows the last steps of door" in late.stderr, late.stderr


def test_an_argument_that_is_no_text_is_refused(one: Daemon) -> None:
    for arguments in ([b"emit", b"door", b"Push", b"by=caf\xe9"], [b"--json", b"status", b"\xff"]):
        result = subprocess.run(
            [str(one.binaries.mediatorctl).encode(), *arguments], env=one.client_environment, capture_output=True
        )
        assert result.returncode == 2 and b"is not UTF-8" in result.stderr and not result.stdout, result
    assert "0 events" in one.ctl("show", "door").stdout

def test_what_an_instance_was_given_is_shown_but_for_what_comes_from_elsewhere(daemon: Callable[..., Daemon]) -> None:
    template = """\
system: vpn@
parameters:
  peer: string
  tries: { type: int, default: 3 }
  key: { type: string, default: none }
states: { Up: {} }
initialState: Up
---
instances:
  vpn@dc: { peer: dc.example.org, key: !env VPN_KEY }
  vpn@office: { peer: office.example.org, tries: 5 }
"""
    one = daemon({"vpn.yaml": template}, environment={"VPN_KEY": "s3cret"})
    described = json.loads(one.ctl("show", "vpn@dc", "--json").stdout)["system"]
    assert described["template"] == "vpn@"
    assert described["instanceParameters"] == [
        {"name": "peer", "type": "string", "value": "dc.example.org", "concealed": False},
        {"name": "tries", "type": "int", "value": 3, "concealed": False},
        {"name": "key", "type": "string", "concealed": True},
    ]
    text = one.ctl("show", "vpn@office").stdout
    assert re.search(r"^ +peer +string +office\.example\.org$", text, re.MULTILINE), text
    assert re.search(r"^ +tries +int +5$", text, re.MULTILINE), text
    assert "s3cret" not in one.ctl("show", "vpn@dc").stdout + one.log
    # What only links may use changes nothing of the system, and is shown as it is now.
    path = one.config / "vpn.yaml"
    path.write_text(path.read_text().replace("tries: 5", "tries: 6"))
    one.ctl("reload")
    described = json.loads(one.ctl("show", "vpn@office", "--json").stdout)["system"]
    assert described["instanceParameters"][1]["value"] == 6


def test_a_feedback_that_has_failed_is_told_so(daemon: Callable[..., Daemon]) -> None:
    one = daemon({
        "s.yaml": """\
system: s
states: { A: {}, B: {} }
events: { E: {} }
fromOutside: any
initialState: A
feedbacks:
  later: { onState: A, after: "${duration(string(now))}", emit: E }
transitions: { A: { E: B }, B: { E: A } }
"""
    })  # fmt: skip
    one.wait_log("is not a duration")
    told = one.ctl("why-not", "s", "E").stdout
    assert re.search(r"feedback later: .*\n +no: it failed at .*: .* is not a duration", told), told
    described = json.loads(one.ctl("show", "s", "--json").stdout)["system"]
    assert described["lastFault"].startswith("feedback later, ") and described["lastFaultTime"].endswith("Z")
    assert re.search(r"last fault +\d\d:\d\d:\d\d \(.*\): feedback later, ", one.ctl("show", "s").stdout)
    # It is told no longer once another state has been entered since.
    one.ctl("emit", "s", "E", "--wait", "B")
    assert "it failed" not in one.ctl("why-not", "s", "E").stdout


def test_who_waits_for_a_state_is_told_that_it_was_sent_when_the_daemon_stops(one: Daemon) -> None:
    # Shut is dropped where the door is closed, so that nothing is entered.
    waiting = subprocess.Popen(
        [one.binaries.mediatorctl, "emit", "door", "Shut", "--wait", "Open", "--timeout", "60"],
        env=one.client_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while json.loads(one.ctl("show", "door", "--json").stdout)["system"]["summary"]["counters"]["events"] == 0:
        assert time.monotonic() < deadline
    one.signal(signal.SIGTERM)
    output, error = waiting.communicate(timeout=60)
    assert waiting.returncode == 69 and not output, (output, error)
    assert "it was sent, but its effect cannot be seen: " in error, error


def test_a_directory_to_plan_has_no_nul_in_its_name(one: Daemon) -> None:
    with VarlinkSocket(one.socket) as client:
        client.call("io.mediatord.Control.Plan", {"directory": f"{one.config}\0x"})
        reply = client.reply()
    assert reply == {"error": "org.varlink.service.InvalidParameter", "parameters": {"parameter": "directory"}}, reply
