"""Updates of a state in place, as an administrator sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from daemon import Daemon
from waiting import eventually

TANK = """
system: tank
states: { Idle: {}, Filling: { used: int } }
events: { Start: {}, Measured: { used: int }, Stop: {} }
fromOutside: any
initialState: Idle
feedbacks: { report: { onState: Filling, every: 100ms, log: "level ${state.used}" } }
transitions:
  Idle: { Start: { to: Filling, set: { used: 0 } }, Measured: stay, Stop: stay }
  Filling: { Measured: { set: { used: "${event.used}" } }, Start: stay, Stop: Idle }
---
buses:
  level: { kind: currentValue, value: int, initial: -1, fromOutside: read }
  entries: { kind: currentValue, value: int, initial: -1, fromOutside: read }
links:
  follow: { attach: tank, to: level, onState: Filling, on: change, emitValue: "${state.used}" }
  enter: { attach: tank, to: entries, onState: Filling, emitValue: "${state.used}" }
"""


def summary(one: Daemon) -> dict:
    return json.loads(one.ctl("show", "tank", "--json").stdout)["system"]["summary"]


def test_an_update_changes_data_and_enters_nothing(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"tank.yaml": TANK})
    one.ctl("emit", "tank", "Start", "--wait", "Filling")
    since = summary(one)["since"]
    for used in (5, 5, 7):
        one.ctl("emit", "tank", "Measured", f"used={used}")
    eventually(lambda: summary(one)["counters"]["updates"] == 3)
    assert summary(one)["since"] == since and summary(one)["counters"]["transitions"] == 1
    assert summary(one)["state"] == {"name": "Filling", "data": {"used": 7}}
    # The timer that began with the state reports what is so now.
    one.wait_log("level 7")
    values = {name: json.loads(one.ctl("show", name, "--json").stdout)["bus"]["summary"]["value"] for name in ("level", "entries")}
    assert values == {"level": 7, "entries": 0}
    fired = {link["name"]: link["fired"] for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]}
    assert fired == {"follow": 3, "enter": 1}


def test_an_update_is_told_by_every_verb_that_looks(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"tank.yaml": TANK})
    one.ctl("emit", "tank", "Start", "--wait", "Filling")
    one.ctl("emit", "tank", "Measured", "used=5")
    eventually(lambda: summary(one)["counters"]["updates"] == 1)
    shown = one.ctl("show", "tank").stdout
    assert "1 transition, 1 update, 0 unhandled" in shown
    assert re.search(r"Filling +Measured +in place", shown), shown
    assert "tank: Filling, on change → bus level" in one.ctl("list", "links").stdout
    why = one.ctl("why", "tank").stdout.splitlines()
    assert re.match(
        r"tank is in Filling \{ used: 5 \}, which it entered from Idle on Start at .+, and which was updated at ", why[0]
    ), why
    assert why[1] == "  by the event Measured { used: 5 }"
    (hop, *_) = json.loads(one.ctl("why", "tank", "--json").stdout)["hops"]
    assert hop["entered"] == summary(one)["since"] <= hop["time"] and "previous" not in hop
    steps = json.loads(one.ctl("trace", "tank", "--json").stdout)["steps"]
    (step,) = [step for step in steps if step["kind"] == "update"]
    assert step["text"] == "updated to Filling { used: 5 } on Measured { used: 5 }"
    answer = one.ctl("why-not", "tank", "Measured").stdout
    assert "Measured would update Filling in place." in answer, answer
    assert 'mediatord_system_updates_total{system="tank"} 1' in one.ctl("metrics").stdout


def test_an_update_enters_no_state_that_somebody_waits_for(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"tank.yaml": TANK})
    one.ctl("emit", "tank", "Start", "--wait", "Filling")
    waited = one.ctl(
        "emit", "tank", "Measured", "used=5", "--wait", "Filling", "--timeout", "4s", check=False
    )
    assert waited.returncode == 6 and "has not entered it again" in waited.stderr, waited.stderr
    assert summary(one)["state"]["data"] == {"used": 5}


def test_an_update_survives_a_reload_and_a_restart_of_its_system(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"tank.yaml": TANK})
    one.ctl("emit", "tank", "Start", "--wait", "Filling")
    one.ctl("emit", "tank", "Measured", "used=5")
    eventually(lambda: summary(one)["counters"]["updates"] == 1)
    since = summary(one)["since"]
    (one.config / "tank.yaml").write_text(TANK.replace("level ${state.used}", "now ${state.used}"))
    one.ctl("reload")
    assert summary(one)["since"] == since
    one.wait_log("now 5")
    one.ctl("emit", "tank", "Measured", "used=6")
    one.wait_log("now 6")
    why = one.ctl("why", "tank").stdout
    assert "entered from Idle on Start" in why, why


def test_a_link_learns_to_follow_updates_while_it_runs(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"tank.yaml": TANK})
    one.ctl("emit", "tank", "Start", "--wait", "Filling")
    one.ctl("set", "enter", "on=change")
    one.ctl("attach", "third", "--system", "tank", "--to", "level", "--on-state", "Filling", "--on", "change",
            "--emit-value", "${state.used}")
    one.ctl("emit", "tank", "Measured", "used=8")

    def value(bus: str) -> int:
        return json.loads(one.ctl("show", bus, "--json").stdout)["bus"]["summary"]["value"]

    eventually(lambda: value("entries") == 8 and value("level") == 8)
    # The option contradicts the definition.
    refused = one.ctl(
        "attach", "fourth", "{ attach: tank, to: level, onState: Filling, on: entry, emitValue: 1 }", "--on", "change",
        check=False,
    )
    assert refused.returncode == 2 and "--on" in refused.stderr, refused.stderr
