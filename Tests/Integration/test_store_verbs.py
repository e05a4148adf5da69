"""What `mediatorctl store`, `show` and the metrics tell of the store, on real daemons."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemon import STOPPED, Daemon
from pages import blocks, guide, shape
from previous import kill
from test_store import PERSISTED, add, count, counter, files, start, store  # noqa: F401
from waiting import eventually

BUS = "buses: { level: { kind: currentValue, value: int, initial: 0, fromOutside: write, persist: true } }\n"
FRAIL = """\
system: frail
persist: state
states: { Working: { n: int } }
events: { Divide: {} }
fromOutside: any
initialState: { Working: { n: 0 } }
supervision: { onFault: stop }
transitions: { Working: { Divide: { to: Working, set: { n: "${1 / state.n}" } } } }
"""


def described(one: Daemon) -> dict[str, Any]:
    return json.loads(one.ctl("store", "--json").stdout)["store"]


def parts(one: Daemon) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in described(one)["parts"]}


def exported(one: Daemon, check: bool = True) -> dict[str, dict[str, Any]]:
    lines = one.ctl("store", "export", check=check).stdout.splitlines()
    return {state["name"]: state for state in map(json.loads, lines)}


def metric(one: Daemon, name: str) -> float | None:
    found = re.search(rf"^mediatord_store_{name} (\S+)$", one.ctl("metrics").stdout, re.MULTILINE)
    return float(found[1]) if found else None


def test_the_store_of_the_page(daemon: Callable[..., Daemon], store: Path) -> None:  # noqa: F811
    page = guide("Reference/Store.md")
    (line, *_) = blocks(guide("HowTo/SurviveACrash.md"), "yaml")
    options: dict[str, Any] = {"arguments": ("--store", str(store)), "environment": {"SWITCH": "true"}}
    one = daemon({"line.yaml": line}, **options)
    one.ctl("emit", "line", "Take", "line=radio", "by=ada", "--wait", "ByHand")
    kill(one)
    two = daemon({"line.yaml": line}, **options)
    two.ctl("emit", "line", "Release", "--wait", "Automatic")
    shown, check, export, forget = (block.partition("\n") for block in blocks(page, "console"))
    for (command, _, expected), status in ((shown, 0), (check, 0), (forget, 1)):
        result = two.ctl(*command.removeprefix("$ mediatorctl ").split(), check=False)
        assert result.returncode == status, result
        printed = shape(result.stdout + result.stderr)
        # The size depends on the file system, and the directory on the test.
        for size in ("KiB", "MiB"):
            printed = [re.sub(rf"# {size}|#\.# {size}", "# KiB", text) for text in printed]
        printed = [text.replace(shape(str(store))[0], "/tmp/store") for text in printed]
        assert printed == shape(expected), result
    assert export[0] == "$ mediatorctl store export"
    told = json.loads(two.ctl("store", "export").stdout)
    assert set(told) == set(json.loads(export[2].replace(",…", "")))
    assert set(told["content"]) >= {"epoch", "fields", "state", "since", "serial"}


def test_a_part_is_durable_since_its_last_commit(start: Callable[..., Daemon], store: Path) -> None:  # noqa: F811
    config = {**PERSISTED, "plain.yaml": counter("plain", persist="persist: none"), "bus.yaml": BUS}
    one = start(config)
    # A start does not wait for the first value of a bus.
    eventually(lambda: all(part["persistence"]["stored"] for part in parts(one).values()))
    before = parts(one)
    assert set(before) == {"counter", "level"} and all(part["configured"] for part in before.values())
    first = before["counter"]["persistence"]
    assert "restored" not in first
    add(one)
    one.ctl("publish", "level", "3")
    eventually(lambda: parts(one)["counter"]["persistence"]["since"] != first["since"])
    whole = described(one)
    assert whole["mode"] == "open" and whole["directory"] == str(store) and whole["life"] == 1
    assert whole["commits"] >= 3 and whole["pending"] == whole["refused"] == whole["errors"] == 0
    assert 0 < whole["p50"] <= whole["p99"] and whole["bytes"] >= sum(map(len, files(store).values())) - 4096
    assert json.loads(one.ctl("show", "counter", "--json").stdout)["system"]["persistence"] == parts(one)["counter"]["persistence"]
    assert "persistence" not in json.loads(one.ctl("show", "plain", "--json").stdout)["system"]
    assert re.search(r"^  durable +since ", one.ctl("show", "bus:level").stdout, re.MULTILINE)
    last = whole["lastCommit"]
    assert one.stop() == STOPPED

    two = start(config)
    after = parts(two)["counter"]["persistence"]
    assert after["stored"] and after["restored"][:19] >= last[:19] and "since" not in after
    assert described(two)["life"] == 2 and described(two)["closedInOrder"]
    assert re.search(r"^  durable +since before the start; restored from ", two.ctl("show", "counter").stdout, re.MULTILINE)


def test_a_check_and_an_export_find_damage(start: Callable[..., Daemon], store: Path) -> None:  # noqa: F811
    config = {**PERSISTED, "other.yaml": counter("other"), "bus.yaml": BUS}
    one = start(config)
    add(one, 2)
    one.ctl("publish", "level", "7")
    eventually(lambda: exported(one)["level"]["content"]["value"] == 7)
    states = exported(one)
    assert list(states) == ["counter", "other", "level"] and states["level"]["part"] == "bus"
    (field,) = states["counter"]["content"]["fields"]
    assert field == {"name": "n", "type": "int", "value": 2}
    assert not any(state["ended"] or "damage" in state for state in states.values())
    assert one.ctl("store", "check").stdout == "the store is undamaged, with 3 states\n"
    assert json.loads(one.ctl("store", "check", "--json").stdout) == {"damage": [], "states": 3}
    assert one.stop() == STOPPED

    two = start(config)
    # In place, because the daemon has the file open. Old copies of the row may lie beside it.
    rows = [row.end() - 1 for row in re.finditer(rb'other[^{]{0,30}\{"', (store / "db").read_bytes(), re.DOTALL)]
    assert rows
    with (store / "db").open("r+b") as file:
        for place in rows:
            file.seek(place)
            file.write(b"'")
    result = two.ctl("store", "check", check=False)
    assert result.returncode == 1 and "the store is damaged; 2 states undamaged" in result.stdout
    assert "the stored state of the system 'other' is damaged" in result.stdout
    result = two.ctl("store", "export", check=False)
    assert result.returncode == 1
    found = {state["name"]: state for state in map(json.loads, result.stdout.splitlines())}
    assert found["other"]["damage"] == "it does not fit its checksum" and "content" not in found["other"]
    assert found["counter"] == states["counter"]


def test_a_state_without_a_system_is_forgotten(start: Callable[..., Daemon]) -> None:  # noqa: F811
    config = {**PERSISTED, "other.yaml": counter("other")}
    one = start(config)
    add(one, 3, "other")
    assert one.stop() == STOPPED

    two = start()
    assert not parts(two)["other"]["configured"]
    refused = two.ctl("store", "forget", "counter", check=False)
    assert refused.returncode == 1 and "it persists and runs; `mediatorctl reset counter`" in refused.stderr
    assert two.ctl("store", "forget", "bus:other", check=False).returncode == 1
    assert "did you mean 'other'?" in two.ctl("store", "forget", "othre", check=False).stderr
    assert two.log.count("verb=store") == 0
    assert two.ctl("store", "forget", "other").stdout == "forgot the state of system other\n"
    line = two.wait_log("stored state removed by a client")
    assert "system=other" in line and "verb=store" in line
    assert set(parts(two)) == {"counter"}
    assert two.ctl("store", "forget", "system:other", check=False).returncode == 1
    assert two.stop() == STOPPED

    assert count(start(config), "other") == 0


def test_a_system_that_has_ended_is_forgotten_until_it_runs_again(start: Callable[..., Daemon]) -> None:  # noqa: F811
    one = start({"frail.yaml": FRAIL})
    one.ctl("emit", "frail", "Divide")
    eventually(lambda: exported(one)["frail"]["ended"])
    one.ctl("store", "forget", "frail")
    assert exported(one) == {}
    assert parts(one)["frail"]["persistence"] == {"stored": False, "reason": "the store has no state of it yet"}
    one.ctl("restart", "frail")
    eventually(lambda: not exported(one)["frail"]["ended"])
    assert parts(one)["frail"]["persistence"]["stored"]


def test_the_metrics_of_the_store(start: Callable[..., Daemon]) -> None:  # noqa: F811
    one = start()
    add(one, 3)
    commits = metric(one, "commits_total")
    assert commits and commits >= 3 and metric(one, "states") == 1
    assert metric(one, "errors_total") == metric(one, "refused_states") == metric(one, "pending_changes") == 0
    assert metric(one, "pending_seconds") == 0 and (metric(one, "bytes") or 0) > 4096
    count_of_times = metric(one, "commit_seconds_count")
    assert count_of_times and count_of_times >= commits and (metric(one, "commit_seconds_sum") or 0) > 0
    assert metric(one, r'commit_seconds_bucket\{le="\+Inf"\}') == metric(one, "commit_seconds_count")


def test_a_daemon_without_a_store_says_so(start: Callable[..., Daemon], store: Path) -> None:  # noqa: F811
    one = start({"counter.yaml": counter(persist="persist: none")})
    assert described(one)["mode"] == "unneeded" and described(one)["parts"] == []
    assert "nothing in the configuration persists" in one.ctl("store").stdout
    for arguments in (("check",), ("export",), ("forget", "system:counter")):
        result = one.ctl("store", *arguments, check=False)
        assert result.returncode == 1 and "it is not open: nothing in the configuration persists" in result.stderr
    assert metric(one, "bytes") is None and not store.exists()


def test_a_store_that_cannot_be_used_has_a_reason(start: Callable[..., Daemon], store: Path) -> None:  # noqa: F811
    store.mkdir()
    store.chmod(0o750)
    one = start()
    whole = described(one)
    assert whole["mode"] == "inMemory" and "other users can read or write" in whole["reason"]
    place = parts(one)["counter"]["persistence"]
    assert not place["stored"] and place["reason"] == whole["reason"]
    assert "durable" in one.ctl("show", "counter").stdout
    assert one.ctl("store", "check", check=False).returncode == 1
