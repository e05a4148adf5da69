"""A door and a bell with buses and links between them, and what tests ask of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from daemon import Daemon
from waiting import WAIT

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
        rest, errors = process.communicate(timeout=WAIT)
        assert process.returncode == 0, errors
        return lines + [json.loads(line) for line in rest.splitlines()]
