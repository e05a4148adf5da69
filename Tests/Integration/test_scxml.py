"""The cases of the SCION test framework for SCXML that need no parallel regions, data model, `send` or `invoke`."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Daemon
from waiting import eventually

CASES = Path(__file__).parents[3] / "shared" / "scion"
NAMESPACE = "{http://www.w3.org/2005/07/scxml}"

# What the configuration has no word for.
LEFT_OUT = {
    "an event raised by a transition": ["send1", "send7", "send7b", "send8", "send8b", "send9"],
    "an event raised at the exit of a state": ["send2"],
    "names of events that match by prefix": ["star0", "test0", "test1"],
}


def cases() -> list[str]:
    if not CASES.is_dir():
        return []
    return (CASES / "in-scope.txt").read_text().split()


def is_left_out(case: str) -> str | None:
    folder, name = case.removesuffix(".scxml").split("/")
    for reason, names in LEFT_OUT.items():
        place = "scxml-prefix-event-name-matching" if "prefix" in reason else "actionSend"
        if folder == place and name in names:
            return reason
    return None


class Machine:
    """A machine in SCXML as a system of the configuration."""

    def __init__(self, name: str, root: ElementTree.Element) -> None:
        self.name = name
        self.paths: dict[str, str] = {}
        self.lines: list[str] = []
        self.initial: dict[str, str] = {}
        self.histories: dict[str, str] = {}
        self.events: set[str] = set()
        self.feedbacks: list[str] = []
        self.rules: list[str] = []
        for state in self.states(root):
            self.place(state, "")
        first = next(self.states(root)).get("id")
        self.start = self.paths[root.get("initial") or first or ""]
        for state in root.iter(f"{NAMESPACE}state"):
            self.read(state)

    @staticmethod
    def states(node: ElementTree.Element) -> Iterator[ElementTree.Element]:
        return node.iterfind(f"{NAMESPACE}state")

    @staticmethod
    def word(name: str) -> str:
        return "S" + re.sub(r"\W", "_", name)

    def place(self, state: ElementTree.Element, around: str) -> None:
        name = state.get("id") or f"unnamed{len(self.paths)}"
        state.set("id", name)
        path = around + self.word(name)
        self.paths[name] = path
        self.lines.append(f"  {path}: {{}}")
        for history in state.iterfind(f"{NAMESPACE}history"):
            self.histories[history.get("id", "")] = path + (".history*" if history.get("type") == "deep" else ".history")
        for inner in self.states(state):
            self.place(inner, path + ".")

    def read(self, state: ElementTree.Element) -> None:
        path = self.paths[state.get("id", "")]
        first = state.get("initial") or next(
            (each.get("target") for each in state.iterfind(f"{NAMESPACE}initial/{NAMESPACE}transition")), None)
        if first:
            self.initial[path] = self.paths[first].removeprefix(f"{path}.")
        for target in state.iterfind(f"{NAMESPACE}history/{NAMESPACE}transition"):
            self.initial[f"{path}.history"] = self.paths[target.get("target", "")].removeprefix(f"{path}.")
        for raised in state.iterfind(f"{NAMESPACE}onentry/{NAMESPACE}raise"):
            event = self.word(raised.get("event", ""))
            self.events.add(event)
            self.feedbacks.append(f"  f{len(self.feedbacks)}: {{ onState: {path}, emit: {event} }}")
        rules: dict[str, list[str]] = {}
        for rule in state.iterfind(f"{NAMESPACE}transition"):
            target = rule.get("target", "")
            to = self.histories.get(target) or self.paths[target]
            for event in (rule.get("event") or "").split() or ["always"]:
                key = event if event == "always" else self.word(event)
                rules.setdefault(key, []).append(to)
                if key != "always":
                    self.events.add(key)
        # Without a condition the first rule of an event always holds.
        entries = ", ".join(f"{event}: {targets[0]}" for event, targets in rules.items())
        if entries:
            self.rules.append(f"  {path}: {{ {entries} }}")

    def text(self, events: list[str]) -> str:
        events = sorted(self.events | {self.word(event) for event in events})
        initial = ", ".join(f"{key}: {value}" for key, value in self.initial.items())
        parts = [
            f"system: {self.name}", "states:", *self.lines, f"events: {{ {', '.join(f'{event}: {{}}' for event in events)} }}",
            "fromOutside: any" if events else "", f"initialState: {self.start}",
            f"initial: {{ {initial} }}" if initial else "",
        ]
        if self.feedbacks:
            parts += ["feedbacks:", *self.feedbacks]
        if self.rules:
            parts += ["transitions:", *self.rules]
        return "\n".join(part for part in parts if part) + "\n"


def test_the_cases_are_there() -> None:
    if not cases():
        assert not os.environ.get("CI"), f"the cases of SCXML are not in {CASES}"
        pytest.skip(f"NOT TESTED: the cases of SCXML are not in {CASES}")
    assert len(cases()) == 32
    left_out = [case for case in cases() if is_left_out(case)]
    # Each of those that are left out is one of the cases.
    assert len(left_out) == sum(len(names) for names in LEFT_OUT.values()) == 10


def test_machines_in_scxml_behave_as_expected(daemon: Callable[..., Daemon]) -> None:
    names = {case: f"case-{index}" for index, case in enumerate(cases()) if not is_left_out(case)}
    if not names:
        pytest.skip("NOT TESTED: there are no cases")
    machines, scripts, files = {}, {}, {}
    for case, name in names.items():
        machines[case] = Machine(name, ElementTree.parse(CASES / case).getroot())
        scripts[case] = json.loads((CASES / case).with_suffix(".json").read_text())
        events = [step["event"]["name"] for step in scripts[case]["events"]]
        files[f"{name}.yaml"] = machines[case].text(events)
    one = daemon(files)

    def state(name: str) -> str:
        return json.loads(one.ctl("show", name, "--json").stdout)["system"]["summary"]["state"]["name"]

    for case, name in names.items():
        paths = machines[case].paths
        assert state(name) == paths[scripts[case]["initialConfiguration"][0]], case
        for step in scripts[case]["events"]:
            one.ctl("emit", name, Machine.word(step["event"]["name"]))
            expected = paths[step["nextConfiguration"][0]]
            try:
                eventually(lambda: state(name) == expected, 20)
            except AssertionError:
                pytest.fail(f"{case}: in {state(name)} and not in {expected} after {step['event']['name']}\n{files[f'{name}.yaml']}")
    assert len(names) == 22
