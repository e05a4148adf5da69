"""The daemon's start, reload and end as other units and `systemctl` see them, under a real systemd."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from container import Container
from test_systemd import NOTIFY_RELOAD

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


# A limit of the unit in seconds. Work of 9 s needs more. The daemon asks for more time every 2 s, for 15 s each time, so a slow
# machine may ask two times too late.
SHORT = 6


@pytest.mark.depends_on_systemd
def test_a_long_start_asks_for_more_time(system: Container) -> None:
    drop_in(system, f"[Service]\nTimeoutStartSec={SHORT}\n")
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="9s"))
    system.systemctl("start", "--no-block", UNIT)
    system.wait_until(
        lambda: system.show(UNIT, "StatusText")["StatusText"] == "starting: 2 systems: 1 starting, 1 healthy",
        "what the daemon waits for",
    )
    assert system.show(UNIT, "ActiveState") == {"ActiveState": "activating"}
    system.systemctl("start", UNIT)
    assert system.show(UNIT, "ActiveState", "NRestarts") == {"ActiveState": "active", "NRestarts": "0"}


def test_a_start_whose_systems_do_not_become_ready_goes_on_without_them(system: Container) -> None:
    drop_in(system, f"[Service]\nTimeoutStartSec={SHORT}\nExecStart=\nExecStart=/usr/bin/mediatord --ready-limit 8\n")
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    system.systemctl("start", UNIT)
    assert "1 starting" in system.show(UNIT, "StatusText")["StatusText"]
    assert "not every system is ready; going on without them" in system.journal(UNIT)


STOPPED = {"ActiveState": "inactive", "Result": "success", "ExecMainCode": "1", "ExecMainStatus": "0"}


def stopped(system: Container) -> dict[str, str]:
    """How the daemon has ended; it ended by itself, not by a signal, if the code is 1 (CLD_EXITED)."""
    state = system.show(UNIT, *STOPPED)
    assert system.processes("mediatord") == []
    return state


def test_a_stop_during_a_long_start(system: Container) -> None:
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    system.systemctl("start", "--no-block", UNIT)
    system.wait_until(lambda: system.path(SOCKET).is_socket(), "the control socket")
    system.systemctl("stop", UNIT)
    assert stopped(system) == STOPPED


def test_a_stop_while_a_long_start_asks_for_more_time(system: Container) -> None:
    drop_in(system, f"[Service]\nTimeoutStartSec={SHORT}\nExecStart=\nExecStart=/usr/bin/mediatord --ready-limit 3600\n")
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    with ThreadPoolExecutor(1) as pool:
        start = pool.submit(system.systemctl, "start", UNIT, check=False)

        def is_beyond_its_time() -> bool:
            state = system.show(UNIT, "ActiveState", "StatusText")
            assert state["ActiveState"] in ("inactive", "activating"), (state, system.journal(UNIT))
            began = monotonic(system, UNIT, "ExecMainStartTimestampMonotonic")
            now = float(system.path("/proc/uptime").read_text().split()[0]) * 1e6
            return state["StatusText"].startswith("starting: ") and began > 0 and now > began + (SHORT + 2) * 1_000_000

        system.wait_until(is_beyond_its_time, "a start that takes longer than it may without asking")
        system.systemctl("stop", UNIT)
        assert stopped(system) == STOPPED
        # Whoever waits for the start is told that nothing becomes of it.
        assert start.result().returncode != 0, start.result()
    assert "timed out" not in system.journal(UNIT)


# Takes a while to stop, since what it does may finish.
BUSY = """\
system: busy
states: {{ Working: {{}}, Done: {{}} }}
events: {{ Ended: {{}} }}
initialState: Working
feedbacks:
  work: {{ onState: Working, run: [sleep, "{seconds}"], onSuccess: Ended, onFailure: Ended }}
transitions: {{ Working: {{ Ended: Done }} }}
"""


@pytest.fixture(params=["notify", pytest.param("notify-reload", marks=pytest.mark.depends_on_systemd)])
def reloaded(system: Container, request: pytest.FixtureRequest) -> Container:
    """The container; `systemctl reload` calls a program, or tells the daemon by signal."""
    if request.param == "notify-reload":
        if system.suite == "bookworm":
            pytest.skip("systemd 252 does not know Type=notify-reload")
        drop_in(system, NOTIFY_RELOAD)
    return system


def test_a_reload_during_a_stop(reloaded: Container) -> None:
    system = reloaded
    system.write("/etc/mediatord/busy.yaml", BUSY.format(seconds=4))
    system.systemctl("start", UNIT)
    system.systemctl("stop", "--no-block", UNIT)
    system.wait_until(lambda: system.show(UNIT, "SubState", "StatusText")["StatusText"] == "stopping", "the stop")
    system.write("/etc/mediatord/second.yaml", SECOND)
    with ThreadPoolExecutor(3) as pool:
        hangup = pool.submit(system.systemctl, "kill", "--kill-who=main", "--signal=HUP", UNIT, check=False)
        reload = pool.submit(system.systemctl, "reload", UNIT, check=False)
        call = pool.submit(system.run, "mediatorctl", "reload", check=False)
        assert reload.result().returncode != 0, reload.result()
        # The next daemon does not come, so that there is nobody who could answer.
        assert call.result().returncode == 69, call.result()
        hangup.result()
    system.wait_until(lambda: system.show(UNIT, "ActiveState")["ActiveState"] != "deactivating", "the end")
    assert stopped(system) == STOPPED, system.journal(UNIT)
    system.run("rm", "/etc/mediatord/busy.yaml")
    system.systemctl("start", UNIT)
    assert system.show(UNIT, "StatusText")["StatusText"].startswith("2 systems: 2 healthy")


def test_a_stop_during_a_reload(reloaded: Container) -> None:
    system = reloaded
    system.systemctl("start", UNIT)
    # A reload waits until new systems are ready.
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="1h"))
    with ThreadPoolExecutor(2) as pool:
        reload = pool.submit(system.systemctl, "reload", UNIT, check=False)

        def is_under_way() -> bool:
            state = system.show(UNIT, "ActiveState", "StatusText")
            return state["ActiveState"] == "reloading" and "1 starting" in state["StatusText"]

        system.wait_until(is_under_way, "the reload")
        call = pool.submit(system.run, "mediatorctl", "reload", check=False)
        system.systemctl("stop", UNIT)
        assert stopped(system) == STOPPED, system.journal(UNIT)
        # Neither believes that anything was applied.
        assert reload.result().returncode != 0, reload.result()
        assert call.result().returncode != 0, call.result()
    assert "a part of the daemon failed" not in system.journal(UNIT)


def test_a_long_reload_asks_for_more_time(reloaded: Container) -> None:
    system = reloaded
    kind = NOTIFY_RELOAD if system.show(UNIT, "Type")["Type"] == "notify-reload" else ""
    drop_in(system, f"{kind}\n[Service]\nTimeoutStartSec={SHORT}\n")
    system.systemctl("start", UNIT)
    system.write("/etc/mediatord/slow.yaml", SLOW.format(delay="9s"))
    system.systemctl("reload", UNIT)
    system.wait_until(
        lambda: system.show(UNIT, "StatusText")["StatusText"].startswith("2 systems: 2 healthy"), "the new system")
    assert "timed out" not in system.journal(UNIT)


def test_a_long_stop_asks_for_more_time(system: Container) -> None:
    drop_in(system, f"[Service]\nTimeoutStopSec={SHORT}\nExecStart=\nExecStart=/usr/bin/mediatord --stop-limit 60\n")
    system.write("/etc/mediatord/busy.yaml", BUSY.format(seconds=9))
    system.systemctl("start", UNIT)
    system.systemctl("stop", UNIT)
    assert stopped(system) == STOPPED, system.journal(UNIT)
    assert "timed out" not in system.journal(UNIT)


def test_reloads_at_once(reloaded: Container) -> None:
    system = reloaded
    system.systemctl("start", UNIT)
    pid = system.show(UNIT, "MainPID")["MainPID"]
    tells = system.show(UNIT, "Type")["Type"] == "notify"

    def reload_four_times() -> list[int]:
        with ThreadPoolExecutor(4) as pool:
            by_systemd = [pool.submit(system.systemctl, "reload", UNIT, check=False) for _ in range(2)]
            calls = [pool.submit(system.run, "mediatorctl", "reload", check=False) for _ in range(2)]
            return [each.result().returncode for each in by_systemd + calls]

    def settled(status: str) -> None:
        # The last word of the daemon may come after the answer to who asked.
        system.wait_until(
            lambda: re.match(status, system.show(UNIT, "StatusText")["StatusText"]) is not None
            and system.show(UNIT, "SubState") == {"SubState": "running"},
            f"{status}: {system.show(UNIT, 'ActiveState', 'SubState', 'StatusText')}",
        )
        assert system.show(UNIT, "ActiveState", "MainPID", "NRestarts") == {
            "ActiveState": "active", "MainPID": pid, "NRestarts": "0"
        }

    for number in range(2):
        system.write("/etc/mediatord/second.yaml", SECOND.replace("Here", f"Here{number}"))
        assert reload_four_times() == [0, 0, 0, 0], system.journal(UNIT)
        assert f"Here{number}" in system.run("mediatorctl", "show", "second").stdout
        settled("2 systems: 2 healthy$")
        # By signal nobody can be told that nothing was applied.
        system.write("/etc/mediatord/second.yaml", SECOND.replace("initialState: Here", "initialState: There"))
        codes = reload_four_times()
        assert [code != 0 for code in codes] == [tells, tells, True, True], (codes, system.journal(UNIT))
        assert codes[2:] == [1, 1], codes
        settled("reload rejected: 1 error in the configuration; 2 systems: 2 healthy$")
        assert f"Here{number}" in system.run("mediatorctl", "show", "second").stdout
