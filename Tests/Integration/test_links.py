"""Links that are attached, detached and changed while the daemon runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from links import BELL, CONFIGURATION, DOOR, OWN, SYSTEM_TO_SYSTEM, WIRING, files, links, refused, state, status
from waiting import WAIT, eventually


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def test_a_link_is_attached_changed_and_detached(one: Daemon) -> None:
    one.ctl("emit", "door", "Push", "by=ann")
    result = one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    assert "link 'knock' attached: 2 kept; 1 link changed" in result.stdout
    assert "It is in no file" in result.stdout
    # It sees the present state first, as at a start.
    assert state(one, "bell") == {"rung": 1}
    assert links(one)["knock"]["origin"] == "attached" and links(one)["ring"]["origin"] == "written"
    text = one.ctl("show", "knock").stdout
    assert "attached while mediatord runs" in text and "<control knock>" in text
    assert "attached" in one.ctl("list", "links").stdout

    one.ctl("set", "knock", "when=state.times > 2")
    assert state(one, "bell") == {"rung": 1}
    one.ctl("emit", "door", "Push", "by=bob")
    assert state(one, "bell") == {"rung": 1}
    one.ctl("emit", "door", "Push", "by=bob")
    assert state(one, "bell") == {"rung": 2}

    one.ctl("set", "announce", "emitValue=somebody")
    assert links(one)["announce"]["origin"] == "changed"
    assert json.loads(one.ctl("show", "visitor", "--json").stdout)["bus"]["summary"]["value"] == "somebody"

    assert "link 'ring' detached: 2 kept" in one.ctl("detach", "ring").stdout
    listed = one.ctl("list", "links").stdout
    assert "detached, and in no file: ring" in listed
    changes = json.loads(one.ctl("list", "links", "--json").stdout)["changes"]
    assert [(change["link"], change["kind"]) for change in changes] == [
        ("announce", "changed"),
        ("knock", "attached"),
        ("ring", "detached"),
    ]
    assert changes[0]["text"] == "links:\n  announce:\n    emitValue: somebody\n"
    assert status(one)["transient"] == 3
    assert "3 links are changed in no file" in one.ctl("status").stdout
    assert files(one) == CONFIGURATION

    one.ctl("attach", "ring")
    one.ctl("detach", "knock")
    one.ctl("set", "announce", 'emitValue="${state.by}"')
    assert status(one)["transient"] == 0
    assert all(link["origin"] == "written" for link in links(one).values())
    # Nothing was restarted in all that.
    assert state(one, "door")["times"] == 3
    line = one.wait_log("link attached: 2 kept; 1 link changed")
    assert "knock" in line and str(os.getuid()) in line


def test_everyone_is_told_how_it_went(one: Daemon) -> None:
    before = status(one)
    assert before["reloads"] == {"applied": 0, "rejected": 0} and "reload" not in before
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    assert one.notify.wait_for(lambda d: d.get("RELOADING") == "1")
    assert one.notify.wait_for(lambda d: d.get("READY") == "1" and "2 systems" in d.get("STATUS", ""))
    now = status(one)
    assert now["reloads"] == {"applied": 1, "rejected": 0} and now["generation"] == 2
    assert now["reload"]["applied"] and now["reload"]["summary"] == "2 kept; 1 link changed"
    assert now["reload"]["link"] == "knock"
    assert "changed the link 'knock' " in one.ctl("status").stdout
    # A name that is none, and what cannot be read, are no changes that were rejected.
    assert one.ctl("set", "announc", "emitValue=x", check=False).returncode == 1
    assert one.ctl("attach", "knack", "{ attach: [", check=False).returncode == 1
    assert status(one)["reloads"] == {"applied": 1, "rejected": 0} and status(one)["reload"]["applied"]
    one.ctl("attach", "knack", "{ attach: dor, toSystem: bell, onState: Open, emitEvent: Ring }", check=False)
    one.wait_log("change of a link rejected: 1 error in the configuration; nothing was changed")
    assert one.wait_status(lambda text: text.startswith("change of a link rejected: 1 error"))
    now = status(one)
    assert now["reloads"] == {"applied": 1, "rejected": 1} and now["generation"] == 2
    assert not now["reload"]["applied"]
    one.ctl("reload")
    now = status(one)
    assert now["reloads"] == {"applied": 2, "rejected": 1} and "link" not in now["reload"]
    assert "since the start 2 reloads and link changes applied, 1 rejected" in one.ctl("status").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attach", "x", "{ attach: dor, toSystem: bell, onState: Open, emitEvent: Ring }"), "did you mean 'door'?"),
        (("attach", "x", "{ attach: door, to: vistor, onState: Open, emitValue: a }"), "did you mean 'visitor'?"),
        (("attach", "x", "{ attach: door, toSystem: bell, onState: Opne, emitEvent: Ring }"), "did you mean 'Open'?"),
        (("attach", "x", "{ attach: door, toSystem: bell, onState: Open, emitEvnt: Ring }"), "'emitEvent'"),
        (("attach", "x", "{ attach: door"), "<control x>:1:"),
        (("attach", "x", "[door]"), "a link must be a mapping, not a list"),
        (("attach", "x", "a: 1\n---\nb: 2"), "not several documents"),
        (("attach", "no name", "{}"), "cannot name a link"),
        (("attach", "ring", SYSTEM_TO_SYSTEM), "there is another link 'ring' already"),
        (("attach", "rnig"), "there is no link 'rnig' that was detached"),
        (("detach", "rign"), "there is no link 'rign'; did you mean 'ring'?"),
        (("set", "anounce", "when=true"), "there is no link 'anounce'; did you mean 'announce'?"),
        (("set", "announce", "wehn=true"), "did you mean 'when'?"),
        (("set", "announce", "when="), "there is no 'when' here that could be removed"),
        (("set", "announce", "when=state.tmies > 1"), "did you mean 'times'?"),
        (("set", "announce", "a..b=1"), "'a..b' is no key"),
        (("set", "announce", "emitValue=[1"), "<control announce>:1:"),
    ],
)
def test_what_is_wrong_changes_nothing(one: Daemon, arguments: tuple[str, ...], message: str) -> None:
    text = refused(one, *arguments)
    assert message in text, text
    if not text.startswith("mediatorctl:"):
        text = refused(one, *arguments, "--dry-run")
        assert message in text and "it would be rejected: " in text


def test_diagnostics_have_the_members_of_those_of_a_check(one: Daemon) -> None:
    broken = WIRING.replace("onState: Open", "onState: Opne").replace("onValue: boss", "onValue: 7")
    (one.config / "wiring.yaml").write_text(broken)
    checked = json.loads(one.ctl("validate", str(one.config), "--json", check=False).stdout)["diagnostics"]
    assert len(checked) == 2
    for verb in ("plan", "reload"):
        reply = json.loads(one.ctl(verb, "--json", check=False).stdout)
        assert [{**diagnostic, "location": 0, "text": 0} for diagnostic in checked] == [
            {**diagnostic, "location": 0, "text": 0} for diagnostic in reply["diagnostics"]
        ]
        assert reply["diagnostics"][0]["location"].endswith("wiring.yaml:6:51")
    back = "{ attach: bell, toSystem: door, onState: Silent, emitEvent: { Push: { by: bell } } }"
    (diagnostic,) = json.loads(one.ctl("attach", "back", back, "--json", check=False).stdout)["diagnostics"]
    # Each hop is a note.
    assert (diagnostic["file"], diagnostic["line"], diagnostic["column"]) == (str(one.config / "wiring.yaml"), 6, 3)
    assert {"file": "<control back>", "line": 2, "column": 3} in [
        {key: note[key] for key in ("file", "line", "column")} for note in diagnostic["notes"]
    ]


def test_what_cannot_be_written_down_is_told(one: Daemon) -> None:
    for arguments in (["status"], ["show", "bell", "--json"], ["validate", str(one.config)], ["schema"], ["--help"], ["eval", "1"]):
        with open("/dev/full", "w") as full:
            command = [one.binaries.mediatorctl, *arguments]
            result = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, env=one.client_environment, timeout=WAIT
            )
        assert result.returncode == 74, (arguments, result)
        assert "standard output cannot be written: No space left on device" in result.stderr
    # Who reads no more wanted no more.
    command = f"{one.binaries.mediatorctl} schema | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=WAIT).returncode == 0


def test_a_loop_is_refused_hop_by_hop(one: Daemon) -> None:
    back = "{ attach: bell, toSystem: door, onState: Silent, emitEvent: { Push: { by: bell } } }"
    text = refused(one, "attach", "back", back)
    assert "the links 'announce', 'ring' and 'back' can set each other off without end [loop]" in text
    assert "<control back>:2:3: 'bell' is 'Silent': 'back' sends 'Push' to 'door'" in text
    assert "wiring.yaml:7:3: the bus 'visitor' has a value: 'ring' sends 'Ring' to 'bell'" in text
    # With a limit it is allowed, until that is taken away.
    one.ctl("attach", "back", back[:-1] + ", loop: { limit: 10 per 1s } }")
    assert "10 per 1s" in refused(one, "set", "back", "loop.limit=often")
    text = refused(one, "set", "back", "loop.limit=0 per 1s")
    assert "[out-of-range]" in text and "[loop]" not in text and "1 error in the configuration" in text
    assert "[loop]" in refused(one, "set", "back", "loop=")


def test_a_dry_run_tells_and_does_nothing(one: Daemon) -> None:
    result = one.ctl("attach", "knock", SYSTEM_TO_SYSTEM, "--dry-run", "--persist")
    assert "link 'knock' would be attached: 2 kept; 1 link changed" in result.stdout
    assert f"written would be {one.config}/{OWN}:" in result.stdout
    assert "      toSystem: bell" in result.stdout
    plan = json.loads(one.ctl("detach", "ring", "--dry-run", "--json").stdout)
    assert plan["valid"] and not plan["applied"]
    assert [(step["name"], step["action"]) for step in plan["steps"]] == [("ring", "remove")]
    plan = json.loads(one.ctl("detach", "ring", "--dry-run", "--json", "--all").stdout)
    assert {step["action"] for step in plan["steps"]} == {"keep", "remove"}
    assert sorted(links(one)) == ["announce", "ring"]
    assert files(one) == CONFIGURATION
    assert status(one)["generation"] == 1 and status(one)["reloads"] == {"applied": 0, "rejected": 0}


def test_a_definition_comes_from_options_and_standard_input(one: Daemon) -> None:
    one.ctl("attach", "a", "--system", "door", "--to-system", "bell", "--on-state", "Open", "--emit-event", "Ring")
    one.ctl("attach", "b", "--system", "bell", "--to", "visitor", "--when", 'value == "a: b"', "--emit-event", "Ring")
    assert json.loads(one.ctl("show", "b", "--json").stdout)["link"]["condition"] == 'value == "a: b"'
    one.ctl("attach", "c", "-", input="attach: door\nto: visitor\nonState: Closed\nemitValue: nobody\n")
    text = '{"attach": "bell", "to": "orders", "when": "value > 3", "emitEvent": {"Ring": {}}}'
    one.ctl("attach", "link:d", text)
    assert sorted(links(one)) == ["a", "announce", "b", "c", "d", "ring"]
    # The same again is no change, and no error.
    assert "3 kept" not in one.ctl("attach", "d", text).stdout
    assert status(one)["transient"] == 4


def test_a_condition_is_an_expression_as_it_is(one: Daemon) -> None:
    for expression in ('state.by == "a: b"', '"x" == state.by', "state.by in ['#', \"it's\"] // why"):
        one.ctl("set", "announce", f"when={expression}")
        assert json.loads(one.ctl("show", "announce", "--json").stdout)["link"]["condition"] == expression
    one.ctl("set", "announce", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    one.ctl("set", "announce", "when=", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout


def test_warnings_can_be_denied(daemon: Callable[..., Daemon]) -> None:
    quiet = {"bell.yaml": BELL, "door.yaml": DOOR, "wiring.yaml": WIRING}
    one = daemon(quiet, arguments=["--deny-warnings"])
    # A bus that nobody writes any longer would be a warning.
    lonely = WIRING.replace("initial: nobody, fromOutside: both", "initial: nobody")
    (one.config / "wiring.yaml").write_text(lonely)
    one.ctl("reload")
    text = refused(one, "detach", "announce")
    assert "warning" in text and "warnings are denied" in text
    assert one.stop() == 0
    other = daemon({**quiet, "wiring.yaml": lonely.replace("announce:", "announce2:").replace("ring:", "#ring:")},
                   ready=False, arguments=["--deny-warnings"])
    assert other.wait_exit() == 1
    assert "denied-warnings" in other.log


def test_without_a_daemon_the_exit_code_is_its_own(binaries: Binaries, tmp_path: Path) -> None:
    for arguments in (["reload"], ["attach", "x", "{}"], ["detach", "x"], ["set", "x", "a=b"], ["cat-config", "--running"]):
        result = subprocess.run(
            [binaries.mediatorctl, *arguments, "--socket", tmp_path / "nobody"], capture_output=True, text=True
        )
        assert result.returncode == 69, result


def test_a_check_by_the_daemon_denies_warnings_and_says_when_it_cannot_answer(
    binaries: Binaries, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("system: a\nstates: { A: {}, B: {} }\nevents: {}\ninitialState: A\n")

    def check(*arguments: str, **options: object) -> int:
        command = [binaries.mediatord, "--validate", "--config", tmp_path, *arguments]
        return subprocess.run(command, timeout=WAIT, **({"capture_output": True} | options)).returncode

    assert check() == 0
    assert check("--deny-warnings") == 1
    with open("/dev/full", "w") as full:
        assert check(capture_output=False, stdout=full, stderr=subprocess.DEVNULL) == 5


def unchanged(one: Daemon, *arguments: str) -> str:
    """What is printed of a change that changes nothing, which is told and no failure."""
    before = (links(one), files(one), status(one)["generation"], status(one)["reloads"])
    text = one.ctl(*arguments).stdout
    assert text.startswith("nothing has changed: ")
    assert one.ctl(*arguments, "--dry-run").stdout == text.replace("has changed", "would change")
    reply = json.loads(one.ctl(*arguments, "--json").stdout)
    assert reply["applied"] and not reply["changed"] and f"nothing has changed: {reply['summary']}\n" == text
    assert (links(one), files(one), status(one)["generation"], status(one)["reloads"]) == before
    return text.removeprefix("nothing has changed: ")


def test_what_changes_nothing_is_told(one: Daemon) -> None:
    assert unchanged(one, "set", "ring", "onValue=boss") == "link 'ring' is so already\n"
    assert unchanged(one, "attach", "ring") == "link 'ring' is there already\n"
    assert "nothing is changed that is in no file" in unchanged(one, "set", "ring", "--persist")
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    assert unchanged(one, "attach", "knock", SYSTEM_TO_SYSTEM) == "link 'knock' is there already\n"
    one.ctl("detach", "ring")
    assert unchanged(one, "detach", "ring") == "link 'ring' was detached already\n"
    # That it is to be so for good is a change.
    assert f"written: {one.config}/wiring.yaml.d/{OWN}" in one.ctl("detach", "ring", "--persist").stdout
    assert unchanged(one, "detach", "ring", "--persist") == "link 'ring' was detached already\n"


ECHO = """\
system: caller
states: { Quiet: {}, Calling: {} }
events: { Call: {}, Hear: {} }
fromOutside: [Call]
initialState: Quiet
transitions: { Quiet: { Call: Calling, Hear: Calling }, Calling: { Call: stay, Hear: Quiet } }
---
system: wall
states: { Still: {} }
events: { Sound: {} }
initialState: Still
transitions: { Still: { Sound: { to: Still } } }
---
links:
  call: { attach: caller, toSystem: wall, onState: any, emitEvent: Sound }
  echo: { attach: wall, toSystem: caller, onState: Still, emitEvent: Hear, loop: { limit: 3 per 1h, hops: 100 } }
"""


def test_a_link_that_is_held_back_tells_its_limit_and_why(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"echo.yaml": ECHO})
    one.ctl("emit", "caller", "Call")

    def shown() -> dict[str, object]:
        return json.loads(one.ctl("show", "link:echo", "--json").stdout)["link"]

    eventually(lambda: shown()["summary"]["open"])
    link = shown()
    assert (link["limit"], link["hops"]) == ("3 per 1h", 100)
    assert link["openBecause"] == "it would fire more often than 3 per 1h"
    text = one.ctl("show", "link:echo").stdout
    assert "  limit       3 per 1h and a value may cross 100 links at most\n" in text, text
    assert re.search(r"  held back   \d times?, and still is, since it would fire more often than 3 per 1h\n", text), text
    assert "limit" not in one.ctl("show", "link:call").stdout
