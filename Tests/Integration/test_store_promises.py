"""The promises of persisted states, at each call of the storage: daemons that are killed there, or whose disk fails."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import STOPPED, Binaries
from previous import kill
from rings import CHANGES, NAMES, NOT_STORED, Rings, troubles

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate")
SYNCS = ("fdatasync", "fsync")
# Of the short run each call is tried; of the long one with 200 changes some, of which SOAK_FACTOR multiplies the number.
SHORT = 2
LONG = 200 // (CHANGES * len(NAMES))
SAMPLE = 100 * int(os.environ.get("SOAK_FACTOR", "1"))

SYNC_FAILED = 6
ENDING = "ending, because the disk may not have the last states"
IN_MEMORY = "states are not stored, and what persists runs in memory"
STORED_AGAIN = "all states are stored again"


def begun(binaries: Binaries, folder: Path, goal: int, kind: str) -> Rings:
    """Rings whose store is new, was closed in order, or was not. The thread that opens a store makes other calls in each."""
    rings = Rings(folder, goal)
    if kind == "new":
        return rings
    rings.goal = 1
    with rings.life(binaries) as one:
        assert rings.wait_goal(one)
        if kind == "closed":
            assert one.stop() == STOPPED
        else:
            kill(one)
    rings.goal = goal
    return rings


def copied(rings: Rings, number: int) -> Rings:
    """The same rings in a folder of their own."""
    folder = rings.folder.with_name(f"{rings.folder.name}-{number}")
    shutil.copytree(rings.folder, folder, ignore=shutil.ignore_patterns("control"))
    return Rings(folder, rings.goal)


def finish(binaries: Binaries, rings: Rings) -> None:
    """Lets the next daemon go on from what is stored to the last number, without any trouble."""
    expected = {name: rings.acted(name) + rings.coming(name) for name in NAMES}
    with rings.life(binaries) as two:
        two.wait_ready()
        # The last number may be there from the life before.
        assert rings.wait(two, lambda: all(len(rings.acted(name)) >= len(expected[name]) for name in NAMES)), two.log
        assert two.stop() == STOPPED
        assert not troubles(two), two.log
    rings.check(is_complete=True)
    assert {name: rings.acted(name) for name in NAMES} == expected, two.log


def check_kill(binaries: Binaries, begun: Rings, call: str, number: int) -> bool:
    """Kills a daemon at a call of its store. Returns whether it made so many calls."""
    rings = copied(begun, number)
    with rings.life(binaries, f"{call}:signal=KILL:when={number}") as one:
        code = one.stop() if rings.wait_goal(one) else one.wait_exit()
        assert code in (STOPPED, -9), (call, number, one.log)
    rings.check(is_complete=code == STOPPED)
    finish(binaries, rings)
    shutil.rmtree(rings.folder)
    return code != STOPPED


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["new", "closed", "killed"])
def test_nothing_acted_on_is_lost_or_doubled_by_a_kill_at_any_call(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], kind: str
) -> None:
    begin = time.monotonic()
    (tmp_path / kind).mkdir()
    rings = begun(binaries, tmp_path / kind, SHORT, kind)
    kills: Counter[str] = Counter()
    for call in CALLS:
        for number in itertools.count(1):
            if not check_kill(binaries, rings, call, number):
                break
            kills[call] += 1
    assert kills["pwrite64"] and kills["fdatasync"], kills
    changes = SHORT * CHANGES * len(NAMES)
    say(f"{kills.total()} kills, at each call of a run with {changes} changes, of a {kind} store: "
        f"{dict(kills)}, in {time.monotonic() - begin:.0f} s")


@pytest.mark.nightly
def test_nothing_acted_on_is_lost_or_doubled_by_a_kill_in_a_long_run(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], seed: int
) -> None:
    begin = time.monotonic()
    (tmp_path / "new").mkdir()
    rings = begun(binaries, tmp_path / "new", LONG, "new")
    # The calls of one run, of which each thread counts its own.
    whole = copied(rings, 0)
    with whole.life(binaries, "fsync:signal=KILL:when=65535") as one:
        assert whole.wait_goal(one)
        assert one.stop() == STOPPED
    whole.check(is_complete=True)
    lines = [line.split(maxsplit=1) for line in whole.trace.read_text().splitlines()]
    made = Counter((thread, text.partition("(")[0]) for thread, text in lines)
    most = {call: max((count for (_, name), count in made.items() if name == call), default=0) for call in CALLS}
    places = [(call, number) for call in CALLS for number in range(1, most[call] + 1)]
    picked = random.Random(seed).sample(places, min(SAMPLE, len(places)))
    kills = sum(check_kill(binaries, rings, call, number) for call, number in picked)
    assert kills > len(picked) // 2, kills
    say(f"{kills} kills at {len(picked)} of {len(places)} calls of a run with {LONG * CHANGES * len(NAMES)} changes: "
        f"{most}, in {time.monotonic() - begin:.0f} s")


def check_failure(binaries: Binaries, begun: Rings, call: str, error: str, number: int) -> str | None:
    """Lets a call of the store fail. Returns what came of it, or nothing if there was no such call.

    After half of the failed writes the daemon is killed when the last number is there, otherwise it is stopped.
    """
    rings = copied(begun, number)
    fault = (call, error, number)
    with rings.life(binaries, f"{call}:error={error}:when={number}") as one:
        code = None
        if not rings.wait_goal(one):
            code = one.wait_exit()
        elif number % 2 == 0 and call not in SYNCS:
            kill(one)
        else:
            if NOT_STORED in one.log and IN_MEMORY not in one.log:
                one.wait_log(STORED_AGAIN)
            code = one.stop()
        log = one.log
    injected = [line for line in rings.trace.read_text().splitlines() if "(INJECTED)" in line]
    assert code in (None, STOPPED, SYNC_FAILED), (fault, code, log)
    assert (code == SYNC_FAILED) == (ENDING in log), (fault, code, log)
    if not injected:
        assert code in (None, STOPPED), (fault, log)
        rings.check(is_complete=code == STOPPED)
    elif IN_MEMORY in log:
        # Nothing was stored. The next daemon goes on from what the one before has left.
        for name in NAMES:
            rings.file(name).write_text("".join(f"{number}\n" for number in begun.acted(name)))
    elif call in SYNCS and code != SYNC_FAILED:
        # SQLite ignores a failed sync of the directory, which the store has synced itself.
        assert "/store>)" in injected[0], (fault, injected, log)
        rings.check()
    elif NOT_STORED not in log or code is not None:
        rings.check(is_complete=code == STOPPED)
    if injected and NOT_STORED in log and IN_MEMORY not in log and code is None:
        # It was killed while states were not stored, as it has said.
        with rings.life(binaries) as two:
            two.wait_ready()
        outcome = "refused"
    else:
        finish(binaries, rings)
        outcome = "in memory" if IN_MEMORY in log else f"exit {code}" if code else "refused" if NOT_STORED in log else "stored"
    shutil.rmtree(rings.folder)
    return outcome if injected else None


@pytest.mark.nightly
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("kind", ["new", "killed"])
def test_a_failing_disk_never_makes_a_wrong_state_without_a_message(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], kind: str, error: str
) -> None:
    begin = time.monotonic()
    (tmp_path / kind).mkdir()
    rings = begun(binaries, tmp_path / kind, SHORT, kind)
    outcomes: Counter[tuple[str, str]] = Counter()
    for call in ("pwrite64", "fdatasync", "fsync"):
        for number in itertools.count(1):
            outcome = check_failure(binaries, rings, call, error, number)
            if outcome:
                outcomes[call, outcome] += 1
            elif number % 2 == 1:
                # Only these runs close their store.
                break
    assert outcomes["fdatasync", f"exit {SYNC_FAILED}"] > 0 and outcomes["pwrite64", "refused"] > 0, outcomes
    told = ", ".join(f"{call} {outcome}: {count}" for (call, outcome), count in sorted(outcomes.items()))
    say(f"{outcomes.total()} faults {error} of a {kind} store: {told}, in {time.monotonic() - begin:.0f} s")
