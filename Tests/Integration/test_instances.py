"""Several daemons on one machine, and those of users, under a real systemd."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from conftest import CONFIGURATION
from container import Container
from flood import ping

LAB = "/run/mediatord@lab/io.mediatord.Control"


@pytest.fixture
def lab(system: Container) -> Iterator[Container]:
    """The container with the configuration of an instance."""
    for name, text in CONFIGURATION.items():
        system.write(f"/etc/mediatord@lab/{name}", text.replace("system: heartbeat", "system: lab-heartbeat"))
    try:
        yield system
    finally:
        system.systemctl("stop", "mediatord@lab.socket", "mediatord@lab.service", check=False)
        system.run("rm", "-rf", "/etc/mediatord@lab", "/run/mediatord@lab", "/var/lib/mediatord@lab")


def ctl(system: Container, *argv: str) -> subprocess.CompletedProcess[str]:
    return system.run("mediatorctl", *argv, "--socket", LAB, check=False)


def test_instances_stand_beside_each_other(lab: Container) -> None:
    lab.systemctl("start", "mediatord.service", "mediatord@lab.service")
    assert "lab-heartbeat" in ctl(lab, "status").stdout
    assert "lab-heartbeat" not in lab.run("mediatorctl", "status").stdout
    lab.write("/etc/mediatord@lab/heartbeat.yaml", "system: other\nstates: { A: {} }\ninitialState: A\n")
    lab.systemctl("reload", "mediatord@lab.service")
    assert "other" in ctl(lab, "status").stdout
    lab.write("/etc/mediatord@lab/heartbeat.yaml", "system: other\n")
    assert lab.systemctl("reload", "mediatord@lab.service", check=False).returncode != 0
    assert lab.systemctl("reload", "mediatord.service", check=False).returncode == 0
    assert lab.path("/var/lib/mediatord@lab").is_dir()
    lab.systemctl("stop", "mediatord@lab.service")
    assert ctl(lab, "status").returncode == 69
    assert lab.run("mediatorctl", "status").returncode == 0


def test_an_instance_that_nobody_has_made_is_not_started(system: Container) -> None:
    for unit in ("mediatord@typo.service", "mediatord@typo.socket"):
        started = system.systemctl("start", unit, check=False)
        assert started.returncode != 0 and "Assertion failed" in started.stderr, started.stderr
    assert not system.path("/etc/mediatord@typo").exists()


def test_an_instance_is_started_by_its_socket(lab: Container) -> None:
    lab.systemctl("start", "mediatord@lab.socket")
    ping(lab.path(LAB))
    assert "lab-heartbeat" in ctl(lab, "status").stdout
    assert lab.run("stat", "--format=%a %U:%G", LAB).stdout.strip() == "660 mediatord:mediatord"


def test_a_user_has_a_daemon_of_their_own(system: Container) -> None:
    system.run("useradd", "--create-home", "alice", check=False)
    number, home = (system.run("getent", "passwd", "alice").stdout.split(":")[index] for index in (2, 5))
    manager = f"user@{number}.service"
    runtime = f"/run/user/{number}"

    def run(*argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        environment = ("env", f"XDG_RUNTIME_DIR={runtime}", f"HOME={home}")
        return system.run("runuser", "-u", "alice", "--", *environment, *argv, check=check)

    for name, text in CONFIGURATION.items():
        system.write(f"{home}/.config/mediatord/{name}", text)
    system.run("chown", "-R", "alice:", home)
    # What a login would say by PAM.
    override = "/etc/systemd/system/user@.service.d/test.conf"
    system.write(override, "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n")
    system.systemctl("daemon-reload")
    started = system.systemctl("start", manager, check=False)
    assert started.returncode == 0, system.journal(manager)
    try:
        started = run("systemctl", "--user", "start", "mediatord", check=False)
        assert started.returncode == 0, started.stderr + system.journal(manager)
        status = run("mediatorctl", "status").stdout
        assert "heartbeat" in status and f"{home}/.config/mediatord" in status, status
        # What commands keep is no configuration.
        pid = run("systemctl", "--user", "show", "-P", "MainPID", "mediatord").stdout.strip()
        (kept,) = re.findall(r"(?:^|\0)STATE_DIRECTORY=([^\0]*)", system.run("cat", f"/proc/{pid}/environ").stdout)
        places = system.run("realpath", kept, f"{home}/.config/mediatord").stdout.splitlines()
        assert len(set(places)) == 2, places
        run("systemctl", "--user", "reload", "mediatord")
        run("systemctl", "--user", "restart", "mediatord")
        assert "kept over a restart" in run("mediatorctl", "why", "heartbeat").stdout
        run("systemctl", "--user", "stop", "mediatord")
        run("systemctl", "--user", "start", "mediatord.socket")
        ping(system.path(f"{runtime}/mediatord/io.mediatord.Control"))
        assert "heartbeat" in run("mediatorctl", "status").stdout
        # It answers before the service manager has read that it is ready. To start it again waits for that.
        run("systemctl", "--user", "start", "mediatord")
        assert run("systemctl", "--user", "show", "-P", "ActiveState", "mediatord").stdout.strip() == "active"
        run("systemctl", "--user", "stop", "mediatord.socket", "mediatord.service")
    finally:
        system.systemctl("stop", manager, check=False)
        system.run("rm", "-f", override)
        system.run("userdel", "--remove", "alice", check=False)
