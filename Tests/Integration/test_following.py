"""Following systems, buses and links with `tap`, and the steps of a system with `trace`."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable

import pytest

from daemon import Daemon
from door_and_bell import CONFIGURATION
from varlink_socket import VarlinkSocket
from waiting import WAIT

GATE = """\
system: gate
states: { Down: {}, Up: { times: int } }
events: { Lift: {}, Drop: {} }
initialState: Down
transitions: { Down: { Lift: { to: Up, set: { times: 1 } } }, Up: { Drop: Down } }
"""


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


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
        self.process.communicate(timeout=WAIT)


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


def test_a_trace_is_followed(one: Daemon) -> None:
    command = [str(one.binaries.mediatorctl), "trace", "door", "--follow", "--json"]
    with subprocess.Popen(command, env=one.client_environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["kind"] == "began"
        for name in ("cat", "dog"):
            one.ctl("emit", "door", "Push", f"by={name}")
            assert json.loads(process.stdout.readline())["data"] == {"by": name}
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT) == 0


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
