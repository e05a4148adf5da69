"""The systems and links of the tests that change links, and what those tests ask of the daemon."""

from __future__ import annotations

import json

from daemon import Daemon

DOOR = """\
system: door
states: { Closed: { times: int }, Open: { by: string, times: int } }
events: { Push: { by: string }, Shut: {} }
fromOutside: any
initialState: { Closed: { times: 0 } }
transitions:
  Closed:
    Push: { to: Open, set: { by: "${event.by}", times: "${state.times + 1}" } }
  Open:
    Push: { to: Open, set: { by: "${event.by}", times: "${state.times + 1}" } }
    Shut: Closed
persist: none
"""

BELL = """\
system: bell
states: { Silent: { rung: int } }
events: { Ring: {} }
fromOutside: any
initialState: { Silent: { rung: 0 } }
transitions: { Silent: { Ring: { to: Silent, set: { rung: "${state.rung + 1}" } } } }
persist: none
"""

WIRING = """\
buses:
  visitor: { kind: currentValue, value: string, initial: nobody, fromOutside: both, persist: false }
  orders: { kind: passthrough, value: int, fromOutside: both }
links:
  # The comment of an administrator.
  announce: { attach: door, to: visitor, onState: Open, emitValue: "${state.by}" }
  ring: { attach: bell, to: visitor, onValue: boss, emitEvent: Ring }
"""

CONFIGURATION = {"door.yaml": DOOR, "bell.yaml": BELL, "wiring.yaml": WIRING}

OWN = "90-mediatorctl.yaml"

SYSTEM_TO_SYSTEM = "{ attach: door, toSystem: bell, onState: Open, emitEvent: Ring }"


def links(one: Daemon) -> dict[str, dict]:
    return {link["name"]: link for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]}


def status(one: Daemon) -> dict:
    return json.loads(one.ctl("status", "--json", check=False).stdout)


def files(one: Daemon) -> dict[str, str]:
    return {
        str(path.relative_to(one.config)): path.read_text() for path in sorted(one.config.rglob("*")) if path.is_file()
    }


def state(one: Daemon, name: str) -> dict:
    (system,) = (system for system in status(one)["systems"] if system["name"] == name)
    return system["state"]["data"]


def refused(one: Daemon, *arguments: str, input: str | None = None) -> str:
    """What is printed of a change that is rejected, after a look that it changed nothing."""
    before = (links(one), files(one), status(one)["generation"], status(one)["transient"])
    result = one.ctl(*arguments, check=False, input=input)
    assert result.returncode == 1, result
    assert (links(one), files(one), status(one)["generation"], status(one)["transient"]) == before
    return result.stdout + result.stderr
