"""The examples of the reference of side effects, run as it shows them."""

from __future__ import annotations

import http.server
import json
import math
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from pages import EFFECTS, blocks, example, section
from waiting import WAIT, eventually


def test_every_side_effect_has_a_section_and_an_example(binaries: Binaries) -> None:
    schema = json.loads(
        subprocess.run([binaries.mediatorctl, "schema"], capture_output=True, text=True, timeout=WAIT, check=True).stdout
    )
    effects = {name.removeprefix("effect-") for name in schema["$defs"] if name.startswith("effect-")} | {"emit"}
    assert set(re.findall(r"^\| \[`([a-z]+)`\]", EFFECTS, re.MULTILINE)) == effects
    for name in effects - {"emit"}:
        text = section(EFFECTS, name)
        assert blocks(text, "yaml")
        for parameter in schema["$defs"][f"effect-{name}"].get("anyOf", [schema["$defs"][f"effect-{name}"]])[-1]["properties"]:
            rows = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
            assert f"`{parameter}`" in ", ".join(rows).split(", ")
    assert section(EFFECTS, "emit")


def script(path: Path, text: str) -> str:
    """A program of a test's own."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_exit_codes_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    raid, _ = blocks(section(EFFECTS, "run"), "yaml")
    check = script(tmp_path / "check_raid", f"cat {tmp_path}/says; . {tmp_path}/does")
    mail = script(tmp_path / "mail", f'cat > {tmp_path}/sent.new; echo "$@" >> {tmp_path}/sent.new; mv {tmp_path}/sent.new {tmp_path}/sent')
    (tmp_path / "says").write_text("all disks work")
    (tmp_path / "does").write_text("exit 0")
    text = raid.replace("/usr/lib/nagios/plugins/check_raid", check).replace("[mail,", f"[{mail},").replace("5m", "50ms")
    one = daemon({"raid.yaml": text})
    one.wait_log("Unknown → Sound")
    (tmp_path / "does").write_text("exit 3")
    one.wait_log('Doubtful { text: "all disks work" }')
    (tmp_path / "does").write_text("kill -KILL $$")
    one.wait_log('Doubtful { text: "the check was ended by SIGKILL" }')
    (tmp_path / "does").write_text("echo cannot read >&2; exit 7")
    one.wait_log('Doubtful { text: "the check: cannot read" }')
    (tmp_path / "says").write_text("sda is gone")
    (tmp_path / "does").write_text("exit 2")
    eventually(lambda: (tmp_path / "sent").exists())
    assert (tmp_path / "sent").read_text() == "sda is gone\n-s the array is broken root\n"


def test_the_json_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    _, containers = blocks(section(EFFECTS, "run"), "yaml")
    podman = script(
        tmp_path / "podman",
        f'case $1 in ps) cat {tmp_path}/ps;; events) echo nonsense; cat {tmp_path}/events;; esac',
    )
    (tmp_path / "ps").write_text('[{"State": "running"}, {"State": "exited"},\n {"State": "running"}]')
    os.mkfifo(tmp_path / "events")
    one = daemon({"containers.yaml": containers.replace("podman,", f"{podman},").replace("1m", "50ms")})
    one.wait_log('Known { running: 2, last: "nothing" }')
    with open(tmp_path / "events", "w") as events:
        events.write('{"Name": "web", "Status": "start"}\n')
        events.flush()
        one.wait_log('last: "web: start"')
    (tmp_path / "ps").write_text("podman: out of order")
    one.wait_log("Known → Unknown")


def test_the_log_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    (copier,) = blocks(section(EFFECTS, "log"), "yaml")
    one = daemon({"copier.yaml": copier})
    one.ctl("emit", "copier", "Copied", "share=all photos", "files=3")
    line = one.wait_log("all photos is copied")
    assert line.endswith('all photos is copied  feedback=tell files=3 share="all photos" system=copier\n'.rstrip()), line


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="a network of one's own needs root and ip(8)")
def test_the_ping_of_the_guide(binaries: Binaries, tmp_path: Path) -> None:
    setup = "ip link set lo up; ip address add 192.0.2.1/32 dev lo; echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range"
    wrapper = Path(script(tmp_path / "mediatord", f"exec unshare --net sh -e -c '{setup}; exec \"$@\"' sh {binaries.mediatord} \"$@\""))
    text = example("ping").replace("5s", "50ms").replace("2s", "200ms")
    one = Daemon(Binaries(wrapper, binaries.mediatorctl), {"gateway.yaml": text})
    try:
        one.wait_log("Unknown → Near")
        subprocess.run(["nsenter", "-t", str(one.pid), "-n", "ip", "address", "del", "192.0.2.1/32", "dev", "lo"], check=True)
        assert "Network is unreachable" in one.wait_log("Near → Gone")
        assert one.stop() == 0
    finally:
        one.discard()


CLOCK = """\
system: clock
states: { Running: {} }
events: { Tick: {} }
initialState: Running
feedbacks: { tick: { onState: Running, every: 50ms, emit: Tick } }
transitions: { Running: { Tick: stay } }
"""


def wait_for_ticks(one: Daemon) -> None:
    """Waits until the clock has ticked four times."""

    def ticks() -> int:
        return json.loads(one.ctl("show", "clock", "--json").stdout)["system"]["summary"]["counters"]["events"]

    before = ticks()
    eventually(lambda: ticks() >= before + 4)


def test_the_heartbeat_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    (heart,) = blocks(section(EFFECTS, "publish"), "yaml")
    # The clock ticks as often, so that what does not happen until it ticks again does not happen at all.
    one = daemon({"heart.yaml": heart.replace("5s", "50ms"), "clock.yaml": CLOCK})
    tapped = one.ctl("tap", "heartbeat", "--count", "3").stdout
    assert tapped.count('"from":"heart"') == 3 and len(re.findall(r'"at":"\d\d:\d\d:\d\d"', tapped)) == 3, tapped
    assert "heart/beat" in one.ctl("show", "heartbeat").stdout
    assert "heart/beat" in one.ctl("list", "links").stdout
    one.ctl("emit", "heart", "Stop", "--wait", "Still")
    wait_for_ticks(one)
    fired = re.search(r"fired +(\d+)", one.ctl("show", "heart/beat").stdout)[1]
    wait_for_ticks(one)
    assert re.search(r"fired +(\d+)", one.ctl("show", "heart/beat").stdout)[1] == fired
    refused = one.ctl("detach", "heart/beat", check=False)
    assert refused.returncode == 1 and "it is changed there, " in refused.stdout, refused.stdout + refused.stderr


def test_the_socket_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    path = tmp_path / "doorbell.sock"
    one = daemon({"doorbell.yaml": example("socket").replace("/run/mediatord/doorbell.sock", str(path))})
    eventually(lambda: socket.socket(socket.AF_UNIX).connect_ex(str(path)) == 0)
    for number, name in enumerate(("Ada", "Grace"), 1):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(f'{{"name": "{name}"}}\n{{"name":}}\n'.encode())
            one.wait_log(f"visitor {number}: {name}")
    assert path.stat().st_mode & 0o777 == 0o660
    one.stop()
    assert not path.exists()


def test_the_path_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    path = tmp_path / "maintenance"
    one = daemon({"maintenance.yaml": example("path").replace("/run/maintenance", str(path))})
    one.wait_log("serving")
    path.write_text("a new disk\n")
    one.wait_log("paused: a new disk")
    (tmp_path / "new").write_text("still at it\n")
    (tmp_path / "new").rename(path)
    one.wait_log("paused: still at it")
    path.unlink()
    one.wait_log("Paused → Serving")


def test_the_filesystem_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    usage = shutil.disk_usage("/")
    percent = math.ceil(100 * usage.used / (usage.used + usage.free))
    text = example("filesystem").replace("/srv/data", "/")
    one = daemon({"disk.yaml": text.replace("above: 90, below: 80", f"above: {max(1, percent - 3)}, below: 1")})
    said = one.wait_log("the disk is ") if percent > 4 else None
    if said:
        assert abs(int(re.search(r"is (\d+) % full", said).group(1)) - percent) <= 2
    assert "HasRoom" in one.ctl("show", "data-disk").stdout


def test_the_interface_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    loopback = daemon({"uplink.yaml": example("interface").replace("eth0", "lo")})
    assert re.search(r"works, with packets of \d+ bytes|fails: down", loopback.wait_log("tell-"))
    nothing = daemon({"uplink.yaml": example("interface").replace("eth0", "no-such-one")})
    nothing.wait_log("no-such-one fails: none")


def test_the_tcp_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        one = daemon({"mail.yaml": example("tcp").replace("port: 25", f"port: {port}").replace("every: 5s", "every: 50ms")})
        client, _ = server.accept()
        client.sendall(b"220 mail.example ESMTP\r\n")
        one.wait_log('Answers { banner: "220 mail.example ESMTP" }')
        assert client.recv(1) == b""
        client.close()
    one.wait_log("the mail server: ")


def test_the_thresholds_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    text = example("Thresholds").replace("port: 5432", f"port: {port}").replace("every: 5s", "every: 50ms")
    one = daemon({"database.yaml": text})
    one.wait_log("the database can be reached")
    server.close()
    assert "Connection refused" in one.wait_log("the database: ")
    with socket.create_server(("127.0.0.1", port)):
        one.wait_log("Down → Up")
    # Each change is told once, however many attempts confirm it.
    assert 1 <= one.log.count("event=Lost") <= 2 and one.log.count("event=Reached") == 2


def test_the_http_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    answers = iter([(200, b'{"version": 3}'), (200, b"[]"), (503, b"{}"), (503, b"{}")])
    requests = []

    class Shop(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, self.headers["Accept"]))
            status, body = next(answers, (200, b'{"version": "4"}'))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = example("http").replace("localhost:8080", f"127.0.0.1:{server.server_port}")
        one = daemon({"shop.yaml": text.replace("every: 10s", "every: 100ms")})
        one.wait_log('Works { version: "3" }')
        one.wait_log("the shop: it does not tell its version")
        one.wait_log("the shop: the status 503 is not an expected one")
        one.wait_log('Works { version: "4" }')
        assert one.stop() == 0
        server.shutdown()
    assert set(requests) == {("/health", "application/json")}


def test_the_dns_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"resolver.yaml": example("dns").replace("intranet.example", "localhost")})
    one.wait_log('Resolves { addresses: 1, first: "127.0.0.1" }')
    # An address of the other kind is none, which needs no name server.
    text = example("dns").replace("intranet.example", "'::1'").replace("every: 30s", "every: 50ms")
    other = daemon({"resolver.yaml": text})
    other.wait_log("the intranet: the name is not known, or has no IPv4 address")


def test_the_notify_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    answers = iter([503, 204])
    messages = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            assert self.headers["Content-Type"] == "application/json"
            self.send_response(next(answers))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/services/alarms"
        text = example("notify").replace("https://hooks.example/services/alarms", url).replace("after: 30s", "after: 50ms")
        one = daemon({"pager.yaml": text})
        one.ctl("emit", "pager", "Alarm", "text=smoke")
        one.wait_log("Sending → Quiet")
        assert one.stop() == 0
        server.shutdown()
    (shown,) = blocks(section(EFFECTS, "notify"), "json")
    assert json.loads(messages[0]) == json.loads(shown)
    assert json.loads(messages[1])["fields"] == {"attempt": "2"} and len(messages) == 2


@pytest.mark.skipif(not Path("/proc/pressure/memory").exists(), reason="this kernel keeps no account of pressure")
def test_the_pressure_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    # At the beginning it is below, whatever the limit of this machine; that leaves the state as it is.
    one = daemon({"load.yaml": example("pressure").replace("Relief: stay", "Relief: { to: Strained, set: { share: 0.0 } }")})
    assert "waits for memory" in one.wait_log("work waits for memory")


def test_the_process_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    path = tmp_path / "server.pid"
    one = daemon({"web-server.yaml": example("process").replace("/run/nginx.pid", str(path))})
    one.wait_log("no process runs (1)")
    with subprocess.Popen(["sleep", "1000"]) as process:
        path.write_text(f"{process.pid}\n")
        year = time.strftime("%Y", time.gmtime())
        assert re.search(rf"process {process.pid} runs since {year}-", one.wait_log("tell-up"))
        process.kill()
    one.wait_log("Runs → Fails")


def test_the_systemd_of_the_guide_is_valid(binaries: Binaries, tmp_path: Path) -> None:
    # They run in test_units.py and test_journal.py, where there is a systemd.
    for name in ("unit", "systemctl", "journal"):
        (tmp_path / f"{name}.yaml").write_text(example(name))
    subprocess.run([binaries.mediatorctl, "validate", "--deny-warnings", tmp_path], timeout=WAIT, check=True)
