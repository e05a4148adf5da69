"""A file system in a file, which can lose its power: what has not reached it then is lost."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from waiting import WAIT, eventually

# Stops the file system at once, and writes neither its journal nor what is in memory. Source: EXT4_IOC_SHUTDOWN and
# EXT4_GOING_FLAGS_NOLOGFLUSH of fs/ext4/ext4.h. XFS_IOC_GOINGDOWN of fs/xfs/libxfs/xfs_fs.h has the same numbers.
SHUTDOWN = 0x8004587D
WITHOUT_FLUSHING = 2

# A new inode table and journal of ext4 need not be written: the image is all zeros.
MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
}

# Mounts the image and, over what must not change, what is in it. That goes with the last process in this namespace.
MOUNT = """
mount -o loop "$1" "$2"
mkdir -p "$2/upper" "$2/work"
mount -t overlay overlay -o "lowerdir=$4,upperdir=$2/upper,workdir=$2/work" "$3"
shift 4
exec "$@"
"""


def freeze(process: int) -> None:
    """Stops all threads of a process. A thread in a system call that waits for the disk stops when the call returns.

    A program that runs on after the power cut would act on what is lost: a sync that began before it may return without an error.
    """
    def is_stopped(task: Path) -> bool:
        try:
            # Stopped, waiting for the disk, or ended.
            return (task / "stat").read_text().rpartition(") ")[2][0] in "TtDZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    os.kill(process, signal.SIGSTOP)
    eventually(lambda: all(is_stopped(task) for task in Path(f"/proc/{process}/task").iterdir()))


class Disk:
    """An image of a file system, in which what is written over a directory is kept.

    It is mounted only for the processes of one program. When they are gone, so is the mount, and what is in the image
    can be mounted again: all that was written, unless the power was cut before.
    """

    def __init__(self, folder: Path, below: Path, size: str = "3G", kind: str = "ext4") -> None:
        self.kind = kind
        self.below = below
        self.image = folder / "image"
        self.mounted = folder / "mounted"
        self.root = folder / "root"
        self.mounted.mkdir()
        self.root.mkdir()
        subprocess.run(["truncate", "--size", size, self.image], check=True, timeout=WAIT)
        subprocess.run([*MAKE[kind], self.image], check=True, timeout=WAIT)

    def wrapper(self) -> Sequence[str]:
        """What to put before the command line of a program that is to see the directory `root`."""
        places = (self.image, self.mounted, self.root, self.below)
        return ("unshare", "--mount", "--propagation", "private", "--", "sh", "-ec", MOUNT, "sh", *map(str, places))

    def run(self, *command: str) -> None:
        """Runs a program that sees the mounted image, and waits until it is no longer mounted."""
        subprocess.run([*self.wrapper(), *command], check=True, timeout=WAIT)
        self.wait_unmounted()

    def cut_power(self, process: int) -> None:
        """From now on nothing reaches the disk, which a process has mounted."""
        directory = os.open(f"/proc/{process}/root{self.mounted}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Before the image is mounted, this is the disk of the machine.
            assert os.fstat(directory).st_dev != self.mounted.stat().st_dev, "the image is not mounted"
            fcntl.ioctl(directory, SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING))
        finally:
            os.close(directory)

    def wait_unmounted(self, timeout: float = WAIT) -> None:
        """Waits until nothing has the image any longer: two who do would destroy it."""
        deadline = time.monotonic() + timeout
        while self._is_mounted():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.image} is still mounted after {timeout} s")
            time.sleep(0.02)

    def _is_mounted(self) -> bool:
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            try:
                if backing.read_text().strip() == str(self.image):
                    return True
            except OSError:
                continue
        return False
