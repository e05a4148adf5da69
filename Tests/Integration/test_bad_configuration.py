"""Configurations that are wrong: what the real daemon says, and that it does nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from memory import anonymous
from waiting import WAIT

GOOD = """\
system: lamp
states: { Off: {}, On: { level: int } }
events: { Press: {} }
initialState: Off
transitions:
  Off: { Press: { to: On, set: { level: 5 } } }
  On: { Press: Off }
"""


@pytest.mark.parametrize(
    ("files", "line", "what", "hint"),
    [
        ({"a.yaml": "{ not: [closed"}, "a.yaml:1", "", ""),
        ({"a.yaml": "just text"}, "a.yaml:1", "", ""),
        ({"a.yaml": GOOD.replace("events:", "evnts:")}, "a.yaml:3", "evnts", "events"),
        ({"a.yaml": GOOD.replace("Press: Off", "Press: Of")}, "a.yaml:7", "Of", "Off"),
        ({"a.yaml": GOOD.replace("On: { Press", "On: { Pres")}, "a.yaml:7", "Pres", "Press"),
        ({"a.yaml": GOOD.replace("level: 5", "level: bright")}, "a.yaml:6", "int", ""),
        ({"a.yaml": GOOD.replace("level: 5", 'level: "${1 +}"')}, "a.yaml:6", "", ""),
        ({"a.yaml": GOOD.replace("level: 5", 'level: "${1 < 2}"')}, "a.yaml:6", "bool", ""),
        ({"a.yaml": GOOD, "b.yaml": GOOD}, "b.yaml:1", "lamp", "a.yaml:1"),
        (
            {"a.yaml": GOOD, "b.yaml": "links: { x: { attach: lmap, toSystem: lamp, onState: Off, emitEvent: Press } }"},
            "b.yaml:1",
            "lmap",
            "lamp",
        ),
        (
            {"a.yaml": GOOD, "b.yaml": "links: { x: { attach: lamp, to: bus, onState: Off, emitValue: 1 } }"},
            "b.yaml:1",
            "bus",
            "",
        ),
    ],
)
def test_a_mistake_is_shown_with_its_place_and_starts_nothing(
    daemon: Callable[..., Daemon], files: dict[str, str], line: str, what: str, hint: str
) -> None:
    one = daemon(files, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID, one.log
    errors = [text for text in one.log.splitlines() if ": error: " in text]
    assert len(errors) == 1, one.log
    assert f"/{line}" in errors[0]
    assert what in errors[0]
    assert hint in one.log
    assert not one.socket.exists()
    assert one.notify.last("READY") is None


def test_every_mistake_of_every_file_is_shown_at_once(daemon: Callable[..., Daemon]) -> None:
    files = {
        "a.yaml": GOOD.replace("Press: Off", "Press: Of").replace("level: 5", "level: bright"),
        "b.yaml": GOOD.replace("system: lamp", "system: fan").replace("initialState: Off", "initialState: Of"),
        "c.yaml": "buses: { x: { kind: currentvalue, value: int, initial: 1 } }",
        "d.yaml": "{ not: [closed",
    }
    one = daemon(files, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    places = [text.split(": error: ")[0].rsplit("/", 1)[1] for text in one.log.splitlines() if ": error: " in text]
    assert [place.split(":")[0] for place in places] == ["a.yaml", "a.yaml", "b.yaml", "c.yaml", "d.yaml"], one.log
    assert places == sorted(places)


def test_a_directory_that_is_not_there(binaries: Binaries, tmp_path) -> None:
    result = subprocess.run(
        [binaries.mediatord, "--config", tmp_path / "nowhere", "--socket", tmp_path / "s"],
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    assert result.returncode == CONFIGURATION_INVALID
    assert str(tmp_path / "nowhere") in result.stderr


def test_a_file_in_the_place_of_the_directory(binaries: Binaries, tmp_path) -> None:
    (tmp_path / "file").write_text(GOOD)
    result = subprocess.run(
        [binaries.mediatord, "--config", tmp_path / "file", "--socket", tmp_path / "s"],
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    assert result.returncode == CONFIGURATION_INVALID
    assert "directory" in result.stderr


def test_a_file_in_the_place_of_the_socket_is_left_alone(daemon: Callable[..., Daemon], tmp_path) -> None:
    (tmp_path / "s").write_text("precious")
    one = daemon(ready=False, socket=tmp_path / "s")
    assert one.wait_exit() == 4
    assert "is not a socket" in one.log
    assert (tmp_path / "s").read_text() == "precious"


def test_a_command_that_does_not_exist_is_told_and_the_daemon_goes_on(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {
            "a.yaml": """\
system: job
states: { Trying: {}, Failed: { reason: string } }
events: { Done: {}, Broke: { reason: string } }
initialState: Trying
feedbacks:
  work:
    onState: Trying
    run: [no-such-command-anywhere]
    onSuccess: Done
    onFailure: { Broke: { reason: "${result.error}" } }
transitions:
  Trying: { Broke: { to: Failed, set: { reason: "${event.reason}" } } }
"""
        }
    )
    line = one.wait_log("Failed {")
    assert "no-such-command-anywhere" in line and "no such command" in line
    assert one.ctl("status").returncode == 0


def instances(feedbacks: int, count: int) -> str:
    """A template with so many feedbacks, and so many instances of it."""
    return "\n".join(
        [
            "system: t@",
            "parameters: { k: int }",
            "states: { S: { n: int } }",
            "events: { E: {} }",
            "fromOutside: E",
            "initialState: { S: { n: 0 } }",
            "feedbacks:",
            *(f"  f{i}: {{ onState: S, when: state.n == parameters.k + {i}, emit: E }}" for i in range(1, feedbacks + 1)),
            'transitions: { S: { E: { to: S, set: { n: "${state.n + 1}" } } } }',
            "---",
            "instances:",
            *(f"  t@x{i}: {{ k: 1 }}" for i in range(1, count + 1)),
            "",
        ])


def states(count: int, number: int) -> str:
    """A template with so many states, and so many instances of it."""
    names = ", ".join(f"S{i}: {{}}" for i in range(count))
    every = "\n".join(f"  t@x{i}: {{}}" for i in range(number))
    return f"system: t@\nstates: {{ {names} }}\nevents: {{ E: {{}} }}\ninitialState: S0\n---\ninstances:\n{every}\n"


@pytest.mark.parametrize("text", [instances(200, 4_000), states(900, 9_000)], ids=["feedbacks", "states"])
def test_too_many_instances_are_refused_before_they_take_memory(binaries: Binaries, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    process = subprocess.Popen(
        [binaries.mediatord, "--validate", "--config", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    told = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == CONFIGURATION_INVALID, told
    assert "instances of 't@' have " in told and "that are allowed [too-large]" in told, told
    # In kilobytes.
    assert usage.ru_maxrss < 300_000


def test_a_rejected_reload_leaves_no_memory_behind(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"lamp.yaml": GOOD})
    # Once, so that what every reload needs is there.
    one.ctl("reload")
    before = anonymous(one.pid)
    for text in (instances(200, 2_000), instances(100, 60) + "---\nlinks: { x: { attach: nowhere } }\n"):
        (one.config / "t.yaml").write_text(text)
        assert one.ctl("reload", check=False).returncode != 0
        assert anonymous(one.pid) - before < 24 << 20


def test_a_directory_in_the_place_of_a_file_removes_no_system(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"lamp.yaml": GOOD, "fan.yaml": GOOD.replace("system: lamp", "system: fan")})
    (one.config / "fan.yaml").unlink()
    (one.config / "fan.yaml").mkdir()
    reload = one.ctl("reload", check=False)
    assert reload.returncode != 0
    assert "fan.yaml:1:1: error: this is a directory, not a regular file" in reload.stdout + reload.stderr
    assert "fan" in one.ctl("list", "systems").stdout
    for command in ([one.binaries.mediatord, "--validate", "--config"], [one.binaries.mediatorctl, "validate"]):
        done = subprocess.run([*command, one.config], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode != 0
        assert "this is a directory, not a regular file" in done.stdout + done.stderr
