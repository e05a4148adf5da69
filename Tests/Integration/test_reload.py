"""A new configuration while the daemon runs: what changes, what does not, and who is told."""

from __future__ import annotations

import contextlib
import json
import re
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from daemon import Daemon
from varlink_socket import VarlinkSocket
from waiting import WAIT, eventually


def counter(name: str, more: str = "", field: str = "count") -> str:
    return f"""\
system: {name}
states: {{ Here: {{ {field}: int }} }}
events: {{ Push: {{}} }}
fromOutside: any
initialState: {{ Here: {{ {field}: 0 }} }}
transitions: {{ Here: {{ Push: {{ to: Here, set: {{ {field}: "${{state.{field} + 1}}" }} }} }} }}
{more}
"""


CONFIGURATION = {name + ".yaml": counter(name) for name in ("keep", "change", "restart", "gone")}


def change(one: Daemon) -> None:
    (one.config / "keep.yaml").write_text("# Only a comment.\n" + counter("keep"))
    (one.config / "change.yaml").write_text(counter("change", "unhandled: warn"))
    (one.config / "restart.yaml").write_text(counter("restart", field="number"))
    (one.config / "gone.yaml").unlink()
    (one.config / "new.yaml").write_text(counter("new"))


def systems(one: Daemon) -> dict[str, dict]:
    status = json.loads(one.ctl("status", "--json", check=False).stdout)
    return {system["name"]: system for system in status["systems"]}


EXPECTED = {"keep": "keep", "change": "change", "restart": "restart", "gone": "remove", "new": "add"}


def push_all(one: Daemon) -> None:
    for name in ("keep", "change", "restart", "gone"):
        one.ctl("emit", name, "Push")


def test_a_plan_changes_nothing_and_a_reload_does_what_it_says(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    push_all(one)
    since = systems(one)["keep"]["since"]
    change(one)
    plan = json.loads(one.ctl("plan", "--json", "--all").stdout)
    assert plan["valid"]
    assert {step["name"]: step["action"] for step in plan["steps"]} == EXPECTED
    assert sorted(systems(one)) == ["change", "gone", "keep", "restart"]

    reply = json.loads(one.ctl("reload", "--json").stdout)
    assert reply["applied"] and reply["generation"] == 2
    # What is kept is the most as a rule, and told only to who asks for it.
    changes = {name: action for name, action in EXPECTED.items() if action != "keep"}
    assert {step["name"]: step["action"] for step in reply["steps"]} == changes
    after = systems(one)
    assert sorted(after) == ["change", "keep", "new", "restart"]
    assert after["keep"]["state"]["data"] == {"count": 1} and after["keep"]["since"] == since
    assert after["keep"]["counters"]["events"] == 1
    assert after["change"]["state"]["data"] == {"count": 1}
    assert after["restart"]["state"]["data"] == {"number": 0}
    one.wait_log("reloaded: 1 kept, 1 changed, 1 restarted, 1 added, 1 removed")
    # The line of what is kept is that of the file as it is now.
    assert json.loads(one.ctl("show", "keep", "--json").stdout)["system"]["source"].endswith("keep.yaml:2:9")
    assert "nothing to do: 4 kept" in one.ctl("plan").stdout


def test_sighup_reloads_and_the_service_manager_is_told(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    push_all(one)
    change(one)
    one.signal(signal.SIGHUP)
    found = one.notify.wait_for(lambda d: d.get("RELOADING") == "1")
    assert found is not None and int(found["MONOTONIC_USEC"]) > 0
    one.wait_log("reloaded: 1 kept")
    assert one.notify.wait_for(lambda d: d.get("READY") == "1" and "4 systems" in d.get("STATUS", ""))
    status = json.loads(one.ctl("status", "--json").stdout)
    assert status["generation"] == 2
    assert status["reload"]["applied"] and status["reload"]["summary"].startswith("1 kept, 1 changed")
    assert "reloaded " in one.ctl("status").stdout


def test_what_is_rejected_changes_nothing(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    push_all(one)
    before = systems(one)
    change(one)
    (one.config / "new.yaml").write_text("system: new\nstates: { A: {} }\ninitialState: B\n")
    assert one.ctl("plan", check=False).returncode == 1
    result = one.ctl("reload", check=False)
    assert result.returncode == 1
    assert "new.yaml:3:15: error: " in result.stdout
    assert "reload rejected, nothing has changed: 1 error in the configuration" in result.stdout
    assert systems(one) == before
    one.wait_log("reload rejected: 1 error in the configuration; nothing was changed")
    assert "reload rejected" in one.wait_status(lambda text: text.startswith("reload rejected"))
    status = json.loads(one.ctl("status", "--json").stdout)
    assert status["generation"] == 1 and not status["reload"]["applied"]
    # The daemon goes on, and takes the next one.
    (one.config / "new.yaml").write_text(counter("new"))
    assert one.ctl("reload").returncode == 0


def test_a_reload_that_waits_does_not_hold_up_the_end(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    slow = "system: slow\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: A\n"
    (one.config / "slow.yaml").write_text(slow + "ready: B\ntransitions: { A: { Go: B } }\n")
    for _ in range(3):
        one.signal(signal.SIGHUP)
    eventually(lambda: "slow" in systems(one))
    assert one.stop() == 0


def test_a_new_system_that_does_not_become_ready_is_told(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "8"])
    slow = "system: slow\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: A\n"
    (one.config / "slow.yaml").write_text(slow + "ready: B\ntransitions: { A: { Go: B } }\n")
    # The time limit is for a sign of life, not for the new systems.
    result = one.ctl("reload", "--timeout", "4", check=False)
    assert result.returncode == 3
    assert "slow: not ready in time: its state is 'A', and it is ready in 'B'" in result.stdout
    assert "slow (not ready in time: its state is 'A'" in one.wait_log("not every system is ready and healthy")
    assert "slow" in systems(one)


WORK = """\
system: work
states: { Idle: {}, Busy: {} }
events: { Go: {}, End: {} }
fromOutside: Go
initialState: Idle
feedbacks: { work: { onState: Busy, run: [sleep, "5"], onSuccess: End, onFailure: End } }
transitions: { Idle: { Go: Busy, End: stay }, Busy: { End: Idle, Go: stay } }
"""


def test_a_client_hears_for_what_a_reload_waits(daemon: Callable[..., Daemon]) -> None:
    one = daemon({**CONFIGURATION, "work.yaml": WORK})
    one.ctl("emit", "work", "Go", "--wait", "Busy")
    (one.config / "work.yaml").unlink()
    result = one.ctl("reload")
    assert "remove" in result.stdout and "work" in result.stdout, result
    assert re.match(r"mediatorctl: waits for the side effect work of work to end, until \d\d:\d\d:\d\d \(in", result.stderr), result


SLOW = (
    "system: slow\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: A\nready: B\n"
    "transitions: { A: { Go: B } }\n"
)


def test_a_reload_under_way_is_told(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    assert "underway" not in json.loads(one.ctl("status", "--json").stdout)
    (one.config / "slow.yaml").write_text(SLOW)
    with (
        VarlinkSocket(one.socket) as reloading,
        VarlinkSocket(one.socket) as waiting,
        VarlinkSocket(one.socket) as changing,
    ):
        reloading.call("io.mediatord.Control.Reload")
        eventually(lambda: "slow" in systems(one))
        waiting.call("io.mediatord.Control.Reload")
        changing.call("io.mediatord.Control.DetachLink", {"link": "nothing"})

        def underway() -> dict[str, object]:
            return json.loads(one.ctl("status", "--json", check=False).stdout)["underway"]

        eventually(lambda: underway()["waiting"] == 2)
        told = underway()
        assert set(told) == {"since", "waiting"} and "reload" not in told
        text = one.ctl("status", check=False).stdout
        assert re.search(r"^reloading since .+; 2 others wait$", text, re.MULTILINE), text
        one.ctl("emit", "slow", "Go")
        for connection in (reloading, waiting, changing):
            assert connection.reply() is not None
    assert "underway" not in json.loads(one.ctl("status", "--json").stdout)


def test_who_goes_before_it_is_their_turn_leaves_nothing_behind(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    (one.config / "slow.yaml").write_text(SLOW)
    with VarlinkSocket(one.socket) as reloading:
        reloading.call("io.mediatord.Control.Reload")
        eventually(lambda: "slow" in systems(one))
        # More than there may be connections at a time.
        count = 1500
        for _ in range(count):
            with VarlinkSocket(one.socket) as leaving:
                leaving.call("io.mediatord.Control.Reload")
        assert systems(one)
        one.ctl("emit", "slow", "Go")
        reply = reloading.reply()
        assert reply is not None and reply["parameters"]["applied"], reply
    one.wait_log("their callers have gone")
    assert one.ctl("reload").returncode == 0
    # One line for all, or a few: where the daemon learns late of those who came last, it has one more for them.
    assert one.log.count("their callers have gone") < 50
    assert "control client refused" not in one.log


def test_the_number_of_reloads_that_wait_is_bounded(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    (one.config / "slow.yaml").write_text(SLOW)
    with contextlib.ExitStack() as stack:
        reloading = stack.enter_context(VarlinkSocket(one.socket))
        reloading.call("io.mediatord.Control.Reload")
        eventually(lambda: "slow" in systems(one))
        waiting = [stack.enter_context(VarlinkSocket(one.socket)) for _ in range(1001)]
        for connection in waiting:
            connection.call("io.mediatord.Control.Reload")
        # All of them have asked, but only one is answered: which one is up to the daemon's threads.
        poll = select.poll()
        for connection in waiting:
            poll.register(connection.socket, select.POLLIN)
        ((number, _),) = poll.poll(WAIT * 1000)
        (full,) = [connection for connection in waiting if connection.socket.fileno() == number]
        reply = full.reply()
        assert reply is not None and not reply["parameters"]["applied"]
        assert "1000 reloads and changes of links wait for their turn already" in reply["parameters"]["summary"]
    one.ctl("emit", "slow", "Go")


def test_a_reload_that_the_end_of_the_daemon_overtakes_is_not_told_as_done(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    (one.config / "slow.yaml").write_text(SLOW)
    command = [str(one.binaries.mediatorctl), "reload"]
    with subprocess.Popen(
        command, env=one.client_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        eventually(lambda: "slow" in systems(one))
        assert one.stop() == 0
        output, errors = process.communicate(timeout=WAIT)
    assert process.returncode == 69, output + errors
    assert "not carried through: the daemon is stopping" in errors and not output
    assert "reload not carried through: the daemon is stopping" in one.log
    assert "reloaded" not in one.log and "not everything is ready" not in one.log
    datagrams = one.notify.datagrams
    stopping = next(index for index, found in enumerate(datagrams) if found.get("STOPPING") == "1")
    assert not any(found.get("READY") == "1" for found in datagrams[stopping:])


def test_a_system_that_a_reload_makes_fail_is_told(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    (one.config / "change.yaml").write_text(counter("change", "health: { Here: failed }"))
    result = one.ctl("reload", check=False)
    assert result.returncode == 3
    assert "change: failed: its state is 'Here'" in result.stdout
    assert "change (failed: its state is 'Here')" in one.wait_log("not every system is ready and healthy")
    reply = json.loads(one.ctl("reload", "--json").stdout)
    assert reply["late"] == [] and reply["lateReasons"] == {}


def test_a_directory_that_has_become_empty_stops_nothing(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    for path in one.config.iterdir():
        path.unlink()
    message = f"there is no configuration file in '{one.config}' any longer; to stop every system, stop the daemon"
    for verb in ("plan", "reload"):
        result = one.ctl(verb, check=False)
        assert result.returncode == 1 and message in result.stdout
    one.wait_log(f"reload rejected: {message}; nothing was changed")
    one.signal(signal.SIGHUP)
    assert one.wait_status(lambda text: text.startswith("reload rejected: there is no configuration file"))
    assert len(systems(one)) == 4
    # Who means it says so.
    (one.config / "none.yaml").write_text("# Nothing runs here.\n")
    reply = json.loads(one.ctl("reload", "--json").stdout)
    assert reply["applied"] and [diagnostic["code"] for diagnostic in reply["diagnostics"]] == ["no-files"]
    assert systems(one) == {}


def test_where_there_was_no_file_there_may_be_none(daemon: Callable[..., Daemon]) -> None:
    one = daemon({})
    assert one.ctl("reload").returncode == 0
    (one.config / "keep.yaml").write_text(counter("keep"))
    assert one.ctl("reload").returncode == 0


COPYING = """\
system: backup
states: { Idle: {}, Running: {} }
events: { Begin: {}, Done: { how: string } }
fromOutside: Begin
initialState: Running
feedbacks:
  copy:
    onState: Running
    run: [sh, -c, "echo begun >> $0; trap 'echo ended >> $0; exit' TERM; while [ ! -e $0.done ]; do sleep 0.05; done", FILE]
    onReload: POLICY
    onSuccess: { Done: { how: well } }
    onFailure: { Done: { how: badly } }
  later: { onState: Idle, after: 30m, emit: Begin }
transitions:
  Idle: { Begin: Running }
  Running: { Done: Idle }
"""


def test_a_reload_ends_a_running_command_only_if_its_feedback_has_changed(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    log = tmp_path / "log"

    def copying(policy: str, more: str = "begun") -> str:
        return COPYING.replace("FILE", str(log)).replace("POLICY", policy).replace("begun", more)

    def logged(text: str) -> bool:
        return log.exists() and log.read_text() == text

    one = daemon({"backup.yaml": copying("end")})
    eventually(lambda: logged("begun\n"))
    (one.config / "backup.yaml").write_text(copying("end").replace("30m", "31m"))
    step = json.loads(one.ctl("plan", "--json").stdout)["steps"][0]
    assert step["action"] == "change" and step["feedbacks"]["goingOn"] == ["copy"], step
    assert "goes on: copy" in one.ctl("plan").stdout
    one.ctl("reload")
    assert logged("begun\n") and systems(one)["backup"]["state"]["name"] == "Running"

    # The command of a changed feedback ends, and the new one begins afterwards.
    (one.config / "backup.yaml").write_text(copying("end", "again"))
    assert "ends: copy; begins: copy" in one.ctl("plan").stdout
    one.ctl("reload")
    eventually(lambda: logged("begun\nended\nagain\n"))

    # A command that must not be ended keeps the configuration as it is.
    (one.config / "backup.yaml").write_text(copying("refuse", "never"))
    refused = one.ctl("plan", check=False)
    assert refused.returncode == 1 and "refuses: copy" in refused.stdout
    assert "a side effect runs that a reload must not end (onReload: refuse): backup: copy" in refused.stdout
    assert one.ctl("reload", check=False).returncode == 1
    assert logged("begun\nended\nagain\n")
    assert json.loads(one.ctl("status", "--json").stdout)["generation"] == 3

    # What finishes has its outcome.
    (one.config / "backup.yaml").write_text(copying("finish", "finished"))
    assert "finishes: copy" in one.ctl("plan").stdout
    one.ctl("reload")
    (tmp_path / "log.done").touch()
    one.wait_log("Running → Idle")
    assert logged("begun\nended\nagain\n")
