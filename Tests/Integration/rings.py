"""Persisted systems in rings, which pass numbers on: what they act on, what their store has, and faults in between.

In each ring a system with a number emits it over a persisted bus to a reader. The reader emits it to an actor, whose command
writes the number to a file. Then the actor lets the first system go on to the next number. A number that is lost ends the ring,
and readers and actors count each number that is not the next one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import children, end_children
from daemon import Binaries, Daemon
from waiting import WAIT, eventually

RING = """\
system: NAME-source
persist: state
states: { At: { n: int, text: string } }
events: { Next: { n: int } }
initialState: { At: { n: 1, text: number 1 } }
transitions:
  At:
    Next:
      - when: event.n == state.n && state.n < GOAL
        to: At
        set: { n: "${state.n + 1}", text: "number ${state.n + 1}" }
      - { to: stay }
---
system: NAME-reader
persist: state
states: { At: { n: int, wrong: int } }
events: { Heard: { n: int } }
initialState: { At: { n: 0, wrong: 0 } }
transitions:
  At:
    Heard: { to: At, set: { n: "${event.n}", wrong: "${event.n == state.n + 1 ? state.wrong : state.wrong + 1}" } }
---
system: NAME-actor
persist: state
states: { Acting: { n: int, wrong: int }, Done: { n: int, wrong: int } }
events: { Heard: { n: int }, Acted: {} }
initialState: { Done: { n: 0, wrong: 0 } }
feedbacks:
  act: { onState: Acting, run: [sh, -c, "echo $1 >>$2", sh, "${string(state.n)}", FILE], onSuccess: Acted, onFailure: log }
transitions:
  Acting: { Acted: Done }
  any:
    Heard: { to: Acting, set: { n: "${event.n}", wrong: "${event.n == state.n + 1 ? state.wrong : state.wrong + 1}" } }
---
buses: { NAME.numbers: { kind: currentValue, value: int, initial: 0, persist: true } }
links:
  NAME-1: { attach: NAME-source, to: NAME.numbers, onState: At, emitValue: "${state.n}" }
  NAME-2: { attach: NAME-reader, from: NAME.numbers, when: value > 0, emitEvent: { Heard: { n: "${value}" } } }
  NAME-3:
    { attach: NAME-reader, toSystem: NAME-actor, onState: At, when: state.n > 0, emitEvent: { Heard: { n: "${state.n}" } } }
  NAME-4: { attach: NAME-actor, toSystem: NAME-source, onState: Done, emitEvent: { Next: { n: "${state.n}" } } }
"""
# The states of three systems, one of them twice, and the value of a bus.
CHANGES = 5
NAMES = ("a", "b")

# What only a store says whose states are not those that were there, or that does not take new ones.
NOT_STORED = "states are not stored"
TROUBLE = (NOT_STORED, "damaged", "lost", "starts without its stored state")


def troubles(one: Daemon) -> list[str]:
    """The lines of the log about trouble of the store. Other lines have names of directories, with any words."""
    lines = [line for line in one.log.splitlines() if line.split()[1:2] in (["warning"], ["error"], ["critical"])]
    return [line for line in lines if any(word in line for word in TROUBLE)]


class Rings:
    """Two rings, which share the commits of a store, up to a number."""

    def __init__(self, folder: Path, goal: int) -> None:
        self.folder = folder
        self.goal = goal
        self.store = folder / "store"
        self.trace = folder / "trace"

    @property
    def config(self) -> dict[str, str]:
        def text(name: str) -> str:
            return RING.replace("NAME", name).replace("GOAL", str(self.goal)).replace("FILE", str(self.file(name)))

        return {f"{name}.yaml": text(name) for name in NAMES}

    def file(self, name: str) -> Path:
        return self.folder / f"acted-{name}"

    @contextmanager
    def life(self, binaries: Binaries, inject: str | None = None) -> Iterator[Daemon]:
        """A daemon over the store, and a fault at a call that strace counts. `-D` leaves the daemon as the test's process."""
        calls = "trace=pwrite64,fdatasync,fsync,ftruncate"
        strace = ("strace", "-D", "-f", "-y", "-o", str(self.trace), "-e", calls, "-e", f"inject={inject}")
        arguments = ("--store", str(self.store), "--stop-limit", "0")
        # The record of the last change is beside the socket.
        with life(binaries, self.config, arguments, self.folder / "control", wrapper=strace if inject else ()) as one:
            yield one

    def acted(self, name: str) -> list[int]:
        """The numbers that the command has written."""
        path = self.file(name)
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_goal(self, one: Daemon) -> bool:
        """Waits until the commands of all rings have written the last number. Returns whether the daemon still runs."""
        return self.wait(one, lambda: all(self.goal in self.acted(name) for name in NAMES))

    def wait(self, one: Daemon, is_there: Callable[[], bool]) -> bool:
        """Waits for something, or for the end of the daemon. Returns whether the daemon still runs."""
        try:
            eventually(lambda: one.process.poll() is not None or is_there())
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.stored()}\n{one.log}") from None
        return one.process.poll() is None

    def stored(self) -> dict[str, dict[str, Any]]:
        """What a copy of the store has of each part, read without a daemon."""
        return stored(self.store)

    def coming(self, name: str) -> list[int]:
        """The numbers that the command of the next daemon writes if that goes on from what is stored.

        The command of an actor that had not heard of its end begins again, and no other one does.
        """
        actor = self.stored().get(f"{name}-actor")
        last = fields(actor).get("n", 0)
        return [*([last] if actor and actor["state"] == "Acting" else []), *range(last + 1, self.goal + 1)]

    def check(self, *, is_complete: bool = False) -> None:
        """Checks that the store has all that was acted on, and that nothing was doubled."""
        parts = self.stored()
        for name in NAMES:
            source, reader, actor = (fields(parts.get(f"{name}-{kind}")) for kind in ("source", "reader", "actor"))
            value = parts.get(f"{name}.numbers", {}).get("value", 0)
            acted = self.acted(name)
            seen = (name, parts, acted)
            numbers = [source.get("n", 0), value, reader.get("n", 0), actor.get("n", 0), max(acted, default=0)]
            # Each one has acted on the one before it.
            assert numbers == sorted(numbers, reverse=True), seen
            assert not source or source["text"] == f"number {source['n']}", seen
            assert reader.get("wrong", 0) == actor.get("wrong", 0) == 0, seen
            # A command begins again when its state is entered again, and no earlier one does.
            assert acted == sorted(acted), seen
            if is_complete:
                assert numbers == [self.goal] * 5 and set(acted) == set(range(1, self.goal + 1)), seen


@contextmanager
def life(
    binaries: Binaries, config: dict[str, str], arguments: Sequence[str], socket: Path, wrapper: Sequence[str] = ()
) -> Iterator[Daemon]:
    """A daemon that leaves no process behind, however it ends."""
    before = children()
    one = Daemon(binaries, config, arguments=arguments, socket=socket, wrapper=wrapper)
    try:
        yield one
    finally:
        one.discard()
        # Commands of a daemon that was killed end by themselves, and so does strace.
        left = end_children(children() - before, grace=WAIT)
    assert not left, left


def stored(store: Path) -> dict[str, dict[str, Any]]:
    """The stored states and values. A copy is read, because SQLite may write to what it reads."""
    with tempfile.TemporaryDirectory() as copy:
        for path in store.glob("db*"):
            shutil.copy(path, copy)
        database = sqlite3.connect(Path(copy) / "db")
        try:
            if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'part'").fetchone():
                return {}
            return {name: json.loads(body) for name, body in database.execute("SELECT name, body FROM part")}
        finally:
            database.close()


def fields(part: dict[str, Any] | None) -> dict[str, Any]:
    return {field["name"]: field["value"] for field in part["fields"]} if part else {}
