"""Inputs and rules of `always`, as an administrator sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from daemon import Daemon
from waiting import eventually

PUMP = """
system: pump
inputs: { power: bool, level: { type: int, default: 3 } }
states: { Off: {}, On: {}, Dry: {} }
events: { Press: {} }
fromOutside: [Press]
initialState: Off
feedbacks: { say: { onState: On, log: "pumping at ${input.level}" } }
transitions:
  Off: { Press: { to: On, when: input.power } }
  On:
    Press: Off
    always:
      - { when: "!input.power", for: 300ms, to: Off }
      - { when: input.level < 1, to: Dry }
  Dry: { Press: Off, always: { when: input.level > 2, to: On } }
---
buses:
  power: { kind: currentValue, value: bool, initial: true, fromOutside: both }
  level: { kind: passthrough, value: int, fromOutside: write }
links:
  power: { attach: pump, to: power, setInput: power }
  level: { attach: pump, to: level, setInput: level }
"""


def state(one: Daemon) -> str:
    return json.loads(one.ctl("show", "pump", "--json").stdout)["system"]["summary"]["state"]["name"]


def inputs(one: Daemon) -> dict:
    return {each["name"]: each["value"] for each in json.loads(one.ctl("show", "pump", "--json").stdout)["system"]["inputs"]}


def test_links_set_inputs_and_rules_follow_them(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"pump.yaml": PUMP})
    assert inputs(one) == {"power": True, "level": 3}
    one.ctl("publish", "power", "false")
    eventually(lambda: inputs(one)["power"] is False)
    one.ctl("emit", "pump", "Press")
    one.ctl("publish", "power", "true")
    one.ctl("publish", "level", "7")
    eventually(lambda: inputs(one) == {"power": True, "level": 7})
    assert state(one) == "Off"
    one.ctl("emit", "pump", "Press", "--wait", "On")
    one.wait_log("pumping at 7")
    one.ctl("publish", "level", "0")
    eventually(lambda: state(one) == "Dry")
    one.ctl("publish", "level", "5")
    eventually(lambda: state(one) == "On")
    one.ctl("publish", "power", "false")
    eventually(lambda: state(one) == "Off")
    why = one.ctl("why", "pump").stdout
    assert "by a rule of always: !input.power for 300ms" in why
    assert "which the link power made of a value of the bus power" in why
    hops = json.loads(one.ctl("why", "pump", "--json").stdout)["hops"]
    assert hops[1]["kind"] == "always"
    trace = one.ctl("trace", "pump").stdout
    assert re.search(r"updated to On on input.power", trace) and "On → Off on (always)" in trace, trace


def test_why_not_tells_what_an_always_waits_for(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"pump.yaml": PUMP.replace("300ms", "1h")})
    one.ctl("emit", "pump", "Press", "--wait", "On")
    text = one.ctl("why-not", "pump", "always").stdout
    assert "No rule of always applies: no condition holds." in text
    assert "no: input.level < 1 — false, input.level is 3" in text
    assert "link level: bus level → pump: input.level" in text
    one.ctl("publish", "power", "false")
    eventually(lambda: inputs(one)["power"] is False)
    text = one.ctl("why-not", "pump", "always").stdout
    assert "The rule to Off waits for its time." in text
    assert re.search(r"waits: !input.power — true, input.power is false; it has held since .*must hold for 1h; it applies at", text), text
    rules = json.loads(one.ctl("why-not", "pump", "always", "--json").stdout)["transitions"]
    assert [("due" in rule, rule["to"]) for rule in rules] == [(True, "Off"), (False, "Dry")]
    shown = one.ctl("show", "pump").stdout
    assert re.search(r"On +always +Off +!input.power for 1h", shown), shown
    assert re.search(r"power +bool +false +power", shown), shown
    assert one.ctl("why-not", "pump", "always", "x=1", check=False).returncode != 0
    assert "no event 'input.power'" in one.ctl("emit", "pump", "input.power", check=False).stderr


def test_a_reload_keeps_inputs_and_a_restart_reads_them_again(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"pump.yaml": PUMP})
    one.ctl("publish", "level", "9")
    one.ctl("publish", "power", "false")
    eventually(lambda: inputs(one) == {"power": False, "level": 9})
    (one.config / "pump.yaml").write_text(PUMP.replace("input.level > 2", "input.level > 4"))
    one.ctl("reload")
    assert inputs(one) == {"power": False, "level": 9}
    one.ctl("restart", "pump")
    eventually(lambda: inputs(one) == {"power": False, "level": 3})


def test_an_input_is_a_part_of_the_drawing_and_of_attach(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"pump.yaml": PUMP})
    drawing = one.ctl("graph").stdout
    assert "input.level" in drawing or "level" in drawing, drawing
    one.ctl("detach", "level")
    assert [each["links"] for each in json.loads(one.ctl("show", "pump", "--json").stdout)["system"]["inputs"]] == [["power"], []]
