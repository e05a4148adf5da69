"""mediatord under a real systemd."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from container import Container
from daemon import CONFIGURATION_INVALID
from unit import UNIT, drop_in

SECOND = """\
system: second
states: { Here: {} }
events: {}
initialState: Here
"""

UNITS = Path(__file__).parents[2] / "systemd"
EXAMPLES = UNITS / "examples"

GUIDE = (Path(__file__).parents[2] / "Documentation" / "HowTo" / "Systemd.md").read_text()

# The drop-in that the guide for operators shows.
(NOTIFY_RELOAD,) = re.findall(r"```ini\n(\[Service\]\nType=notify-reload\n.*?)```", GUIDE, re.DOTALL)


def wait_for_restart(system: Container, old_pid: str) -> dict[str, str]:
    """Waits until systemd has started the daemon anew, and returns what it says of it."""
    now: dict[str, str] = {}

    def is_restarted() -> bool:
        now.update(system.show(UNIT, "ActiveState", "MainPID", "NRestarts"))
        return now["ActiveState"] == "active" and now["MainPID"] not in ("0", old_pid)

    system.wait_until(is_restarted, f"a restart of {UNIT}; the journal:\n{system.journal(UNIT)}")
    return now


@pytest.mark.depends_on_systemd
def test_the_units_have_no_mistakes(system: Container) -> None:
    for unit in ("mediatord.service", "mediatord.socket", "mediatord@lab.service", "mediatord@lab.socket"):
        verified = system.run("systemd-analyze", "verify", "--man=no", unit, check=False)
        assert (unit, verified.returncode, verified.stdout + verified.stderr) == (unit, 0, "")
    for unit in ("mediatord.service", "mediatord.socket"):
        verify = ("systemd-analyze", "verify", "--man=no", "--user", f"/usr/lib/systemd/user/{unit}")
        verified = system.run("env", "XDG_RUNTIME_DIR=/run", "HOME=/root", *verify, check=False)
        assert (unit, verified.returncode, verified.stdout + verified.stderr) == (unit, 0, "")


def wanted(name: str) -> int:
    """Returns the first version of systemd that an example is for."""
    found = re.search(r"systemd (\d+) and later", (EXAMPLES / name).read_text())
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=[pytest.mark.depends_on_systemd] if wanted(path.name) > 252 else [])
        for path in sorted(EXAMPLES.iterdir())
    ],
)
def test_the_examples_have_no_mistakes(system: Container, name: str) -> None:
    if system.suite == "bookworm" and wanted(name) > 252:
        pytest.skip(f"for systemd {wanted(name)}")
    drop_in(system, (EXAMPLES / name).read_text())
    verified = system.run("systemd-analyze", "verify", "--man=no", UNIT, check=False)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    system.systemctl("start", UNIT)


@pytest.mark.depends_on_systemd
def test_the_unit_exposes_little(system: Container) -> None:
    # In tenths; the scale ends at 100. Compare 96 for an unhardened service.
    for unit in (UNIT, "mediatord@lab.service"):
        system.run("systemd-analyze", "security", "--threshold=15", unit)


def test_the_template_is_the_unit_with_other_names() -> None:
    def settings(name: str) -> list[str]:
        lines = (UNITS / name).read_text().splitlines()
        return [line for line in lines if line and not line.startswith("#")]

    own = {
        "Description=Mediator daemon, instance %i": "Description=Mediator daemon: the host's concerns as small state machines",
        "ExecStart=/usr/bin/mediatord --config /etc/mediatord@%i": "ExecStart=/usr/bin/mediatord",
        "ExecStartPre=-/usr/bin/mediatorctl validate --quiet --config /etc/mediatord@%i": (
            "ExecStartPre=-/usr/bin/mediatorctl validate --quiet"
        ),
        "Environment=MEDIATORD_STORE=/var/lib/mediatord-store/@%i": "Environment=MEDIATORD_STORE=/var/lib/mediatord-store/main",
    }
    template = settings("mediatord@.service")
    # The directory that the unit of the one daemon brings is made for an instance by the administrator.
    template.remove("AssertPathIsDirectory=/etc/mediatord@%i")
    assert set(own) <= set(template)
    assert [own.get(line, line).replace("mediatord@%i", "mediatord") for line in template] == settings(UNIT)


def test_the_shipped_configuration_works_under_the_unit(system: Container) -> None:
    for path in (UNITS.parent / "Config").iterdir():
        system.write(f"/etc/mediatord/{path.name}", path.read_text())
    system.run("rm", "-f", "/etc/mediatord/heartbeat.yaml")
    system.systemctl("start", UNIT)

    def state(name: str) -> str:
        (described,) = json.loads(system.run("mediatorctl", "show", name, "--json").stdout).values()
        return json.dumps(described["summary"]["state"])

    assert '"Unknown"' not in state("disk-guard")
    system.run("mediatorctl", "publish", "speaker.target", "12")
    system.wait_until(lambda: '"volume": 12' in state("speaker"), "the speaker")
    system.run("mediatorctl", "emit", "housekeeping", "Due", "--wait", "Waiting")
    system.wait_until(lambda: '"rounds": 1' in state("housekeeping"), "the housekeeping")
    assert '"trouble": "none"' in state("housekeeping")
    assert system.run("mediatorctl", "status", check=False).returncode == 0


def test_start_returns_when_the_daemon_is_ready(system: Container) -> None:
    system.systemctl("start", UNIT)
    state = system.show(UNIT, "ActiveState", "SubState", "StatusText", "Result", "NRestarts")
    assert (state["ActiveState"], state["SubState"], state["Result"]) == ("active", "running", "success")
    assert re.search(r"\b1 healthy\b", state["StatusText"]), state["StatusText"]
    assert state["NRestarts"] == "0"
    assert system.path("/run/mediatord/io.mediatord.Control").is_socket()


def test_the_journal_has_the_lines_with_their_priorities(system: Container) -> None:
    system.systemctl("start", UNIT)
    journal = system.journal(UNIT)
    assert re.search(r"^[^<]*control socket.*/run/mediatord/io\.mediatord\.Control", journal, re.MULTILINE), journal
    system.run("journalctl", "--sync")
    entries = system.run("journalctl", "--unit", UNIT, "--output=json", "--output-fields=MESSAGE,PRIORITY").stdout
    line = next(line for line in entries.splitlines() if "control socket" in line)
    assert '"PRIORITY":"5"' in line or '"PRIORITY":"6"' in line, line


def test_a_killed_daemon_is_restarted(system: Container) -> None:
    drop_in(system, "[Service]\nRestartSec=0\n")
    system.systemctl("start", UNIT)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    system.run("sh", "-c", f"kill -KILL {pid}")
    assert wait_for_restart(system, pid)["NRestarts"] == "1"
    assert system.processes("mediatord") == [int(system.show(UNIT, "MainPID")["MainPID"])]


def test_a_hung_daemon_is_ended_by_the_watchdog_and_restarted(system: Container) -> None:
    drop_in(system, "[Service]\nRestartSec=0\nWatchdogSec=4\nTimeoutAbortSec=5\n")
    system.systemctl("start", UNIT)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    system.run("sh", "-c", f"kill -STOP {pid}")
    assert wait_for_restart(system, pid)["NRestarts"] == "1"
    assert "Watchdog timeout" in system.journal(UNIT)


def test_a_daemon_that_feeds_the_watchdog_is_left_alone(system: Container) -> None:
    drop_in(system, "[Service]\nWatchdogSec=3\n")
    system.systemctl("start", UNIT)
    begin = system.show(UNIT, "MainPID", "WatchdogTimestampMonotonic")

    def is_fed_for_two_intervals() -> bool:
        now = int(system.show(UNIT, "WatchdogTimestampMonotonic")["WatchdogTimestampMonotonic"])
        return now > int(begin["WatchdogTimestampMonotonic"]) + 6_000_000

    system.wait_until(is_fed_for_two_intervals, "feedings over two intervals")
    assert system.show(UNIT, "MainPID", "NRestarts") == {"MainPID": begin["MainPID"], "NRestarts": "0"}


def test_stop_is_clean(system: Container) -> None:
    system.systemctl("start", UNIT)
    system.systemctl("stop", UNIT)
    state = system.show(UNIT, "ActiveState", "Result", "ExecMainCode", "ExecMainStatus")
    # Code 1 is CLD_EXITED: it ended by itself, not by a signal.
    assert state == {"ActiveState": "inactive", "Result": "success", "ExecMainCode": "1", "ExecMainStatus": "0"}
    assert system.processes("mediatord") == []
    # Nobody listens, and nothing is kept.
    stopped = system.run("mediatorctl", "status", check=False)
    assert (stopped.returncode, "nobody listens" in stopped.stderr) == (69, True), stopped
    assert system.show(UNIT, "NFileDescriptorStore") == {"NFileDescriptorStore": "0"}


def test_a_broken_configuration_fails_the_start_and_says_where(system: Container) -> None:
    system.write("/etc/mediatord/broken.yaml", "system: broken\nstates: { A: { } }\ninitialState: Nowhere\n")
    assert system.systemctl("start", UNIT, check=False).returncode != 0
    state = system.show(UNIT, "ActiveState", "ExecMainStatus", "NRestarts")
    assert state == {"ActiveState": "failed", "ExecMainStatus": str(CONFIGURATION_INVALID), "NRestarts": "0"}
    journal = system.journal(UNIT)
    assert re.search(r"/etc/mediatord/broken\.yaml:3:\d+: error: ", journal), journal


def test_commands_of_the_configuration_can_do_what_the_unit_promises(system: Container) -> None:
    promises = [
        'test "$(id -un)" = mediatord',
        "touch $STATE_DIRECTORY/file $RUNTIME_DIRECTORY/file /tmp/file",
        "cat /proc/1/comm /etc/hostname /etc/mediatord/*.yaml",
        "df -P /",
        "systemctl is-active dbus.socket",
    ]
    drop_in(system, "[Service]\n" + "".join(f"ExecStartPre=/bin/sh -ec '{p.replace('$', '$$')}'\n" for p in promises))
    started = system.systemctl("start", UNIT, check=False)
    assert started.returncode == 0, system.journal(UNIT)


def test_commands_of_the_configuration_cannot_change_the_system(system: Container) -> None:
    drop_in(system, "[Service]\nExecStartPre=/bin/sh -c 'touch /etc/mediatord/file'\n")
    # Nor where the directory belongs to the daemon's user.
    for owner in ("root", "mediatord"):
        system.run("chown", owner, "/etc/mediatord")
        assert system.systemctl("start", UNIT, check=False).returncode != 0
        assert not system.path("/etc/mediatord/file").exists()
    assert "Read-only file system" in system.journal(UNIT)


def test_who_owns_the_directory_of_the_configuration_is_the_administrators_to_say(system: Container) -> None:
    def owner() -> str:
        return system.run("stat", "--format=%U %a", "/etc/mediatord").stdout.strip()

    system.run("rm", "-rf", "/etc/mediatord")
    system.run("systemd-tmpfiles", "--create", "mediatord.conf")
    assert owner() == "root 755"
    system.run("chown", "mediatord", "/etc/mediatord")
    system.run("systemd-tmpfiles", "--create", "mediatord.conf")
    system.systemctl("start", UNIT)
    assert owner() == "mediatord 755"


def test_a_change_of_a_link_is_written_only_where_the_unit_lets_it(system: Container) -> None:
    system.write("/etc/mediatord/bus.yaml", "buses: { beats: { kind: passthrough, value: int, fromOutside: both } }\n")
    # The owner may write; the unit does not let it.
    system.run("chown", "mediatord", "/etc/mediatord")
    system.systemctl("start", UNIT)
    attach = ("mediatorctl", "attach", "tell", "{ attach: heartbeat, to: beats, onState: Beating, emitValue: 1 }")
    refused = system.run(*attach, "--persist", check=False)
    assert refused.returncode == 1, refused
    assert "/etc/mediatord/90-mediatorctl.yaml' cannot be written" in refused.stderr
    assert "Read-only file system" in refused.stderr, refused.stderr
    assert "ReadOnlyPaths=" in refused.stderr and "ReadWritePaths=" in refused.stderr
    assert "tell" not in system.run("mediatorctl", "list", "links").stdout
    system.run(*attach)

    drop_in(system, (EXAMPLES / "persist.conf").read_text())
    system.systemctl("restart", UNIT)
    assert "tell" not in system.run("mediatorctl", "list", "links").stdout
    system.run(*attach, "--persist")
    system.systemctl("restart", UNIT)
    assert "tell" in system.run("mediatorctl", "list", "links").stdout
    system.systemctl("reload", UNIT)
    assert "nothing to do" in system.run("mediatorctl", "plan").stdout


def test_layers_drop_ins_and_credentials_are_read(system: Container) -> None:
    # A package's file, which the administrator changes for good and for the time being.
    system.write(
        "/usr/lib/mediatord/vendor.yaml",
        "system: vendor\nstates: { Waiting: {}, Told: { size: int, by: string } }\nevents: { Tell: { size: int } }\n"
        "initialState: Waiting\nready: Told\nfeedbacks:\n  look:\n    onState: Waiting\n"
        '    run: { command: [sh, -c, "printf %s \\"$KEY\\" | wc -c"], environment: { KEY: !credential key } }\n'
        '    onLine: { Tell: { size: "${int(result.line.trim())}" } }\n'
        "transitions:\n"
        '  Waiting: { Tell: { to: Told, set: { size: "${event.size}", by: vendor } } }\n',
    )
    system.write("/etc/mediatord/vendor.yaml.d/50.yaml", "system: vendor\ndescription: changed\n")
    system.write(
        "/run/mediatord/vendor.yaml.d/60.yaml",
        "system: vendor\ntransitions: { Waiting: { Tell: { set: { by: runtime } } } }\n",
    )
    system.write("/etc/key", "s3cret\n", mode=0o600)
    drop_in(system, "[Service]\nLoadCredential=key:/etc/key\n")
    try:
        for verb in ("start", "restart"):
            assert system.systemctl(verb, UNIT, check=False).returncode == 0, system.journal(UNIT)
            shown = system.run("mediatorctl", "show", "vendor", "--json").stdout
            assert '"size":6' in shown and '"by":"runtime"' in shown and '"description":"changed"' in shown, shown
        status = system.run("mediatorctl", "status", "--json").stdout
        assert '["/etc/mediatord","/run/mediatord","/usr/local/lib/mediatord","/usr/lib/mediatord"]' in status
        merged = system.run("mediatorctl", "cat-config", "vendor").stdout
        assert "# /run/mediatord/vendor.yaml.d/60.yaml:2" in merged
        assert "s3cret" not in shown + status + merged + system.journal(UNIT)
    finally:
        system.run("rm", "-rf", "/usr/lib/mediatord/vendor.yaml", "/run/mediatord/vendor.yaml.d", "/etc/key")


def test_a_drop_in_moves_the_control_socket(system: Container) -> None:
    moved = "/run/mediatord/moved"
    for text in (
        f"[Service]\nEnvironment=MEDIATORD_SOCKET={moved}\n",
        f"[Service]\nExecStart=\nExecStart=/usr/bin/mediatord --socket {moved}\nEnvironment=MEDIATORD_SOCKET={moved}\n",
    ):
        system.systemctl("stop", UNIT)
        drop_in(system, text)
        system.systemctl("start", UNIT)
        system.systemctl("reload", UNIT)
        assert system.run("mediatorctl", "--socket", moved, "status").returncode == 0
        assert system.run("mediatorctl", "status", check=False).returncode == 69


def test_a_reload_fails_loudly_if_nothing_is_applied(system: Container) -> None:
    system.systemctl("start", UNIT)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    system.write("/etc/mediatord/second.yaml", SECOND)
    system.systemctl("reload", UNIT)
    state = system.show(UNIT, "ActiveState", "SubState", "StatusText")
    assert (state["ActiveState"], state["SubState"]) == ("active", "running")
    assert state["StatusText"] == "2 systems: 2 healthy"
    system.write("/etc/mediatord/second.yaml", SECOND.replace("initialState: Here", "initialState: There"))
    failed = system.systemctl("reload", UNIT, check=False)
    assert failed.returncode != 0, failed
    state = system.show(UNIT, "ActiveState", "SubState", "StatusText", "MainPID", "NRestarts")
    assert (state["ActiveState"], state["SubState"]) == ("active", "running")
    assert (state["MainPID"], state["NRestarts"]) == (pid, "0")
    assert re.match(r"reload rejected: 1 error.*; 2 systems: 2 healthy", state["StatusText"]), state
    assert re.search(r"second\.yaml:4:\d+: error: ", system.journal(UNIT))


def test_a_reload_that_is_applied_late_says_so(system: Container) -> None:
    system.systemctl("start", UNIT)
    cold = "system: cold\nstates: { Cold: {}, Warm: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: Cold\n"
    cold += "ready: { in: Warm, within: 1s }\ntransitions: { Cold: { Go: Warm } }\n"
    system.write("/etc/mediatord/cold.yaml", cold)
    failed = system.systemctl("reload", UNIT, check=False)
    assert failed.returncode != 0, failed
    state = system.show(UNIT, "ActiveState", "StatusText", "ExecReload")
    assert state["ActiveState"] == "active" and "status=3" in state["ExecReload"], state
    assert state["StatusText"].startswith("reload applied, but not healthy in time: cold; 2 systems: "), state
    assert "cold" in system.run("mediatorctl", "list", "systems").stdout


def test_everybody_can_have_the_configuration_checked(system: Container) -> None:
    system.systemctl("start", UNIT)
    checked = system.run("runuser", "-u", "nobody", "--", "mediatorctl", "validate", check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # What only root can read root finds valid, and the daemon does not.
    system.write("/etc/mediatord/second.yaml", SECOND)
    system.run("chmod", "600", "/etc/mediatord/second.yaml")
    assert system.run("mediatorctl", "validate", check=False).returncode == 0
    number = system.run("id", "-u", "mediatord").stdout.strip()
    checked = system.run("runuser", "-u", "mediatord", "--", "mediatorctl", "validate", check=False)
    assert checked.returncode == 1 and f"it is read as user {number}" in checked.stdout + checked.stderr
    assert "worker thread" not in system.run("journalctl", "--no-pager").stdout


@pytest.mark.depends_on_systemd
def test_a_reload_by_signal_is_waited_for(system: Container) -> None:
    """`Type=notify-reload`, of systemd 253 and later, as the guide shows it."""
    assert NOTIFY_RELOAD in (EXAMPLES / "notify-reload.conf").read_text()
    drop_in(system, NOTIFY_RELOAD)
    if system.suite == "bookworm":
        # systemd 252 does not know the type, as the guide says.
        assert "notify-reload" in system.run("systemd-analyze", "verify", "--man=no", UNIT).stderr
        return
    system.systemctl("start", UNIT)
    assert system.show(UNIT, "Type") == {"Type": "notify-reload"}
    pid = system.show(UNIT, "MainPID")["MainPID"]
    system.write("/etc/mediatord/second.yaml", SECOND)
    system.systemctl("reload", UNIT)
    # When it returns, it is done.
    state = system.show(UNIT, "ActiveState", "SubState", "StatusText", "MainPID")
    assert state == {"ActiveState": "active", "SubState": "running", "StatusText": "2 systems: 2 healthy", "MainPID": pid}
    # How it ended only the status, the log and `mediatorctl status` can tell.
    system.write("/etc/mediatord/second.yaml", SECOND.replace("initialState: Here", "initialState: There"))
    system.systemctl("reload", UNIT)
    state = system.show(UNIT, "ActiveState", "StatusText", "MainPID")
    assert (state["ActiveState"], state["MainPID"]) == ("active", pid)
    assert state["StatusText"].startswith("reload rejected: 1 error"), state
    assert '"applied":false' in system.run("mediatorctl", "status", "--json").stdout


def test_who_may_use_the_socket_is_a_matter_of_groups(system: Container) -> None:
    for name, group in (("reader", "mediatord"), ("watcher", "watchers"), ("stranger", "users")):
        system.run("groupadd", "--force", "--system", group)
        system.run("useradd", "--system", "--groups", group, name, check=False)
    system.systemctl("start", UNIT)

    def status(name: str, *arguments: str) -> tuple[int, str]:
        result = system.run("runuser", "-u", name, "--", "mediatorctl", *(arguments or ("status",)), check=False)
        return result.returncode, result.stdout + result.stderr

    socket = "/run/mediatord/io.mediatord.Control"
    assert system.run("stat", "--format=%a %U:%G", socket).stdout.strip() == "660 mediatord:mediatord"
    code, text = status("reader")
    assert code == 0 and "you may read" in text
    code, text = status("reader", "reload")
    assert code == 4 and "reader (user " in text and "may not administer mediatord" in text
    for name in ("watcher", "stranger"):
        code, text = status(name)
        assert code == 4 and f"{name} (user " in text and "has no right to use" in text
    system.write("/etc/mediatord/access.yaml", "access: { read: { groups: watchers } }\n")
    system.systemctl("reload", UNIT)
    assert system.run("stat", "--format=%a", socket).stdout.strip() == "666"
    assert status("watcher")[0] == 0 and status("reader")[0] == 0
    code, text = status("stranger")
    assert code == 4 and "may not read what mediatord does" in text
    # What the daemon and its commands leave beside the socket they cannot read.
    system.run("runuser", "-u", "mediatord", "--", "sh", "-c", "umask 0027; echo own >/run/mediatord/own")
    read = system.run("runuser", "-u", "watcher", "--", "cat", "/run/mediatord/own", check=False)
    assert read.returncode != 0 and read.stdout == ""
    assert "user=stranger" in system.journal(UNIT)
