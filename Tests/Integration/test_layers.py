"""The layers of the configuration, beside systemd's own, and `mediatorctl cat-config`, which shows what they make up."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from daemon import Binaries, Daemon
from waiting import WAIT

LAYERS = ("etc", "run", "usr/local/lib", "usr/lib")


def cat(binaries: Binaries, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.mediatorctl), "cat-config", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT)


def directories(root: Path) -> list[str]:
    return [argument for layer in LAYERS for argument in ("--config", f"{root}/{layer}/mediatord")]


def plain(node: dict[str, Any]) -> Any:
    """A node of the JSON form without the places."""
    if "map" in node:
        return {key: plain(node["map"][key]) for key in node["keys"]}
    if "list" in node:
        return [plain(item) for item in node["list"]]
    return {key: value for key, value in node.items() if key not in ("file", "line", "column")}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("seed", range(25))
def test_the_layers_are_those_of_systemd(binaries: Binaries, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for layer in LAYERS:
        (tmp_path / layer / "mediatord" / "a.yaml.d").mkdir(parents=True)

    def write(path: Path, text: str) -> None:
        if chance.random() < 0.2:
            if chance.random() < 0.5:
                path.touch()
            else:
                path.symlink_to("/dev/null")
        else:
            path.write_text(text)

    for index, layer in enumerate(LAYERS):
        # The file itself is not masked: what is, systemd shows as an empty one.
        if index == 3 or chance.random() < 0.3:
            (tmp_path / layer / "mediatord" / "a.yaml").write_text(f"buses: {{ main{index}: {{ limit: 1 }} }}\n")
        for number in range(6):
            if chance.random() < 0.5:
                text = f"buses: {{ b{index}{number}: {{ limit: 1 }} }}\n"
                write(tmp_path / layer / "mediatord" / "a.yaml.d" / f"{number}.yaml", text)
    # systemd reads drop-ins named *.conf.
    twin = tmp_path / "twin"
    for layer in LAYERS:
        shutil.copytree(tmp_path / layer, twin / layer, symlinks=True)
        for path in (twin / layer / "mediatord" / "a.yaml.d").iterdir():
            path.rename(path.with_suffix(".conf"))
    shown = subprocess.run(
        ["systemd-analyze", f"--root={twin}", "cat-config", "mediatord/a.yaml"],
        capture_output=True, text=True, timeout=WAIT, check=True,
    ).stdout
    expected = [line.split()[2].rstrip(":") for line in shown.splitlines() if line.startswith("buses:")]
    done = cat(binaries, *directories(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout)["documents"]
    assert document["root"]["map"]["buses"]["keys"] == expected


def test_every_value_is_shown_with_its_place(binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "system: a\nstates: { A: { n: int } }\ninitialState: { A: { n: 1 } }\nfeedbacks:\n  f:\n    onState: A\n"
        '    run: [echo, "#no comment"]\n    every: !env { name: PERIOD, default: 5s }\n'
    )
    drop_ins = tmp_path / "a.yaml.d"
    drop_ins.mkdir()
    (drop_ins / "1.yaml").write_text("system: a\ninitialState:\n  A:\n    n: 7\nfeedbacks: { f: { onSuccess: null } }\n")
    (drop_ins / "2.yaml").write_text(
        "system: a\nfeedbacks:\n  f:\n    run:\n      command: [echo]\n      environment: { K: !credential key }\n"
    )
    done = cat(binaries, "--config", tmp_path, "a")
    assert done.stdout.replace(f"{tmp_path}/", "") == (
        "# a.yaml\n"
        "# a.yaml.d/1.yaml\n"
        "# a.yaml.d/2.yaml\n"
        "system: a                                      # a.yaml:1\n"
        "states: { A: { n: int } }                      # a.yaml:2\n"
        "initialState:\n"
        "  A:\n"
        "    n: 7                                       # a.yaml.d/1.yaml:4\n"
        "feedbacks:\n"
        "  f:\n"
        "    onState: A                                 # a.yaml:6\n"
        "    run:\n"
        "      command: [echo]                          # a.yaml.d/2.yaml:5\n"
        "      environment: { K: !credential key }      # a.yaml.d/2.yaml:6\n"
        "    every: !env { name: PERIOD, default: 5s }  # a.yaml:8\n"
    )
    assert "a.yaml.d/1.yaml:5:19: warning: there is no 'onSuccess' here" in done.stderr
    assert done.returncode == 0
    document = json.loads(cat(binaries, "--config", tmp_path, "--json").stdout)["documents"][0]
    number = document["root"]["map"]["initialState"]["map"]["A"]["map"]["n"]
    assert number == {"value": 7, "file": f"{drop_ins}/1.yaml", "line": 4, "column": 8}


def test_what_is_shown_is_the_same_configuration(binaries: Binaries, tmp_path: Path) -> None:
    awkward = (
        "system: awkward\ndescription: |\n  two\n  lines: \"quoted\"\n\nstates:\n  A:\n    - 1\n    -\n    - - a: {}\n"
        "        b: ''\n      - 'x, y'\n  'true': 0x10\n  \"a b\": &here [*1, \"*1\"]\n".replace("*1, ", "")
        + "  C: *here\nevents: {}\ntransitions:\n- plain text with, commas [and] {more}\n- a:\n    - b\n  c: d\n"
    )
    source = tmp_path / "source"
    shutil.copytree(REPOSITORY / "Config", source)
    (source / "awkward.yaml").write_text(awkward)
    shown = cat(binaries, "--config", source)
    assert shown.returncode == 0, shown.stderr
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "all.yaml").write_text(shown.stdout)
    roots = [
        [plain(document["root"]) for document in json.loads(cat(binaries, "--config", path, "--json").stdout)["documents"]]
        for path in (source, copy)
    ]
    assert roots[0] == roots[1]
    assert len(roots[0]) >= 6


def test_parts_are_chosen_by_name(binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "system: t@\nstates: { A: {} }\ninitialState: A\n---\ninstances: { t@x: {}, t@y: {} }\n"
        "links: { l: { attach: t@*, to: b, onState: A, emitValue: 1 } }\n---\nbuses: { b: { kind: passthrough } }\n"
    )

    def chosen(*names: str) -> list[Any]:
        done = cat(binaries, "--config", tmp_path, "--json", *names)
        assert done.returncode == 0, done.stderr
        return [plain(document["root"]) for document in json.loads(done.stdout)["documents"]]

    assert [list(root) for root in chosen("t@x")] == [["system", "states", "initialState"], ["instances"]]
    assert list(chosen("t@x")[1]["instances"]) == ["t@x"]
    assert [list(root) for root in chosen("b", "l")] == [["links"], ["buses"]]
    assert len(chosen("t.yaml")) == 3
    wrong = cat(binaries, "--config", tmp_path, "t@x", "tt")
    assert wrong.returncode == 1
    assert wrong.stderr == "mediatorctl: there is no system, bus, link, instance or file 'tt'; did you mean 't@'?\n"
    broken = cat(binaries, "--config", tmp_path / "nowhere")
    assert broken.returncode == 1
    assert "cannot read the directory" in broken.stderr


def test_a_daemon_reads_all_its_directories_and_says_which(
    daemon: Callable[..., Daemon], binaries: Binaries, tmp_path: Path
) -> None:
    lower = tmp_path / "lower"
    lower.mkdir()
    (lower / "other.yaml").write_text("system: other\nstates: { A: {} }\ninitialState: A\n")
    (lower / "heartbeat.yaml").write_text("this is overridden")
    one = daemon(arguments=["--config", str(lower)])
    status = json.loads(one.ctl("status", "--json").stdout)
    assert status["configuration"] == [str(one.config), str(lower)]
    assert [system["name"] for system in status["systems"]] == ["heartbeat", "other"]


def test_a_credential_reaches_the_command_and_nobody_else(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    one = daemon(
        {
            "a.yaml": "system: a\nstates: { A: {}, B: { size: int } }\nevents: { Told: { size: int } }\n"
            "initialState: A\nready: B\nfeedbacks:\n  f:\n    onState: A\n"
            '    run: { command: [sh, -c, "printf %s \\"$KEY\\" | wc -c"], environment: { KEY: !credential key } }\n'
            '    onLine: { Told: { size: "${int(result.line.trim())}" } }\n'
            'transitions: { A: { Told: { to: B, set: { size: "${event.size}" } } } }\n'
        },
        arguments=["--log-level", "trace"],
        environment={"CREDENTIALS_DIRECTORY": str(tmp_path)},
    )
    shown = one.ctl("show", "a").stdout + one.ctl("show", "a", "--json").stdout + one.ctl("status", "--json").stdout
    assert '"size":6' in shown
    assert "s3cret" not in shown + one.log
    assert "s3cret" not in one.ctl("cat-config", "--config", str(one.config)).stdout


WORDS = ("a", "b", "c", "on", "1", "", "x y", "#", "a: b", "- ", "[", "ü", "${now}", "\n", "'", '"', "null", "\u2028")


def value(chance: random.Random, depth: int, keys: list[str]) -> Any:
    """Something random: a value, a list, or a mapping of such."""
    kind = chance.random()
    if depth > 0 and kind < 0.5:
        chosen = chance.sample(keys, chance.randrange(len(keys)))
        return {key: value(chance, depth - 1, keys) for key in chosen}
    if depth > 0 and kind < 0.6:
        return [value(chance, depth - 1, keys) for _ in range(chance.randrange(3))]
    return chance.choice([None, True, 0, -7, 1.5, *WORDS])


def patched(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), change)
    return result


def unplaced(value: Any) -> Any:
    """What `plain` makes of a value."""
    if isinstance(value, dict):
        return {key: unplaced(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [unplaced(item) for item in value]
    return {"value": value}


@pytest.mark.parametrize("seed", range(40))
def test_drop_ins_merge_as_json_merge_patch(binaries: Binaries, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    keys = [word for word in WORDS if word not in ("", "null")]
    expected = {"system": "s", **{key: value(chance, 3, chance.sample(keys, 7)) for key in keys}}
    (tmp_path / "s.yaml").write_text(json.dumps(expected))
    drop_ins = tmp_path / "s.yaml.d"
    drop_ins.mkdir()
    for number in range(chance.randrange(1, 4)):
        patch = {key: value(chance, 3, chance.sample(keys, 7)) for key in chance.sample(keys, 9)}
        (drop_ins / f"{number}.yaml").write_text(json.dumps({"system": "s", **patch}))
        expected = patched(expected, patch)
    done = cat(binaries, "--config", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout)["documents"]
    assert plain(document["root"]) == unplaced(expected)
    # What is shown to people is the same once more.
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "s.yaml").write_text(cat(binaries, "--config", tmp_path).stdout)
    (again,) = json.loads(cat(binaries, "--config", copy, "--json").stdout)["documents"]
    assert plain(again["root"]) == unplaced(expected)


def test_what_a_command_says_of_a_credential_is_not_in_the_log(
    daemon: Callable[..., Daemon], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("hunter2")
    leaky = "system: leaky\nstates: { A: {} }\ninitialState: A\nfeedbacks:\n"
    leaky += '  say: { onState: A, run: { command: [sh, -c, "cat >&2; exit 3"], input: !credential token } }\n'
    loud = "system: loud\nstates: { A: { n: int } }\nevents: { Read: { n: int } }\ninitialState: { A: { n: 0 } }\nfeedbacks:\n"
    loud += "  read:\n    onState: A\n    run: { command: [cat], input: !credential token }\n"
    loud += '    onSuccess: { Read: { n: "${int(result.output)}" } }\ntransitions: { A: { Read: stay } }\n'
    one = daemon({"leaky.yaml": leaky, "loud.yaml": loud}, environment={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert "exit=3" in one.wait_log("command failed and no onFailure handles it")
    one.wait_log("no event could be made of it; why is not shown, since a secret was given")
    for arguments in (
        ("show", "loud"), ("status",), ("why", "loud"), ("trace", "loud"), ("trace", "loud", "--json"), ("trace", "leaky"),
        ("why-not", "loud", "Read", "n=1"), ("metrics",),
    ):
        done = one.ctl(*arguments, check=False)
        assert "hunter2" not in done.stdout + done.stderr, arguments
    # It is told that something failed, and where.
    assert "a secret was given" in one.ctl("trace", "loud").stdout
    assert one.stop() == 0
    assert "hunter2" not in one.log, one.log


def test_what_is_masked_is_said_to_be(binaries: Binaries, tmp_path: Path) -> None:
    top, low = tmp_path / "top", tmp_path / "low"
    top.mkdir()
    low.mkdir()
    (low / "divider.yaml").write_text("system: share\nstates: { A: {} }\ninitialState: A\n")
    (low / "other.yaml").write_text("system: other\nstates: { A: {} }\ninitialState: A\n")
    (top / "divider.yaml").symlink_to("/dev/null")
    for name in ("share", "divider.yaml"):
        shown = cat(binaries, "--config", top, "--config", low, name)
        assert (shown.returncode, shown.stdout) == (1, "")
        assert f"'{name}'; '{low}/divider.yaml' is masked by '{top}/divider.yaml'\n" in shown.stderr
    assert "masked" not in cat(binaries, "--config", top, "--config", low, "nothing").stderr
