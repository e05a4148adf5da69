"""The machine loses its power at any moment: the daemon always comes back ready."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import BUILD, CONFIGURATION, UNIT_FILES
from container import SUITES, Container, ContainerUnavailable, make_root
from daemon import Binaries

KILLS = 3 * int(os.environ.get("SOAK_FACTOR", "1"))
UNIT = "mediatord.service"

BUS = "buses: { beats: { kind: passthrough, value: int, external: both } }\n"
ATTACH = "{ attach: heartbeat, to: beats, onState: Beating, emitValue: 1 }"

# Changes files of the configuration all the time.
CHANGES = f"""
while true; do
    mediatorctl attach tell '{ATTACH}' --persist
    mediatorctl detach tell --persist
done >/dev/null 2>&1
"""


def prepare(suite: str, root: Path, binaries: Binaries) -> None:
    """A root of its own, with the daemon enabled and allowed to change its configuration."""
    with Container(suite, root, is_lasting=True) as box:
        box.install([binaries.mediatord, binaries.mediatorctl], UNIT_FILES)
        for name, text in CONFIGURATION.items():
            box.write(f"/etc/mediatord/{name}", text)
        box.write("/etc/mediatord/bus.yaml", BUS)
        box.run("chown", "-R", "mediatord", "/etc/mediatord")
        box.write(f"/etc/systemd/system/{UNIT}.d/test.conf", "[Service]\nReadWritePaths=/etc/mediatord\n")
        box.systemctl("daemon-reload")
        box.systemctl("enable", UNIT)


def boot_for(box: Container, seconds: float) -> None:
    """Boots, and takes the power away after that time, wherever it is by then."""

    def boot() -> None:
        try:
            box.boot()
        except (ContainerUnavailable, TimeoutError, RuntimeError, AssertionError, OSError, subprocess.SubprocessError):
            pass

    thread = threading.Thread(target=boot)
    thread.start()
    thread.join(seconds)
    box.kill()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("suite", SUITES)
def test_the_daemon_comes_back_after_a_loss_of_power_at_any_moment(
    suite: str, binaries: Binaries, say: Callable[[str], None], tmp_path: Path
) -> None:
    try:
        base = make_root(suite, BUILD / "roots", say)
    except ContainerUnavailable as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))
    seed = random.randrange(1 << 32)
    choice = random.Random(seed)
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
    try:
        prepare(suite, root, binaries)
        usual = 4.0
        for number in range(KILLS):
            boot_for(Container(suite, root, is_lasting=True), choice.uniform(0.1, usual))
            box = Container(suite, root, is_lasting=True)
            box.boot()
            usual = box.boot_seconds + 1
            try:
                what = f"kill {number} of seed {seed}"
                box.wait_until(
                    lambda: box.show(UNIT, "ActiveState")["ActiveState"] in ("active", "failed"), what
                )
                status = box.run("mediatorctl", "status", check=False)
                assert status.returncode == 0, f"{what}: {status.stdout}{status.stderr}{box.journal(UNIT)}"
                # Files are being changed when the power goes.
                changes = subprocess.Popen(
                    ["nsenter", "-t", str(box.leader), "-m", "-p", "-C", "--", "sh", "-c", CHANGES],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
                time.sleep(choice.uniform(0.1, 1))
            finally:
                box.kill()
            changes.wait(30)
        say(f"Debian {suite}: {2 * KILLS} losses of power, seed {seed}")
    finally:
        shutil.rmtree(root, ignore_errors=True)
