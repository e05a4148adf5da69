"""The Varlink of the daemon and of its library, beside other implementations: python-varlink and systemd's varlinkctl."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import varlink

from conftest import BUILD
from container import Container
from daemon import Daemon
from waiting import WAIT

OURS = BUILD / "debug" / "varlink-certification"
THEIRS = (sys.executable, "-u", "-m", "varlink.tests.test_certification")

SOCKET = "/run/mediatord/io.mediatord.Control"


@contextmanager
def serving(*command: str | Path) -> Iterator[None]:
    """A service that has said its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline()
            yield
        finally:
            process.kill()


def called(*command: str | Path) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Certification passed" in result.stdout
    return result.stdout


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a service is: a path, and a name in the abstract namespace."""
    return f"unix:{tmp_path}/s" if request.param == "path" else f"unix:@mediatord-test-{os.getpid()}-{tmp_path.name}"


def test_our_service_passes_the_certification(address: str) -> None:
    with serving(OURS, "serve", address):
        said = called(*THEIRS, "--client", f"--varlink={address}")
        # A service that accepts anything would be no proof: each answer was taken apart.
        assert "Test10: {'string': 'Reply number 10'}" in said and "'all_ok': True" in said
        # Another client begins anew.
        called(*THEIRS, "--client", f"--varlink={address}")


def test_our_client_passes_the_certification(address: str) -> None:
    with serving(*THEIRS, f"--varlink={address}"):
        called(OURS, "call", address)
        called(OURS, "call", address)


def test_our_client_and_service_certify_each_other(address: str) -> None:
    with serving(OURS, "serve", address):
        called(OURS, "call", address)


def test_a_service_is_started_with_the_socket_of_its_clients() -> None:
    said = called(*THEIRS, "--client", f"--activate={OURS} serve")
    assert "'all_ok': True" in said


def test_our_service_refuses_what_is_not_as_it_is_to_be(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with serving(OURS, "serve", address), varlink.Client.new_with_address(address) as client:
        with client.open("org.varlink.certification") as certification:

            def refused(error: str, method: str, *arguments: object) -> None:
                with pytest.raises(varlink.VarlinkError) as failure:
                    getattr(certification, method)(*arguments)
                assert failure.value.error().endswith(error), failure.value

            refused("ClientIdError", "Test01", "nobody")
            for order, arguments, error in [
                (["Test01"], ("Test02", False), "CertificationError"),
                (["Test01"], ("Test01",), "CertificationError"),
                (["Test01"], ("Test02", 1), "InvalidParameter"),
                ([], ("End",), "CertificationError"),
            ]:
                identifier = certification.Start()["client_id"]
                for method in order:
                    getattr(certification, method)(identifier)
                refused(error, arguments[0], identifier, *arguments[1:])
            identifier = certification.Start()["client_id"]
            refused("ExpectedMore", "Test10", identifier, {})


# systemd's client.


# Debian 12's systemd has no varlinkctl.
with_varlinkctl = pytest.mark.parametrize("container", ["trixie"], indirect=True)


@pytest.fixture
def trixie(system: Container) -> Container:
    """Debian 13 with the daemon running."""
    system.write(
        "/etc/mediatord/door.yaml",
        "system: door\nstates: { Closed: {}, Open: { by: string } }\nevents: { Push: { by: string } }\n"
        "initialState: Closed\nfromOutside: any\n"
        'transitions: { Closed: { Push: { to: Open, set: { by: "${event.by}" } } } }\n',
    )
    system.write(
        "/etc/mediatord/bus.yaml",
        "buses: { level: { kind: currentValue, value: int, initial: 1, fromOutside: both } }\n",
    )
    system.systemctl("start", "mediatord")
    return system


def varlinkctl(system: Container, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return system.run("varlinkctl", *arguments, check=check)


def called_by_systemd(system: Container, method: str, parameters: object = None) -> object:
    said = varlinkctl(system, "call", "--json=short", SOCKET, method, json.dumps(parameters or {})).stdout
    return json.loads(said) if said.strip() else {}


@pytest.mark.depends_on_systemd
@with_varlinkctl
def test_varlinkctl_is_told_who_serves(trixie: Container) -> None:
    info = json.loads(varlinkctl(trixie, "info", "--json=short", SOCKET).stdout)
    assert (info["vendor"], info["product"]) == ("mediatord", "mediatord")
    listed = varlinkctl(trixie, "list-interfaces", SOCKET).stdout.split()
    assert sorted(listed) == sorted(info["interfaces"])
    assert "io.mediatord.Control" in listed and "org.varlink.service" in listed


@pytest.mark.depends_on_systemd
@with_varlinkctl
def test_varlinkctl_understands_every_interface(trixie: Container) -> None:
    for interface in varlinkctl(trixie, "list-interfaces", SOCKET).stdout.split():
        printed = varlinkctl(trixie, "introspect", SOCKET, interface).stdout
        assert f"interface {interface}" in printed
        # What it prints is what its own parser has understood; ours understands all of that too.
        said = called_by_systemd(trixie, "org.varlink.service.GetInterfaceDescription", {"interface": interface})
        assert isinstance(said, dict)
        text = said["description"]
        members = re.findall(r"^(?:method|type|error) (\w+)", text, re.MULTILINE)
        # It prints enumerations before structures.
        assert members and sorted(re.findall(r"^(?:method|type|error) (\w+)", printed, re.MULTILINE)) == sorted(members)
        trixie.write("/run/interface.varlink", text)
        checked = trixie.run("varlinkctl", "validate-idl", "/run/interface.varlink", check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "inconsistent" not in checked.stderr, checked.stderr


@pytest.mark.depends_on_systemd
@with_varlinkctl
def test_varlinkctl_calls(trixie: Container) -> None:
    systems = called_by_systemd(trixie, "io.mediatord.Control.ListSystems")
    assert isinstance(systems, dict)
    assert [system["name"] for system in systems["systems"]] == ["door", "heartbeat"]
    published = called_by_systemd(trixie, "io.mediatord.Control.Publish", {"bus": "level", "value": 7})
    assert isinstance(published, dict) and list(published) == ["time"] and published["time"].endswith("Z"), published
    bus = called_by_systemd(trixie, "io.mediatord.Control.DescribeBus", {"name": "level"})
    assert isinstance(bus, dict) and bus["bus"]["summary"]["value"] == 7
    called_by_systemd(trixie, "io.mediatord.Control.Emit", {"system": "door", "event": "Push", "data": {"by": "cat"}})


@pytest.mark.depends_on_systemd
@with_varlinkctl
def test_varlinkctl_watches(trixie: Container) -> None:
    # It prints each reply as it comes; the stream ends when the daemon does.
    command = f"varlinkctl call --more --json=short {SOCKET} io.mediatord.Control.WatchBus '{{\"name\":\"level\"}}'"
    watching = subprocess.Popen(
        ["nsenter", "-t", str(trixie.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", "sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    )
    try:
        assert watching.stdout is not None

        def next_reply() -> dict:
            assert watching.stdout is not None
            # With --json=short the replies are a sequence of JSON texts (RFC 7464).
            return json.loads(watching.stdout.readline().strip(b"\x1e\n"))

        first = next_reply()
        assert (first["value"], first["replayed"]) == (1, True)
        for value in (2, 3):
            called_by_systemd(trixie, "io.mediatord.Control.Publish", {"bus": "level", "value": value})
            reply = next_reply()
            assert (reply["value"], reply["replayed"]) == (value, False)
        trixie.systemctl("stop", "mediatord")
        _, errors = watching.communicate(timeout=WAIT)
        assert watching.returncode != 0 and b"io.mediatord.Control.WatchEnded" in errors, errors
    finally:
        if watching.poll() is None:
            watching.send_signal(signal.SIGKILL)
            watching.wait()


@with_varlinkctl
@pytest.mark.parametrize(
    ("method", "parameters", "field"),
    [
        ("DescribeSystem", {"nom": "x"}, "name"),
        ("DescribeSystem", {"name": 5}, "name"),
        ("DescribeSystem", {"name": "door", "extra": 1}, "extra"),
        ("Emit", {"system": "door", "event": "Push", "data": [1]}, "data"),
        ("AttachLink", {"link": "x", "settings": [{"key": "when", "value": "true"}, {"key": 1}]}, "settings[1].key"),
        ("AttachLink", {"link": "x", "settings": [{"key": "when"}]}, "settings[0].value"),
        ("SetLink", {"link": "x", "settings": [], "persist": "yes"}, "persist"),
        ("Plan", {"directory": []}, "directory"),
    ],
)
def test_wrong_parameters_are_answered_with_the_field(
    trixie: Container, method: str, parameters: dict, field: str
) -> None:
    call = ("call", "--json=short", SOCKET, f"io.mediatord.Control.{method}", json.dumps(parameters))
    failed = varlinkctl(trixie, *call, check=False)
    assert failed.returncode != 0
    assert "org.varlink.service.InvalidParameter" in failed.stderr
    assert json.loads(failed.stdout.strip().strip("\x1e") or "{}").get("parameter", field) == field, failed
    assert f'"{field}"' in failed.stdout + failed.stderr, failed


@pytest.mark.depends_on_systemd
@with_varlinkctl
def test_varlinkctl_manages_the_service(trixie: Container) -> None:
    assert called_by_systemd(trixie, "io.systemd.service.Ping") == {}
    generation = json.loads(trixie.run("mediatorctl", "status", "--json").stdout)["generation"]
    trixie.write("/etc/mediatord/more.yaml", "buses: { more: { kind: passthrough, value: int } }\n")
    assert called_by_systemd(trixie, "io.systemd.service.Reload") == {}
    assert json.loads(trixie.run("mediatorctl", "status", "--json").stdout)["generation"] == generation + 1
    trixie.write("/etc/mediatord/more.yaml", "buses: { more: { kind: passthrough, value: it } }\n")
    failed = varlinkctl(trixie, "call", "--json=short", SOCKET, "io.systemd.service.Reload", "{}", check=False)
    assert failed.returncode != 0
    assert "io.mediatord.Control.NotAccepted" in failed.stderr and "1 error" in failed.stdout + failed.stderr, failed
    replies = varlinkctl(trixie, "call", "--more", "--json=short", SOCKET, "io.systemd.Metrics.List", "{}").stdout
    metrics = [json.loads(text) for text in replies.split("\x1e") if text.strip()]
    assert {"name": "io.mediatord.mediatord_ready", "value": 1} in metrics
    # The replies are a sequence of JSON texts (RFC 7464).
    families = varlinkctl(trixie, "call", "--more", "--json=short", SOCKET, "io.systemd.Metrics.Describe", "{}").stdout
    told = {json.loads(text)["name"] for text in families.split("\x1e") if text.strip()}
    assert {metric["name"] for metric in metrics} == told


# The same interfaces without a container.


def test_the_log_level_is_set_while_the_daemon_runs(daemon: Callable[..., Daemon]) -> None:
    one = daemon(
        {
            "a.yaml": "system: a\nstates: { Off: {}, On: {} }\nevents: { Go: {}, Back: {} }\nfromOutside: any\n"
            "initialState: Off\ntransitions: { Off: { Go: On }, On: { Back: Off } }\n"
        }
    )
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client, client.open("io.systemd.service") as service:
        one.ctl("emit", "a", "Go")
        one.wait_log("Off → On")
        service.SetLogLevel(4)
        one.wait_log("log level set by a client")
        one.ctl("emit", "a", "Back", "--wait", "Off")
        # What clients do is in the log at any level; what the system does is not, until it is to be again.
        one.wait_log("event=Back pid=")
        assert "On → Off" not in one.log
        service.SetLogLevel(6)
        one.ctl("emit", "a", "Go", "--wait", "On")
        one.ctl("emit", "a", "Back")
        one.wait_log("On → Off")
        service.SetLogLevel(7)
        one.wait_log("level=debug")
        for level in (-1, 8):
            with pytest.raises(varlink.VarlinkError) as failure:
                service.SetLogLevel(level)
            assert failure.value.error() == "org.varlink.service.InvalidParameter"
            assert failure.value.parameters()["parameter"] == "level"


def test_metrics_are_those_that_prometheus_gets(daemon: Callable[..., Daemon]) -> None:
    one = daemon()
    # The heart has beaten once at least.
    deadline = time.monotonic() + WAIT
    while json.loads(one.ctl("show", "heartbeat", "--json").stdout)["system"]["summary"]["counters"]["events"] == 0:
        assert time.monotonic() < deadline
    with varlink.Client.new_with_address(f"unix:{one.socket}") as client, client.open("io.systemd.Metrics") as service:
        metrics = list(service.List(_more=True))
        families = {family["name"]: family for family in service.Describe(_more=True)}
        with pytest.raises(varlink.VarlinkError) as failure:
            service.List()
        assert failure.value.error() == "org.varlink.service.ExpectedMore"
    text = one.ctl("metrics").stdout
    names = set(re.findall(r"^(\w+)(?:\{| )", text, re.MULTILINE))
    assert {metric["name"] for metric in metrics} == {f"io.mediatord.{name}" for name in names}
    assert set(families) == {metric["name"] for metric in metrics}
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    for name, family in families.items():
        kind = kinds.get(name.removeprefix("io.mediatord."), "histogram")
        assert family["type"] == ("gauge" if kind == "gauge" else "counter")
        assert family["description"].endswith(".")
    events = next(m for m in metrics if m["name"] == "io.mediatord.mediatord_system_events_total")
    assert events["object"] == "heartbeat" and events["value"] >= 1
