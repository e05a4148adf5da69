"""Drawing the parts, waiting for states, and what the daemon says of a system and its past."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from door_and_bell import CONFIGURATION
from varlink_socket import VarlinkSocket
from waiting import WAIT, eventually


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


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
    late = one.ctl("emit", "door", "Shut", "--wait", "Open", "--timeout", "4", check=False)
    assert late.returncode == 6 and "door (Open)" in late.stderr, late
    both = json.loads(
        one.ctl("publish", "alarms", "text=x", "severity=3", "--wait", "bell=Silent", "--timeout", "120", "--json").stdout
    )
    assert [each["state"]["data"] for each in both["reached"]] == [{"rung": 2}]


def test_what_a_paused_system_is_sent_waits_and_that_is_told(one: Daemon) -> None:
    one.ctl("pause", "door")
    assert "paused already since " in one.ctl("pause", "door").stdout
    sent = one.ctl("emit", "door", "Push", "by=cat").stdout
    assert "it waits: door is paused since " in sent and "until `mediatorctl resume door`" in sent
    assert "paused" in json.loads(one.ctl("emit", "door", "Push", "by=dog", "--json").stdout)
    late = one.ctl("emit", "door", "Shut", "--wait", "Open", "--timeout", "4", check=False)
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


def test_the_files_of_the_daemon_at_a_socket_are_looked_at(one: Daemon, binaries: Binaries, tmp_path: Path) -> None:
    for verb, said in (("validate", f"{one.config} is valid: 2 systems"), ("cat-config", f"# {one.config}/")):
        assert said in one.ctl(verb, "--socket", str(one.socket)).stdout
    # Where the daemon is told a socket, it makes no directory for it.
    missing = tmp_path / "mistyped"
    result = subprocess.run(
        [binaries.mediatord, "--config", one.config, "--socket", missing / "s"], capture_output=True, text=True, timeout=WAIT
    )
    assert result.returncode == 4 and f"there is no directory '{missing}' for the control socket" in result.stderr
    assert not missing.exists()


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
        capture_output=True, text=True, timeout=WAIT,
    )  # fmt: skip
    assert result.returncode == 69 and not lure.exists(), result


def test_a_wait_in_vain_says_that_the_state_was_there_already(one: Daemon) -> None:
    late = one.ctl("emit", "door", "Shut", "--wait", "Closed", "--timeout", "4", check=False)
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


def test_a_command_that_has_failed_is_told_to_who_waits_and_by_why_not(daemon: Callable[..., Daemon]) -> None:
    one = daemon({
        "dump.yaml": """\
system: dump
states: { Idle: {}, Dumping: {} }
events: { Start: {}, Done: {} }
fromOutside: Start
initialState: Idle
feedbacks:
  dump: { onState: Dumping, run: [sh, -c, "exit 7"], onSuccess: Done }
transitions: { Idle: { Start: Dumping }, Dumping: { Done: Idle } }
"""
    })  # fmt: skip
    late = one.ctl("emit", "dump", "Start", "--wait", "Idle", "--timeout", "8", check=False)
    assert late.returncode == 6
    reason = "onFailure, exit code 7; no rule handles it"
    assert re.search(rf"dump \(Idle\), which is in Dumping, degraded: feedback dump, .*: {reason}\n", late.stderr), late
    told = one.ctl("why-not", "dump", "Done").stdout
    assert re.search(r"\n +no: it ended with onFailure, exit code 7, at \d.*\n +it emits Done on onSuccess\n", told), told


def test_who_waits_for_a_state_is_told_that_it_was_sent_when_the_daemon_stops(one: Daemon) -> None:
    # Shut is dropped where the door is closed, so that nothing is entered.
    waiting = subprocess.Popen(
        [one.binaries.mediatorctl, "emit", "door", "Shut", "--wait", "Open", "--timeout", "60"],
        env=one.client_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + WAIT
    while json.loads(one.ctl("show", "door", "--json").stdout)["system"]["summary"]["counters"]["events"] == 0:
        assert time.monotonic() < deadline
    one.signal(signal.SIGTERM)
    output, error = waiting.communicate(timeout=WAIT)
    assert waiting.returncode == 69 and not output, (output, error)
    assert "it was sent, but its effect cannot be seen: " in error, error


def test_a_directory_to_plan_has_no_nul_in_its_name(one: Daemon) -> None:
    with VarlinkSocket(one.socket) as client:
        client.call("io.mediatord.Control.Plan", {"directory": f"{one.config}\0x"})
        reply = client.reply()
    assert reply == {"error": "org.varlink.service.InvalidParameter", "parameters": {"parameter": "directory"}}, reply


def test_what_waits_for_its_time_is_listed_for_all_systems(daemon: Callable[..., Daemon]) -> None:
    one = daemon({
        "lamps.yaml": """\
system: lamps
states: { Off: {}, On: { room: string }, Dark: {} }
events: { Light: { room: string }, Break: {} }
fromOutside: any
initialState: Off
supervision: { onFault: restart, delay: 1h, maxDelay: 1h }
feedbacks:
  dim: { onState: On, after: 30m, key: "${state.room}", strategy: continueOnNewState, log: "dim ${state.room}" }
  look:
    { onState: On, every: 20m, strategy: continueOnNewState, run: { command: ["false"], timeout: 5s },
      retry: { times: 3, delay: 10m, jitter: 0 }, onFailure: log }
transitions:
  any: { Light: { to: On, set: { room: "${event.room}" } } }
  On:
    Break: { to: On, set: { room: "${string(1 / (size(state.room) - size(state.room)))}" } }
    always: { when: state.room == "attic", for: 40m, to: Dark }
---
system: clock
states: { Ticking: {} }
events: { Reset: {} }
fromOutside: any
initialState: Ticking
feedbacks: { strike: { onState: Ticking, every: 15m, log: cuckoo } }
transitions: { Ticking: { Reset: Ticking } }
"""
    })  # fmt: skip
    for room in ["hall", "attic"]:
        one.ctl("emit", "lamps", "Light", f"room={room}", "--wait", "On")

    def waits() -> list[dict[str, str]]:
        return list(json.loads(one.ctl("list", "--waits", "--json").stdout)["waits"])

    eventually(lambda: any(wait["kind"] == "retry" for wait in waits()))
    listed = waits()
    assert [(each["system"], each.get("feedback"), each.get("key"), each["kind"]) for each in listed] == [
        ("lamps", "look", None, "retry"),
        ("clock", "strike", None, "every"),
        ("lamps", "look", None, "every"),
        ("lamps", "dim", "hall", "after"),
        ("lamps", "dim", "attic", "after"),
        ("lamps", None, None, "for"),
    ]
    assert listed == sorted(listed, key=lambda each: each["due"])
    assert listed[1]["action"] == "every 15m: log cuckoo", listed
    text = one.ctl("list", "--waits").stdout.splitlines()
    assert text[0].split() == ["SYSTEM", "FEEDBACK", "KEY", "WAIT", "UNTIL", "THEN"]
    assert re.match(r"clock +strike +every +\d\d:\d\d:\d\d \(in 15 min\) +every 15m: log cuckoo$", text[2]), text
    system = json.loads(one.ctl("show", "lamps", "--json").stdout)["system"]
    assert system["waits"] == [each for each in listed if each["system"] == "lamps"]
    # The column NEXT has those of schedules without a key.
    shown = one.ctl("show", "clock").stdout
    assert "(in 15 min)" in shown and "waits\n" not in shown, shown
    assert "\nwaits\n" in one.ctl("show", "lamps").stdout
    one.ctl("emit", "lamps", "Break")
    eventually(lambda: [each["kind"] for each in waits()] == ["every", "restart"])
    one.ctl("restart", "lamps")
    assert [each["kind"] for each in waits()] == ["every"]
    wrong = one.ctl("list", "buses", "--waits", check=False)
    assert wrong.returncode == 2 and "leave the kind out" in wrong.stderr, wrong
