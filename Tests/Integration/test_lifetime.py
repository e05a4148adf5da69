"""The daemon's start, reload and end as other units and `systemctl` see them, under a real systemd."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from container import Container

UNIT = "mediatord.service"
SOCKET = "/run/mediatord/io.mediatord.Control"

# Ready some seconds after its start.
SLOW = """\
system: slow
states: {{ Warming: {{}}, Warm: {{}} }}
events: {{ Warmed: {{}} }}
initialState: Warming
ready: Warm
feedbacks:
  warm: {{ onState: Warming, after: {delay}, emit: Warmed }}
transitions: {{ Warming: {{ Warmed: Warm }} }}
"""

DEPENDENT = """\
[Unit]
Requires=mediatord.service
After=mediatord.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/mediatorctl status
"""

SECOND = "system: second\nstates: { Here: {} }\nevents: {}\ninitialState: Here\n"


def drop_in(system: Container, text: str) -> None:
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
    system.systemctl("daemon-reload")


def monotonic(system: Container, unit: str, name: str) -> int:
    return int(system.show(unit, name)[name])


def test_a_unit_that_needs_the_daemon_starts_when_that_is_ready(system: Container) -> None:
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="2s"))
    system.write("/etc/systemd/system/dependent.service", DEPENDENT)
    system.systemctl("daemon-reload")
    try:
        system.systemctl("start", "dependent.service")
        # Its `mediatorctl status` succeeds only if every system is healthy.
        assert system.show("dependent.service", "Result") == {"Result": "success"}
        ready = monotonic(system, UNIT, "ActiveEnterTimestampMonotonic")
        assert ready - monotonic(system, UNIT, "ExecMainStartTimestampMonotonic") >= 2_000_000
        assert monotonic(system, "dependent.service", "InactiveExitTimestampMonotonic") >= ready
        # Without the daemon it is not started, and ends with it.
        system.systemctl("stop", UNIT)
        assert system.show("dependent.service", "ActiveState") == {"ActiveState": "inactive"}
        system.write("/etc/mediatord/slow.yaml", "system: slow\n")
        assert system.systemctl("start", "dependent.service", check=False).returncode != 0
        assert system.show("dependent.service", "ActiveState") == {"ActiveState": "inactive"}
    finally:
        system.systemctl("stop", "dependent.service", check=False)
        system.run("rm", "-f", "/etc/systemd/system/dependent.service")


def test_a_long_start_asks_for_more_time(system: Container) -> None:
    drop_in(system, "[Service]\nTimeoutStartSec=4\n")
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="9s"))
    system.systemctl("start", "--no-block", UNIT)
    system.wait_until(
        lambda: system.show(UNIT, "StatusText")["StatusText"] == "starting: 2 systems: 1 starting, 1 healthy",
        "what the daemon waits for",
    )
    assert system.show(UNIT, "ActiveState") == {"ActiveState": "activating"}
    system.systemctl("start", UNIT)
    assert system.show(UNIT, "ActiveState", "NRestarts") == {"ActiveState": "active", "NRestarts": "0"}


def test_a_start_that_does_not_come_to_an_end_is_ended(system: Container) -> None:
    drop_in(system, "[Service]\nTimeoutStartSec=3\nExecStart=\nExecStart=/usr/bin/mediatord --ready-limit 4\n")
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    system.systemctl("start", UNIT)
    assert "1 starting" in system.show(UNIT, "StatusText")["StatusText"]


def test_a_stop_during_a_long_start(system: Container) -> None:
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    system.systemctl("start", "--no-block", UNIT)
    system.wait_until(lambda: system.path(SOCKET).is_socket(), "the control socket")
    system.systemctl("stop", UNIT, timeout=20)
    state = system.show(UNIT, "ActiveState", "Result", "ExecMainCode", "ExecMainStatus")
    assert state == {"ActiveState": "inactive", "Result": "success", "ExecMainCode": "1", "ExecMainStatus": "0"}
    assert system.processes("mediatord") == []


def test_two_reloads_at_once(system: Container) -> None:
    system.systemctl("start", UNIT)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    for number in range(5):
        system.write("/etc/mediatord/second.yaml", SECOND.replace("Here", f"Here{number}"))
        with ThreadPoolExecutor(3) as pool:
            reloads = [pool.submit(system.systemctl, "reload", UNIT, check=False, timeout=30) for _ in range(2)]
            reloads.append(pool.submit(system.run, "mediatorctl", "reload", check=False, timeout=30))
            ended = [reload.result() for reload in reloads]
        assert [each.returncode for each in ended] == [0, 0, 0], ended
        state = system.show(UNIT, "ActiveState", "SubState", "StatusText", "MainPID")
        assert state == {
            "ActiveState": "active", "SubState": "running", "StatusText": "2 systems: 2 healthy", "MainPID": pid
        }
        assert f"Here{number}" in system.run("mediatorctl", "show", "second").stdout
