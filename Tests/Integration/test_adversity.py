"""What a machine does to a daemon under a real systemd: no power, one end after the other, starts that fail."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import BUILD, CONFIGURATION, UNIT_FILES
from container import PATH, SUITES, Container, ContainerUnavailable, make_root
from daemon import CANNOT_SERVE, CONFIGURATION_INVALID, USAGE, Binaries
from powercut import Disk

UNIT = "mediatord.service"
SOCKET = "/run/mediatord/io.mediatord.Control"
PATIENCE = 90.0

# How many times the power fails in each container: with SOAK_FACTOR so many times as many.
POWER_CUTS = 5 * int(os.environ.get("SOAK_FACTOR", "1"))


def drop_in(system: Container, text: str) -> None:
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
    system.systemctl("daemon-reload")


# What is busy: a command that writes a file, lines of the log, values on buses, and links that are changed.
BUSY = {
    "worker.yaml": """\
system: worker
states: { Working: { rounds: int } }
events: { Wrote: {}, Failed: { why: string } }
initialState: { Working: { rounds: 0 } }
feedbacks:
  write:
    onState: any
    strategy: continueOnNewState
    every: 100ms
    run: [sh, -c, "date +%s%N >$STATE_DIRECTORY/round.new && mv $STATE_DIRECTORY/round.new $STATE_DIRECTORY/round"]
    onSuccess: Wrote
    onFailure: { Failed: { why: "${result.error}" } }
  tell: { onState: any, log: "round ${state.rounds}" }
transitions:
  Working:
    Wrote: { to: Working, set: { rounds: "${state.rounds + 1}" } }
    Failed: stay
""",
    "wiring.yaml": """\
buses:
  rounds: { kind: currentValue, value: int, initial: 0, fromOutside: both }
  marks: { kind: currentValue, value: int, initial: 0, fromOutside: both }
links:
  tell: { attach: worker, to: rounds, onState: Working, emitValue: "${state.rounds}" }
  mark: { attach: worker, to: marks, onState: Working, emitValue: 0 }
""",
    "second.yaml": "system: second\nstates: { Here0: {} }\nevents: {}\ninitialState: Here0\n",
}

UNLIMITED = "[Unit]\nStartLimitIntervalSec=0\n"

# Writes what somebody changes of links, one number after the other; and with every fifth a link more, or less. It says
# what it is about to do, and that it is done.
PERSIST = """\
n=$1
while n=$((n + 1)); do
    echo "try mark $n"
    mediatorctl set mark emitValue=$n --persist >/dev/null && echo "done mark $n"
    case $((n % 10)) in
    0)
        echo "try extra 1"
        mediatorctl attach extra "{ attach: second, to: marks, onState: any, emitValue: 7 }" --persist >/dev/null &&
            echo "done extra 1";;
    5)
        echo "try extra 0"
        mediatorctl detach extra --persist >/dev/null && echo "done extra 0";;
    esac
done
"""

# Edits a file as an administrator does who knows how, and has it read; now and then the daemon is restarted.
EDIT = """\
n=$1
while n=$((n + 1)); do
    cd /etc/mediatord
    printf 'system: second\\nstates: { Here%s: {} }\\nevents: {}\\ninitialState: Here%s\\n' $n $n >.second
    sync .second
    mv .second second.yaml
    case $((n % 7)) in
    3) systemctl reload mediatord.service;;
    6) systemctl restart mediatord.service;;
    *) mediatorctl reload;;
    esac >/dev/null && echo "done edit $n"
done
"""


@dataclass
class Work:
    """What is done inside until everything is killed, and how far that is known to have come."""

    box: Container
    # What may have been done, and what surely was.
    tried: dict[str, set[int]] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    promised: int = 0

    def __post_init__(self) -> None:
        self._programs: list[subprocess.Popen[str]] = []
        self._readers: list[threading.Thread] = []

    def begin(self) -> None:
        """Begins, where it was when it was killed."""
        for script in (PERSIST, EDIT):
            start = self.done.get("mark" if script is PERSIST else "edit", 0)
            inside = ("nsenter", "-t", str(self.box.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--")
            program = subprocess.Popen(
                [*inside, "sh", "-c", script, "sh", str(start)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/",
                env={"PATH": PATH, "LANG": "C.UTF-8"},
            )
            reader = threading.Thread(target=self._read, args=(program,), daemon=True)
            reader.start()
            self._programs.append(program)
            self._readers.append(reader)

    def _read(self, program: subprocess.Popen[str]) -> None:
        assert program.stdout is not None
        for line in program.stdout:
            # The last line may have been cut off; a number that is shorter than it was would be another one.
            if not line.endswith("\n"):
                break
            verb, what, number = line.split()
            if verb == "try":
                self.tried.setdefault(what, set()).add(int(number))
            else:
                self.done[what] = int(number)
                self.tried[what] = set()
                self.promised += what != "edit"

    def end(self) -> None:
        """Waits until all that was told has been heard, when everything has been killed."""
        for program, reader in zip(self._programs, self._readers):
            program.wait(60)
            reader.join(60)
            assert not reader.is_alive() and program.stdout is not None
            program.stdout.close()
        self._programs.clear()
        self._readers.clear()


@pytest.fixture(params=SUITES)
def machine(
    say: Callable[[str], None], request: pytest.FixtureRequest, binaries: Binaries, tmp_path: Path
) -> Iterator[Container]:
    """A system with a disk of its own, on which the programs are installed and the daemon is enabled; booted."""
    try:
        root = make_root(request.param, BUILD / "roots", say)
        box = Container(request.param, root, Disk(tmp_path, root))
        box.boot()
    except (ContainerUnavailable, subprocess.CalledProcessError, OSError) as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no container with a disk on this machine: {reason}", pytrace=False)
        warnings.warn(pytest.PytestWarning(f"NOT TESTED with power cuts: {reason}"), stacklevel=1)
        pytest.skip("no container with a disk on this machine; a warning says why")
    try:
        box.install([binaries.mediatord, binaries.mediatorctl], UNIT_FILES)
        for name, text in BUSY.items():
            box.write(f"/etc/mediatord/{name}", text)
        box.run("chown", "-R", "mediatord", "/etc/mediatord")
        drop_in(box, UNLIMITED + "[Service]\nReadOnlyPaths=\nReadWritePaths=/etc/mediatord\n")
        box.systemctl("enable", "--now", UNIT)
        box.run("sync")
        yield box
    finally:
        box.stop()


def wait_active(box: Container) -> None:
    def is_active() -> bool:
        return box.systemctl("is-active", UNIT, check=False).stdout.strip() == "active"

    try:
        box.wait_until(is_active, "the daemon", PATIENCE)
    except AssertionError as failure:
        status = box.systemctl("status", "--full", UNIT, check=False).stdout
        raise AssertionError(f"{failure}\n{status}\n{box.journal(UNIT)}\n{box.console[-2000:]}") from None


def written(box: Container) -> dict[str, int]:
    """What the files say of what was changed of links."""
    marked = box.path("/etc/mediatord/wiring.yaml.d/90-mediatorctl.yaml")
    found = re.search(r"emitValue: \"?(\d+)", marked.read_text()) if marked.exists() else None
    assert found or not marked.exists(), marked.read_text()
    return {
        "mark": int(found[1]) if found else 0, "extra": int(box.path("/etc/mediatord/90-mediatorctl.yaml").exists()),
    }


def check_well(box: Container, work: Work) -> None:
    """Whether the daemon is as it should be after a power cut: it is ready, what somebody was told to be done is there,
    and everything that is there is whole."""
    status = box.run("mediatorctl", "status", check=False)
    assert status.returncode == 0, status.stdout + status.stderr
    validated = box.run("mediatorctl", "validate", "--quiet", check=False)
    assert (validated.returncode, validated.stdout + validated.stderr) == (0, "")
    assert "nothing to do" in box.run("mediatorctl", "plan").stdout
    # What was promised is kept; what was under way is there wholly or not at all.
    there = written(box)
    for what, now in there.items():
        assert now in {work.done.get(what, 0)} | work.tried.get(what, set()), (what, now, work)
        work.done[what] = now
        work.tried[what] = set()
    links = box.run("mediatorctl", "list", "links").stdout
    assert ("extra" in links) == bool(there["extra"]), links
    shown = json.loads(box.run("mediatorctl", "show", "marks", "--json").stdout)
    assert f'"value": {there["mark"]}' in json.dumps(shown) or there["extra"], (shown, there)
    entries = {path.name for path in box.path("/etc/mediatord").iterdir() if path.name != ".second"}
    hidden = {name for name in entries if name.startswith(".")}
    assert entries - hidden <= {*BUSY, "wiring.yaml.d", "90-mediatorctl.yaml"}, entries
    assert all(name.startswith(".90-mediatorctl.yaml.") for name in hidden) and len(hidden) <= 1, hidden
    box.run("journalctl", "--sync")
    wrong = box.run("journalctl", "--boot", "--unit", UNIT, "--priority=err", "--output=cat", "--quiet").stdout
    assert wrong == "", wrong


def test_the_daemon_comes_back_whenever_the_power_fails(machine: Container, say: Callable[[str], None]) -> None:
    seed = int(os.environ.get("POWER_CUT_SEED", random.randrange(1 << 32)))
    say(f"{POWER_CUTS} power cuts of {machine.suite}; again with POWER_CUT_SEED={seed}")
    choose = random.Random(seed)
    work = Work(machine)
    cuts = 0
    while True:
        wait_active(machine)
        check_well(machine, work)
        if cuts == POWER_CUTS:
            break
        work.begin()
        # One moment is as good as another: this is no wait for anything.
        time.sleep(choose.uniform(0.2, 3))
        machine.kill(is_power_cut=choose.random() < 0.6)
        work.end()
        cuts += 1
        machine.power_on()
        # Now and then it fails again while everything, or just the daemon, starts.
        while cuts < POWER_CUTS and choose.random() < 0.3:
            time.sleep(choose.uniform(0, 3))
            machine.kill(is_power_cut=choose.random() < 0.6)
            cuts += 1
            machine.power_on()
    assert work.promised >= POWER_CUTS, work
    # What was half written is gone with the next change.
    number = work.done["mark"] + 1
    machine.run("mediatorctl", "set", "mark", f"emitValue={number}", "--persist")
    link = "{ attach: second, to: marks, onState: any, emitValue: 8 }"
    machine.run("mediatorctl", "attach", "last", link, "--persist")
    left = machine.run("find", "/etc/mediatord", "-name", ".90*").stdout
    assert left == "" and written(machine)["mark"] == number
    say(f"{work.promised} changes of links were persisted meanwhile, and none is lost")


def ended_again_and_again(system: Container, *signals: str) -> None:
    """Ends each daemon as soon as it is ready, until there is none any more."""
    for number in signals:
        pid = system.show(UNIT, "MainPID")["MainPID"]
        system.run("sh", "-c", f"kill -{number} {pid}")

        def is_over() -> bool:
            now = system.show(UNIT, "ActiveState", "MainPID")
            return now["ActiveState"] == "failed" or (now["ActiveState"] == "active" and now["MainPID"] != pid)

        system.wait_until(is_over, f"what comes after SIG{number}", PATIENCE)


def test_a_daemon_that_is_killed_again_and_again_stays_down_until_it_is_reset(system: Container) -> None:
    # Five starts within a minute, as the unit says; only the time between them is shorter.
    drop_in(system, "[Service]\nRestartSec=100ms\n")
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
    system.write("/etc/mediatord/broken.yaml", "system: broken\nstates: { A: {} }\ninitialState: Nowhere\n")
    system.systemctl("start", "mediatord.socket")
    waiting = system.run("mediatorctl", "status", check=False, timeout=PATIENCE)
    assert waiting.returncode == 69, waiting

    def is_closed() -> bool:
        system.run("mediatorctl", "status", check=False)
        return system.show("mediatord.socket", "ActiveState")["ActiveState"] == "failed"

    system.wait_until(is_closed, "the limit of starts", PATIENCE)
    assert system.show("mediatord.socket", "Result") == {"Result": "service-start-limit-hit"}
    # As the guide says.
    system.run("rm", "/etc/mediatord/broken.yaml")
    system.systemctl("reset-failed", UNIT, "mediatord.socket")
    system.systemctl("start", "mediatord.socket")
    # The first who connects may be served before everything is ready.
    assert system.run("mediatorctl", "status", check=False, timeout=PATIENCE).returncode in (0, 5)
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
    system.wait_until(lambda: system.show(UNIT, "ActiveState")["ActiveState"] == "failed", "the end", PATIENCE)
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
