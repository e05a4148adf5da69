"""What the daemon does where a file system is full: a real one, which is small."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import CANNOT_SERVE, STOPPED, Binaries, Daemon
from waiting import WAIT, eventually

COUNTER = """\
system: counter
states: { Counting: { count: int } }
events: { Count: {} }
fromOutside: any
initialState: { Counting: { count: 0 } }
feedbacks:
  tell: { onState: any, log: "count ${state.count}" }
transitions: { Counting: { Count: { to: Counting, set: { count: "${state.count + 1}" } } } }
"""

WIRING = """\
buses: { counts: { kind: currentValue, value: string, initial: none } }
links: { tell: { attach: counter, to: counts, onState: Counting, emitValue: some } }
"""

# Writes a file of four kibibytes whenever it is asked to.
WRITER = """\
system: writer
states: { Waiting: {}, Writing: {}, Failed: { error: string } }
events: { Write: {}, Written: {}, Refused: { error: string } }
fromOutside: Write
initialState: Waiting
feedbacks:
  write:
    onState: Writing
    run: { command: [sh, -c, "cat > copy"], directory: DISK, input: INPUT }
    onSuccess: Written
    onFailure: { Refused: { error: "${result.error}" } }
transitions:
  any:
    Write: Writing
    Written: Waiting
    Refused: { to: Failed, set: { error: "${event.error}" } }
"""


class Disk:
    """A file system of sixteen pages and sixteen files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=16", "tmpfs", path], check=True)

    def fill(self, kind: str = "bytes") -> None:
        """Takes all the room there is, of bytes or of files."""
        for number in range(1000):
            try:
                with open(self.path / f"filler{number}", "wb", buffering=0) as file:
                    while kind == "bytes":
                        file.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC
                return
        raise AssertionError("it is never full")

    def free(self) -> None:
        for path in self.path.glob("filler*"):
            path.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    try:
        disk = Disk(tmp_path / "disk")
    except subprocess.CalledProcessError:
        pytest.skip("only root can mount a file system")
    yield disk
    subprocess.run(["umount", disk.path], check=True)


def wrapped(binaries: Binaries, path: Path, command: str) -> Binaries:
    """The daemon, started by a command of the shell's."""
    path.write_text(f"#!/bin/sh -e\n{command.replace('mediatord', str(binaries.mediatord), 1)}\n")
    path.chmod(0o755)
    return Binaries(path, binaries.mediatorctl)


def test_a_log_that_is_full_loses_lines_and_nothing_else(binaries: Binaries, disk: Disk, tmp_path: Path) -> None:
    log = disk.path / "log"
    one = Daemon(wrapped(binaries, tmp_path / "run", f'exec mediatord "$@" 2>> {log}'), {"counter.yaml": COUNTER})
    try:
        one.wait_ready()
        eventually(lambda: "count 0" in log.read_text())
        disk.fill()
        full = log.stat().st_size
        # More than what is left of the last page.
        for _ in range(100):
            one.ctl("emit", "counter", "Count")
        assert "count=100" in one.ctl("status").stdout
        assert log.stat().st_size - full < 4096
        disk.free()
        one.ctl("emit", "counter", "Count")
        eventually(lambda: "count 101" in log.read_text())
        lines = log.read_text().splitlines()
        (notice,) = [number for number, line in enumerate(lines) if "log lines could not be written" in line]
        assert "warning" in lines[notice] and int(lines[notice].split()[2]) > 50
        # What comes behind it is whole.
        assert all(line.startswith("20") for line in lines[notice:])
        assert one.stop() == STOPPED
    finally:
        one.discard()


@pytest.mark.parametrize("kind", ["bytes", "files"])
def test_what_cannot_be_persisted_changes_nothing(binaries: Binaries, disk: Disk, tmp_path: Path, kind: str) -> None:
    config = disk.path / "config"
    config.mkdir()
    (config / "counter.yaml").write_text(COUNTER)
    (config / "wiring.yaml").write_text(WIRING)
    one = Daemon(wrapped(binaries, tmp_path / "run", f'shift 2; exec mediatord --config {config} "$@"'), {})
    try:
        one.wait_ready()
        disk.fill(kind)
        before = {path: path.read_text() for path in config.rglob("*") if path.is_file()}
        result = one.ctl("set", "tell", "emitValue=more", "--persist", check=False)
        assert result.returncode != 0 and "No space left on device" in result.stderr, result.stderr
        assert "nothing has changed" in result.stderr, result.stderr
        assert {path: path.read_text() for path in config.rglob("*") if path.is_file()} == before
        assert "emitValue: some" in one.ctl("cat-config", "tell", "--running").stdout.replace('"', "")
        # Without a file it can be done all the same.
        one.ctl("set", "tell", "emitValue=more")
        disk.free()
        one.ctl("set", "tell", "emitValue=most", "--persist")
        assert any("most" in path.read_text() for path in config.rglob("*.yaml") if path.is_file())
        assert one.stop() == STOPPED
    finally:
        one.discard()


def test_a_command_whose_directory_is_full_fails_and_says_why(binaries: Binaries, disk: Disk) -> None:
    one = Daemon(binaries, {"writer.yaml": WRITER.replace("DISK", str(disk.path)).replace("INPUT", "x" * 4097)})
    try:
        one.wait_ready()
        disk.fill()
        one.ctl("emit", "writer", "Write")
        assert "No space left on device" in one.wait_log("Writing → Failed")
        disk.free()
        one.ctl("emit", "writer", "Write")
        one.wait_log("Writing → Waiting")
        assert os.stat(disk.path / "copy").st_size == 4097
        assert one.stop() == STOPPED
    finally:
        one.discard()


def test_a_control_socket_without_room_is_said_to_have_none(binaries: Binaries, disk: Disk) -> None:
    disk.fill("files")
    one = Daemon(binaries, {"counter.yaml": COUNTER}, socket=disk.path / "control")
    try:
        assert one.process.wait(WAIT) == CANNOT_SERVE
        eventually(lambda: "No space left on device" in one.log)
    finally:
        one.discard()
