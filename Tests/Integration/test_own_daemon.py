"""A daemon of one's own: the example, a package of its own, built as its author would, and run."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conftest import BUILD, REPOSITORY
from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from door_and_bell import tap
from pages import blocks, squeezed
from test_metrics import samples
from test_schema import documents
from waiting import WAIT, eventually

EXAMPLE = REPOSITORY / "Examples" / "own-daemon"
CONFIG = {path.name: path.read_text() for path in sorted((EXAMPLE / "Config").iterdir())}
PAGE = (REPOSITORY / "Documentation" / "HowTo" / "OwnDaemon.md").read_text()


@pytest.fixture(scope="session")
def binaries(binaries: Binaries, say: Callable[[str], None]) -> Binaries:
    """The example in the place of mediatord."""
    # In one place with all else, so that the libraries are not built again.
    say("Building the example of a daemon of one's own")
    command = ["swift", "build", "--build-tests", "--package-path", EXAMPLE, "--scratch-path", BUILD]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return Binaries(BUILD / "debug" / "own-daemon", binaries.mediatorctl)


@pytest.fixture(scope="session")
def kinds(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the daemon prints of its kinds."""
    path = tmp_path_factory.mktemp("kinds") / "kinds.json"
    path.write_text(run(binaries.mediatord, "--print-kinds").stdout)
    return path


def run(*command: str | Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=input, capture_output=True, text=True, timeout=WAIT)


def show(one: Daemon, system: str) -> dict:
    return json.loads(one.ctl("show", system, "--json").stdout)["system"]


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    """The example on its own configuration, when the speaker has come to rest."""
    started = daemon(CONFIG)
    started.wait_log("the kitchen is as loud as it should be")
    return started


def test_its_configuration_is_checked_here_and_there(binaries: Binaries, kinds: Path) -> None:
    own = run(binaries.mediatord, "--validate", "--config", EXAMPLE / "Config")
    assert (own.returncode, own.stderr) == (0, "")
    assert own.stdout.endswith("Config is valid: 4 systems, 2 buses and 5 links in 2 files\n")
    there = run(binaries.mediatorctl, "validate", EXAMPLE / "Config", "--kinds", kinds, "--deny-warnings")
    assert (there.returncode, there.stdout) == (0, own.stdout)
    # Who does not know the kinds says so.
    without = run(binaries.mediatorctl, "validate", EXAMPLE / "Config")
    assert without.returncode == CONFIGURATION_INVALID
    assert set(re.findall(r"\[([a-z-]+)\]$", without.stdout, re.MULTILINE)) == {"unknown-kind"}


def test_its_configuration_is_shown_with_places(binaries: Binaries) -> None:
    shown = run(binaries.mediatorctl, "cat-config", "--config", EXAMPLE / "Config", "crossing").stdout
    assert re.search(r"^kind: traffic-light +# .*systems.yaml:\d+$", shown, re.MULTILINE), shown
    assert "red: 30s" in shown


def test_its_kinds_are_printed(kinds: Path) -> None:
    found = {kind["name"]: kind for kind in json.loads(kinds.read_text())["kinds"]}
    assert sorted(found) == ["speaker", "traffic-light"]
    assert found["speaker"]["parameters"][0] == {"name": "target", "type": "int", "default": 15}
    light = found["traffic-light"]
    assert [state["name"] for state in light["states"]] == ["red", "yellow", "green"]
    assert light["states"][2]["fields"] == [{"name": "walkers", "type": "int"}]
    assert [parameter["type"] for parameter in light["parameters"]] == ["duration", "optional(duration)", "duration"]
    (chime,) = json.loads(kinds.read_text())["effects"]
    assert (chime["name"], chime["summary"]) == ("chime", "strikes a bell")
    assert [parameter["name"] for parameter in chime["parameters"]] == ["text", "strokes"]


def test_its_schema_knows_the_kinds(binaries: Binaries, kinds: Path) -> None:
    schema = json.loads(run(binaries.mediatorctl, "schema", "--kinds", kinds).stdout)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for text in CONFIG.values():
        for document in documents(text):
            assert list(validator.iter_errors(document)) == []
    for wrong in (
        "system: a\nkind: speeker",
        "system: a\nkind: speaker\nwith: { targt: 1 }",
        "system: a\nkind: speaker\nwith: { target: loud }",
        "system: a\nkind: traffic-light\nwith: { red: 1s }",
        "system: a\nkind: traffic-light",
        "system: a\nkind: speaker\nstates: { A: {} }",
    ):
        (document,) = documents(wrong)
        assert list(validator.iter_errors(document)), wrong


def test_systems_in_swift_are_shown_like_others(one: Daemon) -> None:
    assert "4 systems: 4 healthy" in one.ctl("status").stdout
    kitchen = show(one, "kitchen")
    assert kitchen["kind"] == "speaker"
    assert kitchen["summary"]["state"] == {"name": "VolumeState", "data": {"value": 15}}
    assert kitchen["summary"]["counters"]["transitions"] == 5
    assert {"from": "VolumeState", "event": "IncreaseEvent", "to": "VolumeState"} in kitchen["transitions"]
    assert [feedback["name"] for feedback in kitchen["feedbacks"]] == ["on VolumeState", "on VolumeState (2)", "tell"]
    target, volume = kitchen["parameters"]
    assert target == {"name": "target", "type": "int", "value": 15, "concealed": False}
    assert (volume["name"], volume["concealed"]) == ("volume", False)
    text = one.ctl("show", "crossing").stdout
    assert re.search(r"kind +traffic-light", text)
    assert re.search(r"red +duration +30s", text)
    assert re.search(r"green +walkers: int", text)
    assert re.search(r"walker +name: optional\(string\)", text)
    # What is optional may be left out, or be null.
    for data in ("{}", '{"name": null}', '{"name": "Ada"}'):
        one.ctl("emit", "crossing", "walker", data)
        assert "crossing" in one.ctl("why-not", "crossing", "walker", data).stdout


def test_what_an_instance_is_given_is_shown_but_for_credentials(one: Daemon) -> None:
    path = one.config / "systems.yaml"
    secret = "with: { target: 15, volume: !credential { name: none, default: 14 } }"
    path.write_text(path.read_text().replace("with: { target: 15 }", secret))
    one.ctl("reload")
    _, volume = show(one, "kitchen")["parameters"]
    assert volume == {"name": "volume", "type": "int", "concealed": True}
    assert re.search(r"volume +int +\(not shown\)", one.ctl("show", "kitchen").stdout)


def test_links_lead_to_and_from_them(one: Daemon) -> None:
    # The light is red: the configured system walks, which the second speaker was told.
    assert show(one, "walker")["summary"]["state"]["name"] == "Walking"
    states = tap(one, "walker", 2, lambda: one.ctl("emit", "crossing", "next"))
    assert [state["state"]["name"] for state in states] == ["Walking", "Waiting"]
    values = tap(one, "volume", 3, lambda: one.ctl("publish", "knock", "knock"))
    assert [value["value"] for value in values] == [15, 14, 15]
    assert re.search(r"fired +1 time", one.ctl("show", "link:quieter").stdout)


def test_its_side_effect_keeps_the_rules(binaries: Binaries) -> None:
    command = ["swift", "test", "--skip-build", "--package-path", EXAMPLE, "--scratch-path", BUILD]
    result = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 test in 0 suites passed" in result.stdout, result.stdout


def test_its_side_effect_is_used_by_configured_systems(
    binaries: Binaries, daemon: Callable[..., Daemon], kinds: Path
) -> None:
    doorbell, _ = blocks(PAGE, "yaml")
    one = daemon({"doorbell.yaml": doorbell})
    states = [change["state"]["name"] for change in tap(one, "doorbell", 3, lambda: one.ctl("emit", "doorbell", "Ring"))]
    assert states == ["Quiet", "Ringing", "Quiet"]
    strokes = one.wait_lines(" ding ", 2)
    assert len(strokes) == 2 and all("feedback=chime" in line and "system=doorbell" in line for line in strokes), one.log
    # It is checked elsewhere as here, where the daemon's own is not.
    there = run(binaries.mediatorctl, "validate", one.config, "--kinds", kinds, "--deny-warnings")
    assert there.returncode == 0, there.stdout
    unknown = run(binaries.mediatorctl, "validate", one.config)
    assert unknown.returncode == CONFIGURATION_INVALID and "chime" in unknown.stdout
    schema = json.loads(run(binaries.mediatorctl, "schema", "--kinds", kinds).stdout)
    assert schema["$defs"]["effect-chime"]["description"] == "Strikes a bell."
    validator = Draft202012Validator(schema)
    assert [list(validator.iter_errors(document)) for document in documents(doorbell)] == [[]]
    assert list(validator.iter_errors(documents(doorbell.replace("strokes: 2", "strokse: 2"))[0]))
    # The daemon itself tells the same to whoever asks it, so nothing has to be written into files.
    for paths in ([], [one.config], ["--config", one.config]):
        asked = run(binaries.mediatorctl, "validate", *paths, "--socket", one.socket, "--deny-warnings")
        assert asked.returncode == 0, asked.stdout
    assert json.loads(run(binaries.mediatorctl, "schema", "--socket", one.socket).stdout) == schema
    assert run(binaries.mediatorctl, "graph", "--config", one.config, "--socket", one.socket).stdout == (
        run(binaries.mediatorctl, "graph", "--config", one.config, "--kinds", kinds).stdout
    )  # fmt: skip
    # Its parameters are checked like those of others: where they are written, or as a fault where they are computed.
    path = one.config / "doorbell.yaml"
    for wrong, said in (("strokse: two", "did you mean 'strokes'"), ("strokes: 20", "'strokes' must be from 1 to 12")):
        path.write_text(doorbell.replace("strokes: 2", wrong))
        plan = one.ctl("plan", check=False)
        assert plan.returncode == 1 and said in plan.stdout + plan.stderr
    path.write_text(doorbell.replace("strokes: 2", 'strokes: "${int(now) * 0 + 20}"'))
    one.ctl("reload")
    one.ctl("emit", "doorbell", "Ring")
    one.wait_log("the parameter 'strokes' must be from 1 to 12")


def test_recorded_metrics_are_among_those_of_the_daemon(one: Daemon) -> None:
    def steps(target: int) -> float:
        metrics = samples(one.ctl("metrics").stdout)
        assert metrics[("mediatord_recorded_series_refused_total", frozenset())] == 0
        return metrics.get(("speaker_steps_total", frozenset({("target", str(target))})), 0)

    # Fifteen is its target, and it began at ten.
    before = steps(15)
    assert before >= 5
    # It goes on when the system begins anew, and stays when another target takes its place.
    one.ctl("restart", "kitchen")
    eventually(lambda: steps(15) >= before + 5)
    path = one.config / "systems.yaml"
    path.write_text(path.read_text().replace("with: { target: 15 }", "with: { target: 18 }"))
    one.ctl("reload")
    eventually(lambda: steps(18) >= 3)
    assert steps(15) >= before + 5


def test_events_are_sent_to_them_by_hand(one: Daemon) -> None:
    def push() -> None:
        one.ctl("emit", "crossing", "next")
        one.ctl("emit", "crossing", "next")
        one.ctl("emit", "crossing", "walker")
        one.ctl("emit", "crossing", "walker", "name=Ann")

    changes = tap(one, "crossing", 5, push)
    assert [change["state"]["name"] for change in changes] == ["red", "yellow", "green", "green", "green"]
    assert changes[-1]["state"]["data"] == {"walkers": 2}
    assert (changes[-1]["event"], changes[-1]["eventData"]) == ("walker", {"name": "Ann"})
    wrong = one.ctl("emit", "crossing", "wakler", check=False)
    assert wrong.returncode == 1 and "walker" in wrong.stderr


def test_a_reload_with_other_parameters_carries_the_state_over(one: Daemon) -> None:
    path = one.config / "systems.yaml"
    path.write_text(path.read_text().replace("with: { target: 15 }", "with: { target: 18, volume: 1 }"))
    plan = one.ctl("plan").stdout
    assert re.search(r"migrate +kitchen|kitchen +migrate", plan), plan
    before = show(one, "crossing")["summary"]["since"]
    values = tap(one, "volume", 4, lambda: one.ctl("reload"))
    assert [value["value"] for value in values][-3:] == [16, 17, 18] or values[1]["value"] == 15
    assert one.wait_log("reloaded: 3 kept, 1 migrated")
    one.wait_log("value: 18")
    assert show(one, "crossing")["summary"]["since"] == before
    # Parameters that the kind refuses change nothing.
    path.write_text(path.read_text().replace("target: 18", "target: 101"))
    planned = one.ctl("plan", check=False)
    foreseen = json.loads(one.ctl("plan", "--json", check=False).stdout)
    rejected = one.ctl("reload", check=False)
    assert planned.returncode == rejected.returncode == 1
    reply = json.loads(one.ctl("reload", "--json", check=False).stdout)
    # A plan says what is to come, in the same words.
    assert (foreseen["valid"], foreseen["steps"]) == (False, [])
    assert all(foreseen[key] == reply[key] for key in ("summary", "errors", "warnings", "diagnostics"))
    (diagnostic,) = reply["diagnostics"]
    assert diagnostic["code"] == "initial-state" and "a target of 101 would hurt" in diagnostic["message"]
    assert "a target of 101 would hurt" in rejected.stdout + rejected.stderr
    assert show(one, "kitchen")["summary"]["state"]["data"] == {"value": 18}
    # Which also reads what the daemon has sent the service manager, who does not wait for ever to be told.
    one.wait_status(lambda status: status.startswith("reload rejected: the kind 'speaker' cannot make"))
    # A hangup is the same.
    path.write_text(path.read_text().replace("target: 101", "target: 17"))
    one.signal(signal.SIGHUP)
    one.wait_log("cause=SIGHUP")
    one.wait_status(lambda status: status.startswith("4 systems: 4 healthy"))
    changes = tap(one, "kitchen", 1, lambda: None)
    assert changes[0]["state"]["data"]["value"] in (17, 18)


WRONG = """\
system: kitchen
kind: speaker
with: { targte: 15, volume: loud }
feedbacks:
  tell: { onState: VolumState, log: hello }
---
system: hall
kind: speeker
---
buses: { volume: { kind: currentValue, value: string, initial: none, fromOutside: read } }
links:
  a: { attach: kitchen, to: volume, onState: VolumeState, when: state.vlaue > 3, emitValue: high }
  b: { attach: kitchen, toSystem: kitchen, onState: VolumeState, emitEvent: IncreaseEvnt }
"""


def test_mistakes_are_found_wherever_they_are_looked_for(
    binaries: Binaries, daemon: Callable[..., Daemon], kinds: Path
) -> None:
    one = daemon({"a.yaml": WRONG}, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    own = run(binaries.mediatord, "--validate", "--config", one.config)
    there = run(binaries.mediatorctl, "validate", one.config, "--kinds", kinds)
    assert own.returncode == there.returncode == CONFIGURATION_INVALID
    assert own.stdout == there.stdout
    assert own.stdout.rsplit("\n", 2)[0] in one.log
    codes = re.findall(r":(\d+):\d+: error: .* \[([a-z-]+)\]$", own.stdout, re.MULTILINE)
    assert codes == [
        ("3", "unknown-parameter"), ("3", "wrong-type"), ("5", "unknown-state"), ("8", "unknown-kind"),
        ("12", "unknown-field"), ("13", "unknown-event"),
    ]  # fmt: skip
    for name in ("target", "VolumeState", "speaker", "value", "IncreaseEvent"):
        assert f"did you mean '{name}'?" in own.stdout


def test_what_a_kind_refuses_is_found_before_the_start(binaries: Binaries, daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": "system: a\nkind: speaker\nwith: { target: 101 }\n"}, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    message = "a.yaml:1:9: error: the kind 'speaker' cannot make the system 'a': a target of 101 would hurt"
    assert message in one.log
    own = run(binaries.mediatord, "--validate", "--config", one.config)
    assert own.returncode == CONFIGURATION_INVALID
    assert message in own.stdout


def test_the_command_line_is_checked(binaries: Binaries) -> None:
    assert run(binaries.mediatord, "--validate", "--print-kinds").returncode == 2
    own_help = run(binaries.mediatord, "--help").stdout
    assert "USAGE: own-daemon " in own_help and "\n  own-daemon --validate\n" in own_help


def test_the_page_shows_the_example() -> None:
    files = sorted([*(EXAMPLE / "Sources").glob("**/*.swift"), *(EXAMPLE / "Tests").glob("**/*.swift")])
    sources = squeezed("".join(path.read_text() for path in files))
    manifest = squeezed((EXAMPLE / "Package.swift").read_text())
    programs = blocks(PAGE, "swift")
    assert len(programs) == 9
    for program in programs:
        assert squeezed(program).strip() in (sources + manifest), program
    configuration = squeezed("".join(CONFIG.values()))
    _, shown = blocks(PAGE, "yaml")
    for document in shown.split("---\n"):
        assert squeezed(document).strip() in configuration, document


def test_the_consoles_of_the_page(one: Daemon, binaries: Binaries, kinds: Path, tmp_path: Path) -> None:
    environment = {
        **one.client_environment, "PATH": f"{binaries.mediatord.parent}:{binaries.mediatorctl.parent}:/usr/bin:/bin"
    }  # fmt: skip
    (tmp_path / "Config").symlink_to(EXAMPLE / "Config")
    commands = 0
    for console in blocks(PAGE, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            result = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=WAIT
            )
            assert result.returncode == 0, result
            assert squeezed(result.stdout + result.stderr).strip() == squeezed(expected).strip()
            commands += 1
    assert commands == 3
