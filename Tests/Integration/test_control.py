"""Looking into the daemon and steering it, through the socket and through mediatorctl."""

from __future__ import annotations

import grp
import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import varlink

from daemon import Daemon
from varlink_socket import VarlinkSocket

# Two systems, both kinds of buses, every form of link, and a command.
CONFIGURATION = {
    "door.yaml": """\
system: door
description: Is it open?
states: { Closed: {}, Open: { by: string, times: int } }
events: { Push: { by: string }, Shut: {} }
initialState: Closed
transitions:
  Closed:
    Push: { to: Open, set: { by: "${event.by}", times: 1 } }
  Open:
    Push: { to: Open, set: { by: "${event.by}", times: "${state.times + 1}" } }
    Shut: Closed
""",
    "bell.yaml": """\
system: bell
states: { Silent: { rung: int } }
events: { Ring: {}, Hear: { text: string } }
initialState: { Silent: { rung: 0 } }
feedbacks:
  echo:
    onState: Silent
    when: state.rung > 0
    run: [echo, "ding ${state.rung}"]
    onLine: { Hear: { text: "${result.line}" } }
transitions:
  Silent:
    Ring: { to: Silent, set: { rung: "${state.rung + 1}" } }
    Hear: stay
""",
    "wiring.yaml": """\
buses:
  visitor: { kind: currentValue, value: string, initial: nobody }
  alarms: { kind: passthrough, value: { text: string, severity: int } }
links:
  announce: { attach: door, to: visitor, onState: Open, emitValue: "${state.by}" }
  ring: { attach: door, toSystem: bell, onState: Open, emitEvent: Ring }
  ring-for-boss: { attach: bell, to: visitor, onValue: boss, emitEvent: Ring }
  ring-for-alarm: { attach: bell, to: alarms, when: value.severity > 2, emitEvent: Ring }
""",
}


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def show(one: Daemon, name: str) -> dict:
    (described,) = json.loads(one.ctl("show", name, "--json").stdout).values()
    return described


def tap(one: Daemon, name: str, count: int, then: Callable[[], None]) -> list[dict]:
    """Watches until there have been so many changes; `then` is called when the first has arrived."""
    command = [str(one.binaries.mediatorctl), "tap", name, "--json", "--count", str(count)]
    with subprocess.Popen(command, env=one.client_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline())]
        then()
        rest, errors = process.communicate(timeout=20)
        assert process.returncode == 0, errors
        return lines + [json.loads(line) for line in rest.splitlines()]


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
    while (result := one.ctl("status", check=False)).returncode == 0:
        pass
    assert "door: degraded since " in result.stdout and ": its state is 'Open'\n" in result.stdout
    assert one.wait_status(lambda text: "1 degraded" in text)
    summary = show(one, "door")["summary"]
    assert summary["healthReason"] == "its state is 'Open'" and summary["healthSince"] == summary["since"]
    one.ctl("emit", "door", "Shut")
    while one.ctl("status", check=False).returncode != 0:
        pass
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
    # That the system has ended is known a moment after the line of the log.
    reply = next((reply for _ in range(500) if "error" in (reply := emit("Push"))), None)
    assert reply is not None
    assert reply["parameters"]["obstacle"] == "ended" and "mediatorctl restart door" in reply["parameters"]["reason"], reply


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
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 69
        assert errors


# python-varlink, an implementation that is not ours.


@pytest.fixture
def library(one: Daemon) -> Iterator[varlink.client.SimpleClientInterfaceHandler]:
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client, client.open("io.mediatord.Control") as control:
        yield control


def test_python_varlink_reads_the_interface(one: Daemon) -> None:
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client:
        assert "io.mediatord.Control" in client.get_interfaces()
        with client.open("org.varlink.service") as service:
            assert service.GetInfo()["product"] == "mediatord"
            text = service.GetInterfaceDescription("io.mediatord.Control")["description"]
            assert "method WatchBus" in text
        interface = client.get_interface("io.mediatord.Control")
        assert interface is not None


def test_python_varlink_lists_and_describes(library: varlink.client.SimpleClientInterfaceHandler) -> None:
    assert [system["name"] for system in library.ListSystems()["systems"]] == ["bell", "door"]
    assert {bus["name"] for bus in library.ListBuses()["buses"]} == {"visitor", "alarms"}
    assert len(library.ListLinks()["links"]) == 4
    assert library.DescribeSystem("door")["system"]["initialState"] == "Closed"
    assert library.DescribeBus("alarms")["bus"]["fields"][1] == {"name": "severity", "type": "int"}
    assert library.DescribeLink("announce")["link"]["summary"]["bus"] == "visitor"
    with pytest.raises(varlink.VarlinkError) as failure:
        library.DescribeSystem("dorr")
    assert failure.value.error() == "io.mediatord.Control.NoSuchSystem"
    assert failure.value.parameters()["nearest"] == "door"


def test_python_varlink_watches_while_another_publishes(one: Daemon) -> None:
    # Twenty lines: watch a bus, publish to it.
    with (
        varlink.Client.new_with_address(f"unix:{one.socket}") as watching,
        varlink.Client.new_with_address(f"unix:{one.socket}") as publishing,
        watching.open("io.mediatord.Control") as watch,
        publishing.open("io.mediatord.Control") as control,
    ):
        changes = watch.WatchBus("visitor", _more=True)
        first = next(changes)
        assert (first["value"], first["replayed"]) == ("nobody", True)
        for name in ("ann", "bob"):
            control.Publish("visitor", name)
            change = next(changes)
            assert (change["value"], change["replayed"]) == (name, False)
        states = watch_state(one)
        control.Emit("door", "Push", {"by": "carl"})
        assert next(states)["state"]["data"]["by"] == "carl"


def watch_state(one: Daemon) -> Iterator[dict]:
    connection = VarlinkSocket(one.socket)
    connection.call("io.mediatord.Control.WatchSystem", {"name": "door"}, more=True)
    first = connection.reply()
    assert first is not None and first["continues"] and first["parameters"]["state"]["name"] == "Closed"

    def rest() -> Iterator[dict]:
        with connection:
            while (reply := connection.reply()) is not None:
                yield reply["parameters"]

    return rest()


# Clients that misbehave.


def descriptors(one: Daemon) -> int:
    return len(list(Path(f"/proc/{one.pid}/fd").iterdir()))


def resident_kilobytes(one: Daemon) -> int:
    for line in Path(f"/proc/{one.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


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
    before = resident_kilobytes(one)
    with VarlinkSocket(one.socket) as connection:
        sent = 0
        try:
            while sent < 100_000_000:
                connection.send(b"x" * 65536)
                sent += 65536
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 10_000_000, "the daemon read on"
    assert resident_kilobytes(one) - before < 20_000
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
    # A connection is gone when the daemon has seen its end: ask until it has, within the limit of the tests.
    for _ in range(200):
        one.ctl("status", "--json")
        if descriptors(one) <= before + 1:
            break
    assert descriptors(one) <= before + 1


def test_a_watcher_that_does_not_read_slows_nobody(one: Daemon) -> None:
    with VarlinkSocket(one.socket) as lazy, VarlinkSocket(one.socket) as busy:
        lazy.call("io.mediatord.Control.WatchBus", {"name": "visitor"}, more=True)
        first = lazy.reply()
        assert first is not None and first["parameters"]["value"] == "nobody"
        before = resident_kilobytes(one)
        text = "x" * 1000
        for number in range(20_000):
            busy.call("io.mediatord.Control.Publish", {"bus": "visitor", "value": f"{number} {text}"})
            reply = busy.reply()
            assert reply is not None and "error" not in reply
        assert resident_kilobytes(one) - before < 20_000
        # What it missed, it is told.
        values = []
        dropped = 0
        while not values or not values[-1].startswith("19999 "):
            reply = lazy.reply()
            assert reply is not None
            values.append(reply["parameters"]["value"])
            dropped += reply["parameters"]["dropped"]
        assert len(values) + dropped == 20_000


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
