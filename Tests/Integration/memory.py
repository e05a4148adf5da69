"""The memory of a process."""

from __future__ import annotations

from pathlib import Path


def anonymous(pid: int) -> int:
    """Returns how many bytes of anonymous memory of a process are resident: its heap and its stacks.

    Pages of the program's file are left out. The kernel adds and drops those as it likes. Source: proc_pid_status(5), RssAnon.
    """
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"the process {pid} has ended")
