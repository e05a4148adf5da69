"""Runs the command of a stage within a limit of time, and ends everything that it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# The seconds between two calls of `beat`.
BEAT = 60.0
# The seconds that gdb may take for the stacks of one process, and the number of processes whose stacks are read.
STACK_LIMIT = 120
STACK_PROCESSES = 4
# The seconds that a Python process may take to print its stacks and end.
PYTHON_GRACE = 3.0
# The seconds between two looks at the size of the log, and the bytes that it may have.
LOOK = 5.0
MOST_LOG = 1 << 30
# The seconds after which processes that cannot be killed are left behind.
KILL_LIMIT = 30.0


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit status, or `None` if it was killed at a limit, and which one."""

    status: int | None
    seconds: float
    limit: str = ""
    # The stacks of the threads that ran at the limit.
    stacks: str = ""


def adopt_orphans() -> None:
    """Makes this process the parent of every orphan among its descendants, so that none escapes (prctl(2))."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    command: Sequence[str], log: Path, limit: float, folder: Path, environment: Mapping[str, str],
    beat: Callable[[float], None] = lambda seconds: None, spared: frozenset[int] = frozenset(),
) -> Outcome:
    """Runs a command without standard input and with its output in `log`.

    At the limit (seconds) the stacks of its processes are read. At its end, whatever the reason, all descendants of this process are
    killed, except the processes in `spared` and those below them.
    """
    begun = time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    status: int | None = None
    stacks = passed_limit = ""
    beats = 1
    try:
        while not passed_limit:
            passed = time.monotonic() - begun
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(max(0.0, min(LOOK, limit - passed)))
                break
            if time.monotonic() - begun >= limit:
                passed_limit = f"{limit} s"
                stacks = read_stacks(descendants(spared))
            elif log.stat().st_size > MOST_LOG:
                passed_limit = f"{MOST_LOG} bytes of output"
            elif passed > beats * BEAT:
                beats += 1
                beat(passed)
    finally:
        kill(spared)
        with contextlib.suppress(ChildProcessError, subprocess.TimeoutExpired):
            process.wait(1)
    return Outcome(status, time.monotonic() - begun, passed_limit, stacks)


def descendants(spared: frozenset[int] = frozenset()) -> list[int]:
    """The processes that descend from this one, children before grandchildren, without those in `spared` and those below them."""
    found: list[int] = []
    rest = [os.getpid()]
    while rest:
        pid = rest.pop(0)
        # A process or thread may end between two looks.
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    children = {int(word) for word in (task / "children").read_text().split()} - spared
                    found += children
                    rest += children
    return found


def kill(spared: frozenset[int] = frozenset()) -> None:
    """Kills all descendants of this process, except those in `spared` and those below them, and takes their exit statuses."""
    end = time.monotonic() + KILL_LIMIT
    while (pids := descendants(spared)) and time.monotonic() < end:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)


def words(pid: int) -> list[str]:
    """The command line of a process; nothing if it has ended."""
    with contextlib.suppress(OSError):
        return [word.decode(errors="replace") for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if word]
    return []


def ticks(pid: int) -> int:
    """The processor time of a process so far, in clock ticks (proc(5))."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def read_stacks(pids: Sequence[int]) -> str:
    """The stacks of all threads of the busiest processes, read by gdb; those of Python by its own handler.

    pytest's `faulthandler` prints the stacks to the log when the process is told to abort, so those processes end here.
    """
    named = {pid: found for pid in pids if (found := words(pid))}
    pythons = [pid for pid, found in named.items() if Path(found[0]).name.startswith("python")]
    others = [pid for pid in named if pid not in pythons and not is_driver(named[pid])]
    texts = []
    for pid in sorted(others, key=ticks, reverse=True)[:STACK_PROCESSES]:
        texts.append(f"== {pid}: {' '.join(named[pid])[:200]}\n{stacks_of(pid)}")
    for pid in pythons:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGABRT)
    if pythons:
        time.sleep(PYTHON_GRACE)
        texts.append("== Python processes have written their stacks to the log.")
    return "\n".join(texts)


def is_driver(found: Sequence[str]) -> bool:
    """Whether a process only waits for another one: a shell, make, or the package manager."""
    return Path(found[0]).name in {"sh", "bash", "make", "swift", "swift-test", "swift-build", "swift-package", "timeout", "xargs"}


def stacks_of(pid: int) -> str:
    """The stacks of a process, with the names of Swift functions readable and the repeated lines of gdb left out."""
    if not shutil.which("gdb"):
        return "gdb is not installed, so there are no stacks"
    command = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 40"]
    try:
        text = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=STACK_LIMIT, stdin=subprocess.DEVNULL
        ).stdout
    except subprocess.TimeoutExpired:
        return f"gdb read no stacks within {STACK_LIMIT} s"
    lines = [line for line in text.splitlines() if line.startswith(("#", "Thread"))]
    if shutil.which("swift-demangle"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            text = subprocess.run(
                ["swift-demangle", "--simplified"], input="\n".join(lines), capture_output=True, text=True, timeout=STACK_LIMIT
            ).stdout
            return text or "\n".join(lines)
    return "\n".join(lines)
