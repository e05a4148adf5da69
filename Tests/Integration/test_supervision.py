"""What a running daemon does about the faults of its systems."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import time
from typing import Callable

from daemon import Daemon
from waiting import WAIT

ESCALATED = 6

DIVIDER = """\
system: {name}
states: {{ Here: {{ value: int }} }}
events: {{ Divide: {{ by: int }} }}
fromOutside: Divide
initialState: {{ Here: {{ value: 100 }} }}
supervision: {policy}
feedbacks:
  linger: {{ onState: any, strategy: continueOnNewState, mode: single, run: [sleep, "{linger}"] }}
transitions: {{ Here: {{ Divide: {{ to: Here, set: {{ value: "${{state.value / event.by}}" }} }} }} }}
"""


def divider(policy: str, name: str = "divider", linger: int = 0) -> str:
    return DIVIDER.format(name=name, policy=policy, linger=linger)


def summary(one: Daemon, name: str) -> dict[str, object]:
    return json.loads(one.ctl("show", name, "--json").stdout)["system"]["summary"]


def wait(one: Daemon, name: str, key: str, value: object) -> dict[str, object]:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found = summary(one, name)
        if found["counters"].get(key, found.get(key)) == value:
            return found
    raise AssertionError(f"{key} of {name} is not {value}: {summary(one, name)}\n{one.log}")


def test_a_system_is_restarted_and_its_command_ends(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": divider(policy="{ onFault: restart, delay: 100ms }", linger=1000)})
    wait(one, "divider", "effectsRunning", 1)
    one.ctl("emit", "divider", "Divide", "by=4")
    one.ctl("emit", "divider", "Divide", "by=0")
    found = wait(one, "divider", "restarts", 1)
    assert found["state"]["data"] == {"value": 100}
    wait(one, "divider", "effectsRunning", 1)
    assert found["health"] == "healthy"
    one.wait_log("restarting")
    assert one.stop() == 0


def test_a_group_is_restarted_together(daemon: Callable[..., Daemon]) -> None:
    systems = [divider(name=name, policy="{ onFault: restart, delay: 100ms }") for name in ("one", "two", "three")]
    group = "groups: { numbers: { strategy: rest, systems: [one, two, three] } }"
    one = daemon({"a.yaml": "---\n".join([*systems, group])})
    one.ctl("emit", "two", "Divide", "by=0")
    for name in ("two", "three"):
        wait(one, name, "restarts", 1)
    assert summary(one, "one")["counters"]["restarts"] == 0
    one.wait_log("restarting with a system of its group")
    # Another group is a change that a plan tells.
    (one.config / "a.yaml").write_text("---\n".join([*systems, group.replace("rest", "all")]))
    assert "1 group changed" in one.ctl("plan").stdout
    one.ctl("reload")
    one.ctl("emit", "two", "Divide", "by=0")
    wait(one, "one", "restarts", 1)


def test_one_that_has_ended_for_good_is_restarted_by_hand(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": divider(policy="stop")})
    one.ctl("emit", "divider", "Divide", "by=0")
    assert "ended for good" in wait(one, "divider", "health", "failed")["healthReason"]
    refused = one.ctl("emit", "divider", "Divide", "by=1", check=False)
    assert refused.returncode == 1 and "restart" in refused.stderr, refused.stderr
    assert one.ctl("reset", "divider", check=False).returncode == 1
    assert one.ctl("restart", "divider").stdout == "restarted system divider, which is in Here value=100\n"
    one.ctl("emit", "divider", "Divide", "by=2")
    assert one.ctl("reset", "divider").stdout.startswith("reset system divider")
    assert wait(one, "divider", "resets", 1)["state"]["data"] == {"value": 100}
    nothing = one.ctl("restart", "dividr", check=False)
    assert nothing.returncode == 1 and "divider" in nothing.stderr


def test_the_daemon_ends_where_a_system_escalates(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": divider(policy="escalate")})
    one.ctl("emit", "divider", "Divide", "by=0")
    assert one.wait_exit() == ESCALATED
    one.wait_log("ending, since a system asks for it")
    assert one.notify.wait_for(lambda datagram: datagram.get("EXIT_STATUS") == "6") is not None, one.log


def test_a_watcher_of_a_reset_sees_it(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": divider(policy="reset")})
    command = [str(one.binaries.mediatorctl), "tap", "divider", "--json", "--count", "2"]
    tap = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=one.client_environment)
    try:
        first = json.loads(tap.stdout.readline())
        assert first["replayed"]
        one.ctl("emit", "divider", "Divide", "by=0")
        second = json.loads(tap.stdout.readline())
        assert (second["event"], second["eventData"], second["previous"]) == ("(reset)", {}, "Here")
        assert tap.wait(WAIT) == 0
    finally:
        tap.kill()


def test_a_daemon_that_ends_since_a_system_is_late_was_never_ready(daemon: Callable[..., Daemon]) -> None:
    late = "system: late\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: Go\ninitialState: A\n"
    late += "ready: { in: B, within: 300ms, otherwise: escalate }\ntransitions: { A: { Go: B } }\n"
    one = daemon({"a.yaml": late}, ready=False)
    assert one.wait_exit() == ESCALATED
    assert "notice ready" not in one.log and "ready: 1 system" not in one.log, one.log
    assert "not ready within 300ms" in one.log


def test_a_computed_word_that_cannot_be_is_a_fault(daemon: Callable[..., Daemon]) -> None:
    speaker = "system: speaker\nstates: { Here: { level: string } }\nevents: { Set: { level: string } }\n"
    speaker += "fromOutside: Set\ninitialState: { Here: { level: info } }\n"
    speaker += 'feedbacks: { say: { onState: any, log: { message: hello, level: "${state.level}" } } }\n'
    speaker += 'transitions: { Here: { Set: { to: Here, set: { level: "${event.level}" } } } }\n'
    one = daemon({"a.yaml": speaker})
    one.ctl("emit", "speaker", "Set", "level=loud")
    wait(one, "speaker", "faults", 1)
    assert "the parameter 'level' must be one of 'debug'" in one.ctl("show", "speaker").stdout


def test_each_system_that_is_late_is_named_with_its_own_limit(daemon: Callable[..., Daemon]) -> None:
    late = "system: {0}\nstates: {{ A: {{}}, B: {{}} }}\nevents: {{ Go: {{}} }}\nfromOutside: Go\ninitialState: A\n"
    late += "ready: {{ in: B, within: {1} }}\ntransitions: {{ A: {{ Go: B }} }}\n"
    one = daemon({"a.yaml": late.format("brisk", "200ms"), "b.yaml": late.format("calm", "1500ms")})
    line = one.wait_log("not every system is ready; going on without them")
    assert 'limit="brisk 200ms, calm 1.5s"' in line, line


def test_show_says_what_is_done_about_faults_and_status_when_a_system_begins(daemon: Callable[..., Daemon]) -> None:
    group = "groups: { pair: { strategy: all, systems: [two, one] } }\n"
    policy = "{ onFault: restart, delay: 90m, maxDelay: 2h, limit: 3 per 1h, beyond: escalate }"
    two = divider(policy, "two") + "watchdog: 2m\nready: { in: Here, within: 90s, otherwise: restart }\n"
    one = daemon({"a.yaml": "---\n".join([divider("continue", "one"), two, group])})
    shown = one.ctl("show", "two").stdout
    assert re.search(r"^ +on faults +restart after 1h30m, at most 2h; 3 per 1h, then escalate$", shown, re.MULTILINE), shown
    assert re.search(r"^ +group +pair \(all\): two, one$", shown, re.MULTILINE), shown
    assert re.search(r"^ +watchdog +2m$", shown, re.MULTILINE), shown
    assert re.search(r"^ +ready +in Here within 1m30s, otherwise restart$", shown, re.MULTILINE), shown
    before = time.time()
    one.ctl("emit", "two", "Divide", "by=0")
    begins = wait(one, "two", "health", "failed")["begins"]
    moment = datetime.datetime.fromisoformat(begins.replace("Z", "+00:00")).timestamp()
    assert 5_380 < moment - before < 5_460, begins
    # Of its group too.
    assert wait(one, "one", "health", "failed")["begins"] == begins
    assert re.search(r"health +failed since .*, begins ", one.ctl("show", "one").stdout)
    one.ctl("restart", "two")
    assert "begins" not in wait(one, "two", "health", "healthy")
    assert wait(one, "one", "health", "healthy")["counters"]["restarts"] == 1
