"""Moments and input that are hard: a kill during a reload, rights that change under a watch, hostile text, odd clocks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from access import ACCESS, CONFIGURATION as RIGHTS, DENIED, connect
from conftest import CONFIGURATION
from daemon import Binaries, Daemon
from links import CONFIGURATION as LINKS, OWN
from waiting import WAIT, eventually

SYSTEM = """\
system: part-{number}
states: {{ On: {{}} }}
events: {{ Tick: {{}} }}
initialState: On
feedbacks: {{ tick: {{ onState: On, every: {every}, emit: Tick }} }}
transitions: {{ On: {{ Tick: stay }} }}
"""


def write(one: Daemon, every: str) -> None:
    for number in range(30):
        (one.config / f"{number}.yaml").write_text(SYSTEM.format(number=number, every=every))


def test_a_daemon_that_is_killed_during_a_reload_starts_again_with_what_is_written(
    daemon: Callable[..., Daemon], tmp_path: Path
) -> None:
    socket = tmp_path / "control"
    # The moments of a reload that are told outside: it was asked for, it begins, it has been logged.
    for moment, every in enumerate(["10s", "11s", "12s", "13s"]):
        one = daemon({"0.yaml": SYSTEM.format(number=0, every="1s")}, socket=socket)
        write(one, every)
        client = subprocess.Popen(
            [one.binaries.mediatorctl, "reload"], env=one.client_environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        match moment:
            case 0: pass
            case 1: assert one.notify.wait_for(lambda told: told.get("RELOADING") == "1")
            case 2: one.wait_status(lambda status: "reloading" in status)
            case 3: one.wait_log("reloaded")
        one.signal(signal.SIGKILL)
        assert one.wait_exit() == -signal.SIGKILL
        output, error = client.communicate(timeout=WAIT)
        # Whoever asked is told, or had their answer already.
        assert client.returncode in (0, 69), (output, error)
        assert client.returncode == 0 or "mediatorctl: " in error
        files = {path.name: path.read_text() for path in one.config.iterdir()}
        assert len(files) == 30
        again = daemon(files, socket=socket)
        systems = json.loads(again.ctl("list", "systems", "--json").stdout)["systems"]
        assert len(systems) == 30
        assert again.stop() == 0
        assert not socket.exists() and not Path(f"{socket}.lock").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("WatchSystem", {"name": "door"}), ("WatchBus", {"name": "alarms"}), ("Watch", {"patterns": ["door", "alarms"]}),
    ],
)
def test_a_right_that_is_taken_away_ends_a_watch_before_the_next_value(
    daemon: Callable[..., Daemon], method: str, parameters: dict[str, object]
) -> None:
    one = daemon({**RIGHTS, "access.yaml": ACCESS})
    one.directory.chmod(0o755)
    with connect(one, "reader by a supplementary group") as watcher:
        watcher.call(f"io.mediatord.Control.{method}", parameters, more=True)
        assert "parameters" in watcher.reply()
        (one.config / "access.yaml").write_text(ACCESS.replace("read: { groups: [60001] }", "read: { groups: [60005] }"))
        one.ctl("reload")
        one.ctl("publish", "alarms", "secret")
        one.ctl("emit", "door", "Go", "n=4711")
        told = []
        while (reply := watcher.reply()) is not None:
            told.append(reply)
            if "error" in reply:
                break
        text = json.dumps(told)
        assert "secret" not in text and "4711" not in text, told
        assert told and told[-1].get("error") == DENIED, told
    # Who gets the right back watches again.
    (one.config / "access.yaml").write_text(ACCESS)
    one.ctl("reload")
    with connect(one, "reader by a supplementary group") as watcher:
        watcher.call(f"io.mediatord.Control.{method}", parameters, more=True)
        assert "parameters" in watcher.reply()


# Names of machines that ssh, or a shell that it starts, could take for something else.
HOSTILE_HOSTS = [
    "-oProxyCommand=id", "--", "a b", "a\nb", "a\tb", "$(id)", "`id`", "a;id", "a|id", "a&id", "a>b", "a<b", "'a", '"a', "a\\b",
    "{a,b}", "a*", "a?", "user@-oProxyCommand=id", "ssh://-oProxyCommand=id", "ssh://user@-oProxyCommand=id", "#a", "!a", "a\x7f", "\x1b[2J",
]
HOSTS = [
    "machine", "user@machine.example", "192.0.2.1", "user@2001:db8::1", "ssh://user@machine:2222", "ssh://[2001:db8::1]:22", "fe80::1%eth0",
    "first.last+tag@machine_1",
]


def over_ssh(binaries: Binaries, folder: Path, host: str) -> tuple[subprocess.CompletedProcess[str], list[str] | None]:
    """mediatorctl with --host, and the arguments that ssh got; None if it was not begun."""
    (script, noted) = (folder / "ssh", folder / "arguments")
    noted.unlink(missing_ok=True)
    script.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >{noted}\nexit 255\n")
    script.chmod(0o755)
    result = subprocess.run(
        [binaries.mediatorctl, "status", f"--host={host}", "--timeout", "30"],
        env={**os.environ, "MEDIATORCTL_SSH": str(script)}, capture_output=True, text=True, timeout=WAIT,
    )
    return result, noted.read_text().split("\0")[:-1] if noted.exists() else None


@pytest.mark.parametrize("host", HOSTILE_HOSTS)
def test_no_hostile_name_of_a_machine_reaches_ssh(binaries: Binaries, tmp_path: Path, host: str) -> None:
    result, arguments = over_ssh(binaries, tmp_path, host)
    assert (result.returncode, arguments) == (2, None), (result, arguments)
    assert "is no name of a machine" in result.stderr
    # What is printed moves no cursor and begins no line.
    assert "\x1b" not in result.stderr and len(result.stderr.splitlines()) <= 3


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_of_a_machine_is_one_argument_of_ssh(binaries: Binaries, tmp_path: Path, host: str) -> None:
    _, arguments = over_ssh(binaries, tmp_path, host)
    assert arguments is not None and arguments[-3:-1] == ["--", host]


# Text that would be more than a value if it were put into a file as it is.
INJECTIONS = [
    "x\nlinks:\n  evil: { attach: door, to: visitor, onState: Open, emitValue: owned }",
    "x\n---\nlinks: { evil: { attach: door, to: visitor, onState: Open, emitValue: owned } }", "x\n...\nsystem: evil", 'x" }\nevil: "',
    "x' }\nevil: '", "# x", "x # y", "!secret x", "*alias", "&anchor x", "? x", "- x", "| x", "> x", "%YAML 1.1", "x\u0085evil: y", "x\u2028evil: y",
    "x\u2029evil: y", "x\ty", "\ufeffx", "yes", "0x10", "~", "x: y", "{ a: b }", "@x", "`x", "x\r\nevil: y", "x\u202ey",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_text_cannot_become_more_than_a_value_in_the_file_of_changes(daemon: Callable[..., Daemon], text: str) -> None:
    one = daemon(LINKS)
    before = {path.name: path.read_bytes() for path in one.config.rglob("*") if path.is_file()}
    # In an expression it is a constant, and in a definition a text.
    definition = {"attach": "door", "to": "visitor", "onState": "Open", "emitValue": text.replace("${", "")}
    result = one.ctl("attach", "told", json.dumps(definition), "--persist", check=False)
    written = one.config / OWN
    if result.returncode != 0:
        assert {path.name: path.read_bytes() for path in one.config.rglob("*") if path.is_file()} == before, result
        return
    documents = list(YAML(typ="safe").load_all(written.read_text()))
    assert documents == [{"links": {"told": definition}}]
    links = {link["name"] for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]}
    # What is written is what the daemon reads again.
    one.ctl("reload")
    assert {link["name"] for link in json.loads(one.ctl("list", "links", "--json").stdout)["links"]} == links
    one.ctl("emit", "door", "Push", "by=cat")
    shown = json.loads(one.ctl("show", "bus:visitor", "--json").stdout)
    assert text in json.dumps(shown, ensure_ascii=False) or json.dumps(text)[1:-1] in json.dumps(shown)


def test_a_daemon_keeps_time_on_a_machine_that_has_been_up_for_years(daemon: Callable[..., Daemon]) -> None:
    """The monotonic clock far from its beginning, by a time namespace; the calendar's clock cannot be set for one process."""
    years = str(10 * 365 * 24 * 3600)
    wrapper = ["unshare", "--time", "--fork", "--kill-child", f"--monotonic={years}", f"--boottime={years}", "--"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        if os.environ.get("CI") == "true":
            pytest.fail("no time namespaces on this machine", pytrace=False)
        pytest.skip("no time namespaces on this machine")
    one = daemon(CONFIGURATION, wrapper=wrapper)

    def beats() -> int:
        (described,) = json.loads(one.ctl("show", "heartbeat", "--json").stdout).values()
        return described["summary"]["counters"]["events"]

    now = beats()
    eventually(lambda: beats() > now + 3)
    status = json.loads(one.ctl("status", "--json").stdout)
    assert "healthy" in json.dumps(status)
    # What has made the namespace heeds no signal, and ends with the daemon.
    (inner,) = Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()
    os.kill(int(inner), signal.SIGTERM)
    assert one.wait_exit() == 0
