"""The stores that later daemons must open, as `stores` keeps them, and a program that makes the next one.

    .build/venv/bin/python Tests/Integration/stored.py [SUFFIX]

The program lets the daemon of the debug build make stores. It adds them to a directory with the number of their format, or with
that number and a suffix.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon import STOPPED, Binaries, Daemon
from previous import AT_ONCE, kill
from waiting import eventually

STORES = Path(__file__).resolve().parent / "stores"
DEBUG = Path(__file__).resolve().parents[2] / ".build" / "debug"
# How the daemon that made a store ended: it closed the store, or it was killed and has left a log.
ENDS = ("closed", "killed")

KINDS = """\
system: kinds
description: A state with a field of each type.
persist: state
states:
  Empty: {}
  Full:
    yes: bool
    no: bool
    least: int
    most: int
    positive: uint
    third: double
    tiny: double
    endless: double
    text: string
    nothing: string
    moment: timestamp
    wait: duration
    numbers: list(int)
    none: list(string)
    table: map(string, int)
    deep: map(string, list(double))
    waits: list(duration)
events: { Fill: {} }
fromOutside: any
initialState: Empty
transitions:
  Empty:
    Fill:
      to: Full
      set:
        yes: true
        no: false
        least: -9223372036854775808
        most: 9223372036854775807
        positive: 18446744073709551615
        third: "${1.0 / 3.0}"
        tiny: 5e-324
        endless: "${-1.0 / 0.0}"
        text: "ein \\"Wort\\", 語, 🙂\\n\\ttab"
        nothing: ""
        moment: "2026-12-24T18:00:00.123456789Z"
        wait: -1h30m0.000000001s
        numbers: [3, -1, 2]
        none: []
        table: { one: 1, "zwei Wörter": 2 }
        deep: { halves: [0.5, 1.5], none: [] }
        waits: [1ms, 2h]
"""

BUSES = """\
buses:
  a.bool: { kind: currentValue, value: bool, initial: false, fromOutside: both, persist: true }
  an.int: { kind: currentValue, value: int, initial: 0, fromOutside: both, persist: true }
  a.uint: { kind: currentValue, value: uint, initial: 0, fromOutside: both, persist: true }
  a.double: { kind: currentValue, value: double, initial: 0.0, fromOutside: both, persist: true }
  a.string: { kind: currentValue, value: string, initial: "", fromOutside: both, persist: true }
  a.timestamp: { kind: currentValue, value: timestamp, initial: "1970-01-01T00:00:00Z", fromOutside: both, persist: true }
  a.duration: { kind: currentValue, value: duration, initial: 0s, fromOutside: both, persist: true }
  a.list: { kind: currentValue, value: list(string), initial: [], fromOutside: both, persist: true }
  a.map: { kind: currentValue, value: "map(string, list(int))", initial: {}, fromOutside: both, persist: true }
  a.structure:
    kind: currentValue
    value: { name: string, works: bool, since: timestamp }
    initial: { name: "", works: false, since: "1970-01-01T00:00:00Z" }
    fromOutside: both
    persist: true
  untouched: { kind: currentValue, value: int, initial: 7, fromOutside: both, persist: true }
"""
VALUES = {
    "a.bool": "true",
    "an.int": "-42",
    "a.uint": "18446744073709551615",
    "a.double": "0.1",
    "a.string": "filling",
    "a.timestamp": "2026-12-24T18:00:00.5Z",
    "a.duration": "1h30m",
    "a.list": '["one", "two, three"]',
    "a.map": '{"even": [2, 4], "none": []}',
    "a.structure": '{"name": "fibre", "works": true, "since": "2026-12-24T18:00:00Z"}',
}

# A receiver that counts what a link shows to it, so a value that comes twice is noticed.
LEDGER = """\
system: ledger
persist: state
states: { Counting: { n: int, last: int } }
events: { Note: { value: int } }
initialState: { Counting: { n: 0, last: 0 } }
transitions:
  Counting:
    Note: { to: Counting, set: { n: "${state.n + 1}", last: "${event.value}" } }
---
links:
  note: { attach: ledger, from: an.int, emitEvent: { Note: { value: "${value}" } } }
"""

# A system that has ended begins in its initial state at the next start.
FRAIL = """\
system: frail
persist: state
states: { Working: { n: int } }
events: { Add: {}, Divide: {} }
fromOutside: any
initialState: { Working: { n: 0 } }
supervision: { onFault: stop }
transitions:
  Working:
    Add: { to: Working, set: { n: "${state.n + 1}" } }
    Divide: { to: Working, set: { n: "${1 / (state.n - state.n)}" } }
"""

CONFIG = {"kinds.yaml": KINDS, "buses.yaml": BUSES, "ledger.yaml": LEDGER, "frail.yaml": FRAIL}


def described(one: Daemon, name: str) -> dict[str, Any]:
    """The state of a system or the value of a bus, as `mediatorctl show` has it."""
    (found,) = json.loads(one.ctl("show", name, "--json").stdout).values()
    summary = found["summary"]
    return {key: summary[key] for key in ("state", "valueType", "value", "since") if key in summary}


def everything(one: Daemon) -> dict[str, dict[str, Any]]:
    """All systems and buses."""
    listed = json.loads(one.ctl("store", "--json").stdout)["store"]["parts"]
    return {part["name"]: described(one, part["name"]) for part in listed}


@dataclass(frozen=True)
class Fixture:
    """A store of a format, with its configuration and what a daemon must find in it."""

    # The version of the format, and maybe a suffix.
    name: str
    end: str

    @property
    def version(self) -> int:
        return int(self.name.partition("-")[0])

    @property
    def directory(self) -> Path:
        return STORES / self.name / self.end

    @property
    def noted(self) -> dict[str, dict[str, Any]]:
        return json.loads(self.directory.with_suffix(".json").read_text())

    @property
    def config(self) -> dict[str, str]:
        folder = STORES / self.name / "config"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    def copy(self, store: Path, socket: Path) -> None:
        """Puts the store and the copy of its head where a daemon looks for them."""
        store.mkdir(mode=0o700)
        for path in self.directory.iterdir():
            target = Path(f"{socket}.head") if path.name == "head" else store / path.name
            shutil.copyfile(path, target)
            target.chmod(0o600)


def fixtures() -> list[Fixture]:
    """All stores, with the newest last."""
    found = [Fixture(path.name, end) for path in sorted(STORES.iterdir()) if path.is_dir() for end in ENDS]
    return sorted(found, key=lambda fixture: fixture.version)


def version_of(store: Path) -> int:
    with sqlite3.connect(f"file:{store}/db?immutable=1", uri=True) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    return version


def fill(one: Daemon) -> None:
    """Gives each part its state or value."""
    one.ctl("emit", "kinds", "Fill", "--wait", "Full")
    for name, value in VALUES.items():
        one.ctl("publish", name, "--", value)
    one.ctl("emit", "frail", "Add", "--wait", "Working")
    one.ctl("emit", "frail", "Divide")
    eventually(lambda: described(one, "ledger")["state"]["data"] == {"n": 2, "last": -42})
    eventually(lambda: is_stored(one))


def change(one: Daemon) -> None:
    """Gives some parts another state or value, which only the log has after a kill."""
    one.ctl("publish", "a.string", "full")
    one.ctl("publish", "an.int", "42")
    eventually(lambda: described(one, "ledger")["state"]["data"] == {"n": 3, "last": 42})
    eventually(lambda: is_stored(one))


def is_stored(one: Daemon) -> bool:
    store = json.loads(one.ctl("store", "--json").stdout)["store"]
    return store["pending"] == 0 and all(part["persistence"]["stored"] or part["name"] == "frail" for part in store["parts"])


def make(binaries: Binaries, end: str, folder: Path) -> int:
    """Makes a store, its configuration and its notes in a folder. Returns the version of its format."""
    store, socket = folder / "store", folder / "control"
    noted = {}
    for act in (fill, change)[: 1 if end == "closed" else 2]:
        one = Daemon(binaries, CONFIG, ("--store", str(store), *AT_ONCE), socket=socket)
        try:
            one.wait_ready()
            act(one)
            noted = everything(one) | {"frail": {"state": {"name": "Working", "data": {"n": 0}}}}
            if act == change:
                kill(one)
            else:
                assert one.stop() == STOPPED
        finally:
            one.discard()
    shutil.copyfile(f"{socket}.head", store / "head")
    for path in list(store.iterdir()):
        # Nothing is in the file with the lock, and in the log after the end.
        if path.stat().st_size == 0:
            path.unlink()
    (folder / "notes.json").write_text(json.dumps(noted, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
    return version_of(store)


def main() -> None:
    binaries = Binaries(DEBUG / "mediatord", DEBUG / "mediatorctl")
    for end in ENDS:
        with tempfile.TemporaryDirectory(prefix="mediatord-") as name:
            version = make(binaries, end, Path(name))
            fixture = Fixture("-".join([str(version), *sys.argv[1:]]), end)
            assert not fixture.directory.exists(), f"{fixture.directory} is there already, and stays as it is"
            shutil.copytree(Path(name) / "store", fixture.directory)
            shutil.copyfile(Path(name) / "notes.json", fixture.directory.with_suffix(".json"))
            config = STORES / fixture.name / "config"
            config.mkdir(exist_ok=True)
            for file, text in CONFIG.items():
                (config / file).write_text(text)
            print(f"made {fixture.directory}")


if __name__ == "__main__":
    main()
