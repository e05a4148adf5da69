"""Links that are attached, detached and changed while the daemon runs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from test_documentation import eventually
from varlink_socket import VarlinkSocket

DOOR = """\
system: door
states: { Closed: { times: int }, Open: { by: string, times: int } }
events: { Push: { by: string }, Shut: {} }
fromOutside: any
initialState: { Closed: { times: 0 } }
transitions:
  Closed:
    Push: { to: Open, set: { by: "${event.by}", times: "${state.times + 1}" } }
  Open:
    Push: { to: Open, set: { by: "${event.by}", times: "${state.times + 1}" } }
    Shut: Closed
"""

BELL = """\
system: bell
states: { Silent: { rung: int } }
events: { Ring: {} }
fromOutside: any
initialState: { Silent: { rung: 0 } }
transitions: { Silent: { Ring: { to: Silent, set: { rung: "${state.rung + 1}" } } } }
"""

WIRING = """\
buses:
  visitor: { kind: currentValue, value: string, initial: nobody, fromOutside: both }
  orders: { kind: passthrough, value: int, fromOutside: both }
links:
  # The comment of an administrator.
  announce: { attach: door, to: visitor, onState: Open, emitValue: "${state.by}" }
  ring: { attach: bell, to: visitor, onValue: boss, emitEvent: Ring }
"""

CONFIGURATION = {"door.yaml": DOOR, "bell.yaml": BELL, "wiring.yaml": WIRING}

OWN = "90-mediatorctl.yaml"

SYSTEM_TO_SYSTEM = "{ attach: door, toSystem: bell, onState: Open, emitEvent: Ring }"


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def links(one: Daemon) -> dict[str, dict]:
    return {link["name"]: link for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]}


def status(one: Daemon) -> dict:
    return json.loads(one.ctl("status", "--json", check=False).stdout)


def files(one: Daemon) -> dict[str, str]:
    return {
        str(path.relative_to(one.config)): path.read_text() for path in sorted(one.config.rglob("*")) if path.is_file()
    }


def state(one: Daemon, name: str) -> dict:
    (system,) = (system for system in status(one)["systems"] if system["name"] == name)
    return system["state"]["data"]


def refused(one: Daemon, *arguments: str, input: str | None = None) -> str:
    """What is printed of a change that is rejected, after a look that it changed nothing."""
    before = (links(one), files(one), status(one)["generation"], status(one)["transient"])
    result = one.ctl(*arguments, check=False, input=input)
    assert result.returncode == 1, result
    assert (links(one), files(one), status(one)["generation"], status(one)["transient"]) == before
    return result.stdout + result.stderr


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
    assert one.notify.wait_for(lambda d: d.get("RELOADING") == "1", 10.0)
    assert one.notify.wait_for(lambda d: d.get("READY") == "1" and "2 systems" in d.get("STATUS", ""), 10.0)
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
    assert "since the start 2 changes applied, 1 rejected" in one.ctl("status").stdout


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
                command, stdout=full, stderr=subprocess.PIPE, text=True, env=one.client_environment, timeout=20
            )
        assert result.returncode == 74, (arguments, result)
        assert "standard output cannot be written: No space left on device" in result.stderr
    # Who reads no more wanted no more.
    command = f"{one.binaries.mediatorctl} schema | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=20).returncode == 0


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


def test_what_else_is_on_disk_by_now_does_not_slip_in(one: Daemon) -> None:
    (one.config / "bell.yaml").write_text(BELL.replace("rung: 0", "rung: 100"))
    (one.config / "wiring.yaml").write_text(WIRING.replace("onValue: boss", "onValue: chief"))
    (one.config / "more.yaml").write_text("system: more\nstates: { A: {} }\ninitialState: A\n")
    (one.config / "broken.yaml").write_text("system: [")
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.ctl("set", "ring", "onValue=queen")
    assert sorted(system["name"] for system in status(one)["systems"]) == ["bell", "door"]
    assert state(one, "bell") == {"rung": 0}
    # What runs is shown as it was read.
    shown = one.ctl("cat-config", "--running").stdout
    assert "chief" not in shown and "more" not in shown
    assert "onValue: queen" in shown and "# <control ring>:3" in shown
    assert "# <control knock>" in shown
    assert one.ctl("cat-config", "--running", "knock", "ring").stdout.count("attach:") == 2
    assert one.ctl("reload", check=False).returncode == 1
    (one.config / "broken.yaml").unlink()
    plan = one.ctl("plan").stdout
    assert "2 changes that are in no file stay in force, of knock, ring" in plan
    assert "2 transient changes in force" in one.ctl("reload").stdout
    assert sorted(system["name"] for system in status(one)["systems"]) == ["bell", "door", "more"]
    assert json.loads(one.ctl("show", "ring", "--json").stdout)["link"]["condition"] == "onValue: queen"


def test_a_reload_keeps_or_drops_what_is_in_no_file(one: Daemon) -> None:
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.ctl("detach", "ring")
    one.ctl("set", "announce", "when=state.times > 5")
    reply = json.loads(one.ctl("reload", "--json").stdout)
    assert reply["transient"] == ["announce", "knock", "ring"]
    assert reply["summary"] == "2 kept; 3 transient changes in force"
    assert sorted(links(one)) == ["announce", "knock"]
    plan = json.loads(one.ctl("plan", "--drop-transient", "--json").stdout)
    actions = {step["name"]: step["action"] for step in plan["steps"] if step["kind"] == "link"}
    assert actions == {"announce": "change", "knock": "remove", "ring": "add"}
    reply = json.loads(one.ctl("reload", "--drop-transient", "--json").stdout)
    assert reply["transient"] == [] and {
        step["name"]: step["action"] for step in reply["steps"] if step["kind"] == "link"
    } == actions
    assert {link["origin"] for link in links(one).values()} == {"written"}
    assert sorted(links(one)) == ["announce", "ring"]
    one.wait_log("forgot the changes of a link")


def test_a_signal_keeps_what_is_in_no_file(one: Daemon) -> None:
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    one.signal(signal.SIGHUP)
    one.wait_log("reloaded: 2 kept; 1 transient change in force")
    assert links(one)["knock"]["origin"] == "attached"


def test_a_condition_is_an_expression_as_it_is(one: Daemon) -> None:
    for expression in ('state.by == "a: b"', '"x" == state.by', "state.by in ['#', \"it's\"] // why"):
        one.ctl("set", "announce", f"when={expression}")
        assert json.loads(one.ctl("show", "announce", "--json").stdout)["link"]["condition"] == expression
    one.ctl("set", "announce", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    one.ctl("set", "announce", "when=", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout


def test_a_change_of_a_link_that_is_written_no_longer_is_forgotten(one: Daemon) -> None:
    one.ctl("set", "announce", "emitValue=x")
    one.ctl("detach", "ring")
    (one.config / "wiring.yaml").write_text(WIRING.split("links:")[0])
    result = one.ctl("reload")
    assert "there is no link 'announce' any longer that this change could change [unused-drop-in]" in result.stdout
    assert links(one) == {} and status(one)["transient"] == 0
    (one.config / "wiring.yaml").write_text(WIRING)
    one.ctl("reload")
    assert sorted(links(one)) == ["announce", "ring"]


PERSISTED = [
    (("attach", "knock", SYSTEM_TO_SYSTEM), OWN),
    (("detach", "ring"), f"wiring.yaml.d/{OWN}"),
    (("set", "announce", "when=state.times > 1", 'emitValue="guest: ${state.by}"'), f"wiring.yaml.d/{OWN}"),
]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(("arguments", "written"), PERSISTED)
def test_what_is_persisted_is_what_runs(
    daemon: Callable[..., Daemon], arguments: tuple[str, ...], written: str, later: bool
) -> None:
    one = daemon(CONFIGURATION)
    if later:
        one.ctl(*arguments)
        assert status(one)["transient"] == 1
    result = one.ctl(*arguments[:2], "--persist") if later and arguments[0] == "set" else one.ctl(*arguments, "--persist")
    assert f"written: {one.config}/{written}" in result.stdout
    assert status(one)["transient"] == 0
    now = files(one)
    assert {name: text for name, text in now.items() if name != written} == CONFIGURATION
    assert now[written].startswith("# Written by mediatorctl")
    assert f"{arguments[0]} {arguments[1]}, asked for by user {os.getuid()} at 20" in now[written]
    assert "nothing to do" in one.ctl("plan").stdout
    assert json.loads(one.ctl("reload", "--json").stdout)["steps"] == []
    before = {name: {**link, "fired": 0, "lastFired": None} for name, link in links(one).items()}
    assert one.ctl("validate", str(one.config), "--quiet").stdout == ""
    # And so it is after a new start.
    other = daemon({name: text for name, text in files(one).items()})
    assert {name: {**link, "fired": 0, "lastFired": None} for name, link in links(other).items()} == before
    assert not list(one.config.rglob(".*"))


def test_one_file_takes_many_changes(one: Daemon) -> None:
    for number in range(5):
        one.ctl("attach", f"knock{number}", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("set", "knock3", "onState={ Open: { by: boss } }", "--persist")
    one.ctl("detach", "knock1", "--persist")
    one.ctl("set", "announce", "when=state.times > 1", "--persist")
    one.ctl("set", "announce", "emitValue=a", "--persist")
    one.ctl("set", "announce", "when=", "--persist")
    one.ctl("detach", "ring", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    assert status(one)["transient"] == 0
    text = (one.config / OWN).read_text()
    assert [line.strip(" :") for line in text.splitlines() if line.startswith("  k")] == [
        "knock0", "knock2", "knock3", "knock4",
    ]
    drop_in = (one.config / "wiring.yaml.d" / OWN).read_text()
    assert drop_in.endswith("links:\n  announce:\n    emitValue: a\n  ring: null\n")
    one.ctl("attach", "ring", "{ attach: bell, to: visitor, onValue: boss, emitEvent: Ring }", "--persist")
    assert "nothing to do" in one.ctl("plan").stdout
    assert (one.config / "wiring.yaml").read_text() == WIRING
    assert stat.S_IMODE((one.config / OWN).stat().st_mode) == 0o644


def test_what_cannot_be_written_is_not_done(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    # A file in the way of the directory; unlike rights, root does not pass it.
    (one.config / "wiring.yaml.d").write_text("in the way")
    text = refused(one, "detach", "ring", "--persist")
    assert "cannot be written, so nothing has changed" in text and "leave out --persist" in text, text
    # It is no matter of rights.
    assert "ReadWritePaths=" not in text
    (one.config / OWN).mkdir()
    assert OWN in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    (one.config / OWN).rmdir()
    # Nor is what somebody else has written.
    (one.config / OWN).write_text("links: {}\n")
    assert "changed since the last reload" in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("reload")
    assert "somebody else has written it" in refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)


def test_a_drop_in_that_would_win_is_told(daemon: Callable[..., Daemon]) -> None:
    late = {"wiring.yaml.d/95-local.yaml": "links: { announce: { emitValue: late } }\n"}
    one = daemon({**CONFIGURATION, **late})
    text = refused(one, "set", "announce", "emitValue=mine", "--persist")
    assert f"'{one.config}/wiring.yaml.d/95-local.yaml' is read later, and says otherwise of 'announce'" in text
    assert f"Change the link in '{one.config}/wiring.yaml.d/95-local.yaml'" in text
    with VarlinkSocket(one.socket) as connection:
        settings = [{"key": "emitValue", "value": "mine"}]
        connection.call("io.mediatord.Control.SetLink", {"link": "announce", "settings": settings, "persist": True})
        assert connection.reply()["parameters"]["winner"] == f"{one.config}/wiring.yaml.d/95-local.yaml"
    one.ctl("set", "announce", "emitValue=mine")
    one.ctl("emit", "door", "Push", "by=ann")
    assert json.loads(one.ctl("show", "visitor", "--json").stdout)["bus"]["summary"]["value"] == "mine"


def test_a_drop_in_that_is_gone_is_no_reason(daemon: Callable[..., Daemon]) -> None:
    late = {"wiring.yaml.d/95-local.yaml": "links: { announce: { emitValue: late } }\n"}
    one = daemon({**CONFIGURATION, **late})
    drop_in = one.config / "wiring.yaml.d" / "95-local.yaml"
    drop_in.rename(drop_in.with_name("96-local.yaml"))
    text = refused(one, "set", "announce", "emitValue=mine", "--persist")
    assert f"'{drop_in}' is not there any longer; reload first" in text and "read later" not in text
    drop_in.with_name("96-local.yaml").unlink()
    one.ctl("reload")
    one.ctl("set", "announce", "emitValue=mine", "--persist")


def test_links_of_templates_are_changed_all_at_once(daemon: Callable[..., Daemon]) -> None:
    template = """\
system: lamp@
parameters: { start: { type: int, default: 0 } }
states: { Off: { n: int } }
events: { Press: {} }
fromOutside: any
initialState: { Off: { n: "${parameters.start}" } }
transitions: { Off: { Press: { to: Off, set: { n: "${state.n + 1}" } } } }
---
instances: { lamp@a: {}, lamp@b: {} }
buses: { all: { kind: passthrough, value: string, fromOutside: both } }
links: { press: { attach: lamp@*, to: all, when: value == instance, emitEvent: Press } }
"""
    one = daemon({"lamp.yaml": template})
    text = refused(one, "detach", "press@a")
    assert "All of them are changed at once, as 'press'" in text
    one.ctl("set", "press", "when=value == 'both'")
    assert {name: link["origin"] for name, link in links(one).items()} == {"press@a": "changed", "press@b": "changed"}
    one.ctl("publish", "all", "both")
    assert [state(one, f"lamp@{name}") for name in "ab"] == [{"n": 1}, {"n": 1}]
    one.ctl("detach", "press", "--persist")
    assert links(one) == {} and "nothing to do" in one.ctl("plan").stdout


TALLY = """\
system: tally
states: { Next: { number: int } }
events: { Take: { number: int } }
fromOutside: any
unhandled: warn
initialState: { Next: { number: 0 } }
transitions:
  Next:
    Take: { when: event.number == state.number, to: Next, set: { number: "${state.number + 1}" } }
"""


def test_traffic_goes_on_while_links_come_and_go(daemon: Callable[..., Daemon]) -> None:
    """A link that stays loses nothing, doubles nothing, and keeps the order, whatever is changed beside it."""
    one = daemon({**CONFIGURATION, "tally.yaml": TALLY})
    one.ctl("attach", "count", '{ attach: tally, to: orders, emitEvent: { Take: { number: "${value}" } } }')
    total = 3000
    failures: list[str] = []

    def publish() -> None:
        with VarlinkSocket(one.socket) as busy:
            for number in range(total):
                busy.call("io.mediatord.Control.Publish", {"bus": "orders", "value": number})
                reply = busy.reply()
                if reply is None or "error" in reply:
                    failures.append(str(reply))

    publisher = threading.Thread(target=publish)
    publisher.start()
    rounds = 0
    with VarlinkSocket(one.socket, timeout=30.0) as steering:
        while publisher.is_alive() or rounds < 5:
            link = f"beside{rounds % 3}"
            definition = "{ attach: door, to: orders, when: value < 0, emitEvent: Shut }"
            for method, parameters in [
                ("AttachLink", {"link": link, "definition": definition, "settings": []}),
                ("SetLink", {"link": link, "settings": [{"key": "when", "value": f"value < -{rounds + 1}"}]}),
                ("DetachLink", {"link": link}),
            ]:
                steering.call(f"io.mediatord.Control.{method}", parameters)
                reply = steering.reply()
                assert reply is not None and reply["parameters"].get("applied"), reply
            rounds += 1
    publisher.join()
    assert failures == []
    assert rounds >= 5
    # Only who gets each number once and in its turn comes to the last; ask until it has, or nothing more comes.
    for _ in range(200):
        if state(one, "tally")["number"] == total:
            break
    assert state(one, "tally") == {"number": total}
    assert links(one)["count"]["fired"] == total
    now = {system["name"]: system["counters"] for system in status(one)["systems"]}
    assert now["tally"]["unhandled"] == 0 and now["tally"]["dropped"] == 0 and now["door"]["events"] == 0


def test_changes_and_reloads_at_once_are_done_one_after_the_other(one: Daemon) -> None:
    workers = 4
    each = 10
    applied: list[int] = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        with VarlinkSocket(one.socket, timeout=60.0) as connection:
            for number in range(each):
                link = f"w{seed}-{number}"
                kind = chance.choice(["attach", "reload", "detach"])
                if kind == "reload":
                    connection.call("io.mediatord.Control.Reload", {})
                else:
                    connection.call(
                        "io.mediatord.Control.AttachLink",
                        {"link": link, "definition": SYSTEM_TO_SYSTEM, "settings": []},
                    )
                replies = [connection.reply()]
                if kind == "detach":
                    connection.call("io.mediatord.Control.DetachLink", {"link": link})
                    replies.append(connection.reply())
                for reply in replies:
                    assert reply is not None and reply["parameters"]["applied"], reply
                    with lock:
                        applied.append(reply["parameters"]["generation"])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each has a generation of its own, and none is left out.
    assert sorted(applied) == list(range(2, len(applied) + 2))
    now = status(one)
    assert now["generation"] == len(applied) + 1
    assert now["reloads"] == {"applied": len(applied), "rejected": 0}
    attached = {name for name, link in links(one).items() if link["origin"] == "attached"}
    assert len(attached) == now["transient"]


def test_who_looks_while_a_reload_waits_sees_one_configuration(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION, arguments=["--ready-limit", "600"])
    one.ctl("detach", "ring")
    slow = "system: slow\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: any\ninitialState: A\n"
    (one.config / "slow.yaml").write_text(slow + "ready: B\ntransitions: { A: { Go: B } }\n")
    with VarlinkSocket(one.socket, timeout=60.0) as reloading:
        reloading.call("io.mediatord.Control.Reload", {"dropTransient": True})
        while "slow" not in {system["name"] for system in status(one)["systems"]}:
            pass
        # It has taken the place of the other, with all that belongs to it, though it is not ready.
        now = status(one)
        assert now["generation"] == 3 and now["transient"] == 0
        assert links(one)["ring"]["origin"] == "written"
        assert "system: slow" in one.ctl("cat-config", "--running").stdout
        with VarlinkSocket(one.socket, timeout=60.0) as looking:
            looking.call("io.mediatord.Control.ListChanges", {})
            reply = looking.reply()
            assert reply is not None and reply["parameters"] == {"changes": []}
            looking.call("io.mediatord.Control.Plan", {"all": True})
            reply = looking.reply()
            assert reply is not None and {step["action"] for step in reply["parameters"]["steps"]} == {"keep"}
        # Who goes before it is their turn has nothing done.
        for method, parameters in [
            ("AttachLink", {"link": "late", "definition": SYSTEM_TO_SYSTEM, "settings": []}),
            ("Reload", {}),
        ]:
            with VarlinkSocket(one.socket, timeout=60.0) as leaving:
                leaving.call(f"io.mediatord.Control.{method}", parameters)
        one.ctl("emit", "slow", "Go")
        reply = reloading.reply()
        assert reply is not None and reply["parameters"]["applied"], reply
    assert "count=2" in one.wait_log("were not done: their callers have gone")
    assert "late" not in links(one) and status(one)["generation"] == 3


def test_the_number_of_changes_is_bounded(one: Daemon) -> None:
    limit = 1000
    with VarlinkSocket(one.socket, timeout=60.0) as connection:
        # Many at once would take as many reloads; one that is changed counts once.
        for number in range(3):
            for _ in range(2):
                connection.call(
                    "io.mediatord.Control.AttachLink",
                    {"link": f"n{number}", "definition": SYSTEM_TO_SYSTEM, "settings": []},
                )
                reply = connection.reply()
                assert reply is not None and len(reply["parameters"]["transient"]) == number + 1 <= limit
        connection.call(
            "io.mediatord.Control.AttachLink",
            {"link": "big", "definition": "{ attach: door, emitValue: '" + "x" * 900_000 + "' }", "settings": []},
        )
        reply = connection.reply()
        assert reply is not None and not reply["parameters"]["applied"]


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


def test_what_was_edited_meanwhile_is_not_persisted_upon(one: Daemon) -> None:
    wiring = one.config / "wiring.yaml"
    edited = WIRING.replace("  ring: {", "  bell-rings: {")
    wiring.write_text(edited)
    refused = one.ctl("set", "ring", "onValue=stranger", "--persist", check=False)
    assert refused.returncode == 1
    assert f"'{wiring}' has been changed since the last reload; reload first" in refused.stderr
    assert sorted(path.name for path in one.config.iterdir()) == ["bell.yaml", "door.yaml", "wiring.yaml"]
    assert wiring.read_text() == edited
    # What lies in no file can be changed all the same.
    one.ctl("set", "ring", "onValue=stranger")


def test_a_name_that_a_file_has_taken_meanwhile_is_not_persisted(one: Daemon) -> None:
    (one.config / "later.yaml").write_text(f"links: {{ knock: {SYSTEM_TO_SYSTEM} }}\n")
    message = refused(one, "attach", "knock", SYSTEM_TO_SYSTEM, "--persist")
    assert "later.yaml' has a link 'knock' since the last reload; reload, or give this one another name" in message
    assert "knock" not in links(one) and OWN not in files(one)
    # For the time being it can be had.
    one.ctl("attach", "knock", SYSTEM_TO_SYSTEM)
    assert links(one)["knock"]["origin"] == "attached"


def test_what_is_persisted_may_be_read_by_whom_the_file_may(one: Daemon) -> None:
    (one.config / "wiring.yaml").chmod(0o640)
    one.ctl("set", "ring", "onValue=stranger", "--persist")
    drop_in = one.config / "wiring.yaml.d" / OWN
    assert stat.S_IMODE(drop_in.stat().st_mode) == 0o640
    drop_in.chmod(0o600)
    one.ctl("set", "ring", "onValue=friend", "--persist")
    assert stat.S_IMODE(drop_in.stat().st_mode) == 0o600


def test_an_empty_file_of_ours_is_none(one: Daemon) -> None:
    (one.config / OWN).touch()
    one.ctl("attach", "visit", SYSTEM_TO_SYSTEM, "--persist")
    assert "visit" in (one.config / OWN).read_text()


def test_a_mask_of_our_file_is_told(one: Daemon) -> None:
    (one.config / OWN).symlink_to("/dev/null")
    refused = one.ctl("attach", "visit", SYSTEM_TO_SYSTEM, "--persist", check=False)
    assert refused.returncode == 1 and "symbolic link" in refused.stderr
    assert (one.config / OWN).is_symlink()


def test_a_moot_change_is_no_warning_that_is_denied(daemon: Callable[..., Daemon]) -> None:
    wiring = WIRING.replace("\nlinks:", "\nlinks:\n  show: { attach: bell, to: visitor, onValue: nobody, emitEvent: Ring }")
    one = daemon(CONFIGURATION | {"wiring.yaml": wiring}, arguments=["--deny-warnings"])
    one.ctl("set", "show", "onValue=friend")
    (one.config / "wiring.yaml").write_text(WIRING)
    assert one.ctl("reload", check=False).returncode == 0
    one.wait_log("forgot the changes of a link")


def test_a_check_by_the_daemon_denies_warnings_and_says_when_it_cannot_answer(
    binaries: Binaries, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("system: a\nstates: { A: {}, B: {} }\nevents: {}\ninitialState: A\n")

    def check(*arguments: str, **options: object) -> int:
        command = [binaries.mediatord, "--validate", "--config", tmp_path, *arguments]
        return subprocess.run(command, timeout=20, **({"capture_output": True} | options)).returncode

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


@pytest.mark.parametrize("persisted", [False, True])
def test_what_was_detached_is_told_and_comes_back(one: Daemon, persisted: bool) -> None:
    written = files(one)
    option = ["--persist"] if persisted else []
    before = links(one)
    one.ctl("detach", "ring", *option)
    for arguments in (["onValue=x"], ["onValue=x", "--persist"], ["--persist"]):
        text = refused(one, "set", "ring", *arguments)
        assert "the link 'ring' was detached" in text and "`mediatorctl attach ring` brings it back" in text
    assert "did you mean 'ring'?" in refused(one, "attach", "rign")
    one.ctl("attach", "ring")
    assert {name: link["description"] for name, link in links(one).items()} == {
        name: link["description"] for name, link in before.items()
    }
    if not persisted:
        assert files(one) == written and status(one)["transient"] == 0
        return
    # The file still says otherwise, until that is taken back for good.
    assert f"wiring.yaml.d/{OWN}" in files(one) and links(one)["ring"]["origin"] == "attached"
    one.ctl("detach", "ring")
    assert status(one)["transient"] == 0 and "ring" not in links(one)
    assert "removed would be" in one.ctl("attach", "ring", "--persist", "--dry-run").stdout
    reply = json.loads(one.ctl("attach", "ring", "--persist", "--json").stdout)
    assert reply["file"] == {"path": f"{one.config}/wiring.yaml.d/{OWN}", "text": "", "removed": True}
    assert files(one) == written and not (one.config / "wiring.yaml.d").exists()
    assert status(one)["transient"] == 0 and links(one)["ring"]["origin"] == "written"
    assert "nothing to do" in one.ctl("plan").stdout


def test_an_emptied_loop_goes_and_a_key_is_set_once(one: Daemon) -> None:
    one.ctl("set", "ring", "loop.limit=10 per 1s", "--persist")
    one.ctl("set", "ring", "loop.limit=", "--persist")
    assert files(one) == CONFIGURATION
    result = one.ctl("set", "ring", "onValue=a", "onValue=b", check=False)
    assert result.returncode == 2 and "'onValue' is set twice" in result.stderr


INSTANCES = """\
system: uplink@
states: { Up: {}, Down: {} }
events: { Fail: {} }
fromOutside: any
initialState: Up
transitions: { Up: { Fail: Down }, Down: { Fail: stay } }
---
instances: { uplink@eth0: {}, uplink@wwan0: {} }
buses: { "quality@*": { for: uplink@*, kind: currentValue, value: string, initial: good, fromOutside: both } }
links: { note: { attach: uplink@*, to: quality@*, onState: Down, emitValue: poor } }
"""


def test_what_exists_for_each_instance_is_found_by_every_verb(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"uplink.yaml": INSTANCES})

    def told(*arguments: str) -> str:
        result = one.ctl(*arguments, check=False)
        assert result.returncode == 1 and result.stdout == "", result
        return result.stderr

    each = "there is no '{}', but one for each instance: {}\nName one of them.\n"
    links = "note@eth0, note@wwan0"
    assert told("show", "note") == "mediatorctl: " + each.format("note", links)
    assert told("show", "link:note") == "mediatorctl: " + each.format("note", links)
    systems = "uplink@eth0, uplink@wwan0"
    for name in ("uplink", "uplink@", "uplink@*"):
        assert told("emit", name, "Fail") == "mediatorctl: " + each.format(name, systems)
    assert told("tap", "uplink") == "mediatorctl: " + each.format("uplink", systems)
    assert told("publish", "quality", "x") == "mediatorctl: " + each.format("quality", "quality@eth0, quality@wwan0")
    assert "did you mean 'uplink@eth0'?" in told("emit", "uplink@eth", "Fail")
    # The text of what makes a link or bus is what is written of it.
    for running in ([], ["--running"]):
        options = running or ["--config", str(one.config)]
        for name, text, maker in [
            ("note@eth0", "note: { attach: uplink@*,", "note"),
            ("quality@wwan0", "for: uplink@*", "quality@*"),
        ]:
            shown = one.ctl("cat-config", name, *options).stdout
            assert shown.startswith(f"# '{name}' is made of '{maker}', as one for each instance of 'uplink@'\n"), shown
            assert text in shown, shown
            remarks = json.loads(one.ctl("cat-config", name, "--json", *options).stdout)["remarks"]
            assert len(remarks) == 1 and f"made of '{maker}'" in remarks[0]
    result = one.ctl("cat-config", "note@zz", "--running", check=False)
    assert result.returncode == 1 and "'note@zz'; did you mean 'note'?" in result.stderr, result


@pytest.mark.parametrize(
    ("link", "hint"),
    [
        ("{ attach: uplink@zz, to: quality@eth0, emitEvent: Fail }", "there are uplink@eth0, uplink@wwan0"),
        ("{ attach: uplink@eth1, to: quality@eth0, emitEvent: Fail }", "did you mean 'uplink@eth0'?"),
        ("{ attach: uplnk@*, to: quality@*, emitEvent: Fail }", "did you mean 'uplink@*'?"),
        ("{ attach: uplink@eth0, to: quality, emitEvent: Fail }", "there are quality@eth0, quality@wwan0"),
        ("{ attach: uplink@eth0, to: quality@zz, emitEvent: Fail }", "there are quality@eth0, quality@wwan0"),
    ],
)
def test_instances_that_there_are_are_suggested(daemon: Callable[..., Daemon], link: str, hint: str) -> None:
    one = daemon({"uplink.yaml": INSTANCES})
    text = refused(one, "attach", "x", link)
    assert f"hint: {hint}\n" in text, text


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


PUBLISHING = """\
system: meter
states: { On: {} }
events: { Tick: {} }
fromOutside: any
initialState: On
feedbacks: { tell: { onState: On, publish: { to: visitor, value: someone } } }
transitions: { On: { Tick: { to: On } } }
"""


def test_what_a_feedback_publishes_is_changed_in_its_system(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION | {"meter.yaml": PUBLISHING})
    assert "meter/tell" in links(one)
    for verb in (["detach", "meter/tell"], ["set", "meter/tell", "when=true"]):
        assert (
            "'meter/tell' is no link, but what the feedback 'tell' of the system 'meter' publishes: it is changed there, "
            f"{one.config / 'meter.yaml'}:6:" in refused(one, *verb)
        )
    shown = one.ctl("cat-config", "meter/tell", "--running", check=False)
    assert shown.returncode == 1
    assert "'meter/tell'; what a feedback publishes is written in its system, 'meter'" in shown.stderr

    def proposed(*words: str) -> list[str]:
        return [line.split("\t")[0] for line in one.ctl("complete", "--", *words).stdout.splitlines()]

    assert proposed("show", "meter") == ["meter", "meter/tell"]
    assert proposed("cat-config", "meter") == ["meter"]
    assert proposed("detach", "m") == [] and proposed("set", "m") == []
