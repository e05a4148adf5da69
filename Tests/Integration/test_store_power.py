"""Power cuts: the disk states that they can leave, rebuilt from recorded runs, and real file systems that stop at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from daemon import STOPPED, Binaries, Daemon
from power_states import History, State
from powercut import Disk, freeze
from previous import kill
from rings import NAMES, Rings, fields, life, stored, troubles
from stored import is_stored
from test_store_promises import finish
from waiting import eventually

SOAK = int(os.environ.get("SOAK_FACTOR", "1"))
GOAL = 8
# The states of each kind of store. Those with a full log are large. A daemon goes on from some of them.
STATES = {"new": 2500, "closed": 2500, "killed": 2500, "cut": 2500, "full": 1000, "moved": 1000}
STARTS = 70 * SOAK
# The power cuts before the states of the kind `cut`, and the number of states of which one is left each time.
EARLIER_CUTS = 3
EARLIER_STATES = 200
# The size of the log beyond which it is moved into the database, and how far below it the kind `full` begins.
FULL_LOG = 4 << 20
BELOW_FULL = 250 << 10
# The size of the state that fills the log, and how often the kind `moved` writes it after the log was moved.
FILLING = 128 << 10
AFTER_MOVE = 3
# The names whose syncs are dropped, with a kind of store. A sync of the directory matters to a new store, and one of the database
# when the log has been moved into it.
DROPPED = [("new", "db-wal"), ("killed", "db-wal"), ("moved", "db-wal"), ("new", "store"), ("full", "db")]
# The states in which that must show.
CONTROL_STATES = 1500
# The power cuts of each file system, and the numbers that the rings pass on around each cut.
CUTS = 25 * SOAK
STRETCH = 10

# Fills the log with a state that becomes larger up to its limit, and is written again then.
FILLER = {
    "filler.yaml": f"""\
system: filler
persist: state
states: {{ At: {{ text: string }} }}
events: {{ Turn: {{}} }}
fromOutside: any
initialState: {{ At: {{ text: 0123456789abcdef }} }}
transitions:
  At:
    Turn:
      - {{ when: size(state.text) < {FILLING}, to: At, set: {{ text: "${{state.text + state.text}}" }} }}
      - {{ to: At, set: {{ text: "${{state.text}}" }} }}
"""
}

MASK = (1 << 64) - 1
APPLICATION = 0x4D656453


@lru_cache(maxsize=4096)
def checksum(*fields: bytes | int) -> int:
    """The checksum of the store, FNV-1a with 64 bits."""
    value = 0xCBF29CE484222325
    for field in fields:
        content = len(field).to_bytes(8, "little") + field if isinstance(field, bytes) else (field & MASK).to_bytes(8, "little")
        for byte in content:
            value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


class Damaged(AssertionError):
    """The store is not as a daemon expects it."""


def expect(condition: object, reason: object) -> None:
    if not condition:
        raise Damaged(reason)


def verified(store: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """The number of the last change and the parts of a store, read as a daemon reads it."""
    if not store.exists():
        return 0, {}
    files = {path.name: path.stat().st_size for path in store.glob("db*")}
    log = files.get("db-wal", 0)
    expect(files.get("db", 0) > 0 or log == 0, f"a log without a database: {files}")
    database = sqlite3.connect(store / "db")
    try:
        # Neither syncs nor shared memory are needed for a copy.
        database.executescript("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA cell_size_check = ON")
        (application,), = database.execute("PRAGMA application_id")
        tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        if not tables and application == 0:
            expect(log == 0, f"a log, but no tables: {files}")
            return 0, {}
        expect((application, tables) == (APPLICATION, ["head", "part"]), (application, tables))
        expect(database.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)], "the structure is damaged")
        (head,) = database.execute("SELECT store, life, ord, rows, wall, boottime, boot, clean, starts, digest FROM head")
        rows = database.execute("SELECT kind, name, epoch, ord, phase, body, sum FROM part").fetchall()
    except (sqlite3.DatabaseError, ValueError) as error:
        raise Damaged(f"{error}: {files}") from None
    finally:
        database.close()
    parts = {}
    for kind, name, epoch, order, phase, body, total in rows:
        expect(checksum(head[0], kind, name.encode(), epoch, order, phase, body) == total & MASK, name)
        expect(order <= head[2], (name, order, head))
        parts[name] = json.loads(body)
    expect(head[3] == len(rows), (head, parts))
    expect((sum(row[6] for row in rows) + checksum(*head[:9])) & MASK == head[9] & MASK, (head, parts))
    return head[2], parts


class Rebuilt(Rings):
    """The rings after a power cut, which has left a state of the disk."""

    def __init__(self, state: State, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        super().__init__(folder, GOAL)
        self.state = state
        state.write(self.store)
        self.order, self.parts = verified(self.store)

    def stored(self) -> dict[str, dict[str, Any]]:
        return self.parts

    def acted(self, name: str) -> list[int]:
        return self.state.acted(name)

    def check_kept(self) -> None:
        """Checks that all is there that was acted on or reported, and that nothing is done twice or left out from here on."""
        assert self.order >= self.state.moment.reported, (self.order, self.state.moment)
        self.check()
        for name in NAMES:
            acted, coming = self.acted(name), self.coming(name)
            assert sorted({*acted, *coming}) == list(range(1, GOAL + 1)), (name, acted, coming, self.parts)
            # Only the command that had not reported its end begins again.
            assert len({*acted} & {*coming}) <= 1, (name, acted, coming, self.parts)


def recorded(binaries: Binaries, folder: Path, kind: str, choose: random.Random) -> History:
    """The calls of a run to the goal, of a store that is new or had an earlier run, which has ended in one of these ways.

    closed: in order. killed: during a commit. cut: by power cuts. full: by a kill when the log was almost full. moved: by a kill
    some commits after the log was moved into the database. Those may be written over older parts of the log.
    """
    folder.mkdir()
    rings = Rings(folder / "run", GOAL if kind in ("new", "killed") else 2)
    rings.folder.mkdir()
    history = History(rings)
    if kind == "closed":
        with history.life(binaries) as one:
            assert rings.wait_goal(one)
            assert one.stop() == STOPPED
    elif kind == "killed":
        # Another thread than that which commits makes the store, with fewer writes.
        with history.life(binaries, f"pwrite64:signal=KILL:when={choose.randrange(30, 70)}") as one:
            assert not rings.wait_goal(one)
    elif kind == "cut":
        for number in range(EARLIER_CUTS):
            with history.life(binaries) as one:
                assert rings.wait_goal(one)
                kill(one)
            left = (state for state in history.states(choose) if state.moment.acted)
            state = next(islice(left, choose.randrange(EARLIER_STATES), None))
            rings = state.rings(folder / f"cut-{number}", 3 + number)
            history = History(rings, state)
    elif kind in ("full", "moved"):
        with history.life(binaries, more=FILLER) as one:
            assert rings.wait_goal(one)
            fill_log(one, rings.store, is_moved=kind == "moved")
            kill(one)
    rings.goal = GOAL
    with history.life(binaries) as one:
        assert rings.wait_goal(one)
        assert one.stop() == STOPPED
        assert not troubles(one), one.log
    rings.check(is_complete=True)
    if kind == "full":
        assert history.moves_log(), "the log was not moved into the database while numbers were passed on"
    return history


def fill_log(one: Daemon, store: Path, is_moved: bool) -> None:
    """Changes a state until the log is almost full, or some times after it was moved into the database."""
    def turn() -> None:
        one.ctl("emit", "filler", "Turn", "--wait", "At")
        eventually(lambda: is_stored(one))

    while (store / "db-wal").stat().st_size < FULL_LOG - BELOW_FULL:
        turn()
    if is_moved:
        # Before that the large state is in the log alone.
        while (store / "db").stat().st_size < FILLING:
            turn()
        for _ in range(AFTER_MOVE):
            turn()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", STATES)
def test_nothing_acted_on_is_lost_or_doubled_by_a_power_cut(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], seed: int, kind: str
) -> None:
    begin = time.monotonic()
    choose = random.Random(seed)
    history = recorded(binaries, tmp_path / "run", kind, choose)
    started = set(random.Random(seed).sample(range(STATES[kind]), min(STARTS, STATES[kind])))
    count = 0
    seconds = 0.0
    for number, state in enumerate(islice(history.states(choose), STATES[kind])):
        Rebuilt(state, tmp_path / "state").check_kept()
        count += 1
        if number in started:
            before = time.monotonic()
            rings = state.rings(tmp_path / f"start-{number}", GOAL)
            finish(binaries, rings)
            shutil.rmtree(rings.folder)
            seconds += time.monotonic() - before
    assert count == STATES[kind]
    say(f"{count} states that power cuts can leave, of a {kind} store and {len(history.events) - history.begin} recorded events, "
        f"in {time.monotonic() - begin - seconds:.0f} s; {len(started)} starts from them in {seconds:.0f} s")


@pytest.mark.nightly
@pytest.mark.parametrize("kind, dropped", DROPPED)
def test_a_sync_that_does_nothing_loses_states(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], seed: int, kind: str, dropped: str
) -> None:
    """The check of the test above finds what is lost without syncs, so it would find what the store lost."""
    choose = random.Random(seed)
    history = recorded(binaries, tmp_path / "run", kind, choose)
    found: Counter[str] = Counter()
    for state in islice(history.states(choose, dropped), CONTROL_STATES):
        try:
            Rebuilt(state, tmp_path / "state").check_kept()
            found["kept"] += 1
        except Damaged:
            found["damaged"] += 1
        except AssertionError:
            found["lost"] += 1
    # SQLite notices most mixtures of old and new pages.
    assert found["damaged" if dropped == "db" else "lost"] > 0, found
    say(f"without the syncs of {dropped}, of a {kind} store: {dict(found)}")


class RingsOnDisk(Rings):
    """Rings whose store is in a file system of its own."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        super().__init__(folder, 0)
        self.disk = disk
        self.store = disk.mounted / "store"
        self.one: Daemon | None = None

    @contextlib.contextmanager
    def life(self, binaries: Binaries, inject: str | None = None) -> Iterator[Daemon]:
        wrapper = [*self.disk.wrapper()]
        if inject:
            calls = inject.partition(":")[0]
            wrapper += ("strace", "-D", "-f", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={inject}")
        arguments = ("--store", str(self.store), "--stop-limit", "0")
        try:
            with life(binaries, self.config, arguments, self.folder / "control", wrapper=wrapper) as self.one:
                yield self.one
        finally:
            self.one = None
        self.disk.wait_unmounted()

    def cut_power(self, binaries: Binaries, awaited: int, inject: str | None = None) -> None:
        """Cuts the power when the commands have written so many more numbers; with 0 while the store is opened."""
        before = self.count
        self.goal += STRETCH
        with self.life(binaries, inject) as one:
            assert self.wait(one, lambda: self.count >= before + awaited if awaited else has_opened(one)), one.log
            freeze(one.pid)
            self.disk.cut_power(one.pid)
            one.process.kill()
            one.wait_exit()

    def stored(self) -> dict[str, dict[str, Any]]:
        if self.one:
            return stored(Path(f"/proc/{self.one.pid}/root{self.store}"))
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        # Mounting the file system replays its journal.
        self.disk.run("sh", "-c", '! test -e "$1" || cp -R "$1" "$2"', "sh", str(self.store), str(copy))
        return stored(copy)

    @property
    def count(self) -> int:
        """The count of the numbers that the commands have written."""
        return sum(len(self.acted(name)) for name in NAMES)

    def reboot(self) -> None:
        """Removes what a boot removes. Nothing may be lost of which the record of the last change knows."""
        head = self.folder / "control.head"
        if head.exists():
            order, _ = verified(self.folder / "copy")
            assert order >= int.from_bytes(head.read_bytes()[32:40], "little")
            head.unlink()
        shutil.rmtree(self.folder / "control.runs", ignore_errors=True)


def has_opened(one: Daemon) -> bool:
    """Whether a daemon has opened its store, or is about to."""
    for descriptor in Path(f"/proc/{one.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(descriptor).endswith("/store/lock"):
                return True
    return False


@pytest.fixture(params=["ext4", "xfs"])
def on_disk(request: pytest.FixtureRequest, tmp_path: Path) -> RingsOnDisk:
    """Rings on a file system of a kind."""
    below = tmp_path / "below"
    below.mkdir()
    try:
        disk = Disk(tmp_path, below, size="512M", kind=request.param)
        disk.run("true")
    except (subprocess.CalledProcessError, OSError) as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no {request.param} on this machine: {reason}", pytrace=False)
        warnings.warn(pytest.PytestWarning(f"NOT TESTED with power cuts of {request.param}: {reason}"), stacklevel=1)
        pytest.skip(f"no {request.param} on this machine; a warning says why")
    return RingsOnDisk(tmp_path, disk)


@pytest.mark.nightly
def test_nothing_acted_on_is_lost_when_a_file_system_stops(
    binaries: Binaries, on_disk: RingsOnDisk, say: Callable[[str], None], seed: int
) -> None:
    begin = time.monotonic()
    choose = random.Random(seed)
    for number in range(CUTS):
        # Some cuts are while the store is opened, and the others while numbers are passed on.
        on_disk.cut_power(binaries, awaited=choose.randrange(1, STRETCH * len(NAMES)) if number % 5 else 0)
        on_disk.check()
        on_disk.reboot()
        finish(binaries, on_disk)
    say(f"{CUTS} power cuts of {on_disk.disk.kind}, in {time.monotonic() - begin:.0f} s")


@pytest.mark.nightly
def test_what_was_not_synced_is_lost_when_a_file_system_stops(binaries: Binaries, on_disk: RingsOnDisk) -> None:
    """A power cut of the test above loses what has not reached the disk."""
    on_disk.cut_power(binaries, awaited=STRETCH, inject="fsync,fdatasync:retval=0")
    assert max(on_disk.acted("a")) > fields(on_disk.stored().get("a-actor")).get("n", 0)
