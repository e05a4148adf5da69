"""A store whose system calls fail, or whose process ends at any of them: strace answers as the kernel does, or kills.

The thread that opens the store and the thread that commits count their calls apart, so each test begins with three kinds of store.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import BUILD
from waiting import WAIT

WRITER = BUILD / "debug" / "store-writer"
COUNT = 3
# More calls than any thread makes.
CALLS = 200


@dataclass
class Run:
    """One life of the writer."""

    code: int
    lines: list[str]
    trace: str

    @property
    def was_hit(self) -> bool:
        return self.code < 0 or self.code == 137 or "(INJECTED)" in self.trace

    def names(self, word: str) -> set[str]:
        """The second words of the lines that begin with a word."""
        return {line.split()[1] for line in self.lines if line.startswith(word + " ")} - {"ready"}

    @property
    def loaded(self) -> set[str]:
        return next(set(line.split()[1:]) for line in self.lines if line.startswith("loaded"))


def write(directory: Path, count: int, *options: str) -> Run:
    log = directory / "trace"
    calls = "trace=openat,pwrite64,fdatasync,fsync,ftruncate,unlink,write"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", calls, *options, str(WRITER), str(directory), str(count)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    if "ptrace" in ended.stderr:
        if os.environ.get("CI") == "true":
            pytest.fail(f"strace cannot start the writer: {ended.stderr}", pytrace=False)
        pytest.skip(f"strace cannot start the writer: {ended.stderr}")
    return Run(ended.returncode, ended.stdout.splitlines(), log.read_text())


def runs(beginning: Path, directory: Path, call: str, fault: str) -> Iterator[Run]:
    """Runs over the same store, each with a fault at the next call of its kind, until there is no such call."""
    for number in range(1, CALLS):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(beginning, directory)
        run = write(directory, COUNT, "-e", f"inject={call}:{fault}:when={number}")
        if not run.was_hit:
            assert number > 1, f"no {call}"
            return
        yield run
    raise AssertionError(f"too many calls of {call}")


# No store, one that was closed, and one whose last life was killed after a change.
KINDS = ("new", "closed", "killed")


@pytest.fixture(params=KINDS)
def beginning(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory with a store, or without one."""
    directory = tmp_path / "beginning"
    directory.mkdir()
    if request.param != "new":
        assert write(directory, COUNT).code == 0
    if request.param == "killed":
        write(directory, COUNT, "-e", "inject=fdatasync:signal=KILL:when=4")
        assert (directory / "store" / "db-wal").stat().st_size > 0
    return directory


def check_kept(directory: Path, before: set[str], run: Run) -> None:
    """Checks that the next life has every change that was there or is synced."""
    after = write(directory, 0)
    assert after.code == 0, (after.lines, run.lines)
    assert before | run.names("synced") <= after.loaded, (before, run.lines, after.lines)


def contents(beginning: Path, directory: Path) -> set[str]:
    shutil.copytree(beginning, directory)
    return write(directory, 0).loaded


# Only a new store deletes a file: its rollback journal.
KILLS = [(kind, call) for kind in KINDS for call in ("pwrite64", "fdatasync", "ftruncate")] + [("new", "unlink")]


@pytest.mark.gate
@pytest.mark.parametrize("beginning, call", KILLS, indirect=["beginning"])
def test_a_synced_change_survives_a_kill_at_any_call(beginning: Path, tmp_path: Path, call: str) -> None:
    before = contents(beginning, tmp_path / "before")
    for run in runs(beginning, tmp_path / "now", call, "signal=KILL"):
        check_kept(tmp_path / "now", before, run)


def test_a_failed_sync_is_the_last_thing_that_is_reported(beginning: Path, tmp_path: Path) -> None:
    before = contents(beginning, tmp_path / "before")
    kinds = set()
    for run in runs(beginning, tmp_path / "now", "fdatasync", "error=EIO"):
        kinds.add(run.code)
        if run.code == 3:
            assert run.lines[0].startswith("refused load"), run.lines
        else:
            if not any(line.startswith("failed") for line in run.lines):
                # SQLite hides a failed sync of the directory, so the store has synced it before.
                assert re.search(r"fdatasync\(\d+<[^>]*/store>\) .*\(INJECTED\)", run.trace), run.trace
                continue
            failed = [number for number, line in enumerate(run.lines) if line.startswith("failed")]
            assert len(failed) == 1 and run.lines[failed[0] + 1:] == ["closed false"], run.lines
        check_kept(tmp_path / "now", before, run)
    assert kinds - {0} and kinds <= {0, 3, 6}, kinds


@pytest.mark.gate
@pytest.mark.parametrize(
    "beginning, error, trouble",
    [("new", "ENOSPC", "full"), ("closed", "EDQUOT", "full"), ("killed", "EROFS", "readOnly"), ("killed", "EIO", "(")],
    indirect=["beginning"],
)
def test_a_refused_write_is_told_and_the_next_one_succeeds(
    beginning: Path, tmp_path: Path, error: str, trouble: str
) -> None:
    before = contents(beginning, tmp_path / "before")
    refused = 0
    for run in runs(beginning, tmp_path / "now", "pwrite64", f"error={error}"):
        assert run.code in (0, 3), run.lines
        told = [line.split(maxsplit=2)[2] for line in run.lines if line.startswith("refused")]
        refused += len(told)
        assert all(trouble in reason for reason in told), run.lines
        assert len(told) <= 2, run.lines
        check_kept(tmp_path / "now", before, run)
    assert refused > 0


def test_a_change_is_synced_before_it_is_reported(beginning: Path, tmp_path: Path) -> None:
    shutil.copytree(beginning, tmp_path / "now")
    log = beginning / "store" / "db-wal"
    has_log = log.exists() and log.stat().st_size > 0
    run = write(tmp_path / "now", COUNT)
    assert len(run.names("synced")) == COUNT and run.lines[-1] == "closed true", run.lines
    dirty: set[str] = set()
    written: set[str] = set()
    reported = 0
    for line in run.trace.splitlines():
        if "O_CREAT" in line and "/store/" in line:
            dirty.add("store")
        if not (found := re.match(r"\d+ +(\w+)\(\d+<([^>]*)>(.*)", line)):
            continue
        call, name, rest = found[1], found[2].rpartition("/")[2], found[3]
        if call == "pwrite64" and name.startswith("db"):
            dirty.add(name)
            written.add(name)
        # SQLite syncs the directory, too, and hides a failure of that.
        elif call in ("fdatasync", "fsync") and (name, call) != ("store", "fdatasync"):
            dirty.discard(name)
        elif call == "ftruncate" and name == "db-wal":
            # Its contents must be in the database.
            assert "db" not in dirty, run.trace
            dirty.discard(name)
        elif call == "write" and ("synced" in rest or "loaded" in rest):
            assert not dirty, run.trace
            reported += 1
            # The log of a life that was killed may be in memory alone, until it is written again.
            assert "db-wal" in written or not has_log, run.trace
    assert reported == COUNT + 2
