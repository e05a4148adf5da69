"""What is sensed and done of a real systemd: `unit` and `systemctl`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from container import Container
from pages import example

UNIT = "mediatord.service"

# Writes each state of a unit to the log.
WATCH = """\
system: watch
states: { Unknown: {}, Known: { text: string } }
events: { Told: { text: string } }
initialState: Unknown
feedbacks:
  watch:
    onState: any
    strategy: continueOnNewState
    unit: NAME
    onChange: { Told: { text: "${result.name} ${result.active} ${result.sub} ${result.load} ${result.result}" } }
  tell:
    onState: Known
    log: "state: ${state.text}."
transitions:
  any: { Told: { to: Known, set: { text: "${event.text}" } } }
"""

# Does something with a unit when it is told to.
ACT = """\
system: act
states: { Waiting: { told: string }, Acting: { name: string, action: string } }
events:
  Act: { name: string, action: string }
  Done: { text: string }
fromOutside: [Act]
initialState: { Waiting: { told: nothing } }
feedbacks:
  act:
    onState: Acting
    systemctl: { name: "${state.name}", action: "${state.action}", timeout: TIME }
    onSuccess: { Done: { text: "success ${result.name} ${result.result} ${result.active}" } }
    onFailure: { Done: { text: "failure ${result.name} ${result.result} ${result.error}" } }
  tell:
    onState: Waiting
    log: "told: ${state.told}."
transitions:
  Waiting: { Act: { to: Acting, set: { name: "${event.name}", action: "${event.action}" } } }
  Acting: { Done: { to: Waiting, set: { told: "${event.text}" } } }
"""

UNITS = {
    "probe.service": "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/true\n",
    "broken.service": "[Service]\nType=oneshot\nExecStart=/bin/false\n",
    "needy.service": "[Unit]\nRequires=broken.service\nAfter=broken.service\n[Service]\nExecStart=/bin/sleep infinity\n",
    "slow.service": "[Service]\nType=oneshot\nExecStart=/bin/sleep infinity\n",
    "unasked.service": "[Unit]\nConditionPathExists=/nowhere\n[Service]\nExecStart=/bin/sleep infinity\n",
}


@pytest.fixture
def units(system: Container) -> Iterator[Container]:
    """The container with some units; its mediatord runs as the superuser."""
    for name, text in UNITS.items():
        system.write(f"/etc/systemd/system/{name}", text)
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", "[Service]\nUser=root\n")
    system.systemctl("daemon-reload")
    try:
        yield system
    finally:
        system.systemctl("stop", UNIT, check=False)
        for name in UNITS:
            system.systemctl("kill", "--signal=KILL", name, check=False)
            system.systemctl("stop", name, check=False)
            system.systemctl("reset-failed", name, check=False)
            system.run("rm", "-f", f"/etc/systemd/system/{name}")
        system.systemctl("daemon-reload")


def start(system: Container, text: str) -> None:
    system.write("/etc/mediatord/system.yaml", text)
    assert system.systemctl("start", UNIT, check=False).returncode == 0, logged(system)


def logged(system: Container) -> str:
    """What the daemon has logged since it was started last."""
    system.run("journalctl", "--sync")
    run = system.show(UNIT, "InvocationID")["InvocationID"]
    return system.run("journalctl", f"_SYSTEMD_INVOCATION_ID={run}", "--output=cat", "--no-pager").stdout


def wait(system: Container, condition: Callable[[], object], what: str) -> None:
    """Waits for something, and shows what was logged if it does not come."""
    try:
        system.wait_until(lambda: bool(condition()), what)
    except AssertionError as failure:
        raise AssertionError(f"{failure} {told(system)}:\n{logged(system)}") from None


def told(system: Container, word: str = "state") -> list[str]:
    """What has been told so far, in order."""
    return re.findall(rf"{word}: (.*)\.(?: |$)", logged(system), re.MULTILINE)


def wait_told(system: Container, *texts: str, word: str = "state") -> None:
    """Waits until this has been told last, in this order."""
    wait(system, lambda: told(system, word)[-len(texts):] == list(texts), f"{texts}")


def test_a_unit_is_told_as_it_is_and_when_it_changes(units: Container) -> None:
    start(units, WATCH.replace("NAME", "probe.service"))
    wait_told(units, "probe.service inactive dead loaded success")
    units.systemctl("start", "probe.service")
    wait_told(units, "probe.service active running loaded success")
    units.systemctl("kill", "--signal=KILL", "probe.service")
    wait_told(units, "probe.service failed failed loaded signal")
    units.systemctl("reset-failed", "probe.service")
    wait_told(units, "probe.service inactive dead loaded success")
    # To be watched does not keep the service manager busy: a unit that is not needed is forgotten.
    assert len(told(units)) <= 6


def test_a_unit_appears_and_vanishes(units: Container) -> None:
    start(units, WATCH.replace("NAME", "new.service"))
    wait_told(units, "new.service inactive dead not-found success")
    units.write("/run/systemd/system/new.service", UNITS["probe.service"])
    units.systemctl("daemon-reload")
    wait_told(units, "new.service inactive dead loaded success")
    units.systemctl("start", "new.service")
    wait_told(units, "new.service active running loaded success")
    units.systemctl("stop", "new.service")
    units.run("rm", "/run/systemd/system/new.service")
    units.systemctl("daemon-reload")
    wait_told(units, "new.service inactive dead not-found success")
    # One that no file makes.
    units.run("systemd-run", "--unit=new.service", "sleep", "infinity")
    wait_told(units, "new.service active running loaded success")
    units.systemctl("stop", "new.service")
    wait_told(units, "new.service inactive dead not-found success")


LIST = """\
system: list
states: { Known: { text: string } }
events: { Changed: { text: string } }
initialState: { Known: { text: nothing } }
feedbacks:
  watch:
    onState: any
    strategy: continueOnNewState
    units: "probe@*.service"
    onChange: { Changed: { text: "${result.name} ${result.active} ${result.sub} ${result.load}" } }
    onList: { Changed: { text: "all ${size(result.units)} ${result.count} ${result.active} ${result.failed}" } }
transitions:
  Known: { Changed: { to: Known, set: { text: "${event.text}" } } }
"""


def listed(system: Container) -> list[str]:
    """What has come of units so far, in order: two may come at once, of which a log line would tell one."""
    return re.findall(r'→ Known \{ text: "(.*)" \}', logged(system))


def test_units_are_told_by_a_pattern(units: Container) -> None:
    units.write("/etc/systemd/system/probe@.service", "[Service]\nExecStart=/bin/sleep infinity\n")
    units.systemctl("daemon-reload")
    try:
        units.systemctl("start", "probe@one.service", "probe.service")
        start(units, LIST)
        wait(units, lambda: listed(units) == ["probe@one.service active running loaded", "all 1 1 1 0"], "one")
        units.systemctl("start", "probe@two.service")
        wait(units, lambda: "all 2 2 2 0" in listed(units), "two")
        assert "probe@two.service active running loaded" in listed(units)
        units.systemctl("kill", "--signal=KILL", "probe@two.service")
        wait(units, lambda: listed(units)[-1] == "all 2 2 1 1", "a failure")
        assert "probe@two.service failed failed loaded" in listed(units)
        # One that nobody needs is forgotten.
        units.systemctl("reset-failed", "probe@two.service")
        wait(units, lambda: listed(units)[-2:] == ["probe@two.service inactive dead not-loaded", "all 1 1 1 0"], "one")
        # A bus that goes away is a fault, and what is the same afterwards is not told anew.
        before = len(listed(units))
        pid = units.show("dbus.service", "MainPID")["MainPID"]
        units.run("sh", "-c", f"kill -KILL {pid}")
        wait(units, lambda: "cannot watch the units probe@*.service: the connection" in logged(units), "a fault")
        units.systemctl("start", "probe@three.service")
        wait(units, lambda: listed(units)[-1] == "all 2 2 2 0", "a third")
        assert not any(text.startswith("probe@one") for text in listed(units)[before:]), listed(units)
        # Others are none of them.
        assert not any(text.startswith("probe.service") for text in listed(units))
    finally:
        units.systemctl("stop", "probe@*.service", check=False)
        units.run("rm", "-f", "/etc/systemd/system/probe@.service")
        units.systemctl("daemon-reload")


def test_no_more_than_a_thousand_units_are_told(units: Container) -> None:
    # Every one is loaded, since something names it.
    names = " ".join(f"many@{number:04}.service" for number in range(1_005))
    units.write("/etc/systemd/system/many@.service", "[Service]\nExecStart=/bin/true\n")
    units.write("/etc/systemd/system/many.target", f"[Unit]\nAfter={names}\n")
    units.systemctl("daemon-reload")
    units.systemctl("start", "many.target")
    try:
        start(units, example("units").replace("backup@*", "many@*"))
        wait(units, lambda: "more than 1000 units match many@*.service; those after 'many@0999" in logged(units), "a fault")
        # The fault may be logged before the event is taken.
        wait(
            units, lambda: re.search(r"count[:=] ?1000", units.run("mediatorctl", "show", "backups").stdout), "the count"
        )
    finally:
        units.systemctl("stop", "many.target", check=False)
        units.run("rm", "-f", "/etc/systemd/system/many@.service", "/etc/systemd/system/many.target")
        units.systemctl("daemon-reload")


def test_an_alias_and_a_unit_of_another_type_are_followed(units: Container) -> None:
    units.run("ln", "-sf", "/etc/systemd/system/probe.service", "/etc/systemd/system/other.service")
    units.systemctl("daemon-reload")
    try:
        other = WATCH.replace("system: watch", "system: other").replace("NAME", "mount.target")
        units.write("/etc/systemd/system/mount.target", "[Unit]\n")
        units.write("/etc/mediatord/other.yaml", other)
        start(units, WATCH.replace("NAME", "other.service"))
        wait(units, lambda: len(told(units)) == 2, "two states")
        units.systemctl("start", "probe.service", "mount.target")
        wait(units, lambda: len(told(units)) >= 4, "four states")
        assert "probe.service active running loaded success" in told(units)
        assert "mount.target active active loaded " in told(units)
    finally:
        units.systemctl("stop", "mount.target", check=False)
        units.run("rm", "-f", "/etc/systemd/system/other.service", "/etc/systemd/system/mount.target")


def test_a_bus_that_goes_away_is_a_fault_and_comes_back(units: Container) -> None:
    start(units, WATCH.replace("NAME", "probe.service"))
    wait_told(units, "probe.service inactive dead loaded success")
    pid = units.show("dbus.service", "MainPID")["MainPID"]
    units.run("sh", "-c", f"kill -KILL {pid}")
    wait(units, lambda: "cannot watch the unit probe.service: the connection" in logged(units), "a fault")
    units.systemctl("start", "probe.service")
    wait_told(units, "probe.service active running loaded success")
    # Once that it is lost; and perhaps once that the service manager is not on the new one yet.
    faults = re.findall(r"cannot watch the unit probe.service: (.*)", logged(units))
    assert [fault.startswith("the connection") for fault in faults] in ([True], [True, False]), faults


@pytest.mark.depends_on_systemd
def test_a_service_manager_that_executes_itself_anew_is_followed(units: Container) -> None:
    start(units, WATCH.replace("NAME", "probe.service"))
    wait_told(units, "probe.service inactive dead loaded success")
    units.systemctl("daemon-reexec")
    units.systemctl("start", "probe.service")
    wait_told(units, "probe.service active running loaded success")
    assert "cannot watch" not in logged(units)


def test_what_is_done_with_units(units: Container) -> None:
    start(units, ACT.replace("TIME", "30s"))

    def act(action: str, name: str, expected: str) -> None:
        before = len(told(units, "told"))
        units.run("mediatorctl", "emit", "act", "Act", f"name={name}", f"action={action}")
        wait(units, lambda: len(told(units, "told")) > before, f"what became of {action} {name}")
        assert re.fullmatch(expected, told(units, "told")[-1])

    act("start", "probe.service", "success probe.service done active")
    act("reload", "probe.service", "success probe.service done active")
    pid = units.show("probe.service", "MainPID")["MainPID"]
    act("restart", "probe.service", "success probe.service done active")
    assert units.show("probe.service", "MainPID")["MainPID"] != pid
    act("stop", "probe.service", "success probe.service done inactive")
    act("tryRestart", "probe.service", "success probe.service done inactive")
    act("start", "broken.service", "failure broken.service failed the job to start broken.service ended with: failed")
    act("start", "needy.service", "failure needy.service dependency .*")
    act("start", "unasked.service", "success unasked.service done inactive")
    act("start", "absent.service", "failure absent.service refused Unit absent.service not found.*")
    act("reload", "unasked.service", "failure unasked.service (refused|failed) .*")


def test_what_takes_too_long_is_a_failure_and_goes_on(units: Container) -> None:
    start(units, ACT.replace("TIME", "500ms"))
    units.run("mediatorctl", "emit", "act", "Act", "name=slow.service", "action=start")
    wait_told(units, "failure slow.service timeout the time limit passed; the job continues", word="told")
    assert units.show("slow.service", "ActiveState")["ActiveState"] == "activating"


def test_a_bus_that_goes_away_during_a_job_leaves_its_end_unknown(units: Container) -> None:
    start(units, ACT.replace("TIME", "60s"))
    units.run("mediatorctl", "emit", "act", "Act", "name=slow.service", "action=start")
    units.wait_until(
        lambda: units.show("slow.service", "ActiveState")["ActiveState"] == "activating", "the beginning of the job"
    )
    pid = units.show("dbus.service", "MainPID")["MainPID"]
    units.run("sh", "-c", f"kill -KILL {pid}")
    wait(units, lambda: told(units, "told")[-1].startswith("failure slow.service unknown the connection"), "a failure")
    # The job itself goes on; the next one has a connection of its own.
    assert units.show("slow.service", "ActiveState")["ActiveState"] == "activating"

    def is_started() -> bool:
        count = len(told(units, "told"))
        units.run("mediatorctl", "emit", "act", "Act", "name=probe.service", "action=start")
        wait(units, lambda: len(told(units, "told")) > count, "an answer")
        return told(units, "told")[-1] == "success probe.service done active"

    # At first the service manager may not be on the new bus yet.
    units.wait_until(is_started, f"a job by the new connection:\n{logged(units)}")


# What Debian has in a package of its own, which a system without sessions does not need.
USER_BUS = {
    "dbus.socket": "[Socket]\nListenStream=%t/bus\n",
    "dbus.service": "[Unit]\nRequires=dbus.socket\n[Service]\nExecStart=/usr/bin/dbus-daemon --session "
    "--address=systemd: --nofork --nopidfile --systemd-activation\n",
    "probe.service": UNITS["probe.service"],
}


def test_units_of_a_user(units: Container) -> None:
    for name, text in USER_BUS.items():
        units.write(f"/etc/systemd/user/{name}", text)
    units.write(
        f"/etc/systemd/system/{UNIT}.d/user.conf",
        "[Service]\nProtectHome=no\nEnvironment=XDG_RUNTIME_DIR=/run/user/0\n"
        "Environment=DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus\n",
    )
    # Debian has the user's runtime directory named by a module of PAM that is in a package of its own.
    units.write("/etc/systemd/system/user@.service.d/test.conf", "[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n")
    units.systemctl("daemon-reload")
    by_user = ("env", "XDG_RUNTIME_DIR=/run/user/0", "systemctl", "--user")
    try:
        begun = units.systemctl("start", "user@0.service", check=False)
        assert begun.returncode == 0, units.journal("user@0.service")
        units.run(*by_user, "start", "dbus.socket", "dbus.service")
        units.write("/etc/mediatord/watch.yaml", WATCH.replace("NAME", "{ name: probe.service, scope: user }"))
        start(units, ACT.replace("timeout: TIME", "timeout: 30s, scope: user"))
        wait_told(units, "probe.service inactive dead loaded success")
        units.run("mediatorctl", "emit", "act", "Act", "name=probe.service", "action=start")
        wait_told(units, "success probe.service done active", word="told")
        wait_told(units, "probe.service active running loaded success")
        # It is the user's unit, not the system's of the same name.
        assert units.run(*by_user, "is-active", "probe.service").stdout.strip() == "active"
        assert units.show("probe.service", "ActiveState")["ActiveState"] == "inactive"
        units.run(*by_user, "stop", "probe.service")
        wait_told(units, "probe.service inactive dead loaded success")
    finally:
        units.systemctl("stop", UNIT, check=False)
        units.systemctl("stop", "user@0.service", check=False)
        units.run("rm", "-f", *(f"/etc/systemd/user/{name}" for name in USER_BUS))
        units.run("rm", "-rf", "/etc/systemd/system/user@.service.d")
        units.systemctl("daemon-reload")


def test_the_example_of_many_units(units: Container) -> None:
    units.write("/etc/systemd/system/backup@.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    units.systemctl("daemon-reload")
    try:
        start(units, example("units"))
        wait(units, lambda: "Unknown → Well" in logged(units), "that none has failed")
        units.systemctl("start", "backup@home.service", check=False)
        wait(units, lambda: "Well → Failed { count: 1, failed: 1 }" in logged(units), "that one has failed")
        units.systemctl("reset-failed", "backup@home.service")
        wait(units, lambda: "Failed → Well { count: 0 }" in logged(units), "that none has")
    finally:
        units.run("rm", "-f", "/etc/systemd/system/backup@.service")
        units.systemctl("daemon-reload")


def test_without_permission_units_are_watched_and_not_changed(units: Container) -> None:
    units.run("rm", f"/etc/systemd/system/{UNIT}.d/test.conf")
    units.systemctl("daemon-reload")
    units.write("/etc/mediatord/watch.yaml", WATCH.replace("NAME", "probe.service"))
    start(units, ACT.replace("TIME", "30s"))
    wait_told(units, "probe.service inactive dead loaded success")
    units.run("mediatorctl", "emit", "act", "Act", "name=probe.service", "action=start")
    wait(units, lambda: told(units, "told")[-1].startswith("failure probe.service refused "), "a refusal")
    assert units.show("probe.service", "ActiveState")["ActiveState"] == "inactive"


def test_the_examples_of_the_guide(units: Container) -> None:
    units.write("/etc/mediatord/web.yaml", example("systemctl").replace("nginx.service", "probe.service"))
    start(units, example("unit").replace("postgresql.service", "probe.service"))
    wait(units, lambda: "the database is down: success" in logged(units), "that it is down")
    units.systemctl("start", "probe.service")
    wait(units, lambda: "Fails → Works" in logged(units), "that it works")
    units.run("mediatorctl", "emit", "web", "Renewed")
    wait(units, lambda: "Reloading → Idle" in logged(units), "a reload")
    units.systemctl("stop", "probe.service")
    units.run("mediatorctl", "emit", "web", "Renewed")
    wait(units, lambda: "the new certificate is not in use: " in logged(units), "a failure")
