"""States of an earlier configuration, under other names and with other fields, on real daemons."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemon import STOPPED, Binaries, Daemon
from pages import blocks, guide
from previous import kill
from test_store import start, state, store  # noqa: F401
from waiting import WAIT

(LATER,) = blocks(guide("Reference/EarlierStates.md"), "yaml")
EARLIER = """\
system: uplink
persist: state
states: { Automatic: { line: string }, ByHand: { line: string, by: string } }
events: { Take: { line: string, by: string }, Release: {} }
fromOutside: any
initialState: { Automatic: { line: fibre } }
transitions:
  any: { Take: { to: ByHand, set: { line: "${event.line}", by: "${event.by}" } } }
  ByHand: { Release: Automatic }
"""
KEPT = ("Manual", {"line": "radio", "person": "ada", "reason": "unknown"})
# The same under the earlier name of the system.
SAME_NAME = LATER.replace("system: line\nwas: uplink\n", "system: uplink\n")


def seen(one: Daemon, name: str = "line") -> tuple[str, dict[str, Any]]:
    found = state(one, name)["state"]
    return found["name"], found.get("data", {})


def taken(start: Callable[..., Daemon]) -> Daemon:  # noqa: F811
    one = start({"line.yaml": EARLIER})
    one.ctl("emit", "uplink", "Take", "line=radio", "by=ada", "--wait", "ByHand")
    return one


def test_a_start_converts_the_state_of_the_page(start: Callable[..., Daemon]) -> None:  # noqa: F811
    kill(taken(start))
    two = start({"line.yaml": LATER})
    line = two.wait_log("goes on from a state of an earlier configuration")
    assert "system=line" in line and "its name was 'uplink', its state 'ByHand' is 'Manual' now" in line
    assert "'by' is 'person' now, 'reason' has its default" in line
    assert seen(two) == KEPT
    assert "restored from the store" in two.ctl("why", "line").stdout
    kill(two)
    # It was stored in its new form.
    plain = LATER.replace("was: uplink\n", "").replace("    was: ByHand\n", "")
    plain = plain.replace("{ type: string, was: by }", "string").replace("{ type: string, default: unknown }", "string")
    three = start({"line.yaml": plain})
    assert seen(three) == KEPT
    assert "earlier configuration" not in three.log and three.stop() == STOPPED


def test_a_reload_converts_the_state_of_the_page(start: Callable[..., Daemon]) -> None:  # noqa: F811
    one = taken(start)
    (one.config / "line.yaml").write_text(SAME_NAME)
    assert "its state 'ByHand' is 'Manual' now" in one.ctl("plan").stdout
    one.ctl("reload")
    assert seen(one, "uplink") == KEPT
    (one.config / "line.yaml").write_text(SAME_NAME.replace("system: uplink\n", "system: line\nwas: uplink\n"))
    assert "it goes on in the state 'Manual' of 'uplink', its earlier name" in one.ctl("plan").stdout
    one.ctl("reload")
    assert seen(one) == KEPT
    assert one.stop() == STOPPED


def test_the_later_of_two_states_counts(start: Callable[..., Daemon], tmp_path: Path) -> None:  # noqa: F811
    kill(taken(start))
    two = start({"line.yaml": LATER})
    two.ctl("emit", "line", "Take", "line=copper", "person=eve")
    two.ctl("emit", "line", "Take", "line=copper", "person=eve", "--wait", "Manual")
    states = tmp_path / "states.jsonl"
    states.write_text(two.ctl("store", "export").stdout)
    assert {json.loads(line)["name"] for line in states.read_text().splitlines()} == {"line", "uplink"}
    checked = two.ctl("validate", str(two.config), "--state", str(states)).stdout
    assert "the stored state of the system 'uplink' is not used: the store has a later one of 'line'" in checked
    kill(two)
    # Back to the earlier name, of which the store has an older state.
    three = start({"line.yaml": LATER.replace("system: line\nwas: uplink\n", "system: uplink\nwas: line\n")})
    assert seen(three, "uplink") == ("Manual", {"line": "copper", "person": "eve", "reason": "asked"})
    three.ctl("store", "forget", "line")
    assert three.stop() == STOPPED


def test_a_state_that_a_new_name_does_not_have_is_in_the_log(start: Callable[..., Daemon]) -> None:  # noqa: F811
    one = taken(start)
    (one.config / "line.yaml").write_text(LATER.replace("    was: ByHand\n", ""))
    assert "is not carried over: it is in the state 'ByHand', which there is no more" in one.ctl("plan").stdout
    one.ctl("reload")
    line = one.wait_log("starts without its stored state")
    assert "system=line" in line and 'lost="ByHand { line: radio, by: ada }"' in line.replace('\\"', "")
    assert seen(one)[0] == "Automatic" and one.stop() == STOPPED


def test_stored_states_are_checked_before_a_start(
    binaries: Binaries, start: Callable[..., Daemon], tmp_path: Path  # noqa: F811
) -> None:
    one = taken(start)
    states = tmp_path / "states.jsonl"
    states.write_text(one.ctl("store", "export").stdout)

    def check(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "changed.yaml").write_text(text)
        command = [binaries.mediatorctl, "validate", tmp_path / "changed.yaml", "--state", states, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=WAIT)

    same = check(EARLIER)
    assert same.returncode == 0 and "stored states: 1 kept, 0 converted, 0 lost, 0 not used\n" in same.stdout
    converted = check(LATER, "--json")
    (entry,) = json.loads(converted.stdout)["states"]
    assert (entry["part"], entry["name"], entry["outcome"]) == ("system", "uplink", "converted")
    assert entry["reason"].startswith("its name is 'line' now, ")
    assert "'by' is 'person' now" in entry["reason"]
    renamed = EARLIER.replace("ByHand", "Manual")
    lost = check(renamed)
    assert lost.returncode == 0
    assert "state of the system 'uplink' is lost: it was in the state 'ByHand', which there is no more" in lost.stdout
    assert "1 system, 0 buses and 0 links in 1 file; a start loses 1 stored state\n" in lost.stdout
    denied = check(renamed, "--deny-warnings", "--quiet")
    assert denied.returncode == 1 and "is lost" in denied.stdout
    assert check(EARLIER, "--format", "sarif").returncode == 2
    unused = check(EARLIER.replace("persist: state", "persist: none"))
    assert "is not used: it does not persist" in unused.stdout
    states.write_text('{"damage":"the checksum does not match"}\n\n')
    assert "1 lost" in check(EARLIER).stdout
    states.write_text("")
    assert check(EARLIER).returncode == 2
    states.write_text('{"part":"link","name":"a->b","content":{}}\n')
    other = check(EARLIER)
    assert other.returncode == 2 and "line 1 of the states is not a stored state" in other.stderr
    states.write_text("no state\n")
    wrong = check(EARLIER)
    assert wrong.returncode == 2 and "line 1 of the states is not a stored state" in wrong.stderr
