"""Daemons that end at a system call of their store, or whose disk fails then."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import STOPPED, Binaries, Daemon
from previous import kill
from test_store import PERSISTED, add, count, start, store  # noqa: F401


def traced(binaries: Binaries, store: Path, log: Path, inject: str) -> Daemon:
    """A daemon whose calls strace counts: `-D` leaves the daemon as the process that the test knows."""
    wrapper = ["strace", "-D", "-f", "-o", str(log), "-e", "trace=pwrite64,fdatasync,fsync", "-e", f"inject={inject}"]
    return Daemon(binaries, PERSISTED, arguments=("--store", str(store), "--stop-limit", "0"), wrapper=wrapper)


def check_kill(binaries: Binaries, start: Callable[..., Daemon], store: Path, log: Path, call: str, number: int) -> bool:
    """Kills a daemon at a call of its store. Returns whether it came to that."""
    one = traced(binaries, store, log, f"{call}:signal=KILL:when={number}")
    try:
        seen = -1
        ends = False
        # More changes than the store makes calls of one kind before the number.
        for _ in range(number + 3):
            if one.ctl("emit", "counter", "Add", check=False).returncode != 0 and one.process.poll() is not None:
                break
            shown = one.ctl("show", "counter", "--json", check=False)
            if shown.returncode == 0 and (found := re.search(r'"n": ?(\d+)', shown.stdout)):
                seen = max(seen, int(found[1]))
        ends = one.process.poll() is not None
        if not ends:
            kill(one)
    finally:
        one.discard()
    two = start()
    assert count(two) >= seen, (call, number, one.log, two.log)
    assert "lost" not in two.log and "damaged" not in two.log, (call, number, two.log)
    assert two.stop() == STOPPED
    return ends


@pytest.mark.gate
@pytest.mark.parametrize("call, number", [("pwrite64", 2), ("pwrite64", 7), ("fdatasync", 1), ("fdatasync", 3)])
def test_no_state_that_was_seen_is_lost_by_a_kill(
    binaries: Binaries, start: Callable[..., Daemon], store: Path, tmp_path: Path, call: str, number: int
) -> None:
    check_kill(binaries, start, store, tmp_path / "trace", call, number)


@pytest.mark.nightly
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "fsync"])
def test_no_state_that_was_seen_is_lost_by_a_kill_at_any_call(
    binaries: Binaries, start: Callable[..., Daemon], store: Path, tmp_path: Path, call: str
) -> None:
    kills = [check_kill(binaries, start, store, tmp_path / "trace", call, number) for number in range(1, 40)]
    assert any(kills)


def test_a_failed_sync_ends_the_daemon(binaries: Binaries, start: Callable[..., Daemon], store: Path, tmp_path: Path) -> None:
    one = start()
    add(one, 2)
    assert one.stop() == STOPPED
    # More syncs than the thread that opens the store makes. The one that commits counts its own.
    failing = traced(binaries, store, tmp_path / "trace", "fdatasync:error=EIO:when=8+")
    try:
        failing.wait_ready()
        for _ in range(20):
            failing.ctl("emit", "counter", "Add", check=False)
            # Otherwise several changes share a sync.
            failing.ctl("show", "counter", check=False)
        assert failing.wait_exit() == 6
        failing.wait_log("ending, because the disk may not have the last states")
    finally:
        failing.discard()
    two = start()
    assert count(two) >= 2
