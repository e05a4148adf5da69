"""The disk states that a power cut can leave, rebuilt from the recorded storage calls of a daemon.

What a sync covers is there. Of all that was written since then, each part may be there or not: each write wholly or some of its
sectors, each new size of a file, and each name that was made or removed in a directory.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemon import Binaries, Daemon
from rings import NAMES, Rings, life

CALLS = "trace=openat,?mkdir,mkdirat,pwrite64,write,ftruncate,fdatasync,fsync,?rename,?renameat,renameat2,?unlink,unlinkat"
CALL = re.compile(r"(\w+)\((.*)\) += (\d+)(?:<([^>]*)>.*)?")
DESCRIPTOR = re.compile(r"\d+<([^>]*)>")
TEXT = re.compile(r'"([^"]*)"')
# The units in which a device writes: its sectors, and pages of memory.
BLOCKS = (512, 4096)
SYNCS = ("fsync(", "fdatasync(")
# The most choices at a moment.
TURNS = 1000
UNFINISHED = " <unfinished ...>"
STORE = "store"
# The number of its directory.
DIRECTORY = -1


@dataclass(frozen=True)
class Data:
    """Bytes at a place of a file. Without its new size the file does not have those behind its end."""

    file: int
    offset: int
    content: bytes


@dataclass(frozen=True)
class Size:
    file: int
    size: int


@dataclass(frozen=True)
class Names:
    """Names that were made, or removed, in one step."""

    files: tuple[tuple[str, int | None], ...]


Part = Data | Size | Names


@dataclass(frozen=True)
class Step:
    """What one call changes. A sync of its owner, a file or a directory, brings it to the disk."""

    owner: int | str
    parts: tuple[Part, ...]

    def torn(self, choose: random.Random) -> tuple[Part, ...]:
        """Some of the sectors, and maybe without the new size."""
        block = choose.choice(BLOCKS)
        pieces: list[Part] = []
        for part in self.parts:
            if not isinstance(part, Data):
                pieces.append(part)
                continue
            begin, end = part.offset, part.offset + len(part.content)
            places = sorted({begin, end, *range(begin // block * block + block, end, block)})
            pieces += (
                Data(part.file, one, part.content[one - begin:other - begin]) for one, other in zip(places, places[1:])
            )
        if choose.random() < 0.5:
            return tuple(pieces[:choose.randrange(len(pieces) + 1)])
        return tuple(piece for piece in pieces if choose.random() < 0.5)


@dataclass
class Image:
    """The names and files of a disk."""

    names: dict[str, int] = field(default_factory=dict)
    contents: dict[int, bytearray] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(files: dict[str, bytes] | None) -> Image:
        """The image with these files, or without the directory of the store."""
        image = Image()
        for number, (name, content) in enumerate((files or {}).items()):
            image.apply([Names(((f"{STORE}/{name}", number),)), Size(number, len(content)), Data(number, 0, content)])
        if files is not None:
            image.names[STORE] = DIRECTORY
        return image

    def copy(self) -> Image:
        contents = {number: bytearray(content) for number, content in self.contents.items()}
        return Image(dict(self.names), contents, dict(self.sizes))

    def apply(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Names):
                for name, number in part.files:
                    if number is None:
                        self.names.pop(name, None)
                    else:
                        self.names[name] = number
                continue
            content = self.contents.setdefault(part.file, bytearray())
            if isinstance(part, Size):
                self.sizes[part.file] = part.size
                del content[part.size:]
            else:
                content.extend(bytes(max(0, part.offset - len(content))))
                content[part.offset:part.offset + len(part.content)] = part.content

    def files(self) -> dict[str, bytes] | None:
        """The files of the store; nothing without their directory."""
        if STORE not in self.names:
            return None
        found = {}
        for name, number in self.names.items():
            if name != STORE:
                size = self.sizes.get(number, 0)
                found[Path(name).name] = bytes(self.contents.get(number, b"")[:size]).ljust(size, b"\0")
        return found


@dataclass(frozen=True)
class Moment:
    """What was known outside of the store: the numbers that commands had written, and the last change that was reported."""

    acted: tuple[tuple[str, int], ...] = ()
    reported: int = 0


@dataclass(frozen=True)
class Sync:
    owner: int | str
    name: str


@dataclass(frozen=True)
class Acted:
    name: str
    number: int


@dataclass(frozen=True)
class Reported:
    order: int


Event = Step | Sync | Acted | Reported


@dataclass(frozen=True)
class State:
    """A disk after a power cut at a moment."""

    files: dict[str, bytes] | None
    moment: Moment
    # The number of the event before the power cut.
    event: int

    def write(self, store: Path) -> None:
        """Makes the directory of the store with its files, if it is there."""
        if self.files is not None:
            store.mkdir(mode=0o700)
            for name, content in self.files.items():
                (store / name).write_bytes(content)

    def acted(self, name: str) -> list[int]:
        """The numbers that the command of a ring had written."""
        return [number for ring, number in self.moment.acted if ring == name]

    def rings(self, folder: Path, goal: int) -> Rings:
        """Rings in a new folder that go on from this state."""
        folder.mkdir()
        rings = Rings(folder, goal)
        self.write(rings.store)
        for name in NAMES:
            rings.file(name).write_text("".join(f"{number}\n" for number in self.acted(name)))
        return rings


def decoded(text: str) -> bytes:
    """The bytes that strace has printed as numbers."""
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else b""


def finished(lines: Sequence[str]) -> list[str]:
    """The calls that have returned. Each is where it began, because it may have worked since then, but a sync is at its end."""
    begun: dict[str, tuple[int, str]] = {}
    calls: list[tuple[int, str]] = []
    for place, line in enumerate(lines):
        thread, text = line.split(maxsplit=1)
        if text.endswith(UNFINISHED):
            begun[thread] = (place, text.removesuffix(UNFINISHED))
            continue
        if text.startswith("<... "):
            place_of_begin, first = begun.pop(thread)
            place = place if first.startswith(SYNCS) else place_of_begin
            text = first + text.partition(" resumed>")[2]
        calls.append((place, text))
    return [text for _, text in sorted(calls, key=lambda call: call[0])]


def chosen(pending: Sequence[Step], choose: random.Random, turn: int) -> list[Part]:
    """The parts of what is pending that have reached the disk: nothing, all, the last step alone, and then random ones."""
    if turn < 3:
        return [part for step in (pending[:0], pending, pending[-1:])[turn] for part in step.parts]
    place = choose.randrange(len(pending))
    match turn % 3:
        case 0:
            # In order, up to a torn write.
            return [*(part for step in pending[:place] for part in step.parts), *pending[place].torn(choose)]
        case 1:
            # All but one step.
            return [part for step in (*pending[:place], *pending[place + 1:]) for part in step.parts]
    share = choose.choice((0.2, 0.5, 0.8))
    steps = [step for step in pending if choose.random() < share]
    return [part for step in steps for part in (step.parts if choose.random() < 0.5 else step.torn(choose))]


class History:
    """The storage calls of lives over the same store, which may begin after a power cut. The states are those of the last life."""

    def __init__(self, rings: Rings, before: State | None = None) -> None:
        self.rings = rings
        self.before = before or State(None, Moment(), 0)
        self.events: list[Event] = []
        self.begin = 0
        # With all that was written.
        self.image = Image.of(self.before.files)
        self.folder = str(rings.folder.resolve())

    @contextmanager
    def life(self, binaries: Binaries, inject: str = "", more: dict[str, str] | None = None) -> Iterator[Daemon]:
        """Records a life, maybe with a fault at a call, or with more files of the configuration."""
        self.begin = len(self.events)
        trace = self.rings.folder / "trace"
        strace = ("strace", "-D", "-f", "-y", "-xx", "-s", str(1 << 20), "-o", str(trace), "-e", CALLS)
        if inject:
            strace += ("-e", f"inject={inject}")
        arguments = ("--store", str(self.rings.store), "--stop-limit", "0")
        config = self.rings.config | (more or {})
        with life(binaries, config, arguments, self.rings.folder / "control", wrapper=strace) as one:
            yield one
        for line in finished(trace.read_text().splitlines()):
            if found := CALL.fullmatch(line):
                self.add(*found.groups(default=""))
        there = {path.name: path.read_bytes() for path in self.rings.store.iterdir()}
        assert self.image.files() == there, "the record of the calls is not complete"
        assert {name: self.acted(name) for name in NAMES} == {name: self.rings.acted(name) for name in NAMES}

    def acted(self, name: str) -> list[int]:
        here = [event.number for event in self.events if isinstance(event, Acted) and event.name == name]
        return self.before.acted(name) + here

    def moves_log(self) -> bool:
        """Whether the last life has written to the database before the last number was written."""
        events = self.events[self.begin:]
        last = max(place for place, event in enumerate(events) if isinstance(event, Acted))
        database = self.image.names[f"{STORE}/db"]
        return any(isinstance(event, Step) and event.owner == database for event in events[:last])

    def add(self, call: str, arguments: str, result: str, opened: str) -> None:
        """Notes a call that has succeeded, if it is one of the store, or tells what was acted on."""
        if call == "openat":
            name = self.name(opened)
            if name.startswith(f"{STORE}/") and "O_CREAT" in arguments and name not in self.image.names:
                number = len(self.image.contents)
                self.image.contents[number] = bytearray()
                self.step(STORE, Names(((name, number),)))
        elif call in ("mkdir", "mkdirat", "unlink", "unlinkat") or call.startswith("rename"):
            self.add_names(call, [self.name(text) for text in TEXT.findall(arguments)])
        elif (descriptor := DESCRIPTOR.match(arguments)) and (name := self.name(descriptor[1])):
            self.add_content(call, name, arguments, result)

    def add_names(self, call: str, names: list[str]) -> None:
        if call.startswith("mkdir") and names == [STORE]:
            self.step("", Names(((STORE, DIRECTORY),)))
        elif names and names[0] in self.image.names:
            assert call.startswith("unlink"), (call, names)
            self.step(STORE, Names(((names[0], None),)))

    def add_content(self, call: str, name: str, arguments: str, result: str) -> None:
        files = {self.rings.file(ring).name: ring for ring in NAMES}
        if call == "write" and name in files:
            self.events.append(Acted(files[name], int(decoded(TEXT.findall(arguments)[0]))))
        elif call == "pwrite64" and name == "control.head":
            # The order of the last commit, which is written before it is reported.
            self.events.append(Reported(int.from_bytes(decoded(TEXT.findall(arguments)[0])[32:40], "little")))
        elif call in ("fsync", "fdatasync") and name in (".", STORE, *self.image.names):
            owner = {".": "", STORE: STORE}.get(name)
            self.events.append(Sync(self.image.names[name] if owner is None else owner, Path(name).name))
        elif name in self.image.names and name != STORE:
            number = self.image.names[name]
            size = self.image.sizes.get(number, 0)
            if call == "ftruncate":
                self.step(number, Size(number, int(arguments.rpartition(", ")[2])))
            elif call == "pwrite64":
                content = decoded(TEXT.findall(arguments)[0])[:int(result)]
                offset = int(arguments.rpartition(", ")[2])
                end = offset + len(content)
                # The size comes first, so that a torn write can be a larger file without its contents.
                self.step(number, *([Size(number, end)] if end > size else []), Data(number, offset, content))

    def name(self, text: str) -> str:
        """A path below the folder of the rings; empty for others."""
        path = decoded(text).decode(errors="replace")
        return "." if path == self.folder else path.removeprefix(f"{self.folder}/") if path.startswith(f"{self.folder}/") else ""

    def step(self, owner: int | str, *parts: Part) -> None:
        self.image.apply(parts)
        self.events.append(Step(owner, parts))

    def states(self, choose: random.Random, dropped: str | None = None) -> Iterator[State]:
        """Different states, in turns, each with states at all moments. Syncs of the name `dropped` in the last life do nothing."""
        seen: set[int] = set()
        for turn in range(TURNS):
            for state in self.walk(choose, dropped, turn):
                files = None if state.files is None else frozenset(state.files.items())
                key = hash((files, state.moment))
                if key not in seen:
                    seen.add(key)
                    yield state

    def walk(self, choose: random.Random, dropped: str | None, turn: int) -> Iterator[State]:
        """A state at each moment of the last life at which there is a choice."""
        durable = Image.of(self.before.files)
        pending: list[Step] = []
        moment = self.before.moment
        for number, event in enumerate(self.events):
            match event:
                case Step():
                    pending.append(event)
                case Sync(owner, name) if name != dropped or number < self.begin:
                    durable.apply([part for step in pending if step.owner == owner for part in step.parts])
                    pending = [step for step in pending if step.owner != owner]
                case Acted(name, acted):
                    moment = replace(moment, acted=(*moment.acted, (name, acted)))
                case Reported(order):
                    moment = replace(moment, reported=order)
            if number >= self.begin and (pending or turn == 0):
                image = durable.copy()
                image.apply(chosen(pending, choose, turn))
                yield State(image.files(), moment, number)
