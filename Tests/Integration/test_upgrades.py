"""Stores of all formats that there have been: a daemon of today opens each one, and finds everything in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from daemon import STOPPED, Binaries, Daemon
from previous import kill, new_place
from test_store import files
from waiting import eventually


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("fixture", stored.fixtures(), ids=lambda fixture: f"{fixture.name}-{fixture.end}")
def test_a_store_of_each_format_opens(
    daemon: Callable[..., Daemon], tmp_path: Path, fixture: stored.Fixture, end: str
) -> None:
    noted, store = fixture.noted, tmp_path / "store"
    with new_place() as place:
        fixture.copy(store, place.socket)
        # The second daemon finds what the first one has written into the old store.
        for number in range(2):
            one = daemon(fixture.config, arguments=("--store", str(store)), socket=place.socket)
            found = stored.everything(one)
            assert found.keys() == noted.keys()
            for name, content in noted.items():
                assert {key: found[name][key] for key in content} == content, name
            buses = sum("valueType" in content for content in noted.values())
            line = one.wait_log("restored the stored states")
            assert f" buses={buses} " in line and " unused=0" in line, line
            opened = json.loads(one.ctl("store", "--json").stdout)["store"]
            assert opened["closedInOrder"] == ((fixture.end if number == 0 else end) in ("closed", "stop"))
            # The system that had ended is named by itself.
            log = [line for line in one.log.splitlines() if "system=frail" not in line]
            for word in ("damaged", "lost", "not stored", "without its stored state", "without that state"):
                assert not any(word in line for line in log), one.log
            assert "the store is undamaged" in one.ctl("store", "check").stdout
            if end == "kill":
                kill(one)
            else:
                assert one.stop() == STOPPED


@pytest.mark.parametrize("fixture", stored.fixtures(), ids=lambda fixture: f"{fixture.name}-{fixture.end}")
def test_a_link_shows_nothing_twice(daemon: Callable[..., Daemon], tmp_path: Path, fixture: stored.Fixture) -> None:
    noted, store = fixture.noted["ledger"]["state"]["data"]["n"], tmp_path / "store"
    with new_place() as place:
        fixture.copy(store, place.socket)
        one = daemon(fixture.config, arguments=("--store", str(store)), socket=place.socket)
        one.ctl("publish", "an.int", "5")
        # Each earlier value would have come before this one.
        eventually(lambda: stored.described(one, "ledger")["state"]["data"]["last"] == 5)
        assert stored.described(one, "ledger")["state"]["data"]["n"] == noted + 1
        assert one.stop() == STOPPED


def test_there_is_a_store_of_the_present_format(binaries: Binaries, tmp_path: Path) -> None:
    """If this fails, stores/README.md says what to do."""
    version = stored.make(binaries, "closed", tmp_path)
    before = [fixture for fixture in stored.fixtures() if fixture.end == "closed"][-1]
    assert version == before.version
    assert stored.CONFIG == before.config
    # The program makes what it has made before, apart from times.
    now = json.loads((tmp_path / "notes.json").read_text())
    assert {name: {**content, "since": ""} for name, content in now.items()} == {
        name: {**content, "since": ""} for name, content in before.noted.items()
    }
    assert files(tmp_path / "store").keys() == files(before.directory).keys()


def test_a_store_that_was_killed_has_a_log() -> None:
    for fixture in stored.fixtures():
        if fixture.end == "killed":
            assert (fixture.directory / "db-wal").stat().st_size > 0, fixture
