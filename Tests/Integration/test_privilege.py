"""How a configuration gets something done as root under the unit, with a real systemd 252 and polkit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator

import pytest

from conftest import BUILD, CONFIGURATION, UNIT_FILES
from container import Container, ContainerUnavailable, make_root
from daemon import Binaries
from pages import blocks, guide, section
from unit import UNIT, drop_in

pytestmark = pytest.mark.nightly

PAGE = section(guide("HowTo/Systemd.md"), "Commands that need root")


def shown(language: str) -> tuple[str, str]:
    """A file that the page shows: its path, which is in its first line, and its text."""
    (block,) = blocks(PAGE, language)
    path = re.match(r"(?:#|//) (/\S+)\n", block)
    assert path
    return path[1], block


@pytest.fixture(scope="module")
def system(binaries: Binaries, say: Callable[[str], None]) -> Iterator[Container]:
    """A container with polkit, and the daemon installed."""
    try:
        box = Container("bookworm", make_root("bookworm", BUILD / "roots", say, ("polkitd",)))
        box.boot()
    except ContainerUnavailable as reason:
        warnings.warn(pytest.PytestWarning(f"NOT TESTED with a real systemd: {reason}"), stacklevel=1)
        pytest.skip("no container on this machine; a warning says why")
    try:
        box.install([binaries.mediatord, binaries.mediatorctl], UNIT_FILES)
        box.run("systemd-tmpfiles", "--create", "mediatord.conf")
        for name, text in CONFIGURATION.items():
            box.write(f"/etc/mediatord/{name}", text)
        yield box
    finally:
        box.stop()


def test_a_unit_that_polkit_permits_is_the_way_to_a_command_that_needs_root(system: Container) -> None:
    path, unit = shown("ini")
    # The command shows who it is, and whether it could do what it is for.
    system.write(path, unit.replace("/usr/sbin/fstrim --all", "/bin/sh -c 'id -un >/etc/proof'"))
    system.write("/etc/systemd/system/other.service", "[Service]\nType=oneshot\nExecStart=/bin/touch /etc/other\n")
    (configuration,) = blocks(PAGE, "yaml")
    system.write("/etc/mediatord/trimmer.yaml", configuration)
    system.write("/etc/mediatord/greedy.yaml", configuration.replace("trimmer", "greedy").replace("trim-disks", "other"))
    system.systemctl("daemon-reload")
    system.systemctl("restart", UNIT)

    def last(name: str) -> str:
        system.run("mediatorctl", "emit", name, "Due")
        system.wait_until(lambda: "Idle" in system.run("mediatorctl", "show", name).stdout, "the end of the job")
        return system.run("mediatorctl", "show", name).stdout

    assert "refused" in last("trimmer")
    path, rule = shown("js")
    system.write(path, rule)
    system.run("systemctl", "try-restart", "polkit.service")
    system.wait_until(lambda: "last=done" in last("trimmer"), "that the rule is read")
    assert system.path("/etc/proof").read_text() == "root\n"
    assert "refused" in last("greedy") and not system.path("/etc/other").exists()


def test_a_drop_in_cannot_permit_sudo_with_one_directive(system: Container) -> None:
    drop_in(system, "[Service]\nNoNewPrivileges=no\nRestrictSUIDSGID=no\nCapabilityBoundingSet=~\n")
    try:
        system.systemctl("restart", UNIT)
        pid = system.show(UNIT, "MainPID")["MainPID"]
        assert re.search(r"NoNewPrivs:\s+1\n", system.run("cat", f"/proc/{pid}/status").stdout)
    finally:
        system.run("rm", "-r", f"/etc/systemd/system/{UNIT}.d")
        system.systemctl("daemon-reload")


def test_the_daemon_survives_a_command_that_the_kernel_kills_for_its_memory(system: Container) -> None:
    system.systemctl("restart", UNIT)
    found = system.show(UNIT, "OOMPolicy", "TasksMax", "MemoryMax")
    assert found["OOMPolicy"] == "continue" and found["TasksMax"] == "4096" and found["MemoryMax"].isdigit(), found
