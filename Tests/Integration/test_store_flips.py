"""A store in which a bit has flipped: a real daemon for each bit. It starts, and never has a wrong state without a message."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from daemon import STOPPED, Binaries, Daemon
from previous import kill
from rings import life
from varlink_socket import VarlinkSocket
from waiting import eventually

SYSTEMS = [f"counter-{number}" for number in range(12)]
BUSES = [f"level-{number}" for number in range(4)]
# The changes before the flip. Some are only in the log of the database.
CHANGES = 80
FLIPS = 1000 * int(os.environ.get("SOAK_FACTOR", "1"))
# What the daemon says of a store that is not as it was.
TROUBLE = (
    "is damaged", "states in the store are missing", "instead of", "has lost its last", "states are not stored",
    "starts without its stored state", "the store is another one", "the store is empty",
    "cannot read the record of the last change",
)


def text(number: int) -> str:
    """What a state has beside its number, so that a mixture of two states is noticed. It fills a part of a page."""
    return f"number {number} " * 10


CONFIG = {
    f"{name}.yaml": f"""\
system: {name}
persist: state
states: {{ At: {{ n: int, text: string }} }}
events: {{ Set: {{ n: int, text: string }} }}
fromOutside: any
initialState: {{ At: {{ n: 0, text: "" }} }}
transitions: {{ At: {{ Set: {{ to: At, set: {{ n: "${{event.n}}", text: "${{event.text}}" }} }} }} }}
"""
    for name in SYSTEMS
} | {
    "buses.yaml": "buses:\n" + "".join(
        f"  {name}: {{ kind: currentValue, value: string, initial: '', fromOutside: both, persist: true }}\n" for name in BUSES
    )
}


class Place:
    """A store, and the record of its last change beside the socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        self.store = folder / "store"
        self.socket = folder / "control"

    @contextmanager
    def life(self, binaries: Binaries) -> Iterator[Daemon]:
        with life(binaries, CONFIG, ("--store", str(self.store)), self.socket) as one:
            one.wait_ready()
            yield one

    def files(self) -> list[Path]:
        """The files with contents, in a fixed order."""
        paths = [self.store / "db", self.store / "db-wal", self.socket.with_name("control.head")]
        return [path for path in paths if path.exists() and path.stat().st_size > 0]

    def copy(self, folder: Path) -> Place:
        other = Place(folder)
        other.store.mkdir(mode=0o700)
        for path in self.files():
            shutil.copy(path, other.folder / path.relative_to(self.folder))
        return other

    def flip(self, bit: int) -> str:
        """Flips a bit, which is counted through all files. Returns its place."""
        for path in self.files():
            content = bytearray(path.read_bytes())
            if bit < 8 * len(content):
                content[bit // 8] ^= 1 << bit % 8
                path.write_bytes(content)
                return f"{path.name}, byte {bit // 8}, bit {bit % 8}"
            bit -= 8 * len(content)
        raise AssertionError("no such bit")


def seen(one: Daemon) -> dict[str, Any]:
    """Each system with its state and the time of its entry, and each bus with its value."""
    with VarlinkSocket(one.socket) as connection:
        connection.call("io.mediatord.Control.ListSystems")
        connection.call("io.mediatord.Control.ListBuses")
        systems, buses = connection.reply(), connection.reply()
    assert systems and buses
    found = {system["name"]: (system["state"]["data"], system["since"]) for system in systems["parameters"]["systems"]}
    return found | {bus["name"]: bus["value"] for bus in buses["parameters"]["buses"]}


def change(one: Daemon, seed: int) -> None:
    """Sets numbers, and waits until the last ones are seen, which is no earlier than they are stored."""
    numbers = random.Random(seed)
    last: dict[str, int] = {}
    with VarlinkSocket(one.socket) as connection:
        for number in range(1, CHANGES + 1):
            name = numbers.choice(SYSTEMS + BUSES)
            data = {"n": number, "text": text(number)}
            if name in BUSES:
                connection.call("io.mediatord.Control.Publish", {"bus": name, "value": text(number)})
            else:
                connection.call("io.mediatord.Control.Emit", {"system": name, "event": "Set", "data": data})
            reply = connection.reply()
            assert reply and "error" not in reply, reply
            last[name] = number
            # Each change has a commit of its own.
            eventually(lambda: value_of(seen(one)[name]) == text(number))
    assert {name: value_of(value) for name, value in seen(one).items() if name in last} == {
        name: text(number) for name, number in last.items()
    }


def value_of(value: Any) -> str:
    return value if isinstance(value, str) else value[0]["text"]


@pytest.mark.nightly
@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_flipped_bit_never_makes_a_wrong_state_without_a_message(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], seed: int, end: str
) -> None:
    begin = time.monotonic()
    whole = Place(tmp_path / "whole")
    with whole.life(binaries) as one:
        change(one, seed)
        expected = seen(one)
        if end == "closed":
            assert one.stop() == STOPPED
        else:
            kill(one)
    size = sum(path.stat().st_size for path in whole.files())
    texts = {"", *(text(number) for number in range(1, CHANGES + 1))}
    outcomes: Counter[str] = Counter()
    bits = random.Random(seed).sample(range(8 * size), FLIPS // 2)
    for number, bit in enumerate([None, *bits]):
        place = whole.copy(tmp_path / f"flipped-{number}")
        flipped = place.flip(bit) if bit is not None else "none"
        with place.life(binaries) as two:
            now = seen(two)
            kill(two)
        told = [line for line in two.log.splitlines() if any(word in line for word in TROUBLE)]
        wrong = {name: value for name, value in now.items() if value != expected[name]}
        assert now.keys() == expected.keys(), (flipped, two.log)
        assert told or not wrong, (flipped, wrong, two.log)
        assert bit is not None or not told, told
        for name, value in now.items():
            # Not even with a message may there be a state that never was.
            assert value_of(value) in texts, (flipped, name, value)
            if isinstance(value, tuple):
                assert value[0]["text"] == (text(value[0]["n"]) if value[0]["n"] else ""), (flipped, name, value)
        if bit is not None:
            outcomes["wrong and told" if wrong else "told" if told else "harmless"] += 1
        shutil.rmtree(place.folder)
    assert outcomes["wrong and told"] > 0, outcomes
    sizes = {path.name: path.stat().st_size for path in whole.files()}
    say(f"{len(bits)} flipped bits of a store that was {end}, {sizes}: {dict(outcomes)}, in {time.monotonic() - begin:.0f} s")
