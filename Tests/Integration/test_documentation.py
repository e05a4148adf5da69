"""The commands, configurations and programs that the guides show, run as the pages show them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from conftest import REPOSITORY
from daemon import Binaries, Daemon
from pages import blocks, guide, shape
from waiting import WAIT, eventually


def test_the_python_of_the_guide_needs_no_library(shipped: Daemon) -> None:
    (program,) = blocks(guide("Reference/ControlSocket.md"), "python")
    output = io.StringIO()
    with redirect_stdout(output):
        assert "/run/mediatord/io.mediatord.Control" in program
        exec(program.replace("/run/mediatord/io.mediatord.Control", str(shipped.socket)), {})
    assert "\ninterface io.mediatord.Control\n" in output.getvalue()
    assert "method Status() -> (" in output.getvalue()


def test_the_limits_of_loops_in_the_guide_are_valid(binaries: Binaries, tmp_path: Path) -> None:
    # Links alone; what they join is named in them.
    systems = """\
system: a
states: { Idle: {}, Asked: {} }
events: { Ask: {} }
fromOutside: any
initialState: Idle
feedbacks: { calm: { onState: Asked, after: 1s, emit: Ask } }
transitions: { Idle: { Ask: Asked }, Asked: { Ask: Idle } }
"""
    copy = systems.replace("system: a", "system: copy").replace("Asked", "Failed")
    lamp = """\
system: lamp
states: { Off: {}, On: {} }
events: { Press: {} }
fromOutside: any
initialState: Off
transitions: { Off: { Press: On }, On: { Press: Off } }
"""
    takers = "".join(
        f"---\nsystem: {name}\nstates: {{ S: {{}} }}\nevents: {{ {event}: {{}} }}\ninitialState: S\n"
        f"transitions: {{ S: {{ {event}: S }} }}\n"
        for name, event in (("b", "Answer"), ("plan", "Replan"))
    )
    pages = guide("Reference/BusesAndLinks.md") + guide("Explanation/Loops.md")
    found = [text for text in blocks(pages, "") if "loop:" in text and text.startswith("links:")]
    assert len(found) == 4

    def validated(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "a.yaml").write_text(f"{systems}---\n{copy}{takers}---\n{lamp}---\n{text}")
        return subprocess.run([binaries.mediatorctl, "validate", tmp_path], capture_output=True, text=True, timeout=WAIT)

    for text in found:
        result = validated(text)
        # The lamp's link is a circle. The systems of the other links are too few for one, which is a warning.
        assert result.returncode == 0 and ("[needless-loop]" in result.stdout) == ("lamp" not in text), result
    [circle] = [text for text in found if "lamp" in text]
    result = validated(re.sub(r", loop: \{.*?\}", "", circle))
    assert result.returncode == 1 and "the link 'press' may set itself off without end [loop]" in result.stdout, result


def test_the_configurations_of_the_guide_run(daemon: Callable[..., Daemon]) -> None:
    reference = ("Configuration", "Systems", "Feedbacks", "Schedules", "Supervision", "BusesAndLinks", "Templates", "ExternalValues")
    files = {
        f"{page}-{number}.yaml": text
        for page in reference for number, text in enumerate(blocks(guide(f"Reference/{page}.md"), "yaml"))
    }
    assert len(files) == 16
    (model,) = blocks(guide("Explanation/Model.md"), "yaml")
    (drop_in,) = blocks(guide("Reference/Layers.md"), "yaml")
    one = daemon({**files, "model.yaml": model})
    (begin,) = [line for line in one.ctl("show", "archive").stdout.splitlines() if line.startswith("  begin ")]
    assert re.search(r"\(in \d+ (s|min|h|d)\)", begin), begin
    one.ctl("emit", "share-copy", "Change", "share=photos")
    eventually(lambda: "2 events" in one.ctl("show", "share-copy").stdout)
    one.ctl("emit", "divider", "Divide", "by=0")
    eventually(lambda: "1 restart" in one.ctl("show", "divider").stdout)
    assert "uplink@wwan0" in one.ctl("list").stdout
    assert "tell-down@eth0" in one.ctl("show", "link:tell-down@eth0").stdout
    assert "backup" in one.ctl("list").stdout
    feedback = re.compile(r"^ +retry ", re.MULTILINE)
    assert feedback.search(one.ctl("show", "backup").stdout)
    other = daemon({
        "backup.yaml": files["Systems-0.yaml"], "wiring.yaml": files["BusesAndLinks-0.yaml"],
        "backup.yaml.d/50-local.yaml": drop_in,
    })
    assert not feedback.search(other.ctl("show", "backup").stdout)


def test_the_reload_of_the_guide(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    work = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", work / "Config")
    (commands,) = blocks(guide("Explanation/Reload.md"), "sh")
    for command in commands.splitlines():
        result = subprocess.run(
            command, shell=True, cwd=work, env=environment, capture_output=True, text=True, timeout=WAIT
        )
        assert result.returncode == 0, result
        if command.split()[1] in ("plan", "reload"):
            kept = len(list((REPOSITORY / "Config").glob("*.yaml"))) - 1
            assert f"{kept} kept" in result.stdout


@pytest.mark.parametrize("page", ["Reference/Mediatorctl.md", "HowTo/ChangeALink.md", "Reference/Metrics.md"])
def test_the_commands_of_the_guide(shipped: Daemon, binaries: Binaries, page: str) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    work = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", work / "Config")
    commands = [command for block in blocks(guide(page), "sh") for command in block.splitlines()]
    for command in commands:
        result = subprocess.run(
            command, shell=True, cwd=work, env=environment, capture_output=True, text=True, timeout=WAIT
        )
        assert result.returncode == 0 and result.stderr == "", (command, result)
        assert result.stdout or "link:*" in command, command
    assert commands


def test_the_night_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    """Three in the morning: the backup did not run, and nobody has to read a log to learn why."""
    page = guide("Reference/Why.md")
    (night,) = blocks(page, "yaml")
    mounted = tmp_path / "mounted"
    mounted.touch()
    one = daemon({"night.yaml": night.replace("/srv/backup/mounted", str(mounted)).replace("every: 1s", "every: 20ms")})
    eventually(lambda: json.loads(one.ctl("show", "link:resume-backup", "--json").stdout)["link"]["summary"]["fired"] > 0)
    mounted.unlink()
    one.wait_log("Waiting → Paused")
    asked = 0
    for console in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ mediatorctl (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            printed = one.ctl(*command.split()).stdout.replace(str(one.config), "Config")
            printed = printed.replace(str(mounted), "/srv/backup/mounted").replace("every 20ms", "every 1s")
            assert shape(printed) == shape(expected), f"$ {command}\n{printed}"
            asked += 1
    assert asked == 4
    # Programs are told the same.
    answer = json.loads(one.ctl("why", "backup", "--json").stdout)
    assert not answer["cut"]
    assert [hop["kind"] for hop in answer["hops"]] == [
        "state", "event", "link", "value", "link", "state", "event", "feedback", "tick",
    ]
    assert answer["hops"][0]["data"] == {"reason": "down: exit code 1", "above": 5}
    assert answer["hops"][3]["value"] == "down: exit code 1" and not answer["hops"][3]["replayed"]
    assert answer["hops"][7]["outcome"] == "onDown" and answer["hops"][7]["value"]["exitCode"] == 1
    # What sends it has a name, too.
    one.ctl("emit", "backup", "Start", "priority=9")
    one.wait_log("Paused → Running")
    last = json.loads(one.ctl("why", "backup", "--json").stdout)["hops"][-1]
    assert last["kind"] == "client" and last["who"].startswith(f"uid {os.getuid()}, process ")
    steps = json.loads(one.ctl("trace", "backup", "--json").stdout)["steps"]
    (guard,) = steps[-1]["guards"]
    assert guard["holds"] and guard["reason"].endswith("event.priority is 9, state.above is 5")
    runs = json.loads(one.ctl("trace", "uplink", "--json").stdout)["steps"]
    assert {step["kind"] for step in runs} >= {"run", "transition"} and len(runs) <= 64
    # A name that is none, and data that is not the event's.
    assert one.ctl("why", "backups", check=False).returncode == 1
    assert one.ctl("why-not", "backup", "Start", "priority=much", check=False).returncode == 1
    assert one.ctl("trace", "backup", "--limit", "0", check=False).returncode == 2


def test_the_access_and_the_pause_of_the_guide(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    pages = guide("Reference/Access.md") + guide("HowTo/PauseASystem.md")
    (access,) = blocks(pages, "yaml")
    (shipped.config / "access.yaml").write_text(access)
    commands = 0
    for console in blocks(pages, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=WAIT)
            assert result.returncode == 0, result
            assert shape(result.stdout + result.stderr) == shape(expected), f"$ {command}\n{result.stdout}{result.stderr}"
            commands += 1
    assert commands == 4


def test_the_way_of_an_event_is_as_the_page_about_the_model_tells_it(daemon: Callable[..., Daemon]) -> None:
    page = guide("Explanation/Model.md")
    (text,) = blocks(page, "yaml")
    (console,) = blocks(page, "console")
    # The disk of this machine may have room.
    one = daemon({"model.yaml": text.replace("event.used >= 95", "event.used >= 1").replace("every: 5s", "every: 24h")})
    one.wait_log("Working → Paused")
    command, _, expected = console.partition("\n")
    assert shape(one.ctl(*command.removeprefix("$ mediatorctl ").split()).stdout) == shape(expected)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("double(1) + 1.0", "2.0"), ('"disk " + string(1)', '"disk 1"'), ('duration("1h30m").getMinutes()', "90"),
        ("string(2.0)", '"2"'), ("0x2A", "42"), ('"%.1f".format([x])', '"2.5"'), ("n == 0 || 10 / n > 2", "true"),
        ('duration("10s") * 1.5', 'duration("15s")'), ("pow(2, 10)", "1024"),
    ],
)
def test_the_expressions_of_the_guide(binaries: Binaries, expression: str, value: str) -> None:
    assert f"`{expression}`" in guide("Reference/Expressions.md")
    variables = ["--with", "x=2.5", "--with", "n=0"]
    printed = subprocess.run(
        [binaries.mediatorctl, "eval", expression, *variables], capture_output=True, text=True, timeout=WAIT, check=True
    )
    assert printed.stdout == f"{value}\n"


@pytest.mark.parametrize("expression", ["1 + 1.0", '"disk " + 1', 'duration("5 min")'])
def test_the_wrong_expressions_of_the_guide_are_wrong(binaries: Binaries, expression: str) -> None:
    assert f"`{expression}`" in guide("Reference/Expressions.md")
    assert subprocess.run([binaries.mediatorctl, "eval", expression], capture_output=True, timeout=WAIT).returncode == 1
