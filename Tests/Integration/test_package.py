"""Installing the Debian package, in containers of both releases; package.py tells which programs it contains."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import package
from conftest import REPOSITORY
from container import Container
from daemon import Binaries
from installing import OWN, commands
from test_restart import show
from test_shells import needs
from waiting import WAIT

UNIT = "mediatord.service"


@pytest.fixture(scope="module")
def deb(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package.build(programs, tmp_path_factory.mktemp("deb"))


@pytest.fixture(scope="module")
def newer(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package.build(programs, tmp_path_factory.mktemp("newer"), "0.1.1~test1")


def test_the_package_has_a_bill_of_its_materials(deb: Path) -> None:
    files = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True, timeout=WAIT).stdout
    bill = subprocess.run(
        ["tar", "--extract", "--to-stdout", "./usr/share/doc/mediatord/sbom.cdx.json"],
        input=files, check=True, capture_output=True, timeout=WAIT,
    ).stdout.decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    components = {one["name"]: one for one in json.loads(bill)["components"]}
    # Of the programs in the package, into which Swift's runtime and RE2 are linked.
    for name in ("swift-runtime", "re2"):
        assert components[name]["properties"] == [{"name": "mediatord:linked", "value": "statically"}], name
    assert {"libc6", "libsystemd0", "swift-nio", "libyaml-0-2"} <= set(components)


def test_the_package_needs_what_both_releases_have(deb: Path) -> None:
    depends = {name.split()[0] for name in re.split(r"[,|] *", package.field(deb, "Depends"))}
    assert depends <= {
        "init-system-helpers", "libc6", "libcurl4", "libcurl4t64", "libgcc-s1", "libsqlite3-0", "libstdc++6", "libsystemd0", "libyaml-0-2", "zlib1g", "systemd", "systemd-standalone-sysusers",
        "systemd-sysusers", "systemd-standalone-tmpfiles", "systemd-tmpfiles",
    }, depends
    # journalctl, for the side effect `journal`.
    assert package.field(deb, "Recommends") == "systemd"


def test_the_package_is_of_the_version_of_the_programs(deb: Path, binaries: Binaries) -> None:
    said = subprocess.run(
        [binaries.mediatorctl, "version", "--client"], capture_output=True, text=True, timeout=WAIT, check=True
    ).stdout
    assert said.split()[-1] == package.field(deb, "Version")


def test_two_builds_of_the_package_are_the_same(deb: Path, programs: Path, tmp_path: Path) -> None:
    other = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "HOME": str(tmp_path), "USER": "nobody"}
    again = package.build(programs, tmp_path / "elsewhere", environment=other, umask=0o077)
    assert again.name == deb.name
    assert again.read_bytes() == deb.read_bytes()


def test_lintian_has_nothing_to_say(deb: Path) -> None:
    packages = [path for path in deb.parent.glob("*.deb")]
    said = subprocess.run(
        [needs("lintian"), "--allow-root", "--no-cfg", "--tag-display-limit", "0", "--fail-on", "none", *packages],
        capture_output=True, text=True, timeout=600,
    )
    assert (said.returncode, said.stdout) == (0, ""), said
    # What it is not to say has a reason each.
    lines = (REPOSITORY / "debian" / "mediatord.lintian-overrides").read_text().splitlines()
    assert lines and lines[0].startswith("#")
    assert all(line.startswith(("#", "mediatord: ")) for line in lines)


def test_the_package_lives_and_dies_well(fresh: Container, deb: Path, newer: Path) -> None:
    _, install, *apply = commands("The Debian package")
    (upgrade,) = commands("Upgrading")
    remove, purge = commands("Removing")
    assert install == f"apt install ./{package.field(deb, 'Package')}_0.1.0_amd64.deb" and upgrade.count("apt install ./") == 1
    for path in (deb, newer):
        shutil.copy(path, fresh.path("/root") / path.name)

    def do(command: str) -> str:
        command = command.replace("apt ", "apt-get --yes --quiet ").replace("_amd64", f"_{package.field(deb, 'Architecture')}")
        result = fresh.run("sh", "-ec", f"cd /root; export DEBIAN_FRONTEND=noninteractive; {command}", timeout=2 * WAIT)
        said = result.stdout + result.stderr
        assert not re.search(r"^(E:|dpkg: error|Failed|Job for)", said, re.MULTILINE), said
        return said

    def state() -> dict[str, str]:
        return fresh.show(UNIT, "ActiveState", "UnitFileState", "MainPID", "NRestarts")

    # It runs at once, with nothing configured; the directory for that is there.
    do(install)
    assert (state()["ActiveState"], state()["UnitFileState"]) == ("active", "enabled")
    # The daemon opens its socket itself.
    socket = fresh.show("mediatord.socket", "ActiveState", "UnitFileState")
    assert socket == {"ActiveState": "inactive", "UnitFileState": "disabled"}
    assert "0 systems" in fresh.run("mediatorctl", "status", check=False).stdout
    assert fresh.run("dpkg", "--verify", "mediatord").stdout == ""
    owner = fresh.run("stat", "--format=%n %U %a", "/etc/mediatord", "/var/lib/mediatord", "/var/lib/mediatord-store").stdout.splitlines()
    assert owner == ["/etc/mediatord root 755", "/var/lib/mediatord mediatord 750", "/var/lib/mediatord-store mediatord 700"]
    account = fresh.run("id", "mediatord").stdout
    assert fresh.run("systemd-analyze", "verify", "--man=no", UNIT).stderr == ""
    for catalogue in (REPOSITORY / "systemd").glob("*.catalog"):
        known = fresh.run("journalctl", "--list-catalog").stdout
        for identifier in re.findall(r"^-- ([0-9a-f]{32})$", catalogue.read_text(), re.MULTILINE):
            assert identifier in known

    # What the administrator configures is applied by a reload, and outlasts all that follows.
    for path, text in OWN.items():
        fresh.write(path, text)
    assert apply[-1] == "systemctl reload mediatord"
    for command in apply:
        do(command)
    assert "2 systems: 2 healthy" in fresh.run("mediatorctl", "status").stdout
    fresh.write("/var/lib/mediatord/kept", "by a command\n")
    if not fresh.path("/usr/lib/systemd/system/mediatord@.service").exists():
        unit = fresh.path(f"/usr/lib/systemd/system/{UNIT}").read_text()
        template = re.sub(r"^(\w+Directory)=mediatord$", r"\1=mediatord@%i", unit, flags=re.MULTILINE)
        fresh.write("/etc/systemd/system/mediatord@.service", template)
        fresh.systemctl("daemon-reload")
    fresh.run("mkdir", "/etc/mediatord@lab")
    fresh.systemctl("enable", "--now", "mediatord@lab.service")
    fresh.systemctl("enable", "mediatord@lab.socket")
    before = state()
    lab = fresh.show("mediatord@lab.service", "MainPID")["MainPID"]
    fresh.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
    fresh.run("mediatorctl", "publish", "wish", '{"text": "tea", "weight": 0.1}')
    state_before = show(fresh, "counter")

    # An upgrade restarts what runs, and each of them once; systems and buses go on from where they were.
    do(upgrade.replace("_0.1.1_", f"_{package.field(newer, 'Version')}_"))
    assert fresh.run("dpkg-query", "-W", "-f", "${Version}", "mediatord").stdout == package.field(newer, "Version")
    after = state()
    assert after["MainPID"] not in (before["MainPID"], "0") and after["ActiveState"] == "active", after
    assert after["NRestarts"] == "0" and "2 systems: 2 healthy" in fresh.run("mediatorctl", "status").stdout
    assert fresh.show("mediatord@lab.service", "MainPID")["MainPID"] not in (lab, "0")
    assert fresh.run("id", "mediatord").stdout == account
    state_after = show(fresh, "counter")
    assert (state_after["state"], state_after["since"]) == (state_before["state"], state_before["since"])
    assert state_after["state"]["name"] == "Count"
    assert show(fresh, "wish")["value"] == {"text": "tea", "weight": 0.1} and show(fresh, "seen")["value"] == 7
    assert "kept over a restart of the daemon" in fresh.run("mediatorctl", "why", "counter").stdout

    # A daemon that does not come back is named, and what to do; the package is installed all the same.
    fresh.write("/etc/mediatord/broken.yaml", "system: broken\n")
    said = fresh.run("sh", "-ec", f"cd /root; dpkg --install {newer.name}")
    assert "mediatord.service does not run any more: see `systemctl status mediatord.service`" in said.stderr, said.stderr
    assert state()["ActiveState"] == "failed" and "mediatord@lab.service does not" not in said.stderr
    fresh.run("rm", "/etc/mediatord/broken.yaml")
    fresh.systemctl("reset-failed", UNIT)
    fresh.systemctl("start", UNIT)

    # What the administrator has stopped and disabled stays so.
    fresh.systemctl("disable", "--now", UNIT)
    do(f"dpkg --install {newer.name}")
    assert (state()["ActiveState"], state()["UnitFileState"]) == ("inactive", "disabled")
    # And so does the socket that they have enabled, which is not closed meanwhile.
    fresh.systemctl("enable", "--now", "mediatord.socket")
    opened = fresh.show("mediatord.socket", "InvocationID")
    do(f"dpkg --install {newer.name}")
    assert fresh.show("mediatord.socket", "UnitFileState", "InvocationID") == {"UnitFileState": "enabled", **opened}
    fresh.systemctl("disable", "--now", "mediatord.socket")
    fresh.systemctl("enable", "--now", UNIT)

    # Removed, nothing runs and nothing but what was configured and kept is left; installed again, that is found.
    fresh.write("/etc/mediatord@broken/broken.yaml", "system: broken\n")
    assert fresh.systemctl("start", "mediatord@broken.service", check=False).returncode != 0
    fresh.run("rm", "/etc/mediatord@broken/broken.yaml")
    do(remove)
    assert fresh.processes("mediatord") == []
    assert fresh.systemctl("list-units", "--failed", "--plain", "--no-legend").stdout == ""
    assert not fresh.path("/usr/bin/mediatord").exists() and not fresh.path("/run/mediatord").exists()
    assert fresh.path("/var/lib/mediatord/kept").exists()
    do(install)
    assert "2 systems: 2 healthy" in fresh.run("mediatorctl", "status").stdout

    # Purged, what is the administrator's own is left, which dpkg says, and the account, whose number nobody else gets.
    wanted = "/etc/systemd/system/multi-user.target.wants/mediatord@lab.service"
    assert wanted in left(fresh)
    said = do(purge)
    assert "directory '/etc/mediatord' not empty" in said, said
    assert wanted not in left(fresh)
    fresh.run("rm", "-rf", "/etc/systemd/system/mediatord@.service")
    assert left(fresh) == ["/etc/mediatord", *sorted(OWN)]
    assert fresh.run("id", "mediatord").stdout == account
    do(install)
    fresh.run("rm", "-rf", *OWN)
    do(purge)
    assert left(fresh) == []
    # None of that has failed anything else.
    assert fresh.systemctl("list-units", "--failed", "--plain", "--no-legend").stdout == ""


def left(box: Container) -> list[str]:
    """What has our name anywhere, but for the journal, dpkg's log and what the test has brought."""
    found = box.run(
        "sh", "-c",
        "find / -xdev \\( -path /proc -o -path /sys -o -path /root -o -path /var/log -o -path /tmp \\) -prune "
        "-o -path '*mediator*' -print; find /run /tmp -name '*mediator*'",
    ).stdout
    return sorted(line for line in found.splitlines() if "/systemd-private-" not in line)
