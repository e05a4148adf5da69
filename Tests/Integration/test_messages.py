"""What the daemon tells the journal: fields, ids of messages, the catalogue, causes."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import REPOSITORY
from container import Container
from pages import blocks, guide
from waiting import WAIT

UNIT = "mediatord.service"
CATALOGUE = REPOSITORY / "systemd" / "mediatord.catalog"
IDS = dict(
    re.findall(r'case (\w+) = "(\w+)"', (REPOSITORY / "Sources" / "MediatorHost" / "Log" / "MessageID.swift").read_text())
)
(NIGHT,) = blocks(guide("Reference/Why.md"), "yaml")
MOUNTED = "/srv/backup/mounted"

# Fails in each of the ways that a system can be asked to.
TROUBLE = """\
system: trouble
states: { Ready: { n: int }, Stuck: {} }
events: { Divide: { by: int }, Stick: {}, Run: {}, Odd: {} }
fromOutside: any
persist: none
initialState: { Ready: { n: 1 } }
unhandled: warn
supervision: { onFault: restart, delay: 10ms, limit: 1 per 1h }
feedbacks:
  fail: { onState: Stuck, run: ["false"] }
transitions:
  Ready: { Divide: { to: Ready, set: { n: "${state.n / event.by}" } }, Stick: Stuck }
"""

# Says something two hundred times a second, each time in a state of its own.
TALKER = """\
system: talker
states: { Talking: { n: int } }
events: { Next: {} }
initialState: { Talking: { n: 0 } }
feedbacks:
  next: { onState: any, every: 5ms, emit: Next }
  say: { onState: any, strategy: continueOnNewState, log: "number ${state.n}" }
transitions: { any: { Next: { to: Talking, set: { n: "${state.n + 1}" } } } }
"""


@pytest.fixture
def explained(system: Container) -> Iterator[Container]:
    """The container with the catalogue, and the night of the guide as its configuration; its server can be reached."""
    system.write("/usr/lib/systemd/catalog/mediatord.catalog", CATALOGUE.read_text())
    system.run("journalctl", "--update-catalog")
    night = NIGHT.replace("every: 1s", "every: 50ms").replace("system: backup", "system: backup\npersist: none")
    system.write("/etc/mediatord/night.yaml", night)
    system.write(MOUNTED, "")
    try:
        yield system
    finally:
        system.systemctl("stop", UNIT, check=False)
        system.run("rm", "-rf", "/usr/lib/systemd/catalog/mediatord.catalog", "/srv/backup")


def start(system: Container) -> None:
    assert system.systemctl("start", UNIT, check=False).returncode == 0, system.journal(UNIT)


def entries(system: Container, *matches: str) -> list[dict[str, Any]]:
    """The entries of the daemon that match, since it was started last, the oldest first."""
    system.run("journalctl", "--sync")
    run = f"_SYSTEMD_INVOCATION_ID={system.show(UNIT, 'InvocationID')['InvocationID']}"
    shown = system.run("journalctl", run, *matches, "-o", "json", "--all", "--no-pager", check=False).stdout
    return [json.loads(line) for line in shown.splitlines() if line.startswith("{")]


def about(system: Container, name: str, *matches: str) -> list[dict[str, Any]]:
    return entries(system, f"MESSAGE_ID={IDS[name]}", *matches)


def wait(system: Container, name: str, *matches: str) -> dict[str, Any]:
    """Waits until something has been told, and returns the last entry about it."""
    try:
        system.wait_until(lambda: bool(about(system, name, *matches)), f"{name} {matches}")
    except AssertionError as failure:
        raise AssertionError(f"{failure}:\n{system.journal(UNIT)}") from None
    return about(system, name, *matches)[-1]


@pytest.mark.depends_on_systemd
def test_each_line_is_an_entry_with_fields(explained: Container) -> None:
    start(explained)
    (ready,) = about(explained, "ready")
    assert ready["MESSAGE"].startswith("ready: 3 systems: 3 healthy; control socket /run/mediatord/")
    assert (ready["PRIORITY"], ready["SYSLOG_IDENTIFIER"], ready["_TRANSPORT"]) == ("5", "mediatord", "journal")
    assert (ready["_SYSTEMD_UNIT"], ready["CODE_FILE"]) == (UNIT, "MediatorDaemon/Daemon.swift")
    # It names the very line.
    (file,) = (REPOSITORY / "Sources/MediatorDaemon").rglob("Daemon.swift")
    lines = file.read_text().splitlines()
    assert "logger.notice(" in lines[int(ready["CODE_LINE"]) - 1] and "ready: " in lines[int(ready["CODE_LINE"])]
    assert ready["CODE_FUNC"].startswith("serve(")
    pid = explained.show(UNIT, "MainPID")["MainPID"]
    own = entries(explained, f"_PID={pid}")
    assert len(own) >= 4 and {entry["_TRANSPORT"] for entry in own} == {"journal"}
    # What is about a system is found by its name, and nothing else is.
    heartbeat = entries(explained, "MEDIATOR_SYSTEM=heartbeat")
    assert [entry["MESSAGE"] for entry in heartbeat] == ["started  state=Beating system=heartbeat"]
    assert heartbeat[0]["MEDIATOR_CAUSE"] == "start" and heartbeat[0]["MEDIATOR_STATE"] == "Beating"


def test_one_goes_from_cause_to_cause(explained: Container) -> None:
    start(explained)
    explained.run("rm", MOUNTED)
    paused = wait(explained, "stateEntered", "MEDIATOR_SYSTEM=backup", "MEDIATOR_STATE=Paused")
    assert paused["MESSAGE"].startswith('Waiting → Paused { reason: "down: exit code 1", above: 5 }')
    assert (paused["MEDIATOR_LINK"], paused["MEDIATOR_BUS"]) == ("pause-backup", "uplink.status")
    assert (paused["MEDIATOR_EVENT"], paused["MEDIATOR_PREVIOUS"], paused["PRIORITY"]) == ("Pause", "Waiting", "6")
    (down,) = entries(explained, f"MEDIATOR_STATE_ID={paused['MEDIATOR_CAUSE']}")
    assert (down["MEDIATOR_SYSTEM"], down["MEDIATOR_STATE"], down["MEDIATOR_FEEDBACK"]) == ("uplink", "Down", "probe")
    # The probe saw the first state, or one that only repeated it, which is told to those alone who want to know all.
    assert down["MEDIATOR_CAUSE"].startswith("uplink/")
    seen = entries(explained, f"MEDIATOR_STATE_ID={down['MEDIATOR_CAUSE']}")
    assert all(entry["MEDIATOR_CAUSE"] == "start" for entry in seen), seen
    # The names are those of `why` and `trace`.
    story = json.loads(explained.run("mediatorctl", "why", "backup", "--json").stdout)
    states = [f"{hop['system']}/{hop['time']}" for hop in story["hops"] if hop["kind"] == "state"]
    assert states[:2] == [paused["MEDIATOR_STATE_ID"], down["MEDIATOR_STATE_ID"]], story
    trace = explained.run("mediatorctl", "trace", "uplink", "--json").stdout
    assert down["MEDIATOR_STATE_ID"].removeprefix("uplink/") in trace
    # A link, too, has a name to be found by.
    assert paused["__CURSOR"] in [entry["__CURSOR"] for entry in entries(explained, "MEDIATOR_LINK=pause-backup")]

    # A client is a cause, and what it did has the same.
    explained.run("touch", MOUNTED)
    wait(explained, "stateEntered", "MEDIATOR_SYSTEM=backup", "MEDIATOR_STATE=Waiting")
    explained.run("mediatorctl", "emit", "backup", "Start", "priority=9")
    running = wait(explained, "stateEntered", "MEDIATOR_SYSTEM=backup", "MEDIATOR_STATE=Running")
    (emitted,) = about(explained, "eventEmitted")
    assert running["MEDIATOR_CAUSE"] == emitted["MEDIATOR_CAUSE"] == f"client:0:{emitted['MEDIATOR_PID']}"
    assert (emitted["MEDIATOR_UID"], emitted["MEDIATOR_USER"], emitted["MEDIATOR_VERB"]) == ("0", "root", "emit")
    assert emitted["CODE_FILE"] == "MediatorDaemon/HostControl.swift"


def test_priorities_and_messages_of_what_goes_wrong(explained: Container) -> None:
    explained.write("/etc/mediatord/trouble.yaml", TROUBLE)
    start(explained)

    def emit(event: str, *fields: str) -> None:
        explained.run("mediatorctl", "emit", "trouble", event, *fields)

    def graveness(name: str) -> str:
        return wait(explained, name, "MEDIATOR_SYSTEM=trouble")["PRIORITY"]

    emit("Odd")
    assert graveness("eventNotHandled") == "4"
    emit("Stick")
    failed = wait(explained, "effectFailed", "MEDIATOR_SYSTEM=trouble", "MEDIATOR_FEEDBACK=fail")
    stuck = wait(explained, "stateEntered", "MEDIATOR_SYSTEM=trouble", "MEDIATOR_STATE=Stuck")
    # A side effect's lines name the state that asked for it.
    assert failed["MEDIATOR_CAUSE"] == stuck["MEDIATOR_STATE_ID"] and failed["MEDIATOR_STATE"] == "Stuck"
    assert (failed["PRIORITY"], failed["MEDIATOR_COMMAND"], failed["MEDIATOR_EXIT"]) == ("4", "false", "1")
    explained.run("mediatorctl", "reset", "trouble")
    assert graveness("resetAsked") == "5"
    wait(explained, "stateEntered", "MEDIATOR_SYSTEM=trouble", "MEDIATOR_STATE=Ready")
    emit("Divide", "by=0")
    assert graveness("systemFault") == "3" and graveness("systemRestarting") == "4"
    wait(explained, "systemStarted", "MEDIATOR_SYSTEM=trouble", "MEDIATOR_CAUSE=fault:trouble")
    emit("Divide", "by=0")
    ended = wait(explained, "systemEnded", "MEDIATOR_SYSTEM=trouble")
    assert ended["PRIORITY"] == "3" and ended["MEDIATOR_CAUSE"] == "fault:trouble"
    explained.run("mediatorctl", "pause", "heartbeat")
    explained.run("mediatorctl", "resume", "heartbeat")
    explained.run("mediatorctl", "log-level", "debug")
    assert about(explained, "paused")[0]["MEDIATOR_SYSTEM"] == "heartbeat" and about(explained, "resumed")
    assert about(explained, "levelSet")[0]["MEDIATOR_LEVEL"] == "debug"
    explained.run("mediatorctl", "detach", "tell-up")
    changed = wait(explained, "linkChanged", "MEDIATOR_LINK=tell-up")
    assert changed["MEDIATOR_VERB"] == "detach" and changed["MEDIATOR_CAUSE"].startswith("client:0:")
    reader = ("setpriv", "--reuid=65534", "--regid=mediatord", "--clear-groups")
    assert explained.run(*reader, "mediatorctl", "pause", "heartbeat", check=False).returncode == 4
    refused = wait(explained, "actRefused", "MEDIATOR_UID=65534")
    assert (refused["PRIORITY"], refused["MEDIATOR_MISSING"]) == ("4", "administer")

    # All of them, explained: what stands for a field has been found.
    explained.run("journalctl", "--sync")
    shown = explained.run("journalctl", "-x", "-u", UNIT, "--no-pager").stdout
    told = [line for line in shown.splitlines() if line.startswith("░░")]
    assert "░░ Subject: A part of the system trouble failed" in told
    assert "░░ Subject: The system heartbeat is paused" in told
    assert "░░ Subject: The link tell-up has been changed" in told
    assert "░░ Subject: The user 65534 may not pause" in told
    assert any("`mediatorctl restart trouble'" in line for line in told)
    unfound = [line for line in told if re.search(r"@|\bMEDIATOR_(?!STATE_ID\b|SYSTEM=)", re.sub(r"\S+@\S+", "", line))]
    assert unfound == []


def test_what_is_wrong_with_the_configuration_is_one_entry_each(explained: Container) -> None:
    broken = "system: broken\nstates: { A: { } }\ninitialState: Nowhere\n"
    explained.write("/etc/mediatord/broken.yaml", broken)
    assert explained.systemctl("start", UNIT, check=False).returncode != 0
    (diagnostic,) = about(explained, "diagnostic")
    assert re.match(r"/etc/mediatord/broken\.yaml:3:\d+: error: .*\n  initialState: Nowhere\n +\^~~", diagnostic["MESSAGE"])
    assert (diagnostic["PRIORITY"], diagnostic["MEDIATOR_CODE"]) == ("3", "unknown-state")
    assert diagnostic["MEDIATOR_CONFIG_FILE"] == "/etc/mediatord/broken.yaml"
    assert diagnostic["MEDIATOR_CONFIG_LINE"] == "3"
    (fatal,) = about(explained, "invalidConfiguration")
    assert fatal["PRIORITY"] == "2" and fatal["MEDIATOR_ERRORS"] == "1"
    assert int(diagnostic["__MONOTONIC_TIMESTAMP"]) <= int(fatal["__MONOTONIC_TIMESTAMP"])
    explained.run("rm", "/etc/mediatord/broken.yaml")
    explained.systemctl("reset-failed", UNIT)
    start(explained)
    explained.write("/etc/mediatord/broken.yaml", broken)
    assert explained.systemctl("reload", UNIT, check=False).returncode != 0
    (rejected,) = about(explained, "reloadRejected")
    who = f"client:{rejected['MEDIATOR_UID']}:{rejected['MEDIATOR_PID']}"
    assert (rejected["PRIORITY"], rejected["MEDIATOR_USER"], rejected["MEDIATOR_CAUSE"]) == ("3", "mediatord", who)
    assert len(about(explained, "diagnostic")) == 1
    pid = explained.show(UNIT, "MainPID")["MainPID"]
    explained.run("sh", "-c", f"kill -HUP {pid}")
    wait(explained, "reloadRejected", "MEDIATOR_CAUSE=SIGHUP")


def test_the_catalogue_is_listed_whole(explained: Container) -> None:
    listed = explained.run("journalctl", "--list-catalog", "--no-pager").stdout
    for name, number in IDS.items():
        assert f"{number} mediatord: " in listed, name
    shown = explained.run("journalctl", "--dump-catalog", IDS["linesLost"], "--no-pager").stdout
    assert "Subject: Lines of the log are lost" in shown and "Documentation: man:mediatord(8)" in shown


def test_a_journal_that_does_not_read_stops_no_system(explained: Container) -> None:
    explained.write("/etc/mediatord/talker.yaml", TALKER)
    start(explained)
    wait(explained, "systemStarted", "MEDIATOR_SYSTEM=talker")
    (journald,) = explained.processes("systemd-journald")

    def number() -> int:
        shown = explained.run("mediatorctl", "show", "talker", "--json").stdout
        return int(re.search(r'"n":(\d+)', shown).group(1))

    explained.run("sh", "-c", f"kill -STOP {journald}")
    try:
        first = number()
        begin = time.monotonic()
        # The socket has room for some lines. If each of the others waited for a tenth of a second, this would take a minute.
        explained.wait_until(lambda: number() > first + 600, "600 numbers")
        assert time.monotonic() - begin < 50
    finally:
        explained.run("sh", "-c", f"kill -CONT {journald}")
    lost = wait(explained, "linesLost")
    count = int(lost["MEDIATOR_COUNT"])
    assert count > 0 and lost["PRIORITY"] == "4"
    assert lost["MESSAGE"].startswith(f"{count} log lines could not be written and are lost")
    # What is missing has been told of.
    explained.systemctl("stop", UNIT)
    said = {int(entry["MESSAGE"].split()[1]) for entry in entries(explained, "MEDIATOR_FEEDBACK=say")}
    missing = max(said) + 1 - min(said) - len(said)
    all_lost = sum(int(entry["MEDIATOR_COUNT"]) for entry in about(explained, "linesLost"))
    assert 0 < missing <= all_lost, (missing, all_lost)


def test_the_journal_may_begin_anew(explained: Container) -> None:
    start(explained)
    explained.systemctl("restart", "systemd-journald")
    explained.run("mediatorctl", "pause", "heartbeat")
    paused = wait(explained, "paused")
    assert paused["_TRANSPORT"] == "journal" and paused["MEDIATOR_SYSTEM"] == "heartbeat"
    # Its socket, too.
    explained.systemctl("stop", "systemd-journald.socket", "systemd-journald.service", check=False)
    explained.systemctl("start", "systemd-journald.socket", "systemd-journald.service")
    explained.run("mediatorctl", "resume", "heartbeat")
    assert wait(explained, "resumed")["_TRANSPORT"] == "journal"


def test_a_credential_is_in_no_field(system: Container) -> None:
    system.write(
        "/etc/mediatord/secret.yaml",
        "system: secret\nstates: { A: {}, B: {} }\nevents: { Done: {} }\nfromOutside: any\ninitialState: A\nfeedbacks:\n"
        "  tell:\n    onState: any\n    run: { command: [sh, -c, 'echo $KEY >&2; exit 1'], environment: { KEY: !credential key } }\n"
        "transitions: { any: { Done: B } }\n",
    )
    system.write("/etc/key", "s3cret-word\n", mode=0o600)
    drop_in = "[Service]\nLoadCredential=key:/etc/key\nExecStart=\nExecStart=/usr/bin/mediatord --log-level trace\n"
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", drop_in)
    system.systemctl("daemon-reload")
    start(system)
    system.run("mediatorctl", "emit", "secret", "Done")
    wait(system, "effectFailed", "MEDIATOR_SYSTEM=secret")
    entries = system.entries("--output=export")
    assert "MEDIATOR_SYSTEM=secret" in entries
    assert "s3cret-word" not in entries


def test_the_journal_of_the_guide(explained: Container) -> None:
    explained.write("/etc/mediatord/trouble.yaml", TROUBLE)
    start(explained)
    explained.run("mediatorctl", "emit", "trouble", "Divide", "by=0")
    wait(explained, "systemFault")
    explained.run("rm", MOUNTED)
    wait(explained, "stateEntered", "MEDIATOR_SYSTEM=backup", "MEDIATOR_STATE=Paused")
    scripts = [re.sub(r"\\\n *", "", block) for block in blocks(guide("Reference/Log.md"), "sh")]
    commands = 0
    for script in scripts:
        environment = ""
        for command in script.splitlines():
            if re.match(r"\w+=\$\(", command):
                environment = command
                continue
            printed = explained.run("sh", "-ec", f"export SYSTEMD_PAGER=\n{environment}\n{command}").stdout
            assert len([line for line in printed.splitlines() if line.strip()]) >= 1, (command, printed)
            assert "No entries" not in printed, command
            commands += 1
    assert commands == 9
    # It leads from the pause to what brought it about.
    assert "Up → Down" in explained.run("sh", "-ec", "\n".join(scripts[1].splitlines()[:2])).stdout


# Runs the daemon until its systems are healthy.
ON_A_TERMINAL = """\
mediatord --socket /tmp/terminal.sock &
until mediatorctl --socket /tmp/terminal.sock status >/dev/null 2>&1; do sleep 0.1; done
kill $!
wait
"""


def test_on_a_terminal_nothing_of_that_is_shown(explained: Container) -> None:
    config = explained.path("/etc/mediatord")
    assert config.is_dir()
    shown = subprocess.run(
        [
            *("nsenter", "-t", str(explained.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--"),
            *("script", "-qec", ON_A_TERMINAL, "/dev/null"),
        ],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT, env={"PATH": "/usr/bin:/bin", "TERM": "dumb"},
    ).stdout
    assert re.search(r"^\d\d:\d\d:\d\d info +started  state=Beating system=heartbeat\r?$", shown, re.MULTILINE), shown
    assert "message-id" not in shown and IDS["ready"] not in shown and "cause" not in shown
