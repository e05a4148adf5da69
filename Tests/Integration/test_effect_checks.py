"""Every side effect of every daemon, held to what is asked of one, with real peers, each in a process of its own."""

from __future__ import annotations

import http.server
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import BUILD
from container import Container
from waiting import WAIT

CHECKER = BUILD / "debug" / "effect-check"


def check(name: str, arguments: str, *outcomes: str) -> None:
    result = subprocess.run([CHECKER, name, arguments, *outcomes], capture_output=True, text=True, timeout=WAIT)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result.stdout + result.stderr


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b'{"well": true}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_run() -> None:
    check("run", '{"command": ["sh", "-c", "echo one; echo two"]}', "onSuccess")


def test_run_of_what_fails_and_forks() -> None:
    check("run", '{"command": ["sh", "-c", "sleep 0.05 & wait; exit 3"]}', "onFailure")


def test_log() -> None:
    check("log", '{"message": "hello"}')


def test_http(web: str) -> None:
    check("http", f'{{"url": "{web}"}}', "onSuccess")


def test_notify(web: str) -> None:
    check("notify", f'{{"url": "{web}", "text": "hello"}}', "onSuccess")


def test_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        check("tcp", f'{{"host": "127.0.0.1", "port": {port}}}', "onSuccess")
        server.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT)


def test_dns() -> None:
    check("dns", '{"name": "localhost"}', "onSuccess")


def test_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    check("path", f'{{"path": "{tmp_path}/file"}}', "onAppear")


def test_filesystem(tmp_path: Path) -> None:
    check("filesystem", f'{{"path": "{tmp_path}", "above": 1}}', "onSample")


def test_interface() -> None:
    check("interface", '{"name": "lo"}', "onUp")


@pytest.mark.skipif(not Path("/proc/pressure/cpu").exists(), reason="this kernel tells no pressure")
def test_pressure() -> None:
    check("pressure", '{"of": "cpu", "every": duration("1s")}', "onSample")


def test_process() -> None:
    check("process", '{"command": "effect-check"}', "onRunning")


def test_socket(tmp_path: Path) -> None:
    # Two at a time cannot listen at one address; the second one says so, and waits.
    result = subprocess.run(
        [CHECKER, "socket", f'{{"path": "{tmp_path}/s"}}'], capture_output=True, text=True, timeout=WAIT
    )
    flaws = result.stdout.splitlines()
    assert all(flaw.startswith("concurrency: it could not do its work") for flaw in flaws), result.stdout


@pytest.fixture(scope="module")
def machine(container: Container) -> Container:
    """The container with the check, and a unit."""
    container.install([CHECKER], {})
    container.write("/etc/systemd/system/idle.service", "[Service]\nExecStart=/bin/sleep 1000\n")
    container.systemctl("daemon-reload")
    container.systemctl("start", "idle.service")
    return container


@pytest.mark.parametrize(
    "name, arguments, outcome",
    [
        ("unit", '{"name": "idle.service"}', "onChange"),
        ("units", '{"pattern": "idle*.service"}', "onList"),
        ("systemctl", '{"name": "idle.service", "action": "start"}', "onSuccess"),
        ("journal", '{"match": {"_PID": "1"}, "since": "boot"}', "onEntry"),
    ],
)
def test_what_asks_systemd(machine: Container, name: str, arguments: str, outcome: str) -> None:
    result = machine.run(CHECKER.name, name, arguments, outcome, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result.stdout + result.stderr
