"""A virtual machine with Debian, the daemon and a disk of its own.

When its process is killed, the memory of the machine is lost, with what its kernel had not given to the disk. What the disk has is
kept.
"""

from __future__ import annotations

import os
import platform
import re
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from container import LIBRARIES, ContainerUnavailable, make_root, shared_libraries
from waiting import WAIT

EMULATOR = "qemu-system-x86_64"
# A kernel, and the file system with which it begins.
PACKAGES = ("initramfs-tools", "linux-image-cloud-amd64")
# Its processor is translated, which works on any machine. A boot takes about half a minute.
BOOT = 3 * WAIT
# The journal goes to the second serial line, so that no line of the kernel is within one of the daemon.
JOURNAL = "[Journal]\nForwardToConsole=yes\nTTYPath=/dev/ttyS1\nMaxLevelConsole=info\n"


def make_image(cache: Path, folder: Path, say: Callable[[str], None], binaries: Sequence[Path], files: Mapping[str, str]) -> Path:
    """A disk with Debian, programs, and further files at the paths given; the daemon starts at boot. The kernel is beside it."""
    if platform.machine() != "x86_64":
        raise ContainerUnavailable(f"the machine is made for x86_64, not for {platform.machine()}")
    if shutil.which(EMULATOR) is None:
        raise ContainerUnavailable(f"there is no {EMULATOR}")
    root = make_root("bookworm", cache, say, PACKAGES)
    stage = folder / "stage"

    def run(*command: str | Path) -> None:
        done = subprocess.run(command, timeout=BOOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise ContainerUnavailable(f"{command[0]} ended with {done.returncode}: {done.stderr}")

    run("cp", "--archive", "--reflink=auto", root, stage)
    (stage / LIBRARIES[1:]).mkdir(parents=True)
    for binary in binaries:
        shutil.copy(binary, stage / "usr/bin" / binary.name)
        for library in shared_libraries(binary):
            if not any((stage / place / library.name).exists() for place in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")):
                shutil.copy(library, stage / LIBRARIES[1:] / library.name)
    for path, text in {
        **files, "/etc/ld.so.conf.d/mediatord.conf": f"{LIBRARIES}\n", "/etc/systemd/journald.conf.d/console.conf": JOURNAL,
    }.items():
        place = stage / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    run("chroot", stage, "ldconfig")
    run("chroot", stage, "systemd-sysusers")
    run("systemctl", f"--root={stage}", "enable", "mediatord.service")
    for name in ("vmlinuz", "initrd.img"):
        (found,) = (stage / "boot").glob(f"{name}-*")
        shutil.copy(found, folder / name)
    image = folder / "image"
    run("truncate", "--size=3G", image)
    run("mkfs.ext4", "-q", "-d", stage, image)
    shutil.rmtree(stage)
    return image


class Guest:
    """One life of the machine, from the boot until it is killed. It writes its journal to a serial line."""

    def __init__(self, image: Path) -> None:
        self.journal = ""
        self._process = subprocess.Popen(
            [
                EMULATOR, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "q35,accel=tcg",
                "-cpu", "max", "-m", "1024", "-kernel", image.parent / "vmlinuz", "-initrd", image.parent / "initrd.img",
                "-append", "root=/dev/vda rw console=ttyS0 panic=-1", "-serial", f"file:{image.parent / 'kernel.log'}",
                "-drive", f"file={image},format=raw,if=virtio,cache=writeback", "-serial", "stdio",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def found(self, pattern: str) -> list[str]:
        """What a pattern finds in the journal so far. The last line may be cut off, so it does not count."""
        return re.findall(pattern, self.journal[: self.journal.rfind("\n") + 1])

    def wait(self, pattern: str, count: int = 1) -> list[str]:
        """Waits until the pattern finds something so often in the journal, and returns it all."""
        assert self._process.stdout is not None
        end = time.monotonic() + BOOT
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while len(self.found(pattern)) < count:
                assert selector.select(max(0, end - time.monotonic())), f"only {self.found(pattern)} in time:\n{self.journal}"
                self._read()
        return self.found(pattern)

    def _read(self) -> None:
        assert self._process.stdout is not None
        text = os.read(self._process.stdout.fileno(), 1 << 16)
        assert text, f"the machine has ended with {self._process.wait(WAIT)}:\n{self.journal}"
        self.journal += text.decode(errors="replace")

    def cut(self) -> None:
        """Kills the machine: what was not on its disk is lost. The journal is that up to this moment."""
        self._process.kill()
        self._process.wait(WAIT)
        stdout = self._process.stdout
        assert stdout is not None
        if not stdout.closed:
            with stdout:
                self.journal += stdout.read().decode(errors="replace")
