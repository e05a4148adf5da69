"""The health of a running daemon is true: what does not work keeps it degraded, everywhere, until it works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable

from daemon import Daemon
from waiting import eventually

UNWELL = 5


def system(name: str, feedback: str, more: str = "") -> dict[str, str]:
    text = f"system: {name}\nstates: {{ On: {{}} }}\nevents: {{ Ok: {{}}, Lost: {{}} }}\nfromOutside: any\ninitialState: On\n"
    return {"a.yaml": text + f"feedbacks:\n  ask: {{ onState: On, {feedback} }}\ntransitions: {{ On: {{ Ok: stay, Lost: stay }} }}\n{more}"}


def of(one: Daemon, name: str) -> dict:
    return json.loads(one.ctl("show", name, "--json").stdout)["system"]


def test_a_failed_command_without_a_rule_is_seen_everywhere_until_it_succeeds(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    command = f"test -e {flag} || {{ echo a secret >&2; exit 3; }}"
    one = daemon(system("disk", f'every: 100ms, run: [sh, -c, "{command}"]'))
    text = one.wait_status(lambda text: "degraded" in text)
    assert text == "1 system: 1 degraded (disk: feedback ask)"
    told = one.ctl("status", check=False)
    reason = r"disk: degraded since .*: feedback ask, \S*a\.yaml:7:3: onFailure, exit code 3; no rule handles it"
    assert told.returncode == UNWELL and re.search(reason, told.stdout), told.stdout
    assert "a secret" not in told.stdout
    shown = of(one, "disk")
    feedback = next(each for each in shown["feedbacks"] if each["name"] == "ask")
    assert feedback["lastResult"] == "onFailure, exit code 3" and feedback["lastResultTime"]
    assert shown["summary"]["counters"]["faults"] == 0 and shown["summary"]["counters"]["failures"] >= 1
    assert re.search(r"ask +onFailure, exit code 3 ", one.ctl("show", "disk").stdout)
    assert "  it is degraded: feedback ask, " in one.ctl("why", "disk").stdout
    metrics = one.ctl("metrics").stdout
    assert 'mediatord_feedback_failing{system="disk",feedback="ask",effect="run"} 1' in metrics
    flag.touch()
    one.wait_log("works again")
    assert "healthy: 1 system: 1 healthy" in one.ctl("status").stdout
    assert 'mediatord_feedback_failing{system="disk",feedback="ask",effect="run"} 0' in one.ctl("metrics").stdout


def test_show_has_the_words_in_place_of_events_for_failures(daemon: Callable[..., Daemon]) -> None:
    one = daemon(system("disk", 'run: ["false"], timeout: 5s, onFailure: log, onTimeout: degrade'))
    (feedback,) = of(one, "disk")["feedbacks"]
    assert feedback["reactions"] == {"onFailure": "log", "onTimeout": "degrade"}
    shown = one.ctl("show", "disk").stdout
    assert re.search(r"ask +onFailure +nothing \(log\)\n +ask +onTimeout +nothing \(degrade\)\n", shown), shown


def test_a_missing_folder_and_a_missing_place_for_a_socket_keep_it_degraded(
    daemon: Callable[..., Daemon], tmp_path: Path
) -> None:
    place = tmp_path / "data"
    sensors = [f"filesystem: {{ path: {place}, every: 1s }}", f"socket: {place}/bell.sock"]
    files = {f"{name}.yaml": system(name, sensor)["a.yaml"] for name, sensor in zip(["disk", "bell"], sensors)}
    one = daemon(files)
    eventually(lambda: "2 degraded" in one.ctl("status", check=False).stdout)
    place.mkdir()
    eventually(lambda: "2 healthy" in one.ctl("status", check=False).stdout)


def test_a_command_that_cannot_be_started_is_told_though_a_rule_handles_it(daemon: Callable[..., Daemon]) -> None:
    one = daemon(system("link", "run: [grpe, x, /etc/hosts], onFailure: Lost"))
    found = one.wait_log("a program is not found")
    assert "program=grpe" in found and "feedback=ask" in found and "a.yaml:7:3" in found
    line = one.wait_log("command could not be started")
    assert "grpe: no such command; check the spelling, or give its full path" in line
    assert one.wait_status(lambda text: "healthy" in text) == "1 system: 1 healthy"
    (one.config / "a.yaml").write_text(system("link", "run: [grpf, x, /etc/hosts], onFailure: Lost")["a.yaml"])
    one.ctl("reload")
    assert "a program is not found" in one.wait_log("program=grpf")


def test_a_silent_failure_has_words(daemon: Callable[..., Daemon]) -> None:
    text = 'run: [sh, -c, "exit 4"], onFailure: { Lost: { why: "${result.error}" } }'
    one = daemon({"a.yaml": system("link", text)["a.yaml"].replace("Lost: {} }", "Lost: { why: string } }")})
    eventually(lambda: "it ended with exit code 4" in one.ctl("trace", "link").stdout)


def test_a_run_that_hangs_says_since_when_and_how_many_ticks_were_missed(daemon: Callable[..., Daemon]) -> None:
    one = daemon(system("probe", "every: 100ms, run: [sleep, \"1000\"]"))

    def feedback() -> dict:
        return next(each for each in of(one, "probe")["feedbacks"] if each["name"] == "ask")

    eventually(lambda: feedback().get("missedTicks", 0) > 10)
    assert feedback()["runningSince"]
    assert re.search(r"it has run since .*, more than 10 ticks missed", one.wait_log("a side effect takes too long"))
    assert one.wait_status(lambda text: "degraded" in text) == "1 system: 1 degraded (probe: feedback ask)"
    # People get the time on the clock.
    for verb in (["status"], ["show", "probe"]):
        shown = one.ctl(*verb, check=False).stdout
        assert re.search(r"it has run since \d\d:\d\d:\d\d, more than 10 ticks missed", shown), shown
