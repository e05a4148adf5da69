"""Waiting for something that must happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

# The limit, in seconds, of every wait for something that must happen. It is long, so that a slow or busy machine makes no test
# fail. A test has another limit only where it proves how long something takes.
WAIT = 120.0


def eventually(condition: Callable[[], object], timeout: float = WAIT) -> None:
    """Waits for something that is not announced."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s"
        time.sleep(0.01)


def listens(path: Path) -> bool:
    """Whether somebody accepts connections at a path: a socket has its path some moments before that."""
    accepts = 0x10000  # __SO_ACCEPTCON of the kernel, the fourth column
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        columns = line.split(maxsplit=7)
        if columns[7:] == [str(path)] and int(columns[3], 16) & accepts:
            return True
    return False
