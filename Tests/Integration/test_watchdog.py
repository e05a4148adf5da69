"""A system whose loop blocks: it is named, and the service manager, if there is one, ends the daemon."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator

import pytest

from conftest import BUILD, CONFIGURATION
from container import Container
from daemon import Binaries, Daemon
from waiting import eventually

UNIT = "unruly.service"

UNRULY = """\
[Service]
Type=notify
ExecStart=/usr/bin/unruly-daemon --config /etc/unruly
WatchdogSec=4
TimeoutAbortSec=10
LimitCORE=0
Restart=on-failure
RestartSec=0
RuntimeDirectory=unruly
"""

BLOCKER = "system: blocked\nkind: blocker\n"

# More side effects that hold a thread than there are threads for tasks.
OCCUPIERS = """\
system: occupier@
states: { Waiting: {}, Occupying: {} }
events: { Occupy: {} }
initialState: Waiting
feedbacks:
  wait: { onState: Waiting, after: 1s, emit: Occupy }
  occupy: { onState: Occupying, occupy: 3600 }
transitions: { Waiting: { Occupy: Occupying } }
---
instances:
""" + "".join(f"  occupier@{number}: {{}}\n" for number in range(60))


@pytest.fixture(scope="session")
def binaries(binaries: Binaries) -> Binaries:
    """A daemon with systems that block, in the place of mediatord."""
    path = BUILD / "debug" / "unruly-daemon"
    assert os.access(path, os.X_OK), f"{path} is not there; run `make build` first"
    return Binaries(path, binaries.mediatorctl)


@pytest.fixture
def unruly(container: Container, binaries: Binaries) -> Iterator[Container]:
    """The container with that daemon as a unit; stopped in the end."""
    container.install([binaries.mediatord, binaries.mediatorctl], {})
    container.write(f"/etc/systemd/system/{UNIT}", UNRULY)
    for name, text in CONFIGURATION.items():
        container.write(f"/etc/unruly/{name}", text)
    container.systemctl("daemon-reload")
    try:
        yield container
    finally:
        container.systemctl("stop", UNIT, check=False)
        container.run("rm", "-rf", "/etc/unruly", f"/etc/systemd/system/{UNIT}", "/usr/bin/unruly-daemon")
        container.systemctl("daemon-reload")
        container.systemctl("reset-failed", UNIT, check=False)
        container.run("journalctl", "--rotate", "--vacuum-time=1s")


def test_a_mistake_of_the_program_is_told_to_the_service_manager(unruly: Container) -> None:
    unruly.write(f"/run/systemd/system/{UNIT}.d/twice.conf", "[Service]\nEnvironment=UNRULY_TWICE=1\nRestart=no\n")
    unruly.systemctl("daemon-reload")
    try:
        assert unruly.systemctl("start", UNIT, check=False).returncode != 0
        state = unruly.show(UNIT, "ActiveState", "ExecMainStatus", "StatusText")
        text = state.pop("StatusText")
        assert state == {"ActiveState": "failed", "ExecMainStatus": "5"}, unruly.journal(UNIT)
        assert "blocker" in text and text in unruly.journal(UNIT)
    finally:
        unruly.run("rm", "-rf", f"/run/systemd/system/{UNIT}.d")
        unruly.systemctl("daemon-reload")


@pytest.mark.depends_on_systemd
def test_a_loop_that_blocks_is_named_before_systemd_ends_the_daemon(unruly: Container) -> None:
    unruly.write("/etc/unruly/blocked.yaml", BLOCKER + "with: { after: 1s }\n")
    unruly.systemctl("start", UNIT)
    pid = unruly.show(UNIT, "MainPID")["MainPID"]

    def is_restarted() -> bool:
        now = unruly.show(UNIT, "NRestarts", "MainPID")
        return now["NRestarts"] != "0" and now["MainPID"] not in ("0", pid)

    unruly.wait_until(is_restarted, f"a restart of {UNIT}; the journal:\n{unruly.journal(UNIT)}")
    journal = unruly.journal(UNIT)
    first = journal[: journal.index("Watchdog timeout")]
    assert re.search(r"its loop is blocked.*system=blocked", first), journal
    assert re.search(r"the watchdog is not fed.*blocked", first), journal
    # The other system's loop is not the one.
    assert not re.search(r"its loop .*system=heartbeat", journal), journal
    assert "heartbeat" not in "".join(re.findall(r"the watchdog is not fed.*", journal)), journal
    assert re.search(r"Killing process \d+ \(unruly-daemon\) with signal SIGABRT", journal), journal
    assert re.search(r"status=6/ABRT", journal), journal


def test_side_effects_that_occupy_every_thread_are_noticed(unruly: Container) -> None:
    # No loop is late then, and the systems that only wait do so for ever.
    unruly.write("/etc/unruly/occupied.yaml", OCCUPIERS)
    unruly.systemctl("start", UNIT)
    unruly.wait_until(
        lambda: unruly.show(UNIT, "NRestarts")["NRestarts"] != "0",
        f"a restart of {UNIT}; the journal:\n{unruly.journal(UNIT)}",
    )
    journal = unruly.journal(UNIT)
    first = journal[: journal.index("Watchdog timeout")]
    assert "waits do not end, since no thread is free" in first, journal
    assert re.search(r"the watchdog is not fed.*the waits of all systems", first), journal


def test_a_loop_that_blocks_within_its_deadline_is_left_alone(unruly: Container) -> None:
    unruly.write("/etc/unruly/blocked.yaml", BLOCKER + "watchdog: 1m\n")
    unruly.systemctl("start", UNIT)
    before = unruly.show(UNIT, "MainPID", "NRestarts")
    control = "/run/unruly/io.mediatord.Control"
    unruly.run("mediatorctl", "--socket", control, "emit", "blocked", "block", "seconds=9")

    def has_turned() -> bool:
        shown = unruly.run("mediatorctl", "--socket", control, "show", "blocked", "--json").stdout
        return json.loads(shown)["system"]["summary"]["counters"]["events"] == 1

    unruly.wait_until(has_turned, "the end of what blocks for 9 s, where the service manager waits for 4 s")
    assert unruly.show(UNIT, "MainPID", "NRestarts") == before
    assert "its loop" not in unruly.journal(UNIT)


def test_loops_that_block_every_thread_are_named(daemon: Callable[..., Daemon]) -> None:
    # The pool takes a further thread for each loop that blocks, up to this number. The watchdog has a thread of its own.
    threads = 48
    names = [f"blocked{index}" for index in range(threads + 2)]
    systems = {f"{name}.yaml": f"system: {name}\nkind: blocker\nwatchdog: 1s\nwith: {{ after: 100ms }}\n" for name in names}
    one = daemon({**CONFIGURATION, **systems}, ready=False)

    def named() -> set[str]:
        return set(re.findall(r"its loop is blocked.*system=(\w+)", one.log))

    eventually(lambda: len(named()) == threads)
    assert named() < set(names), one.log
    # A loop without a thread is not blamed, whether its event has reached it by then or not.
    waits = set(re.findall(r"its loop does not turn, since no thread is free.*system=(\w+)", one.log))
    assert waits <= set(names) - named(), one.log
    one.signal(signal.SIGKILL)
    assert one.wait_exit() == -signal.SIGKILL


def test_without_a_service_manager_it_is_named_too(daemon: Callable[..., Daemon]) -> None:
    one = daemon({**CONFIGURATION, "blocked.yaml": BLOCKER + "watchdog: 500ms\nmailbox: { limit: 2 }\n"})
    one.ctl("emit", "blocked", "block", "seconds=8")
    for _ in range(2):
        one.ctl("emit", "blocked", "count")
    one.wait_log("its loop is blocked")
    # That is what stands in the way of any other event.
    why = one.ctl("why-not", "blocked", "count").stdout
    assert re.search(r"takes no events: its loop is blocked: .*; its mailbox is full \(2 events\)", why), why
    summary = json.loads(one.ctl("show", "blocked", "--json").stdout)["system"]["summary"]
    assert summary["health"] == "failed"
    assert summary["healthReason"].startswith("its loop is blocked"), summary
    status = one.ctl("status", check=False)
    assert status.returncode == 5 and "its loop is blocked" in status.stdout
    one.wait_log("its loop turns again")
    assert json.loads(one.ctl("show", "blocked", "--json").stdout)["system"]["summary"]["health"] == "healthy"
    assert "system=heartbeat" not in "".join(re.findall(r".*its loop.*", one.log))
