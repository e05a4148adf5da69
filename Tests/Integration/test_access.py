"""Who may do what over the control socket: real peers of several users and groups, and every method."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from access import ACCESS, CONFIGURATION, DENIED, METHODS, PEERS, SYSTEM, WIRING, WITHOUT_STORE, answer, connect
from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from varlink_socket import VarlinkSocket
from waiting import WAIT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")


def mode(one: Daemon) -> int:
    return stat.S_IMODE(os.stat(one.socket).st_mode)


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    result = daemon({**CONFIGURATION, "access.yaml": ACCESS})
    result.directory.chmod(0o755)
    return result


def test_every_method_is_for_those_who_have_the_right(one: Daemon) -> None:
    with connect(one, "root") as connection:
        connection.call("org.varlink.service.GetInterfaceDescription", {"interface": "io.mediatord.Control"})
        text = connection.reply()["parameters"]["description"]
    # A method that is new has to be thought of here.
    assert set(re.findall(r"^method (\w+)", text, re.MULTILINE)) == set(METHODS)
    assert mode(one) == 0o666
    found = {}
    expected = {}
    for peer, (_, _, _, rights) in PEERS.items():
        for method, (right, parameters) in METHODS.items():
            reply = answer(one, peer, method, parameters)
            found[peer, method] = reply.get("error") != DENIED
            expected[peer, method] = right in rights
            if expected[peer, method]:
                error = "io.mediatord.Control.NotAccepted" if method in WITHOUT_STORE else None
                assert reply.get("error") == error, (peer, method, reply)
    assert found == expected


def test_the_interfaces_of_systemd_are_for_those_who_have_the_right_too(one: Daemon) -> None:
    others = {
        "org.varlink.service.GetInfo": ("read", {}),
        "org.varlink.service.GetInterfaceDescription": ("read", {"interface": "io.mediatord.Control"}),
        "io.systemd.service.Ping": ("read", {}),
        "io.systemd.service.Reload": ("administer", {}),
        "io.systemd.service.SetLogLevel": ("administer", {"level": 6}),
        "io.systemd.Metrics.List": ("read", {}),
        "io.systemd.Metrics.Describe": ("read", {}),
    }
    with connect(one, "root") as connection:
        connection.call("org.varlink.service.GetInfo")
        interfaces = set(connection.reply()["parameters"]["interfaces"]) - {"io.mediatord.Control"}
        known = set()
        for interface in interfaces:
            connection.call("org.varlink.service.GetInterfaceDescription", {"interface": interface})
            text = connection.reply()["parameters"]["description"]
            known |= {f"{interface}.{name}" for name in re.findall(r"^method (\w+)", text, re.MULTILINE)}
    assert known == set(others)
    for peer, (_, _, _, rights) in PEERS.items():
        for method, (right, parameters) in others.items():
            with connect(one, peer) as connection:
                connection.call(method, parameters, **({"more": True} if "Metrics" in method else {}))
                reply = connection.reply()
                assert (reply.get("error") != DENIED) == (right in rights), (peer, method, reply)
                assert "error" not in reply or right not in rights, (peer, method, reply)


def test_who_may_do_nothing_is_told_once_and_sent_away(one: Daemon) -> None:
    with connect(one, "stranger") as connection:
        # Both at once: the connection may be closed as soon as the first is there.
        calls = [{"method": "org.varlink.service.GetInfo"}, {"method": "io.mediatord.Control.Status"}]
        connection.send(b"".join(json.dumps(call).encode() + b"\0" for call in calls))
        assert connection.reply() == {"error": DENIED, "parameters": {}}
        assert connection.reply() is None


def test_injection_is_for_what_is_named(one: Daemon, open_binaries: Binaries) -> None:
    def emit(peer: str, system: str) -> str | None:
        return answer(one, peer, "Emit", {"system": system, "event": "Go", "data": {"n": 2}}).get("error")

    def publish(peer: str, bus: str, value: Any) -> str | None:
        return answer(one, peer, "Publish", {"bus": bus, "value": value}).get("error")

    limited = "injector by name, into some"
    assert emit(limited, "door") is None and emit(limited, "bell") == DENIED
    assert publish(limited, "alarms", "x") is None and publish(limited, "level", 3) == DENIED
    # One that there is not is no way to find out which there are: the name is looked at first.
    assert emit(limited, "nothing") == DENIED
    assert emit(limited, "doors") == "io.mediatord.Control.NoSuchSystem"
    for system in ("door", "bell"):
        assert emit("injector by group", system) is None
    assert publish("injector by group", "level", 3) is None
    # Refusals come in any order, since the daemon looks up the name of the user first.
    (line,) = [line for line in one.wait_lines("refused to a client", 3) if "system=bell" in line]
    assert "uid=60002" in line and "verb=emit" in line and "missing=inject" in line
    rights = {peer: answer(one, peer, "Status", {})["parameters"]["rights"] for peer in PEERS if peer != "stranger"}
    assert rights[limited] == ["read", "inject"] and rights["root"] == ["read", "inject", "administer"]
    assert rights["reader by a supplementary group"] == ["read"]
    limits = {peer: answer(one, peer, "Status", {})["parameters"].get("injectInto") for peer in PEERS if peer != "stranger"}
    assert limits.pop(limited) == {"systems": ["do*"], "buses": ["alarms"]}
    assert set(limits.values()) == {None}
    user, group, groups, _ = PEERS[limited]
    told = subprocess.run(
        [open_binaries.mediatorctl, "status"], env=one.client_environment, capture_output=True, text=True, user=user,
        group=group, extra_groups=groups,
    )
    assert "you may read and inject, but inject only into do* and on the bus alarms\n" in told.stdout, told


def test_root_of_a_user_namespace_is_told_who_it_is_to_the_daemon(one: Daemon, open_binaries: Binaries) -> None:
    inside = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*inside, "true"], user=60002, group=60002, extra_groups=[], capture_output=True).returncode != 0:
        assert os.environ.get("CI") != "true", "this machine lets no user make a user namespace"
        pytest.skip("this machine lets no user make a user namespace")
    told = subprocess.run(
        [*inside, open_binaries.mediatorctl, "reload"], env=one.client_environment, capture_output=True, text=True,
        user=60002, group=60002, extra_groups=[],
    )
    assert told.returncode == 4, told
    assert "user 60002, who is root in a user namespace only, may not administer mediatord" in told.stderr
    assert "Root outside of the namespace, " in told.stderr and "sudo" not in told.stderr


def test_a_system_is_paused_and_goes_on(one: Daemon) -> None:
    with connect(one, "administrator") as connection:
        connection.call("io.mediatord.Control.PauseSystem", {"name": "bell"})
        assert connection.reply() == {"parameters": {"changed": True}}
        connection.call("io.mediatord.Control.PauseSystem", {"name": "bell"})
        assert connection.reply() == {"parameters": {"changed": False}}
    one.wait_status(lambda status: "1 degraded" in status)
    one.ctl("emit", "bell", "Go", "n=1")
    one.ctl("emit", "bell", "Go", "n=2")
    shown = one.ctl("show", "bell").stdout
    assert re.search(r"paused +since .* by user 60004; 2 events wait", shown) and re.search(r"state +A\n", shown), shown
    assert "bell: degraded" in one.ctl("status", check=False).stdout
    system = next(system for system in json.loads(one.ctl("list", "--json").stdout)["systems"] if system["name"] == "bell")
    assert system["paused"]["uid"] == 60004 and system["waiting"] == 2
    assert system["healthReason"] == "paused by user 60004"
    assert 'mediatord_system_paused{system="bell"} 1' in one.ctl("metrics").stdout
    # A watch shows the present state, and what comes when it goes on.
    watch = VarlinkSocket(one.socket)
    with watch:
        watch.call("io.mediatord.Control.WatchSystem", {"name": "bell"}, more=True)
        assert watch.reply()["parameters"]["state"]["name"] == "A"
        one.ctl("reload")
        one.ctl("resume", "bell")
        assert [watch.reply()["parameters"]["state"]["data"]["n"] for _ in range(2)] == [1, 2]
    one.wait_status(lambda status: "degraded" not in status)
    one.ctl("pause", "bell")
    one.ctl("emit", "bell", "Go", "n=3")
    assert one.stop() == 0


def test_rights_change_with_a_reload_and_with_nothing_else(daemon: Callable[..., Daemon]) -> None:
    one = daemon(CONFIGURATION)
    one.directory.chmod(0o755)
    with pytest.raises(PermissionError):
        connect(one, "reader by a supplementary group")
    one.ctl("set", "ring", "emitValue=3")
    (one.config / "access.yaml").write_text(ACCESS)
    plan = one.ctl("plan").stdout
    assert re.search(r"access +access +add", plan) and "access changed" in plan
    with pytest.raises(PermissionError):
        connect(one, "reader by a supplementary group")
    one.ctl("reload")
    assert json.loads(one.ctl("status", "--json").stdout)["transient"] == 1
    assert mode(one) == 0o666
    reader = connect(one, "reader by a supplementary group")
    watcher = connect(one, "reader by a supplementary group")
    follower = connect(one, "reader by a supplementary group")
    with reader, watcher, follower:
        reader.call("io.mediatord.Control.Status")
        assert "error" not in reader.reply()
        watcher.call("io.mediatord.Control.WatchSystem", {"name": "door"}, more=True)
        assert watcher.reply()["parameters"]["replayed"]
        follower.call("io.mediatord.Control.Watch", {"patterns": ["door"]}, more=True)
        assert follower.reply()["parameters"]["replayed"]
        # A mistake changes nothing.
        (one.config / "access.yaml").write_text("access: { raed: { groups: [60001] } }\n")
        rejected = one.ctl("reload", check=False)
        assert rejected.returncode != 0 and "'access' has no key 'raed'" in rejected.stdout + rejected.stderr
        reader.call("io.mediatord.Control.Status")
        assert "error" not in reader.reply()
        (one.config / "access.yaml").unlink()
        assert re.search(r"access +access +remove", one.ctl("plan").stdout)
        one.ctl("reload")
        # The right is looked at for each call, and for each reply of a watch.
        reader.call("io.mediatord.Control.Status")
        assert reader.reply()["error"] == DENIED
        one.ctl("emit", "door", "Go", "n=1")
        assert watcher.reply()["error"] == DENIED
        assert follower.reply()["error"] == DENIED
    assert mode(one) in (0o600, 0o660)
    with pytest.raises(PermissionError):
        connect(one, "reader by a supplementary group")
    assert one.ctl("detach", "ring").returncode == 0


def test_a_drop_in_grants_and_an_unknown_account_is_only_warned_of(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    one = daemon(
        {
            **CONFIGURATION,
            "access.yaml": "access: { read: { users: [no-such-user, 60010] }, administer: { groups: [no-such-group] } }\n",
            "access.yaml.d/own.yaml": "access: { inject: { users: [60002] } }\n",
        }
    )
    one.directory.chmod(0o755)
    one.wait_log("access.yaml:1:27: warning: there is no user 'no-such-user' on this machine")
    one.wait_log("there is no group 'no-such-group' on this machine")
    assert "error" not in answer(one, "reader by a supplementary group", "Status", {})
    assert "error" not in answer(one, "injector by name, into some", "Emit", METHODS["Emit"][1])
    assert "unknown-account" in one.ctl("plan").stdout
    strict = daemon({"access.yaml": "access: { read: { users: no-such-user } }\n"}, ready=False, arguments=["--deny-warnings"])
    assert strict.wait_exit() == CONFIGURATION_INVALID


def test_mediatorctl_says_what_is_missing_and_to_whom(one: Daemon, open_binaries: Binaries) -> None:
    def run(peer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        user, group, groups, _ = PEERS[peer]
        extra = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        result = subprocess.run(
            ["setpriv", "--reuid", str(user), "--regid", str(group), *extra, "--", open_binaries.mediatorctl, *arguments],
            env=one.client_environment, capture_output=True, text=True, timeout=WAIT,
        )
        if result.returncode == 127:
            pytest.skip("another user cannot load the program here")
        return result

    assert run("reader by a supplementary group", "status").stdout.count("you may read\n") == 1
    assert "you may" not in one.ctl("status").stdout
    refused = run("reader by a supplementary group", "emit", "door", "Go", "n=1")
    assert refused.returncode == 4
    assert refused.stderr.startswith("mediatorctl: user 60010 may not inject anything into 'door'\n")
    assert "`access: inject:`" in refused.stderr and "sudo mediatorctl" in refused.stderr
    assert "into 'bell'" in run("injector by name, into some", "emit", "bell", "Go", "n=1").stderr
    assert "may not administer mediatord" in run("injector by group", "reload").stderr
    error = json.loads(run("injector by group", "restart", "door", "--json").stderr)["error"]
    assert error["code"] == "permission-denied" and error["right"] == "administer"
    assert "may not read what mediatord does" in run("stranger", "status").stderr


def test_secrets_are_shown_to_nobody(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    secret = "s3cr3t-of-the-shop"
    (tmp_path / "token").write_text(secret)
    system = """\
system: door
states: { A: {}, B: { n: int } }
events: { Go: { n: int }, Asked: { why: string } }
fromOutside: any
initialState: A
feedbacks:
  ask:
    onState: any
    strategy: continueOnNewState
    run: { command: [sh, -c, 'test -n "$TOKEN"; exit 3'], environment: { TOKEN: !credential token } }
    onFailure: { Asked: { why: "${result.error}" } }
  fetch:
    onState: any
    strategy: continueOnNewState
    http: { url: "http://127.0.0.1:1/", headers: { Authorization: !credential token }, timeout: 1s }
    onFailure: { Asked: { why: "${result.error}" } }
transitions:
  any:
    Go: { to: B, set: { n: "${event.n}" } }
    Asked: stay
"""
    one = daemon(
        {"door.yaml": system, "bell.yaml": SYSTEM.format(name="bell"), "wiring.yaml": WIRING},
        arguments=["--log-level", "trace"],
        environment={"CREDENTIALS_DIRECTORY": str(tmp_path)},
    )
    told = []
    for method, (_, parameters) in METHODS.items():
        told.append(json.dumps(answer(one, "root", method, parameters)))
    for parameters in ({"directory": str(one.config)}, {"directory": str(tmp_path)}):
        told.append(json.dumps(answer(one, "root", "Plan", parameters)))
    with connect(one, "root") as connection:
        connection.call("io.mediatord.Control.ReadConfiguration", more=True)
        while (reply := connection.reply()) is not None:
            told.append(json.dumps(reply))
            if not reply.get("continues"):
                break
    for arguments in (
        ("show", "door"), ("status",), ("list",), ("metrics",), ("plan",), ("reload",), ("cat-config", "--running"),
        ("cat-config", "--config", str(one.config)), ("emit", "door", "Go", "n=1"),
        ("attach", "other", "{ attach: door, to: level, onState: B, emitValue: 1 }"), ("list", "links"),
        ("why", "door"), ("why", "door", "--json"), ("why-not", "door", "Go", "n=2"), ("why-not", "door", "Asked", "why=x"),
        ("trace", "door"), ("trace", "door", "--json"), ("graph", "--live"),
    ):
        done = one.ctl(*arguments, check=False)
        told.append(done.stdout + done.stderr)
    # What is wrong beside it is told with the line it stands in.
    (one.config / "door.yaml").write_text(system.replace("TOKEN: !credential token", "TOKEN: !credential token, x: !credential"))
    for verb in ("plan", "reload"):
        done = one.ctl(verb, check=False)
        assert "door.yaml" in done.stdout + done.stderr
        told.append(done.stdout + done.stderr)
    (one.config / "door.yaml").write_text(system.replace("initialState: A", "initialState: { A: { n: !credential token } }"))
    told.append(one.ctl("plan", check=False).stdout)
    assert '"name": "door"' in "".join(told)
    assert one.stop() == 0
    assert secret not in "".join(told)
    assert secret not in one.log
