"""What a machine does to a daemon under a real systemd: one end after the other, and starts that fail."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest

from conftest import CONFIGURATION
from container import Container
from daemon import CANNOT_SERVE, CONFIGURATION_INVALID, USAGE
from unit import UNIT, UNLIMITED, drop_in, wait_active

# The limit of starts counts them for an hour, so that a slow machine reaches it, too.
PATIENT = "[Unit]\nStartLimitIntervalSec=1h\n"


def ended_again_and_again(system: Container, *signals: str) -> None:
    """Ends each daemon as soon as it is ready, until there is none any more."""
    for number in signals:
        pid = system.show(UNIT, "MainPID")["MainPID"]
        system.run("sh", "-c", f"kill -{number} {pid}")

        def is_over() -> bool:
            now = system.show(UNIT, "ActiveState", "MainPID")
            return now["ActiveState"] == "failed" or (now["ActiveState"] == "active" and now["MainPID"] != pid)

        system.wait_until(is_over, f"what comes after SIG{number}")


@pytest.mark.depends_on_systemd
def test_a_daemon_that_is_killed_again_and_again_stays_down_until_it_is_reset(system: Container) -> None:
    assert system.show(UNIT, "StartLimitIntervalUSec", "StartLimitBurst") == {
        "StartLimitIntervalUSec": "1min", "StartLimitBurst": "5"
    }
    # Five starts, as the unit says, with a shorter time between them. A slow machine may need more than a minute for them.
    drop_in(system, f"{PATIENT}[Service]\nRestartSec=100ms\n")
    system.systemctl("start", UNIT)
    ended_again_and_again(system, "KILL", "ABRT", "SEGV", "KILL")
    assert system.show(UNIT, "ActiveState", "NRestarts") == {"ActiveState": "active", "NRestarts": "4"}
    assert system.run("mediatorctl", "status").returncode == 0
    ended_again_and_again(system, "KILL")
    state = system.show(UNIT, "ActiveState", "SubState", "Result", "ExecMainStatus", "NFileDescriptorStore")
    assert (state["ActiveState"], state["SubState"], state["ExecMainStatus"]) == ("failed", "failed", "9"), state
    # Which of the two causes is told is a matter of systemd's version.
    assert state["Result"] in ("signal", "start-limit-hit"), state
    assert "Start request repeated too quickly" in system.journal(UNIT)
    status = system.systemctl("status", UNIT, check=False)
    assert status.returncode == 3, status
    assert re.search(r"Active: failed \(Result: (signal|start-limit-hit)\)", status.stdout), status.stdout
    # Nobody is kept waiting for a daemon that does not come.
    assert state["NFileDescriptorStore"] == "0" and system.processes("mediatord") == []
    refused = system.run("mediatorctl", "status", check=False)
    assert refused.returncode == 69, refused
    assert system.systemctl("start", UNIT, check=False).returncode != 0
    system.systemctl("reset-failed", UNIT)
    system.systemctl("start", UNIT)
    assert system.show(UNIT, "ActiveState", "NRestarts") == {"ActiveState": "active", "NRestarts": "0"}
    assert system.run("mediatorctl", "status").returncode == 0


def test_a_start_that_fails_for_each_client_ends_with_the_socket_closed(system: Container) -> None:
    drop_in(system, PATIENT)
    system.write("/etc/mediatord/broken.yaml", "system: broken\nstates: { A: {} }\ninitialState: Nowhere\n")
    system.systemctl("start", "mediatord.socket")
    waiting = system.run("mediatorctl", "status", check=False)
    assert waiting.returncode == 69, waiting

    def is_closed() -> bool:
        system.run("mediatorctl", "status", check=False)
        return system.show("mediatord.socket", "ActiveState")["ActiveState"] == "failed"

    system.wait_until(is_closed, "the limit of starts")
    assert system.show("mediatord.socket", "Result") == {"Result": "service-start-limit-hit"}
    # As the guide says.
    system.run("rm", "/etc/mediatord/broken.yaml")
    system.systemctl("reset-failed", UNIT, "mediatord.socket")
    system.systemctl("start", "mediatord.socket")
    # The first who connects may be served before everything is ready.
    assert system.run("mediatorctl", "status", check=False).returncode in (0, 5)
    wait_active(system)
    assert system.run("mediatorctl", "status").returncode == 0


def test_a_daemon_that_ends_on_account_of_a_system_says_so_to_the_last(system: Container) -> None:
    system.write(
        "/etc/mediatord/divider.yaml",
        "system: divider\nstates: { Here: { value: int } }\nevents: { Divide: { by: int } }\nfromOutside: any\n"
        "initialState: { Here: { value: 1 } }\nsupervision: { onFault: escalate }\n"
        'transitions: { Here: { Divide: { to: Here, set: { value: "${state.value / event.by}" } } } }\n',
    )
    drop_in(system, "[Service]\nRestart=no\n")
    started = system.systemctl("start", UNIT, check=False)
    assert started.returncode == 0, system.journal(UNIT)
    system.run("mediatorctl", "emit", "divider", "Divide", "by=0", check=False)
    system.wait_until(lambda: system.show(UNIT, "ActiveState")["ActiveState"] == "failed", "the end")
    assert system.show(UNIT, "ExecMainStatus", "StatusText") == {
        "ExecMainStatus": "6", "StatusText": "ended on account of the system 'divider'"
    }


@dataclass(frozen=True)
class Failure:
    """Why a start fails, and what is to be told of that."""

    number: str
    status: int
    text: str
    service: str = ""
    environment: str = ""
    arguments: str = ""
    commands: tuple[str, ...] = ()
    # The control socket and the port of another daemon, which is there already.
    other: str = ""


NO_DIRECTORY = "cannot serve the control socket: cannot make the directory"
ELSEWHERE = "MEDIATORD_SOCKET=/srv/{}/socket"

FAILURES = {
    "no directory for the control socket": Failure(
        "2 (No such file or directory)", CANNOT_SERVE, f"{NO_DIRECTORY} '/srv/no/where'",
        environment=ELSEWHERE.format("no/where"),
    ),
    "a read-only file system": Failure(
        "30 (Read-only file system)", CANNOT_SERVE, f"{NO_DIRECTORY} '/srv/here'",
        environment=ELSEWHERE.format("here"),
    ),
    "a directory that may not be made": Failure(
        "13 (Permission denied)", CANNOT_SERVE, f"{NO_DIRECTORY} '/srv/here'",
        environment=ELSEWHERE.format("here"), service="ReadWritePaths=/srv\n",
    ),
    "a control socket that another daemon serves": Failure(
        "98 (Address already in use)", CANNOT_SERVE, "cannot serve the control socket: ",
        other="/run/mediatord/io.mediatord.Control --metrics 127.0.0.1:9465",
    ),
    "a port that another daemon has": Failure(
        "98 (Address already in use)", CANNOT_SERVE, "cannot serve the metrics: Address already in use",
        arguments="--metrics 127.0.0.1:9464", other="/run/mediatord/other --metrics 127.0.0.1:9464",
    ),
    "a port for the superuser": Failure(
        "13 (Permission denied)", CANNOT_SERVE, "cannot serve the metrics: Permission denied",
        arguments="--metrics 127.0.0.1:80",
    ),
    "sockets of which none is the control socket": Failure(
        "88 (Socket operation on non-socket)", CANNOT_SERVE, "what the service manager has passed cannot be used: ",
        service="Sockets=one.socket two.socket\n", commands=("systemctl start one.socket two.socket",),
    ),
    "a directory that may not be read": Failure(
        "13 (Permission denied)", CONFIGURATION_INVALID, "the configuration is not valid",
        commands=("chmod 700 /etc/mediatord",),
    ),
    "a file that may not be read": Failure(
        "13 (Permission denied)", CONFIGURATION_INVALID, "the configuration is not valid",
        commands=("chmod 600 /etc/mediatord/heartbeat.yaml",),
    ),
    "a mistake of the configuration": Failure(
        "22 (Invalid argument)", CONFIGURATION_INVALID, "the configuration is not valid",
        commands=("echo system: >/etc/mediatord/broken.yaml",),
    ),
    "a mistake of the command line": Failure(
        "22 (Invalid argument)", USAGE, "the command line is not understood: Unknown option '--ready-limits'",
        arguments="--ready-limits 5",
    ),
}


def told_of(system: Container, failure: Failure) -> tuple[dict[str, str], str]:
    """What the service manager knows of a start that fails, and how it shows that."""
    for name, text in CONFIGURATION.items():
        system.write(f"/etc/mediatord/{name}", text)
    environment = f"Environment={failure.environment}\n" if failure.environment else ""
    command = f"ExecStart=\nExecStart=/usr/bin/mediatord {failure.arguments}\n"
    drop_in(system, f"{UNLIMITED}[Service]\nRestart=no\n{failure.service}{environment}{command}")
    try:
        for line in failure.commands:
            system.run("sh", "-ec", line)
        if failure.other:
            system.run("systemd-tmpfiles", "--create", "mediatord.conf")
            other = ("--unit=other", "--property=Type=notify", "--property=User=mediatord")
            system.run("systemd-run", *other, "sh", "-c", f"exec mediatord --socket {failure.other}")
        assert system.systemctl("start", UNIT, check=False).returncode != 0
        state = system.show(UNIT, "ActiveState", "Result", "ExecMainStatus", "StatusErrno", "StatusText", "NRestarts")
        return state, system.systemctl("status", "--full", UNIT, check=False).stdout
    finally:
        system.systemctl("stop", "other.service", "one.socket", "two.socket", check=False)
        system.run("rm", "-rf", "/etc/mediatord", "/srv/here")


def test_why_a_start_fails_is_told_to_the_service_manager(system: Container) -> None:
    for name in ("one", "two"):
        socket = f"[Socket]\nService={UNIT}\nListenStream=/run/{name}.socket\nFileDescriptorName={name}\n"
        system.write(f"/run/systemd/system/{name}.socket", socket)
    try:
        for cause, failure in FAILURES.items():
            state, shown = told_of(system, failure)
            text = state.pop("StatusText")
            assert state == {
                "ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": str(failure.status),
                "StatusErrno": failure.number.split()[0], "NRestarts": "0",
            }, (cause, text, shown)
            assert text.startswith(failure.text), (cause, text)
            assert re.search(rf"Error: (code: )?{re.escape(failure.number)}", shown), (cause, shown)
            assert f'Status: "{failure.text}' in shown, (cause, shown)
    finally:
        system.run("rm", "-f", "/run/systemd/system/one.socket", "/run/systemd/system/two.socket")
        system.systemctl("daemon-reload")


def test_what_the_check_before_the_start_finds_is_in_the_journal_with_its_gravity(system: Container) -> None:
    doubtful = CONFIGURATION["heartbeat.yaml"].replace("heartbeat", "doubtful")
    system.write("/etc/mediatord/doubtful.yaml", doubtful.replace("Beat: { }", "Beat: { }, Never: { }"))
    system.systemctl("start", UNIT)
    system.write("/etc/mediatord/broken.yaml", "system: broken\nstates: { A: {} }\ninitialState: Nowhere\n")
    system.systemctl("restart", UNIT, check=False)
    system.run("journalctl", "--sync")
    fields = "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER"
    entries = [
        json.loads(line)
        for line in system.run("journalctl", "--unit", UNIT, "--output=json", fields).stdout.splitlines()
    ]
    checked = [entry for entry in entries if entry.get("SYSLOG_IDENTIFIER") == "mediatorctl"]

    def priorities(text: str) -> set[str]:
        return {entry["PRIORITY"] for entry in checked if text in entry["MESSAGE"]}

    assert priorities("[uncaused-event]") == {"4"}, checked
    assert priorities("broken.yaml:3:") == {"3"}, checked
    assert not any(entry["MESSAGE"].startswith("<") for entry in checked), checked
