"""Looking into the daemon and steering it, through the socket and through mediatorctl."""

from __future__ import annotations

import grp
import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable

import pytest

from daemon import Daemon
from door_and_bell import CONFIGURATION, show, tap
from varlink_socket import VarlinkSocket
from waiting import WAIT, eventually


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def test_the_socket_is_for_its_owner_only(one: Daemon) -> None:
    # Where there is no group mediatord, and nobody else is granted anything.
    readers = {entry.gr_gid for entry in grp.getgrall() if entry.gr_name == "mediatord"}
    assert stat.S_IMODE(os.stat(one.socket).st_mode) == (0o660 if readers else 0o600)


def test_status_tells_how_everything_is(one: Daemon) -> None:
    result = one.ctl("status")
    assert "healthy" in result.stdout and "door" in result.stdout and "bell" in result.stdout
    status = json.loads(one.ctl("status", "--json").stdout)
    assert status["health"] == "healthy"
    assert status["pid"] == one.pid
    assert [system["name"] for system in status["systems"]] == ["bell", "door"]


def test_status_tells_why_a_system_is_not_well(daemon: Callable[..., Daemon]) -> None:
    door = CONFIGURATION["door.yaml"] + "health: { Open: degraded }\nfromOutside: any\n"
    one = daemon({"door.yaml": door})
    assert one.ctl("status").returncode == 0
    one.ctl("emit", "door", "Push", "by=cat")
    # The event may not have been taken yet.
    eventually(lambda: one.ctl("status", check=False).returncode != 0)
    result = one.ctl("status", check=False)
    assert "door: degraded since " in result.stdout and ": its state is 'Open'\n" in result.stdout
    assert one.wait_status(lambda text: "1 degraded" in text)
    summary = show(one, "door")["summary"]
    assert summary["healthReason"] == "its state is 'Open'" and summary["healthSince"] == summary["since"]
    one.ctl("emit", "door", "Shut")
    eventually(lambda: one.ctl("status", check=False).returncode == 0)
    assert "healthReason" not in show(one, "door")["summary"]


def test_list_tells_what_there_is(one: Daemon) -> None:
    text = one.ctl("list").stdout
    for name in ("door", "bell", "visitor", "alarms", "announce", "ring-for-boss"):
        assert name in text


def test_a_system_bus_and_link_can_be_shown(one: Daemon) -> None:
    door = show(one, "door")
    assert door["summary"]["state"]["name"] == "Closed"
    assert {"name": "by", "type": "string"} in next(s for s in door["states"] if s["name"] == "Open")["fields"]
    assert door["links"] == ["announce", "ring"]
    assert door["source"].endswith("door.yaml:1:1") or "door.yaml:1" in door["source"]
    visitor = show(one, "visitor")
    assert visitor["summary"]["value"] == "nobody"
    assert visitor["summary"]["kind"] == "currentValue"
    link = show(one, "ring-for-alarm")
    assert link["condition"] == "value.severity > 2"
    assert link["summary"]["fired"] == 0


def test_an_event_travels_over_bus_and_link(one: Daemon) -> None:
    def push() -> None:
        one.ctl("emit", "door", "Push", "by=boss")

    changes = tap(one, "bell", 3, push)
    # The bell rings for the link from the door, and for the value on the bus.
    assert [change["state"]["data"]["rung"] for change in changes] == [0, 1, 2]
    assert [change["replayed"] for change in changes] == [True, False, False]
    assert changes[1]["event"] == "Ring"
    assert show(one, "door")["summary"]["state"] == {"name": "Open", "data": {"by": "boss", "times": 1}}
    assert show(one, "visitor")["summary"]["value"] == "boss"
    assert show(one, "announce")["summary"]["fired"] == 1


def test_a_bus_is_watched_from_its_value_on(one: Daemon) -> None:
    changes = tap(one, "visitor", 3, lambda: [one.ctl("publish", "visitor", text) for text in ("ann", "bob")])
    assert [change["value"] for change in changes] == ["nobody", "ann", "bob"]
    assert [change["replayed"] for change in changes] == [True, False, False]


def test_a_bus_of_structures_is_published_to_by_fields(one: Daemon) -> None:
    one.ctl("publish", "alarms", "text=smoke", "severity=3")
    one.wait_log("value published by a client")
    tapped = tap(one, "bell", 1, lambda: None)
    assert tapped[0]["state"]["name"] == "Silent"
    assert show(one, "ring-for-alarm")["summary"]["fired"] == 1
    one.ctl("publish", "alarms", '{"text": "steam", "severity": 1}')
    assert show(one, "ring-for-alarm")["summary"]["fired"] == 1
    assert show(one, "alarms")["summary"]["published"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("emit", "dor", "Push"), 1, "door"),
        (("emit", "door", "Pusch", "by=x"), 1, "Push"),
        (("emit", "door", "Push", "bye=x"), 1, "by"),
        (("emit", "door", "Push"), 1, "by"),
        (("publish", "visitors", "x"), 1, "visitor"),
        (("publish", "alarms", "text=x", "severity=high"), 1, "severity"),
        (("show", "dorr"), 1, "door"),
        (("tap", "nothing-like-it"), 1, "nothing-like-it"),
        (("emit",), 2, "mediatorctl emit"),
        (("no-such-verb",), 2, "no-such-verb"),
    ],
)
def test_what_is_asked_wrongly_changes_nothing(
    one: Daemon, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = one.ctl(*arguments, check=False)
    assert result.returncode == code, result.stdout + result.stderr
    assert message in result.stderr
    assert result.stdout == ""
    summary = show(one, "door")["summary"]
    assert summary["counters"]["events"] == 0


def test_a_program_is_told_what_stands_in_the_way(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {
            "door.yaml": """\
system: door
states: { Closed: {}, Broken: {} }
events: { Push: {}, Break: { by: int } }
fromOutside: any
initialState: Closed
mailbox: { limit: 2 }
supervision: { onFault: stop }
transitions:
  Closed:
    Push: stay
    Break: { to: Broken, when: 1 / event.by > 0 }
"""
        }
    )

    def emit(event: str, **fields: int) -> dict:
        with VarlinkSocket(one.socket) as client:
            client.call("io.mediatord.Control.Emit", {"system": "door", "event": event, "data": fields})
            reply = client.reply()
            assert reply is not None
            return reply

    one.ctl("pause", "door")
    replies = [emit("Push") for _ in range(3)]
    assert [reply.get("error") for reply in replies[:2]] == [None, None]
    assert replies[2]["error"] == "io.mediatord.Control.NotAccepted"
    assert (replies[2]["parameters"]["obstacle"], replies[2]["parameters"]["name"]) == ("full", "door")
    one.ctl("resume", "door")
    emit("Break", by=0)
    one.wait_log("division")
    # That the system has ended is known a moment after the line of the log. Until then its mailbox takes two more events.
    eventually(lambda: emit("Push").get("parameters", {}).get("obstacle") == "ended")
    assert "mediatorctl restart door" in emit("Push")["parameters"]["reason"]


def test_without_a_daemon_the_client_says_what_to_do(one: Daemon) -> None:
    result = subprocess.run(
        [one.binaries.mediatorctl, "status", "--socket", one.directory / "nobody"], capture_output=True, text=True
    )
    assert result.returncode == 69
    assert "mediatord" in result.stderr and "nobody" in result.stderr


def test_a_tap_ends_when_the_daemon_does(one: Daemon) -> None:
    command = [str(one.binaries.mediatorctl), "tap", "door", "--socket", str(one.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "Closed" in process.stdout.readline()
        one.stop()
        _, errors = process.communicate(timeout=WAIT)
        assert process.returncode == 69
        assert errors


@pytest.mark.parametrize(
    "verb",
    [
        ("status",),
        ("reload",),
        ("attach", "more", "{ attach: door, toSystem: bell, onState: Open, emitEvent: Ring }"),
        ("detach", "ring"),
        ("set", "ring", "onState=Closed"),
        ("cat-config", "--running"),
    ],
    ids=lambda verb: verb[0],
)
def test_a_daemon_that_does_not_answer_is_given_up_in_time(one: Daemon, verb: tuple[str, ...]) -> None:
    one.signal(signal.SIGSTOP)
    try:
        result = one.ctl(*verb, "--timeout", "0.5", check=False)
    finally:
        one.signal(signal.SIGCONT)
    assert result.returncode == 69
    assert "does not answer in time" in result.stderr
