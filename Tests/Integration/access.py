"""The users of the tests about rights, what each may do, and how a test acts as one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from daemon import Daemon
from varlink_socket import VarlinkSocket

SYSTEM = """\
system: {name}
states: {{ A: {{}}, B: {{ n: int }} }}
events: {{ Go: {{ n: int }} }}
fromOutside: any
initialState: A
transitions: {{ any: {{ Go: {{ to: B, set: {{ n: "${{event.n}}" }} }} }} }}
"""

WIRING = """\
buses:
  alarms: { kind: currentValue, value: string, initial: none, fromOutside: both }
  level: { kind: passthrough, value: int, fromOutside: both }
links:
  ring: { attach: bell, to: level, onState: B, emitValue: "${state.n}" }
"""

ACCESS = """\
access:
  read: { groups: [60001] }
  inject:
    - { users: [60002], systems: ["do*"], buses: [alarms] }
    - { groups: [60003] }
  administer: { users: [60004] }
"""

CONFIGURATION = {
    "door.yaml": SYSTEM.format(name="door"),
    "bell.yaml": SYSTEM.format(name="bell"),
    "wiring.yaml": WIRING,
}

# Each method: the right that it needs, and parameters with which it can be called.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Status": ("read", {}),
    "ListSystems": ("read", {}),
    "DescribeSystem": ("read", {"name": "door"}),
    "ListBuses": ("read", {}),
    "DescribeBus": ("read", {"name": "alarms"}),
    "ListLinks": ("read", {}),
    "ListWaits": ("read", {}),
    "DescribeLink": ("read", {"name": "ring"}),
    "WatchSystem": ("read", {"name": "door"}),
    "WatchBus": ("read", {"name": "alarms"}),
    "Watch": ("read", {"patterns": ["door"]}),
    "ListChanges": ("read", {}),
    "ReadMetrics": ("read", {}),
    "DescribeKinds": ("read", {}),
    "ReadLogLevel": ("read", {}),
    "Why": ("read", {"name": "door"}),
    "WhyNot": ("read", {"name": "door", "event": "Go"}),
    "Trace": ("read", {"name": "door"}),
    "Emit": ("inject", {"system": "door", "event": "Go", "data": {"n": 1}}),
    "Publish": ("inject", {"bus": "alarms", "value": "red"}),
    "RestartSystem": ("administer", {"name": "door"}),
    "ResetSystem": ("administer", {"name": "door"}),
    "PauseSystem": ("administer", {"name": "bell"}),
    "ResumeSystem": ("administer", {"name": "bell"}),
    "SetLogLevel": ("administer", {}),
    "Plan": ("administer", {}),
    "Reload": ("administer", {}),
    "AttachLink": ("administer", {"link": "ring", "settings": [], "dryRun": True}),
    "DetachLink": ("administer", {"link": "ring", "dryRun": True}),
    "SetLink": ("administer", {"link": "ring", "settings": [], "dryRun": True}),
    "ReadConfiguration": ("administer", {}),
    "DescribeStore": ("read", {}),
    "CheckStore": ("administer", {}),
    "ExportStore": ("administer", {}),
    "ForgetStored": ("administer", {"part": "system", "name": "door"}),
}
# Those that this daemon refuses to everybody, because nothing in its configuration persists.
WITHOUT_STORE = {"CheckStore", "ExportStore", "ForgetStored"}

# Those who try: user, group, supplementary groups, and what they may.
PEERS: dict[str, tuple[int, int, list[int], set[str]]] = {
    "root": (0, 0, [], {"read", "inject", "administer"}),
    "reader by a supplementary group": (60010, 60010, [5, 60001, 7], {"read"}),
    "injector by name, into some": (60002, 60010, [], {"read", "inject"}),
    "injector by group": (60011, 60003, [], {"read", "inject"}),
    "administrator": (60004, 60010, [], {"read", "inject", "administer"}),
    "stranger": (60099, 60099, [60098], set()),
}

DENIED = "org.varlink.service.PermissionDenied"


@contextlib.contextmanager
def acting_as(user: int, group: int, groups: list[int]) -> Iterator[None]:
    """What is connected within this has these credentials: the kernel notes them then."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def connect(one: Daemon, peer: str) -> VarlinkSocket:
    user, group, groups, _ = PEERS[peer]
    with acting_as(user, group, groups):
        return VarlinkSocket(one.socket)


def answer(one: Daemon, peer: str, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The first reply to a call over a connection of its own."""
    flags = {"more": True} if method in ("ReadConfiguration", "Watch", "ExportStore") else {}
    with connect(one, peer) as connection:
        connection.call(f"io.mediatord.Control.{method}", parameters, **flags)
        reply = connection.reply()
        assert reply is not None
        return reply
