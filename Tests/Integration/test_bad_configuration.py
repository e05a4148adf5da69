"""Configurations that are wrong: what the real daemon says, and that it does nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from daemon import CONFIGURATION_INVALID, Binaries, Daemon
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
