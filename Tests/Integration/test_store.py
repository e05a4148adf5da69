"""States that survive the end of the daemon: real daemons, one after the other, over one store."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon import CANNOT_SERVE, STOPPED, Binaries, Daemon
from previous import kill, needs_root
from waiting import WAIT, eventually


def counter(name: str = "counter", persist: str = "persist: state") -> str:
    return f"""\
system: {name}
{persist}
states: {{ Counting: {{ n: int }} }}
events: {{ Add: {{}} }}
fromOutside: any
initialState: {{ Counting: {{ n: 0 }} }}
transitions: {{ Counting: {{ Add: {{ to: Counting, set: {{ n: "${{state.n + 1}}" }} }} }} }}
"""


PERSISTED = {"counter.yaml": counter()}
# Never ready, so neither is its daemon, before the limit.
NEVER_READY = """\
system: never
states: { Waiting: {}, There: {} }
events: { Come: {} }
fromOutside: any
persist: none
initialState: Waiting
ready: { in: There }
transitions: { Waiting: { Come: There } }
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def start(daemon: Callable[..., Daemon], store: Path, tmp_path: Path) -> Callable[..., Daemon]:
    """Starts daemons over one store."""

    def start(config: dict[str, str] = PERSISTED, *arguments: str, place: Path = store, **options: Any) -> Daemon:
        return daemon(config, arguments=("--store", str(place), *arguments), **options)

    return start


def state(one: Daemon, name: str = "counter") -> dict[str, Any]:
    (described,) = json.loads(one.ctl("show", name, "--json").stdout).values()
    summary = described["summary"]
    return {"state": summary["state"], "since": summary["since"]}


def count(one: Daemon, name: str = "counter") -> int:
    found = re.search(r'"n": ?(\d+)', json.dumps(state(one, name)))
    assert found
    return int(found[1])


def add(one: Daemon, times: int = 1, name: str = "counter") -> None:
    """Counts on, and waits until that is stored: a state is seen no earlier."""
    goal = count(one, name) + times
    for _ in range(times):
        one.ctl("emit", name, "Add")
    eventually(lambda: count(one, name) == goal)


def degraded(one: Daemon) -> bool:
    """Whether the health says that the state is not stored."""
    return "state: is not stored: " in one.ctl("status", check=False).stdout


def files(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.iterdir() if path.is_file()}


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_the_next_daemon_goes_on(start: Callable[..., Daemon], store: Path, end: str) -> None:
    one = start()
    assert store.stat().st_mode & 0o777 == 0o700
    add(one, 3)
    before = state(one)
    if end == "kill":
        kill(one)
    else:
        assert one.stop() == STOPPED
    two = start()
    assert state(two) == before and count(two) == 3
    assert "systems=1" in two.wait_log("restored the stored states")
    assert "restored from the store" in two.ctl("why", "counter").stdout
    add(two)
    assert two.stop() == STOPPED
    assert count(start()) == 4


def test_a_state_of_what_does_not_persist_is_not_stored(start: Callable[..., Daemon], store: Path) -> None:
    config = {"counter.yaml": counter(persist="persist: none")}
    one = start(config)
    add(one)
    kill(one)
    assert count(start(config)) == 0 and not store.exists()


def test_states_of_a_configuration_without_a_named_store_are_below_the_home(
    daemon: Callable[..., Daemon], tmp_path: Path
) -> None:
    one = daemon(PERSISTED, environment={"XDG_STATE_HOME": str(tmp_path), "MEDIATORD_STORE": ""})
    add(one)
    assert [path.name for path in tmp_path.glob("mediatord/by-config/*/db")] == ["db"]


def test_commands_do_not_learn_the_place(daemon: Callable[..., Daemon], store: Path, tmp_path: Path) -> None:
    command = {
        "job.yaml": f"""\
system: job
persist: state
states: {{ Working: {{}} }}
events: {{ Again: {{}} }}
initialState: Working
feedbacks:
  work: {{ onState: Working, run: {{ command: [sh, -c, "echo [$MEDIATORD_STORE] >{tmp_path}/seen"] }}, onFailure: log }}
transitions: {{ Working: {{ Again: Working }} }}
"""
    }
    daemon(command, environment={"MEDIATORD_STORE": str(store)})
    eventually(lambda: (tmp_path / "seen").exists() and (tmp_path / "seen").read_text())
    assert (tmp_path / "seen").read_text() == "[]\n" and store.exists()


def test_a_second_daemon_does_not_start(start: Callable[..., Daemon]) -> None:
    one = start()
    add(one)
    two = start(ready=False)
    assert two.wait_exit() == CANNOT_SERVE
    assert f"process {one.pid} (mediatord) uses the store" in two.log
    add(one)


def test_a_check_opens_no_store(binaries: Binaries, start: Callable[..., Daemon], store: Path) -> None:
    one = start()
    checked = subprocess.run(
        [binaries.mediatord, "--validate", "--config", one.config, "--store", store], capture_output=True, timeout=WAIT
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("flaw", ["open", "link"])
def test_a_directory_that_others_can_change_is_not_used(start: Callable[..., Daemon], store: Path, flaw: str) -> None:
    real = store.with_name("real")
    real.mkdir(mode=0o700)
    if flaw == "link":
        store.symlink_to(real)
    else:
        store.mkdir()
        store.chmod(0o750)
    one = start()
    one.wait_log("states are not stored")
    assert "1 system: 1 degraded (counter: state)" in one.wait_log("ready: ")
    assert degraded(one)
    add(one)
    assert not list(real.iterdir()) and not list(store.iterdir())


def test_a_store_of_a_newer_version_stays_as_it_is(start: Callable[..., Daemon], store: Path) -> None:
    one = start()
    add(one, 2)
    assert one.stop() == STOPPED
    with sqlite3.connect(store / "db") as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    before = files(store)
    two = start()
    assert "version 2 of its format" in two.wait_log("states are not stored")
    add(two)
    assert count(two) == 1 and two.stop() == STOPPED
    assert files(store)["db"] == before["db"]


def test_a_damaged_state_starts_anew_and_the_others_go_on(start: Callable[..., Daemon], store: Path) -> None:
    config = {**PERSISTED, "other.yaml": counter("other")}
    one = start(config)
    add(one, 2)
    add(one, 3, "other")
    assert one.stop() == STOPPED
    with sqlite3.connect(store / "db") as database:
        (body,) = database.execute("SELECT body FROM part WHERE name = 'counter'").fetchone()
        flipped = bytes([body[0] ^ 1]) + body[1:]
        database.execute("UPDATE part SET body = ? WHERE name = 'counter'", (flipped,))
    database.close()
    two = start(config)
    line = two.wait_log("the stored state of the system 'counter' is damaged, so it starts without that state")
    (copy,) = store.glob("damaged-*")
    assert f"a copy of the damaged files is in '{copy}'; " in line
    assert (count(two), count(two, "other")) == (0, 3)
    assert "its stored state was not used: it is damaged" in two.ctl("why", "counter").stdout
    assert len(list(store.glob("damaged-*/db"))) == 1
    add(two)
    assert two.stop() == STOPPED
    three = start(config)
    assert (count(three), count(three, "other")) == (1, 3) and "is damaged" not in three.log


def test_files_that_are_moved_away_are_noticed(start: Callable[..., Daemon], store: Path, tmp_path: Path) -> None:
    one = start()
    add(one)
    away = tmp_path / "away"
    away.mkdir()
    for path in list(store.glob("db*")):
        path.rename(away / path.name)
    add(one)
    assert "were moved or removed; bring them back" in one.wait_log("states are not stored")
    eventually(lambda: degraded(one))
    for path in list(away.iterdir()):
        path.rename(store / path.name)
    one.wait_log("all states are stored again")
    assert one.stop() == STOPPED
    assert count(start()) == 2


def test_a_state_that_no_longer_fits_starts_anew(start: Callable[..., Daemon]) -> None:
    one = start()
    add(one)
    assert one.stop() == STOPPED
    two = start({"counter.yaml": counter().replace("Counting", "Adding")})
    line = two.wait_log("starts without its stored state")
    assert "system=counter" in line and 'lost="Counting { n: 1 }"' in line
    assert count(two) == 0
    assert "its stored state was not used: it was in the state 'Counting'" in two.ctl("why", "counter").stdout


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "--lazy", path], check=True)


@needs_root
def test_a_full_disk_delays_the_storing(start: Callable[..., Daemon], disk: Path) -> None:
    one = start(place=disk / "store")
    add(one)
    with open(disk / "filler", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    # The last page of the log may have room.
    while "states are not stored" not in one.log:
        add(one)
    assert "make room on its disk" in one.log
    add(one, 3)
    eventually(lambda: degraded(one))
    last = state(one)
    (disk / "filler").unlink()
    one.wait_log("all states are stored again")
    eventually(lambda: not degraded(one))
    kill(one)
    two = start(place=disk / "store")
    assert state(two) == last
    assert two.stop() == STOPPED


@needs_root
def test_a_read_only_disk_keeps_its_states(start: Callable[..., Daemon], disk: Path) -> None:
    one = start(place=disk / "store")
    add(one, 2)
    assert one.stop() == STOPPED
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    two = start(place=disk / "store")
    assert "mount its file system writable" in two.wait_log("states are not stored")
    eventually(lambda: degraded(two))
    add(two)
    assert count(two) == 1 and two.stop() == STOPPED
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    three = start(place=disk / "store")
    assert count(three) == 2
    assert three.stop() == STOPPED


def test_starts_that_never_become_ready_end_with_a_pause(start: Callable[..., Daemon]) -> None:
    config = {**PERSISTED, "never.yaml": NEVER_READY}
    for number in range(3):
        one = start(config, ready=False)
        eventually(lambda: one.ctl("show", "counter", check=False).returncode == 0)
        add(one)
        assert "paused" not in one.log, number
        kill(one)
    paused = start(config, "--ready-limit", "0")
    assert "systems=counter" in paused.wait_log("persisted systems begin paused")
    assert count(paused) == 3
    paused.ctl("emit", "counter", "Add")
    reason = "paused by mediatord: 3 starts or more in a row never became ready; look for the reason in the log"
    assert reason in paused.ctl("status", check=False).stdout
    assert f"it is degraded: {reason}" in paused.ctl("why", "counter").stdout
    # That start does not count as one that was ready, and neither does a stop with the system paused.
    assert paused.stop() == STOPPED
    again = start(config, "--ready-limit", "0")
    again.wait_log("persisted systems begin paused")
    assert count(again) == 3
    again.ctl("resume", "counter")
    add(again)
    assert again.stop() == STOPPED
    last = start(config, "--ready-limit", "0")
    assert count(last) == 4 and "begin paused" not in last.log
    add(last)


def reload(one: Daemon, text: str) -> subprocess.CompletedProcess[str]:
    (one.config / "counter.yaml").write_text(text)
    return one.ctl("reload", check=False)


def test_a_reload_opens_the_store_and_leaves_it_open(start: Callable[..., Daemon], store: Path) -> None:
    one = start({"counter.yaml": counter(persist="persist: none")})
    add(one, 2)
    assert not store.exists()
    assert reload(one, counter()).returncode == 0
    add(one)
    held = count(one)
    kill(one)
    two = start()
    assert count(two) == held
    assert reload(two, counter(persist="persist: none")).returncode == 0
    assert reload(two, counter()).returncode == 0
    add(two)
    held = count(two)
    kill(two)
    assert count(start()) == held


def test_a_reload_says_which_state_it_drops(start: Callable[..., Daemon]) -> None:
    one = start()
    add(one, 3)
    assert reload(one, counter().replace("Counting", "Adding")).returncode == 0
    line = one.wait_log("starts without its stored state")
    assert "system=counter" in line and "it is in the state 'Counting', which there is no more" in line
    assert 'lost="Counting { n: 3 }"' in line


def test_a_reload_that_cannot_open_the_store_is_rejected(start: Callable[..., Daemon]) -> None:
    holder = start()
    one = start({"counter.yaml": counter(persist="persist: none")})
    add(one)
    rejected = reload(one, counter())
    assert rejected.returncode == 1 and f"process {holder.pid} (mediatord) uses the store" in rejected.stdout + rejected.stderr
    add(one)
    assert count(one) == 2 and not degraded(one)
    assert holder.stop() == STOPPED
    assert reload(one, counter()).returncode == 0
