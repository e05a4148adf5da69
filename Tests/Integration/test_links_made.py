"""Links that are made from something else: from a template for each instance, or from a feedback that publishes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from daemon import Daemon
from links import CONFIGURATION, links, refused, state
from waiting import eventually


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

    # A busy machine may need longer than the completion waits for the daemon.
    eventually(lambda: proposed("show", "meter") == ["meter", "meter/tell"])
    eventually(lambda: proposed("cat-config", "meter") == ["meter"])
    assert proposed("detach", "m") == [] and proposed("set", "m") == []
