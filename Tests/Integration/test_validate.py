"""`mediatorctl validate`: the daemon's own check, without a daemon."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sarif_pydantic import Sarif

from conftest import REPOSITORY
from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from test_bad_configuration import GOOD
from waiting import WAIT


def validate(binaries: Binaries, *arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [binaries.mediatorctl, "validate", *arguments], input=text, capture_output=True, text=True, timeout=WAIT
    )


def test_the_shipped_configuration_has_no_warning(binaries: Binaries) -> None:
    result = validate(binaries, REPOSITORY / "Config", "--deny-warnings")
    assert result.returncode == 0, result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("Press: Off", "Press: Of"),
        GOOD.replace("initialState: Off", 'initialState: { On: { level: "${1 / (int(now) - int(now))}" } }'),
        GOOD + "---\nlinks: { x: { attach: lamp, toSystem: lamp, onState: any, emitEvent: Press } }\n",
    ],
)
def test_it_says_what_the_daemon_says(binaries: Binaries, daemon: Callable[..., Daemon], text: str) -> None:
    one = daemon({"a.yaml": text}, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    result = validate(binaries, "--quiet", one.config)
    assert result.returncode == 1
    assert result.stdout in one.log
    assert ": error: " in result.stdout


def test_standard_input_and_files_are_one_configuration(binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").write_text("links: { x: { attach: lamp, toSystem: lamp, onState: Off, emitEvent: Pres } }")
    result = validate(binaries, "-", tmp_path / "link.yaml", "--json", text=GOOD)
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report["valid"] is False
    assert report["files"] == [str(tmp_path / "link.yaml"), "<stdin>"]
    (diagnostic,) = report["diagnostics"]
    assert (diagnostic["code"], diagnostic["hint"]) == ("unknown-event", "did you mean 'Press'?")


def test_sarif(binaries: Binaries) -> None:
    result = validate(binaries, "-", "--format", "sarif", text=GOOD.replace("Press: Off", "Press: Of"))
    log = json.loads(result.stdout)
    assert log["version"] == "2.1.0"
    (found,) = log["runs"][0]["results"]
    rule = log["runs"][0]["tool"]["driver"]["rules"][found["ruleIndex"]]
    assert rule["id"] == found["ruleId"] == "unknown-state"


def test_a_reader_of_sarif_that_is_not_ours_finds_the_places(binaries: Binaries) -> None:
    """All that is said of the corpus, read by a model of the format."""
    files = sorted((REPOSITORY / "Tests" / "Corpus").glob("*.yaml"))
    printed = validate(binaries, *files, "--format", "json").stdout
    diagnostics = json.loads(printed)["diagnostics"]
    read = Sarif.model_validate_json(validate(binaries, *files, "--format", "sarif").stdout)
    (run,) = read.runs
    assert run.results is not None and len(run.results) == len(diagnostics) > 250
    for result, diagnostic in zip(run.results, diagnostics):
        assert (result.rule_id, result.level) == (diagnostic["code"], diagnostic["severity"])
        assert result.message.text.startswith(diagnostic["message"])
        (location,) = result.locations
        place = location.physical_location
        assert place.artifact_location.uri.endswith(Path(diagnostic["file"]).name)
        assert (place.region.start_line, place.region.start_column) == (diagnostic["line"], diagnostic["column"])


def test_the_command_line_is_checked(binaries: Binaries) -> None:
    assert validate(binaries, "--format", "xml").returncode == 2


@pytest.mark.parametrize("arguments", [["validate"], ["validate", "--config"]])
def test_that_there_is_no_file_is_a_warning(binaries: Binaries, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "lamp.yaml.bak").write_text(GOOD)
    message = f"warning: there is no configuration file in '{tmp_path}'; files must end in .yaml or .yml [no-files]\n"
    result = validate(binaries, *arguments[1:], tmp_path)
    assert result.returncode == 0 and result.stdout.startswith(message), result
    assert validate(binaries, *arguments[1:], tmp_path, "--deny-warnings").returncode == 1
    report = json.loads(validate(binaries, *arguments[1:], tmp_path, "--json").stdout)
    assert [(diagnostic["code"], diagnostic["severity"]) for diagnostic in report["diagnostics"]] == [("no-files", "warning")]
    assert json.loads(validate(binaries, tmp_path, "--format", "sarif").stdout)["runs"][0]["results"][0]["level"] == "warning"
    daemon = [binaries.mediatord, "--validate", "--config", tmp_path]
    check = subprocess.run(daemon, capture_output=True, text=True, timeout=WAIT)
    assert check.returncode == 0 and check.stdout.startswith(message)
    assert subprocess.run([*daemon, "--deny-warnings"], capture_output=True, timeout=WAIT).returncode == 1
    (tmp_path / "a.yaml").touch()
    assert f"every configuration file in '{tmp_path}' is empty" in validate(binaries, *arguments[1:], tmp_path).stdout
    assert "[no-files]" in validate(binaries, tmp_path / "a.yaml").stdout


def test_directories_are_layers_where_that_is_said(binaries: Binaries, tmp_path: Path) -> None:
    for name, text in [("etc/lamp.yaml", GOOD), ("usr/lamp.yaml", GOOD.replace("Press: Off", "Press: Of"))]:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    etc, usr = tmp_path / "etc", tmp_path / "usr"
    # All of both counts.
    together = validate(binaries, etc, usr)
    assert together.returncode == 1 and "[duplicate-name]" in together.stdout
    # As for the daemon, the first overrides.
    for first, second, status in [(etc, usr, 0), (usr, etc, 1)]:
        layers = ["--config", first, "--config", second]
        result = validate(binaries, *layers)
        assert result.returncode == status, result
        check = subprocess.run([binaries.mediatord, "--validate", *layers], capture_output=True, text=True, timeout=WAIT)
        assert (check.returncode, check.stdout) == (status, result.stdout)
    assert validate(binaries, "--config", etc, usr).returncode == 2
    for shell in ("bash", "zsh", "fish"):
        script = subprocess.run(
            [binaries.mediatorctl, "--generate-completion-script", shell], capture_output=True, text=True, timeout=WAIT
        ).stdout
        (options,) = [part for part in script.split("validate")[1:] if "deny-warnings" in part][:1]
        assert "config" in options, shell


def test_nothing_is_run_or_written(binaries: Binaries, tmp_path: Path) -> None:
    text = GOOD + f"feedbacks: {{ touch: {{ onState: any, run: [touch, {tmp_path}/touched] }} }}\n"
    (tmp_path / "a.yaml").write_text(text)
    assert validate(binaries, tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


def test_a_form_of_output_is_kept_for_errors_too(binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    nowhere = ("--socket", tmp_path / "nowhere")
    for arguments in (["validate", tmp_path, "--format", "json"], ["graph", "--format", "json"], ["graph", "--json"]):
        result = subprocess.run(
            [binaries.mediatorctl, *arguments, *nowhere], capture_output=True, text=True, timeout=WAIT
        )
        assert result.returncode == 69 and not result.stdout, result
        assert "nowhere" in json.loads(result.stderr)["error"]["message"]
    plain = subprocess.run([binaries.mediatorctl, "graph", *nowhere], capture_output=True, text=True, timeout=WAIT)
    assert plain.returncode == 69 and not plain.stderr.startswith("{"), plain
