"""Every command, configuration and program that the documentation shows, run as it is shown."""

from __future__ import annotations

import http.server
import io
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from conftest import REPOSITORY
from daemon import CONFIGURATION_INVALID, Binaries, Daemon
from pages import blocks, guide, section, side_effects

README = (REPOSITORY / "README.md").read_text()
EFFECTS = side_effects()
SHIPPED = {path.name: path.read_text() for path in sorted((REPOSITORY / "Config").iterdir())}


def shape(text: str) -> list[str]:
    """The text without what differs from run to run: numbers, times, and the width of columns."""
    text = re.sub(r"\((just now|\d+ s ago|\d+ min ago)\)", "(AGO)", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"[─-]{2,}", "-", text)
    # Numbers differ from run to run, places in files do not.
    text = re.sub(r"(\.yaml:\d+:\d+)|\d+", lambda match: match[1] or "#", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


@pytest.fixture
def shipped(daemon: Callable[..., Daemon], tmp_path: Path) -> Iterator[Daemon]:
    """The shipped configuration on a disk with room, when the speaker has come to rest and the disk has been measured."""
    # The pages show such a disk; that of this machine may be full.
    df = tmp_path / "bin" / "df"
    df.parent.mkdir()
    df.write_text("#!/bin/sh\nprintf 'Use%%\\n 16%%\\n'\n")
    df.chmod(0o755)
    one = daemon(SHIPPED, environment={"PATH": f"{df.parent}:{os.environ['PATH']}"})
    one.wait_log("volume: 15, target: 15")
    yield one


def test_the_consoles_of_the_readme(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    directory = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", directory / "Config")
    commands = 0
    pages = (README, guide("Reference/Layers.md"), guide("Reference/Expressions.md"))
    for console in [block for page in pages for block in blocks(page, "console")]:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            result = subprocess.run(
                command, shell=True, cwd=directory, env=environment, capture_output=True, text=True, timeout=30
            )
            assert result.returncode == (CONFIGURATION_INVALID if command.startswith("mediatord ") else 0), result
            printed = (result.stdout + result.stderr).replace(str(shipped.config), "Config")
            assert shape(printed) == shape(expected), f"$ {command}\n{printed}"
            commands += 1
            # Who types this is slower than what runs.
            if command.startswith("mediatorctl publish"):
                shipped.ctl("tap", "speaker", "--count", "30")
            elif command.startswith("mediatorctl emit"):
                shipped.wait_log("Filling → Normal")
    assert commands == 15
    # What was detached is attached again, so that the next measurement reaches the housekeeping.
    shipped.wait_log("Paused → Waiting")


def test_the_configuration_of_the_readme_is_the_shipped_one() -> None:
    system, wiring = blocks(README, "yaml")
    assert system in SHIPPED["disk-guard.yaml"]
    for name in ("disk.status:", "disk-is-filling:", "pause-housekeeping:"):
        assert name in wiring and name in SHIPPED["wiring.yaml"]


def test_the_wiring_of_the_readme_runs(daemon: Callable[..., Daemon]) -> None:
    _, wiring = blocks(README, "yaml")
    systems = {name: text for name, text in SHIPPED.items() if name != "wiring.yaml"}
    one = daemon({**systems, "wiring.yaml": wiring})
    assert "healthy" in one.ctl("status").stdout


def test_the_python_of_the_readme(shipped: Daemon) -> None:
    (program,) = blocks(README, "python")
    # The program watches for ever, so it is ended after the first value.
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program], env={**os.environ, "MEDIATORD_SOCKET": str(shipped.socket)},
        stdout=subprocess.PIPE, text=True,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "normal (as it was)\n"
        watcher.kill()


def test_the_python_of_the_guide_needs_no_library(shipped: Daemon) -> None:
    (program,) = blocks(guide("Reference/ControlSocket.md"), "python")
    output = io.StringIO()
    with redirect_stdout(output):
        assert "/run/mediatord/io.mediatord.Control" in program
        exec(program.replace("/run/mediatord/io.mediatord.Control", str(shipped.socket)), {})
    assert "\ninterface io.mediatord.Control\n" in output.getvalue()
    assert "method Status() -> (" in output.getvalue()


def test_the_limits_of_loops_in_the_guide_are_valid(binaries: Binaries, tmp_path: Path) -> None:
    # Links alone; what they join is named in them.
    systems = """\
system: a
states: { Idle: {}, Asked: {} }
events: { Ask: {} }
fromOutside: any
initialState: Idle
feedbacks: { calm: { onState: Asked, after: 1s, emit: Ask } }
transitions: { Idle: { Ask: Asked }, Asked: { Ask: Idle } }
"""
    copy = systems.replace("system: a", "system: copy").replace("Asked", "Failed")
    lamp = """\
system: lamp
states: { Off: {}, On: {} }
events: { Press: {} }
fromOutside: any
initialState: Off
transitions: { Off: { Press: On }, On: { Press: Off } }
"""
    takers = "".join(
        f"---\nsystem: {name}\nstates: {{ S: {{}} }}\nevents: {{ {event}: {{}} }}\ninitialState: S\n"
        f"transitions: {{ S: {{ {event}: S }} }}\n"
        for name, event in (("b", "Answer"), ("plan", "Replan"))
    )
    pages = guide("Reference/BusesAndLinks.md") + guide("Explanation/Loops.md")
    found = [text for text in blocks(pages, "") if "loop:" in text and text.startswith("links:")]
    assert len(found) == 4

    def validated(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "a.yaml").write_text(f"{systems}---\n{copy}{takers}---\n{lamp}---\n{text}")
        return subprocess.run([binaries.mediatorctl, "validate", tmp_path], capture_output=True, text=True, timeout=20)

    for text in found:
        result = validated(text)
        # The lamp's link is a circle. The systems of the other links are too few for one, which is a warning.
        assert result.returncode == 0 and ("[needless-loop]" in result.stdout) == ("lamp" not in text), result
    [circle] = [text for text in found if "lamp" in text]
    result = validated(re.sub(r", loop: \{.*?\}", "", circle))
    assert result.returncode == 1 and "the link 'press' may set itself off without end [loop]" in result.stdout, result


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_swift_of_the_readme_is_tested() -> None:
    sources = squeezed("".join(path.read_text() for path in (REPOSITORY / "Tests").glob("**/*.swift")))
    for program in blocks(README, "swift"):
        assert squeezed(program).strip() in sources


def test_the_configurations_of_the_guide_run(daemon: Callable[..., Daemon]) -> None:
    reference = ("Configuration", "Systems", "Feedbacks", "Schedules", "Supervision", "BusesAndLinks", "Templates", "ExternalValues")
    files = {
        f"{page}-{number}.yaml": text
        for page in reference for number, text in enumerate(blocks(guide(f"Reference/{page}.md"), "yaml"))
    }
    assert len(files) == 12
    (model,) = blocks(guide("Explanation/Model.md"), "yaml")
    (drop_in,) = blocks(guide("Reference/Layers.md"), "yaml")
    one = daemon({**files, "model.yaml": model})
    (begin,) = [line for line in one.ctl("show", "archive").stdout.splitlines() if line.startswith("  begin ")]
    assert re.search(r"\(in \d+ (s|min|h|d)\)", begin), begin
    one.ctl("emit", "share-copy", "Change", "share=photos")
    eventually(lambda: "2 events" in one.ctl("show", "share-copy").stdout)
    one.ctl("emit", "divider", "Divide", "by=0")
    eventually(lambda: "1 restart" in one.ctl("show", "divider").stdout)
    assert "uplink@wwan0" in one.ctl("list").stdout
    assert "tell-down@eth0" in one.ctl("show", "link:tell-down@eth0").stdout
    assert "backup" in one.ctl("list").stdout
    feedback = re.compile(r"^ +retry ", re.MULTILINE)
    assert feedback.search(one.ctl("show", "backup").stdout)
    other = daemon({
        "backup.yaml": files["Systems-0.yaml"], "wiring.yaml": files["BusesAndLinks-0.yaml"],
        "backup.yaml.d/50-local.yaml": drop_in,
    })
    assert not feedback.search(other.ctl("show", "backup").stdout)


def example(name: str) -> str:
    """The configuration that the section of a side effect shows."""
    (block,) = blocks(section(EFFECTS, name), "yaml")
    return block


def eventually(condition: Callable[[], object], timeout: float = 10.0) -> None:
    """Waits for what nobody tells."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_every_side_effect_has_a_section_and_an_example(binaries: Binaries) -> None:
    schema = json.loads(
        subprocess.run([binaries.mediatorctl, "schema"], capture_output=True, text=True, timeout=20, check=True).stdout
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


def test_the_heartbeat_of_the_guide(daemon: Callable[..., Daemon]) -> None:
    (heart,) = blocks(section(EFFECTS, "publish"), "yaml")
    one = daemon({"heart.yaml": heart.replace("5s", "50ms")})
    tapped = one.ctl("tap", "heartbeat", "--count", "3").stdout
    year = time.strftime("%Y", time.gmtime())
    assert tapped.count('"from":"heart"') == 3 and tapped.count(f"{year}-") >= 3, tapped
    assert "heart/beat" in one.ctl("show", "heartbeat").stdout
    assert "heart/beat" in one.ctl("list", "links").stdout
    one.ctl("emit", "heart", "Stop")
    fired = re.search(r"fired +(\d+)", one.ctl("show", "heart/beat").stdout)[1]
    time.sleep(0.2)
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
    subprocess.run([binaries.mediatorctl, "validate", "--deny-warnings", tmp_path], timeout=20, check=True)


def test_the_reload_of_the_guide(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    work = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", work / "Config")
    (commands,) = blocks(guide("Explanation/Reload.md"), "sh")
    for command in commands.splitlines():
        result = subprocess.run(
            command, shell=True, cwd=work, env=environment, capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, result
        if command.split()[1] in ("plan", "reload"):
            kept = len(list((REPOSITORY / "Config").glob("*.yaml"))) - 1
            assert f"{kept} kept" in result.stdout


@pytest.mark.parametrize("page", ["Reference/Mediatorctl.md", "HowTo/ChangeALink.md", "Reference/Metrics.md"])
def test_the_commands_of_the_guide(shipped: Daemon, binaries: Binaries, page: str) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    work = shipped.directory / "work"
    shutil.copytree(REPOSITORY / "Config", work / "Config")
    commands = [command for block in blocks(guide(page), "sh") for command in block.splitlines()]
    for command in commands:
        result = subprocess.run(
            command, shell=True, cwd=work, env=environment, capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0 and result.stderr == "", (command, result)
        assert result.stdout or "link:*" in command, command
    assert commands


def test_each_verb_has_a_section_with_an_example(binaries: Binaries) -> None:
    page = guide("Reference/Mediatorctl.md")
    rows = dict(re.findall(r"^\| \[`([a-z-]+)[^`]*`\]\(#([a-z-]+)\) \|", page, re.MULTILINE))
    help = subprocess.run([binaries.mediatorctl, "--help"], capture_output=True, text=True, timeout=20).stdout
    assert set(rows) == set(re.findall(r"^  ([a-z-]+)  ", help.split("SUBCOMMANDS:")[1], re.MULTILINE)) - {"help"}
    titles = {re.sub(r"[^\w -]", "", title).replace(" ", "-"): title for title in re.findall(r"^### (.*)$", page, re.MULTILINE)}
    for verb, anchor in rows.items():
        examples = "".join(blocks(section(page, titles[anchor]), "sh"))
        assert f"mediatorctl {verb}" in examples, verb


def test_the_night_of_the_guide(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    """Three in the morning: the backup did not run, and nobody has to read a log to learn why."""
    page = guide("Reference/Why.md")
    (night,) = blocks(page, "yaml")
    mounted = tmp_path / "mounted"
    mounted.touch()
    one = daemon({"night.yaml": night.replace("/srv/backup/mounted", str(mounted)).replace("every: 1s", "every: 20ms")})
    eventually(lambda: json.loads(one.ctl("show", "link:resume-backup", "--json").stdout)["link"]["summary"]["fired"] > 0)
    mounted.unlink()
    one.wait_log("Waiting → Paused")
    asked = 0
    for console in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ mediatorctl (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            printed = one.ctl(*command.split()).stdout.replace(str(one.config), "Config")
            printed = printed.replace(str(mounted), "/srv/backup/mounted").replace("every 20ms", "every 1s")
            assert shape(printed) == shape(expected), f"$ {command}\n{printed}"
            asked += 1
    assert asked == 4
    # Programs are told the same.
    answer = json.loads(one.ctl("why", "backup", "--json").stdout)
    assert not answer["cut"]
    assert [hop["kind"] for hop in answer["hops"]] == [
        "state", "event", "link", "value", "link", "state", "event", "feedback", "tick",
    ]
    assert answer["hops"][0]["data"] == {"reason": "down: exit code 1", "above": 5}
    assert answer["hops"][3]["value"] == "down: exit code 1" and not answer["hops"][3]["replayed"]
    assert answer["hops"][7]["outcome"] == "onDown" and answer["hops"][7]["value"]["exitCode"] == 1
    # What sends it has a name, too.
    one.ctl("emit", "backup", "Start", "priority=9")
    one.wait_log("Paused → Running")
    last = json.loads(one.ctl("why", "backup", "--json").stdout)["hops"][-1]
    assert last["kind"] == "client" and last["who"].startswith(f"uid {os.getuid()}, process ")
    steps = json.loads(one.ctl("trace", "backup", "--json").stdout)["steps"]
    (guard,) = steps[-1]["guards"]
    assert guard["holds"] and guard["reason"].endswith("event.priority is 9, state.above is 5")
    runs = json.loads(one.ctl("trace", "uplink", "--json").stdout)["steps"]
    assert {step["kind"] for step in runs} >= {"run", "transition"} and len(runs) <= 64
    # A name that is none, and data that is not the event's.
    assert one.ctl("why", "backups", check=False).returncode == 1
    assert one.ctl("why-not", "backup", "Start", "priority=much", check=False).returncode == 1
    assert one.ctl("trace", "backup", "--limit", "0", check=False).returncode == 2


def test_the_access_and_the_pause_of_the_guide(shipped: Daemon, binaries: Binaries) -> None:
    environment = {**shipped.client_environment, "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}"}
    pages = guide("Reference/Access.md") + guide("HowTo/PauseASystem.md")
    (access,) = blocks(pages, "yaml")
    (shipped.config / "access.yaml").write_text(access)
    commands = 0
    for console in blocks(pages, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", console, re.MULTILINE):
            result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=30)
            assert result.returncode == 0, result
            assert shape(result.stdout + result.stderr) == shape(expected), f"$ {command}\n{result.stdout}{result.stderr}"
            commands += 1
    assert commands == 5


def test_the_guide_names_every_option_of_the_daemon(binaries: Binaries) -> None:
    help = subprocess.run([binaries.mediatord, "--help"], capture_output=True, text=True, timeout=20).stdout
    page = guide("Reference/Mediatord.md")
    options = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", help, re.MULTILINE)) - {"--help", "--version"}
    assert options == set(re.findall(r"--[a-z-]+", blocks(page, "")[0]))
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE))
    assert set(re.findall(r"^  ([A-Z_]+)  ", help, re.MULTILINE)) == set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))


def test_the_targets_of_the_readme_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", blocks(README, "sh")[0], re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_architecture_names_files_and_code_that_exist() -> None:
    page = (REPOSITORY / "ARCHITECTURE.md").read_text()
    places = section(page, "If you want to change X, look in Y")
    roots = [REPOSITORY / "Sources", REPOSITORY]
    paths = set(re.findall(r"`(\w[\w.-]*/[\w./-]+|\w+\.swift)`", places))
    assert len(paths) > 50
    assert [path for path in sorted(paths) if not any((root / path).exists() for root in roots)] == []
    # A name that has changed there is changed in the glossary, too, or left out where it is now the term itself.
    code = "".join(path.read_text() for path in (REPOSITORY / "Sources").glob("**/*.swift"))
    words = set(re.findall(r"\w+", code))
    rows = re.findall(r"^\|.*\|.*\|(.*)\|$", section(page, "Glossary"), re.MULTILINE)
    names = {name for row in rows for span in re.findall(r"`([^`]*)`", row) for name in re.findall(r"\w+", span)}
    assert len(names) > 20 and sorted(names - words) == []


def test_the_architecture_has_the_table_of_layers() -> None:
    """The rows of the page, held against the table with which `Tests/LayeringTests` reads the imports."""
    modules = {path.name for path in (REPOSITORY / "Sources").iterdir() if path.is_dir()}
    layers = (REPOSITORY / "Tests" / "LayeringTests" / "Layers.swift").read_text()
    table = re.sub(r"//.*", "", layers.split("static let table")[1].split("\n    ]\n")[0])
    entries = re.findall(r'^        "([\w-]+)": (.*?)(?=^        "[\w-]+": |\Z)', table, re.MULTILINE | re.DOTALL)
    allowed = {name: set(re.findall(r'"(\w+)"', text)) & modules for name, text in entries if name in modules}
    assert set(allowed) == modules
    page = section((REPOSITORY / "ARCHITECTURE.md").read_text(), "Modules")
    shown: dict[str, set[str]] = {}
    for names, imports in re.findall(r"^\| \d \| (.*?) \| .* \| (.*) \|$", page, re.MULTILINE):
        found = re.findall(r"`(\w+)`", names)
        # One row has both programs, in the order of their imports.
        parts = imports.split(";") if len(found) > 1 else [imports]
        for name, part in zip(found, parts, strict=True):
            shown[name] = allowed[name] if part.startswith("all of the above") else set(re.findall(r"`(\w+)`", part)) & modules
    assert shown == allowed


PAGES = [path.relative_to(REPOSITORY).as_posix() for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("Documentation/**/*.md")])]


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower().replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = next(number for number in range(1000) if (f"{anchor}-{number}" if number else anchor) not in found)
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    path = REPOSITORY / page
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text()):
        there = path.parent / target if target else path
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text()), f"{target}#{anchor}"


def test_the_way_of_an_event_is_as_the_page_about_the_model_tells_it(daemon: Callable[..., Daemon]) -> None:
    page = guide("Explanation/Model.md")
    (text,) = blocks(page, "yaml")
    (console,) = blocks(page, "console")
    # The disk of this machine may have room.
    one = daemon({"model.yaml": text.replace("event.used >= 95", "event.used >= 1").replace("every: 5s", "every: 24h")})
    one.wait_log("Working → Paused")
    command, _, expected = console.partition("\n")
    assert shape(one.ctl(*command.removeprefix("$ mediatorctl ").split()).stdout) == shape(expected)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("Documentation/")])
def test_a_page_of_the_guides_is_short(page: str) -> None:
    assert len((REPOSITORY / page).read_text().splitlines()) <= 400


def test_the_diagnostic_of_the_page_about_loops_is_the_real_one() -> None:
    links, diagnostic = blocks(guide("Explanation/Loops.md"), "")[:2]
    example = guide("Reference/Diagnostics/Whole.md").split("\n## `loop`\n")[1].split("\n## ")[0]
    # That page is held against the program by DiagnosticPageTests.
    assert links in example and diagnostic in example


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("double(1) + 1.0", "2.0"), ('"disk " + string(1)', '"disk 1"'), ('duration("1h30m").getMinutes()', "90"),
        ("string(2.0)", '"2"'), ("0x2A", "42"), ('"%.1f".format([x])', '"2.5"'), ("n == 0 || 10 / n > 2", "true"),
    ],
)
def test_the_expressions_of_the_guide(binaries: Binaries, expression: str, value: str) -> None:
    assert f"`{expression}`" in guide("Reference/Expressions.md")
    variables = ["--with", "x=2.5", "--with", "n=0"]
    printed = subprocess.run(
        [binaries.mediatorctl, "eval", expression, *variables], capture_output=True, text=True, timeout=20, check=True
    )
    assert printed.stdout == f"{value}\n"


@pytest.mark.parametrize("expression", ["1 + 1.0", '"disk " + 1', 'duration("5 min")'])
def test_the_wrong_expressions_of_the_guide_are_wrong(binaries: Binaries, expression: str) -> None:
    assert f"`{expression}`" in guide("Reference/Expressions.md")
    assert subprocess.run([binaries.mediatorctl, "eval", expression], capture_output=True, timeout=20).returncode == 1


def test_the_shipped_disk_guard_measures_the_disk_of_this_machine(daemon: Callable[..., Daemon]) -> None:
    one = daemon(SHIPPED)
    line = one.wait_log("event=Measured system=disk-guard")
    usage = shutil.disk_usage("/")
    percent = int(re.search(r"used: (\d+)", line).group(1))
    assert abs(percent - 100 * usage.used / (usage.used + usage.free)) <= 3
    assert f"→ {'Full' if percent >= 95 else 'Filling' if percent >= 80 else 'Normal'} " in line


def test_the_shipped_systems_do_what_they_say(shipped: Daemon) -> None:
    # The housekeeping counts: told to begin now, it finds a file that is a week old.
    old = Path("/tmp") / f"mediatord-test-{os.getpid()}"
    old.touch()
    os.utime(old, (0, 0))
    try:
        shipped.ctl("emit", "housekeeping", "Due")
        line = shipped.wait_log("Working → Waiting")
        assert 'trouble: "none"' in line
        assert int(re.search(r"stale: (\d+)", line).group(1)) >= 1
    finally:
        old.unlink()
    # A full disk pauses it, and reaches the notifier over a link and the log.
    shipped.ctl("emit", "disk-guard", "Measured", "used=97")
    shipped.wait_log("Waiting → Paused")
    assert "alarm 1: the disk is 97 % full (severity 3)" in shipped.wait_log("alarm 1")
    shipped.ctl("emit", "disk-guard", "Measured", "used=5")
    shipped.wait_log("Paused → Waiting")
    # Of the alarms only those that matter arrive.
    shipped.ctl("publish", "alarms", "text=smoke", "severity=1")
    shipped.ctl("publish", "alarms", "text=fire", "severity=3")
    assert "alarm 2: fire" in shipped.wait_log("alarm 2")
