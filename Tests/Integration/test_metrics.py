"""What a running daemon counts, over the control socket and over HTTP, read by a parser that is not ours."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import select
import socket
import subprocess
import time
from pathlib import Path
from typing import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from daemon import CANNOT_SERVE, USAGE, Binaries, Daemon
from memory import anonymous
from waiting import WAIT, eventually

CONFIGURATION = """\
system: counter
states: { Here: { value: int } }
events: { Add: { by: int }, Ended: {} }
fromOutside: any
initialState: { Here: { value: 0 } }
health: { Here: healthy }
mailbox: { limit: 50 }
feedbacks:
  work:
    onState: any
    when: state.value > 0
    strategy: continueOnNewState
    run: ["sh", "-c", "exit 0"]
    onSuccess: Ended
transitions:
  Here:
    Add: { to: Here, set: { value: "${state.value + 1 / event.by}" } }
    Ended: stay
---
buses:
  values: { kind: currentValue, value: string, initial: "a\\"b\\\\c", fromOutside: both }
links:
  out: { attach: counter, to: values, onState: Here, when: state.value > 0, emitValue: "${string(state.value)}" }
"""


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[(name, frozenset(labels.items()))]


def address(one: Daemon) -> tuple[str, int]:
    line = one.wait_log("serving metrics")
    host, port = re.search(r"http://([0-9.]+):(\d+)/metrics", line).groups()
    return host, int(port)


def get(one: Daemon, path: str, method: str = "GET") -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(*address(one), timeout=WAIT)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers
    finally:
        connection.close()


def status_for(one: Daemon, *hosts: str, version: str = "1.1") -> int:
    """The status of an answer to a request with these `Host` headers."""
    with socket.create_connection(address(one), timeout=WAIT) as connection:
        lines = [f"GET /healthz HTTP/{version}", *(f"Host: {host}" for host in hosts), "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon({"a.yaml": CONFIGURATION}, arguments=("--metrics", "127.0.0.1:0"))


def test_what_is_counted(one: Daemon) -> None:
    one.ctl("emit", "counter", "Add", "by=1")
    one.ctl("emit", "counter", "Add", "by=0")
    end = time.monotonic() + WAIT
    while 'outcome="onSuccess"' not in (text := one.ctl("metrics").stdout):
        assert time.monotonic() < end, text
    feedback = {"system": "counter", "feedback": "work", "effect": "run"}
    assert value(text, "mediatord_system_transitions_total", system="counter") == 1
    assert value(text, "mediatord_system_faults_total", system="counter") == 1
    assert value(text, "mediatord_system_health", system="counter", health="degraded") == 1
    assert value(text, "mediatord_system_health", system="counter", health="healthy") == 0
    assert value(text, "mediatord_system_state", system="counter", state="Here") == 1
    assert value(text, "mediatord_system_mailbox_limit", system="counter") == 50
    assert value(text, "mediatord_system_mailbox_bytes", system="counter") == 0
    assert value(text, "mediatord_feedback_outcomes_total", **feedback, outcome="onSuccess") == 1
    assert value(text, "mediatord_bus_values_total", bus="values") == 1
    assert value(text, "mediatord_bus_links", bus="values") == 0
    assert value(text, "mediatord_link_fired_total", link="out") == 1
    assert value(text, "mediatord_reloads_total", result="applied") == 0
    assert value(text, "mediatord_ready") == 1
    assert value(text, "process_open_fds") > 3
    assert value(text, "process_resident_memory_bytes") > 1_000_000
    while value(text := one.ctl("metrics").stdout, "mediatord_system_events_total", system="counter") < 3:
        assert time.monotonic() < end, text
    while ("mediatord_feedback_run_seconds_count", frozenset(feedback.items())) not in (found := samples(text)):
        assert time.monotonic() < end, text
        text = one.ctl("metrics").stdout
    assert found[("mediatord_feedback_run_seconds_count", frozenset(feedback.items()))] == 1
    assert found[("mediatord_feedback_run_seconds_bucket", frozenset({**feedback, "le": "+Inf"}.items()))] == 1
    assert json.loads(one.ctl("metrics", "--json").stdout)["text"].startswith("# HELP mediatord_build_info")


def test_over_http(one: Daemon) -> None:
    status, text, headers = get(one, "/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    over_socket = samples(one.ctl("metrics").stdout)
    assert samples(text).keys() == over_socket.keys()
    assert get(one, "/healthz")[:2] == (200, "1 system: 1 healthy\n")
    assert get(one, "/readyz?verbose=1")[:2] == (200, "ready\n")
    assert get(one, "/nothing")[0] == 404
    status, text, headers = get(one, "/metrics", "POST")
    assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, text, headers = get(one, "/metrics", "HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 1000
    # One connection for several requests.
    connection = http.client.HTTPConnection(*address(one), timeout=WAIT)
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"1 system: 1 healthy\n"
    connection.close()
    assert one.stop() == 0


def test_a_failed_system_and_one_that_is_not_ready_are_told(daemon: Callable[..., Daemon]) -> None:
    late = "system: late\nstates: { A: {}, B: {} }\nevents: { Go: {} }\nfromOutside: Go\ninitialState: A\nready: B\n"
    late += "health: { B: failed }\ntransitions: { A: { Go: B } }\n"
    one = daemon({"a.yaml": late}, arguments=("--metrics", "127.0.0.1:0"), ready=False)
    assert get(one, "/readyz")[:2] == (503, "not ready\n")
    assert get(one, "/healthz")[:2] == (200, "1 system: 1 starting\n")
    one.ctl("emit", "late", "Go")
    one.wait_ready()
    assert get(one, "/readyz")[0] == 200
    assert get(one, "/healthz")[:2] == (503, "1 system: 1 failed\n")


def test_what_is_no_request_ends_its_connection_alone(one: Daemon) -> None:
    where = address(one)
    for garbage in (b"\x00\x01\x02\r\n\r\n", b"GET /metrics\r\n\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 50_000):
        with socket.create_connection(where, timeout=WAIT) as connection:
            try:
                connection.sendall(garbage)
                while connection.recv(65536):
                    pass
            except (ConnectionError, TimeoutError):
                pass
    # More than may be: none of them asks for anything, so those that have waited longest are closed for the others.
    crowd = [socket.create_connection(where, timeout=WAIT) for _ in range(80)]

    def closed() -> list[socket.socket]:
        # Nobody asks for anything, so a connection has something to read only when it is closed.
        return select.select(crowd, [], [], 0)[0]

    eventually(lambda: len(closed()) >= 16)
    assert get(one, "/healthz")[0] == 200
    eventually(lambda: len(closed()) >= 17)
    assert len(closed()) <= 17
    for connection in crowd:
        connection.close()
    assert one.ctl("status").returncode == 0


def test_clients_that_send_their_requests_slowly_keep_nobody_out(one: Daemon) -> None:
    with contextlib.ExitStack() as held:
        for _ in range(64):
            slow = held.enter_context(socket.create_connection(address(one), timeout=WAIT))
            slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        for _ in range(3):
            assert get(one, "/metrics")[0] == 200


@pytest.mark.parametrize("count", [1, 32])
def test_clients_that_read_no_answer_fill_no_memory(daemon: Callable[..., Daemon], count: int) -> None:
    first, rest = CONFIGURATION.split("---\n")
    systems = {f"s{number}.yaml": first.replace("counter", f"counter{number}") for number in range(6)}
    one = daemon({"a.yaml": first + "---\n" + rest, **systems}, arguments=("--metrics", "127.0.0.1:0"))
    ask = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    most = 0
    with contextlib.ExitStack() as held:
        unsent = {held.enter_context(socket.create_connection(address(one), timeout=WAIT)): ask for _ in range(count)}
        for client in unsent:
            client.setblocking(False)
        end = time.monotonic() + 4
        while (left := end - time.monotonic()) > 0:
            for client in select.select([], list(unsent), [], min(left, 0.1))[1]:
                with contextlib.suppress(BlockingIOError):
                    unsent[client] = unsent[client][client.send(unsent[client]):] or ask
            most = max(most, anonymous(one.pid))
        assert get(one, "/metrics")[0] == 200
    # What the kernel has kept of the requests is read when they go.
    assert get(one, "/metrics")[0] == 200
    most = max(most, anonymous(one.pid))
    assert most < 30 << 20, most


def test_an_address_that_cannot_be_served(daemon: Callable[..., Daemon], binaries: Binaries, one: Daemon) -> None:
    host, port = address(one)
    other = daemon({"a.yaml": CONFIGURATION}, arguments=("--metrics", f"{host}:{port}"), ready=False)
    assert other.wait_exit() == CANNOT_SERVE
    assert re.search(r"cannot serve the metrics.*Address already in use\"?$", other.log, re.MULTILINE), other.log
    for text in ("9464", "localhost", "127.0.0.1:99999", "[::1:9464", ":9464"):
        result = subprocess.run([binaries.mediatord, "--metrics", text], capture_output=True, text=True, timeout=WAIT)
        assert result.returncode == USAGE and "--metrics wants an address" in result.stderr.replace("\n", " "), result.stderr


def test_only_requests_for_an_address_are_answered(one: Daemon) -> None:
    for host in ("127.0.0.1", "127.0.0.1:9464", "localhost", "LocalHost:1", "[::1]", "[::1]:9464", "192.0.2.7:80"):
        assert status_for(one, host) == 200, host
    # By a name that leads here a page of the web could read the answers as if they came from its own site.
    for host in ("rebound.example", "rebound.example:9464", "127.0.0.1.rebound.example", "localhost.example", "", "a:b", "::1x", "[::1", "127.0.0.1:x"):
        assert status_for(one, host) == 421, host
    assert status_for(one, "127.0.0.1", "rebound.example") in (400, 421)
    # Programs of old say no host; browsers do.
    assert status_for(one, version="1.0") == 200
    connection = http.client.HTTPConnection(*address(one), timeout=WAIT)
    connection.request("GET", "/metrics", headers={"Host": "rebound.example"})
    assert "http://127.0.0.1:9464/metrics" in connection.getresponse().read().decode()
    connection.close()
