"""What outlasts a restart of the daemon under a real systemd: the control socket, and the state of systems and buses."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from container import Container
from flood import Flood, ping
from waiting import WAIT

UNIT = "mediatord.service"
SOCKET = "/run/mediatord/io.mediatord.Control"
EXAMPLES = Path(__file__).parents[2] / "systemd" / "examples"

COUNTER = """\
system: counter
states: { Idle: {}, Count: { n: int, since: timestamp } }
events: { Add: { by: int } }
fromOutside: any
initialState: Idle
transitions:
  Idle: { Add: { to: Count, set: { n: "${event.by}", since: "${now}" } } }
  Count: { Add: { to: Count, set: { n: "${state.n + event.by}" } } }
---
buses:
  seen: { kind: currentValue, value: int, initial: -1, fromOutside: both }
  wish: { kind: currentValue, value: { text: string, weight: double }, initial: { text: none, weight: 0.5 }, fromOutside: both }
links: { tell: { attach: counter, to: seen, onState: Count, emitValue: "${state.n}" } }
"""


def drop_in(system: Container, text: str) -> None:
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
    system.systemctl("daemon-reload")


def show(system: Container, name: str) -> dict[str, Any]:
    (described,) = json.loads(system.run("mediatorctl", "show", name, "--json").stdout).values()
    return described["summary"]


UNLIMITED = "[Unit]\nStartLimitIntervalSec=0\n"


def started(system: Container) -> None:
    """Starts the daemon, and has its parts come to something."""
    system.write("/etc/mediatord/counter.yaml", COUNTER)
    assert system.systemctl("start", UNIT, check=False).returncode == 0, system.journal(UNIT)
    system.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
    system.run("mediatorctl", "publish", "wish", '{"text": "tea", "weight": 0.1}')


def count(system: Container) -> Any:
    return show(system, "counter")["state"]


def test_states_and_values_outlast_a_restart(system: Container) -> None:
    drop_in(system, UNLIMITED)
    started(system)
    before = show(system, "counter")
    pid = system.show(UNIT, "MainPID")["MainPID"]
    for _ in range(3):
        system.systemctl("restart", UNIT)
    after = show(system, "counter")
    assert system.show(UNIT, "MainPID")["MainPID"] != pid
    assert after["state"]["name"] == "Count" and after["state"] == before["state"], (before, after)
    assert after["since"] == before["since"]
    assert show(system, "wish")["value"] == {"text": "tea", "weight": 0.1}
    assert show(system, "seen")["value"] == 7
    why = system.run("mediatorctl", "why", "counter").stdout
    assert "kept over a restart of the daemon" in why, why
    system.run("mediatorctl", "emit", "counter", "Add", "by=1")
    system.systemctl("restart", UNIT)
    assert '"n":8' in system.run("mediatorctl", "show", "counter", "--json").stdout
    journal = system.journal(UNIT)
    assert "restored the state from before the restart" in journal, journal
    assert "saved the state for the next start" in journal
    # Only the socket is kept meanwhile: what comes after a crash begins anew.
    assert system.show(UNIT, "NFileDescriptorStore") == {"NFileDescriptorStore": "1"}


def test_a_store_that_could_not_be_used_counts_after_a_restart(system: Container) -> None:
    drop_in(system, UNLIMITED)
    system.write("/etc/mediatord/counter.yaml", COUNTER.replace("initialState: Idle", "initialState: Idle\npersist: state"))
    system.systemctl("start", UNIT)
    system.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
    stored = count(system)
    system.systemctl("restart", UNIT)
    assert count(system) == stored
    system.systemctl("stop", UNIT)
    system.run("chmod", "755", "/var/lib/mediatord-store/main")
    system.systemctl("start", UNIT)
    assert count(system)["name"] == "Idle"
    assert "state: is not stored: other users can read" in system.run("mediatorctl", "status", check=False).stdout
    system.run("mediatorctl", "emit", "counter", "Add", "by=1", "--wait", "Count")
    in_memory = count(system)
    # Until somebody mends it, a restart keeps what there is.
    system.systemctl("restart", UNIT)
    assert count(system) == in_memory != stored
    system.run("chmod", "700", "/var/lib/mediatord-store/main")
    system.systemctl("restart", UNIT)
    assert count(system) == stored


def test_what_does_not_fit_any_more_begins_anew(system: Container) -> None:
    started(system)
    system.write(
        "/etc/mediatord/counter.yaml",
        COUNTER.replace("n: int, since", "n: int, more: int, since").replace('since: "${now}"', 'more: 1, since: "${now}"'),
    )
    system.systemctl("restart", UNIT)
    assert count(system)["name"] == "Idle"
    assert show(system, "wish")["value"] == {"text": "tea", "weight": 0.1}
    journal = system.journal(UNIT)
    assert "it was in the state 'Count', whose fields have changed" in journal, journal


def broken_start(system: Container) -> None:
    """A restart with a configuration that is broken, and the start after it is mended."""
    system.write("/etc/mediatord/broken.yaml", "system: broken\nstates: { A: {} }\ninitialState: Nowhere\n")
    assert system.systemctl("restart", UNIT, check=False).returncode != 0
    system.run("rm", "/etc/mediatord/broken.yaml")
    system.systemctl("start", UNIT)


def test_after_a_start_that_fails_everything_begins_anew(system: Container) -> None:
    drop_in(system, UNLIMITED)
    started(system)
    broken_start(system)
    assert count(system)["name"] == "Idle"


@pytest.mark.depends_on_systemd
def test_after_a_crash_or_a_stop_everything_begins_anew(system: Container) -> None:
    drop_in(system, UNLIMITED + "[Service]\nRestartSec=0\n")
    started(system)
    system.systemctl("restart", UNIT)
    assert count(system)["name"] == "Count"
    pid = system.show(UNIT, "MainPID")["MainPID"]
    system.run("sh", "-c", f"kill -KILL {pid}")
    # Whoever comes meanwhile waits for the next daemon.
    ping(system.path(SOCKET))
    assert count(system)["name"] == "Idle"
    system.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
    system.systemctl("stop", UNIT)
    assert system.run("mediatorctl", "status", check=False).returncode == 69
    system.systemctl("start", UNIT)
    assert count(system)["name"] == "Idle"
    if system.suite != "bookworm":
        # As the example for systemd 254 and later says.
        drop_in(system, UNLIMITED + (EXAMPLES / "keep-state.conf").read_text())
        system.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
        system.systemctl("stop", UNIT)
        system.systemctl("start", UNIT)
        assert count(system)["name"] == "Count"
        broken_start(system)
        assert count(system)["name"] == "Count"
        # What is kept can be let go.
        system.systemctl("stop", UNIT)
        system.systemctl("clean", "--what=fdstore", UNIT)
        assert system.run("mediatorctl", "status", check=False).returncode == 69
        drop_in(system, "")
        system.systemctl("stop", UNIT)


@pytest.mark.depends_on_systemd
def test_a_state_that_is_none_changes_nothing(system: Container) -> None:
    if system.suite == "bookworm":
        pytest.skip("systemd 252 cannot pass another file (OpenFile=)")
    system.write("/etc/foreign", '{"format":"io.mediatord.state","version":1,"systems":{},"buses":{}}')
    drop_in(system, "[Service]\nOpenFile=/etc/foreign:state:read-only\n")
    started(system)
    assert "no sealed file in memory" in system.journal(UNIT)
    assert count(system)["name"] == "Count"


def restart_under(flood: Flood, system: Container, times: int) -> None:
    for _ in range(times):
        answered = flood.answered
        system.systemctl("restart", UNIT)
        # Between two restarts there are calls.
        system.wait_until(lambda: flood.answered > answered + 20 or bool(flood.failures), "answers")


# Emits and asks until a file is there, and prints what failed and how many events were taken.
EMITTING = """\
taken=0
while [ ! -e /run/is-over ]; do
    if mediatorctl emit counter Add by=1 >/dev/null; then taken=$((taken + 1)); else echo "emit: $?"; fi
    mediatorctl why counter >/dev/null || echo "why: $?"
done
echo "taken: $taken"
"""


class Emitters:
    """Loops of mediatorctl that go on until the end of the block."""

    def __init__(self, system: Container, loops: int = 2) -> None:
        self.system = system
        self.failures: list[str] = []
        self.taken = 0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(loops)]

    def __enter__(self) -> Emitters:
        self.system.run("rm", "-f", "/run/is-over")
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.system.write("/run/is-over", "")
        for thread in self._threads:
            thread.join(WAIT)
        if any(thread.is_alive() for thread in self._threads):
            self.failures.append("a loop does not end")

    def _run(self) -> None:
        result = self.system.run("sh", "-c", EMITTING, check=False, timeout=300)
        *failures, taken = result.stdout.splitlines() or ["nothing"]
        self.failures += failures + result.stderr.splitlines()
        self.taken += int(taken.removeprefix("taken: "))


def test_no_client_is_refused_while_the_daemon_restarts(system: Container) -> None:
    drop_in(system, UNLIMITED)
    started(system)
    with Flood(system.path(SOCKET)) as flood, Emitters(system) as emitters:
        restart_under(flood, system, 5)
    assert flood.failures == []
    assert emitters.failures == []
    # Each event that was taken is counted, and counted once, by whichever daemon.
    assert emitters.taken > 0
    assert count(system)["name"] == "Count" and count(system)["data"]["n"] == 7 + emitters.taken


def test_no_client_is_refused_by_a_socket_that_systemd_has_opened(system: Container) -> None:
    drop_in(system, UNLIMITED)
    system.write("/etc/mediatord/counter.yaml", COUNTER)
    system.systemctl("start", "mediatord.socket")
    assert system.show(UNIT, "ActiveState") == {"ActiveState": "inactive"}
    assert system.run("stat", "--format=%a %U:%G", SOCKET).stdout.strip() == "600 mediatord:mediatord"
    # The first client starts the daemon, and waits until it serves.
    ping(system.path(SOCKET))
    system.wait_until(lambda: system.show(UNIT, "ActiveState")["ActiveState"] == "active", "the start")
    # Who may connect is the daemon's to say.
    assert system.run("stat", "--format=%a %U:%G", SOCKET).stdout.strip() == "660 mediatord:mediatord"
    system.run("mediatorctl", "emit", "counter", "Add", "by=7", "--wait", "Count")
    with Flood(system.path(SOCKET)) as flood:
        restart_under(flood, system, 5)
    assert flood.failures == []
    assert count(system)["name"] == "Count"
    # systemd listens on, and the file is there; the daemon has kept no socket of its own.
    assert system.show(UNIT, "NFileDescriptorStore") == {"NFileDescriptorStore": "0"}
    system.systemctl("stop", UNIT)
    assert system.path(SOCKET).is_socket()
    ping(system.path(SOCKET))
    system.systemctl("stop", "mediatord.socket", UNIT)
    # Nobody waits for a daemon that does not come.
    assert "nobody listens" in system.run("mediatorctl", "status", check=False).stderr
    system.systemctl("start", UNIT)
    ping(system.path(SOCKET))


def test_a_socket_of_the_command_line_that_is_not_used_is_spoken_of(system: Container) -> None:
    elsewhere = "/run/mediatord/elsewhere"
    drop_in(system, f"{UNLIMITED}[Service]\nExecStart=\nExecStart=/usr/bin/mediatord --socket {elsewhere}\n")
    system.systemctl("start", UNIT)
    warning = "the socket that is named is not used: systemd listens at another for this daemon"
    assert system.path(elsewhere).is_socket() and warning not in system.journal(UNIT)
    system.systemctl("stop", UNIT)
    system.systemctl("start", "mediatord.socket")
    ping(system.path(SOCKET))
    assert f"{warning}  named={elsewhere} socket={SOCKET}" in system.journal(UNIT)


def test_a_daemon_goes_on_when_its_socket_is_closed(system: Container) -> None:
    started(system)
    system.systemctl("stop", UNIT)
    system.systemctl("start", "mediatord.socket")
    ping(system.path(SOCKET))
    pid = system.show(UNIT, "MainPID")
    system.systemctl("stop", "mediatord.socket")
    # It listens on by itself, and so does the next one.
    ping(system.path(SOCKET))
    assert system.show(UNIT, "MainPID") == pid
    system.systemctl("restart", UNIT)
    ping(system.path(SOCKET))
    assert system.show("mediatord.socket", "ActiveState") == {"ActiveState": "inactive"}


def test_the_socket_of_the_unit_takes_the_place_of_the_daemons_own(system: Container) -> None:
    started(system)
    system.systemctl("stop", UNIT)
    system.systemctl("start", "mediatord.socket")
    ping(system.path(SOCKET))
    system.systemctl("stop", "mediatord.socket", UNIT)
    system.systemctl("start", UNIT)
    ping(system.path(SOCKET))


def test_a_kept_socket_without_its_file_is_not_used(system: Container) -> None:
    drop_in(system, "[Service]\nRestartSec=0\n")
    started(system)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    # A daemon that runs would make the file anew.
    system.run("sh", "-c", f"kill -STOP {pid}")
    system.path(SOCKET).unlink()
    system.run("sh", "-c", f"kill -KILL {pid}")
    system.wait_until(lambda: system.path(SOCKET).is_socket(), "a socket of the next daemon")
    ping(system.path(SOCKET))
    assert system.show(UNIT, "MainPID")["MainPID"] != pid
    assert "the control socket of the previous daemon is not used" in system.journal(UNIT)
    assert system.show(UNIT, "NFileDescriptorStore") == {"NFileDescriptorStore": "1"}


def test_a_socket_file_that_is_removed_comes_back_and_is_kept(system: Container) -> None:
    started(system)
    for removed in range(2):
        system.path(SOCKET).unlink()
        system.wait_until(
            lambda: system.journal(UNIT).count("the daemon has restored it") > removed, "the file to come back")
        ping(system.path(SOCKET))
    assert system.show(UNIT, "NFileDescriptorStore") == {"NFileDescriptorStore": "1"}
    system.systemctl("restart", UNIT)
    ping(system.path(SOCKET))
    assert "the control socket of the previous daemon is not used" not in system.journal(UNIT)


def test_a_runtime_directory_that_is_removed_is_spoken_of_and_comes_back_with_a_restart(system: Container) -> None:
    started(system)
    system.run("rm", "-r", "/run/mediatord", check=False)
    gone = "the file of the control socket is gone"
    system.wait_until(lambda: gone in system.journal(UNIT), "a line about the file")
    (line,) = [line for line in system.journal(UNIT).splitlines() if gone in line]
    assert "systemctl restart mediatord" in line, line
    system.systemctl("restart", UNIT)
    ping(system.path(SOCKET))
