"""The commands, configurations and programs of the readme, and the systems that the project ships."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import REPOSITORY, SHIPPED
from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from pages import README, blocks, guide, section, shape, squeezed
from waiting import WAIT


def test_the_consoles_of_the_readme(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    directory = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", directory / "Config")
    commands = 0
    pages = (README, guide("Reference/Layers.md"), guide("Reference/Expressions.md"))
    for console in [block for page in pages for block in blocks(page, "console")]:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            result = subprocess.run(
                command, shell=True, cwd=directory, env=environment, capture_output=True, text=True, timeout=WAIT
            )
            assert result.returncode == (CONFIGURATION_INVALID if command.startswith("mediatord ") else 0), result
            printed = (result.stdout + result.stderr).replace(str(shipped.config), "Config")
            assert shape(printed) == shape(expected), f"$ {command}\n{printed}"
            commands += 1
            # Who types this is slower than what runs.
            if command.startswith("mediatorctl publish") and command.endswith("5000"):
                shipped.ctl("tap", "speaker", "--count", "30")
            elif command.startswith("mediatorctl emit"):
                shipped.wait_log("Filling → Normal")
    assert commands == 16
    # What was detached is attached again, so that the next measurement reaches the housekeeping.
    shipped.wait_log("Paused → Waiting")


def test_the_configuration_of_the_readme_is_the_shipped_one() -> None:
    system, wiring = blocks(README, "yaml")
    assert system in SHIPPED["disk-guard.yaml"]
    for name in ("disk.status:", "disk-is-filling:", "pause-housekeeping:"):
        assert name in wiring
    # It shows some parts of the file, and each as it is there.
    shipped = SHIPPED["wiring.yaml"]
    for part in re.split(r"^(?=  \S)|^(?=\S)", wiring, flags=re.MULTILINE):
        assert part in shipped, part


def test_the_wiring_of_the_readme_runs(daemon: Callable[..., Daemon]) -> None:
    _, wiring = blocks(README, "yaml")
    systems = {name: text for name, text in SHIPPED.items() if name != "wiring.yaml"}
    one = daemon({**systems, "wiring.yaml": wiring})
    assert "healthy" in one.ctl("status").stdout


def test_the_python_of_the_readme(shipped: Daemon) -> None:
    (program,) = blocks(README, "python")
    # The program watches for ever, so it is ended after the first value.
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program], env={**os.environ, "MEDIATORD_SOCKET": str(shipped.socket)},
        stdout=subprocess.PIPE, text=True,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "normal (as it was)\n"
        watcher.kill()


def test_the_swift_of_the_readme_is_tested() -> None:
    sources = squeezed("".join(path.read_text() for path in (REPOSITORY / "Tests").glob("**/*.swift")))
    for program in blocks(README, "swift"):
        assert squeezed(program).strip() in sources


def test_the_pages_say_what_a_crash_and_a_reboot_keep() -> None:
    """An administrator must learn it where he decides, with the way to keep more."""
    restart = guide("Explanation/Restart.md")
    for text in (section(README, "Under systemd"), guide("HowTo/ManualOverride.md"), restart):
        assert "crash" in text and "reboot" in text and "SurviveACrash.md" in text
    assert "mailbox" in restart and "none runs twice" in section(restart, "Commands of a killed daemon")


def test_the_targets_of_the_readme_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", blocks(README, "sh")[0], re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_shipped_disk_guard_measures_the_disk_of_this_machine(daemon: Callable[..., Daemon]) -> None:
    one = daemon(SHIPPED)
    line = one.wait_log("event=Measured system=disk-guard")
    usage = shutil.disk_usage("/")
    percent = int(re.search(r"used: (\d+)", line).group(1))
    assert abs(percent - 100 * usage.used / (usage.used + usage.free)) <= 3
    assert f"→ {'Full' if percent >= 95 else 'Filling' if percent >= 80 else 'Normal'} " in line


def test_the_shipped_systems_do_what_they_say(shipped: Daemon) -> None:
    # The housekeeping counts: told to begin now, it finds a file that is a week old.
    old = Path("/tmp") / f"mediatord-test-{os.getpid()}"
    old.touch()
    os.utime(old, (0, 0))
    try:
        shipped.ctl("emit", "housekeeping", "Due")
        line = shipped.wait_log("Working → Waiting")
        assert 'trouble: "none"' in line
        assert int(re.search(r"stale: (\d+)", line).group(1)) >= 1
    finally:
        old.unlink()
    # A full disk pauses it, and reaches the notifier over a link and the log.
    shipped.ctl("emit", "disk-guard", "Measured", "used=97")
    shipped.wait_log("Waiting → Paused")
    assert "alarm 1: the disk is 97 % full (severity 3)" in shipped.wait_log("alarm 1")
    shipped.ctl("emit", "disk-guard", "Measured", "used=5")
    shipped.wait_log("Paused → Waiting")
    # Of the alarms only those that matter arrive.
    shipped.ctl("publish", "alarms", "text=smoke", "severity=1")
    shipped.ctl("publish", "alarms", "text=fire", "severity=3")
    assert "alarm 2: fire" in shipped.wait_log("alarm 2")
