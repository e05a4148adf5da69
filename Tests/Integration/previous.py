"""The commands that a killed daemon has left, and their records, as the tests make and see them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import Daemon
from waiting import eventually

# A command may take its time to end. The tests do not wait for it at a stop.
AT_ONCE = ("--stop-limit", "0")
ENDED = "ended a command of the previous run of mediatord"
OUTSIDE = "a process of the previous run of mediatord still runs outside its group"
NOT_ENDED = "cannot end a command of the previous run of mediatord"
NOT_RECORDED = "commands are not recorded"
NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")


class Place:
    """A control socket of several daemons, one after the other, and what their command reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "control"
        self.records = folder / "control.runs"
        # Commands of other users write here.
        self.shared = folder / "shared"
        # Some commands write this file when they get SIGTERM.
        self.term = self.shared / "term"

    def command(
        self, last: str = "exec sleep 1000", first: str = ":", before: Sequence[str] = (), user: str | None = None
    ) -> dict[str, str]:
        """A configuration with one command. It reports its number, and that of the process that `first` began.

        The event Again ends the command and begins it again.
        """
        script = f"{first}\necho $$ $! >{self.shared}/new; mv {self.shared}/new {self.shared}/pids; {last}"
        run: dict[str, object] = {"command": [*before, "sh", "-c", script]}
        if user:
            run["user"] = user
        return {
            "job.yaml": f"""\
system: job
states: {{ Working: {{}} }}
events: {{ Again: {{}} }}
initialState: Working
feedbacks:
  work: {{ onState: Working, run: {json.dumps(run)}, onFailure: log }}
transitions: {{ Working: {{ Again: Working }} }}
"""
        }

    def pids(self, *, recorded: bool = True) -> list[int]:
        """Waits for the report of a command, and takes it. Waits for the whole record, too, if there is to be one."""
        path = self.shared / "pids"
        eventually(path.exists)
        found = [int(word) for word in path.read_text().split()]
        path.unlink()
        if recorded:
            # The second line is written when the command has started, maybe after its report.
            eventually(lambda: {one.read_text().count("\n") for one in self.files()} == {2})
        return found

    def files(self) -> list[Path]:
        return sorted(self.records.iterdir()) if self.records.exists() else []

    def record(self, text: str, name: str = "00112233445566778899aabbccddeeff") -> Path:
        """Writes a record as a daemon does."""
        self.records.mkdir(mode=0o700, exist_ok=True)
        path = self.records / name
        path.write_text(text)
        return path


@contextmanager
def new_place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="mediatord-", dir="/tmp"))
    folder.chmod(0o711)
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o777)
    try:
        yield Place(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kill(one: Daemon) -> None:
    one.process.kill()
    assert one.wait_exit() == -signal.SIGKILL


def reap(pid: int) -> None:
    """Kills an orphan, of which this process is the parent now."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def run_of(pid: int) -> str | None:
    """The ID of the run in the environment of a process."""
    name = b"MEDIATOR_RUN="
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        # The process has ended, or is another user's.
        return None
    return next((one.removeprefix(name).decode() for one in variables if one.startswith(name)), None)


def processes_of(run: str) -> set[int]:
    """The living processes of a run."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return {number for number in numbers if run_of(number) == run}


def begin_of(pid: int) -> int:
    """The start of a process, in ticks since the machine's start."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
