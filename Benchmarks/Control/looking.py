#!/usr/bin/env python3
"""Measures how long mediatorctl takes to show thousands of systems, and how long a short call waits beside it.

    looking.py PROGRAMS [--systems N] [--rounds N] [--json]

PROGRAMS is the directory of mediatord and mediatorctl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

VERBS = ["version", "status", "list", "metrics", "graph --live", "graph --live --json", "top --json --count 1"]
METHODS = ["Status", "ListSystems", "ListBuses", "ListLinks", "ReadMetrics"]
# In one file of a configuration there are at most a mebibyte.
SYSTEMS_OF_FILE = 100
PARTS_OF_FILE = 500


def system(number: int) -> str:
    return f"""\
system: s{number:05}
description: Number {number} of many
states: {{ Low: {{ level: int }}, High: {{ level: int }} }}
events: {{ Up: {{ by: int }}, Down: {{}} }}
fromOutside: any
initialState: {{ Low: {{ level: {number} }} }}
feedbacks: {{ calm: {{ onState: High, after: 1h, emit: Down }} }}
transitions:
  Low: {{ Up: {{ to: High, set: {{ level: "${{state.level + event.by}}" }} }}, Down: stay }}
  High: {{ Down: Low, Up: stay }}
"""


def wiring(numbers: range, count: int) -> str:
    text = "buses:\n" + "".join(f"  b{n:05}: {{ kind: currentValue, value: int, initial: 0 }}\n" for n in numbers)
    text += "links:\n"
    for n in numbers:
        text += f'  tell{n:05}: {{ attach: s{n:05}, to: b{n:05}, onState: High, emitValue: "${{state.level}}" }}\n'
        text += f"  hear{n:05}: {{ attach: s{(n + 1) % count:05}, to: b{n:05}, when: value > 1000000, "
        text += "emitEvent: { Up: { by: 1 } }, loop: { limit: 10 per 1s } }\n"
    return text


@contextmanager
def daemon(program: Path, count: int) -> Iterator[tuple[str, int]]:
    """A daemon with a ring of so many systems and buses; its socket and its process."""
    directory = Path(tempfile.mkdtemp(prefix="mediatord-bench-"))
    config = directory / "config"
    config.mkdir()
    for first in range(0, count, SYSTEMS_OF_FILE):
        texts = (system(n) for n in range(first, min(first + SYSTEMS_OF_FILE, count)))
        (config / f"systems{first:06}.yaml").write_text("---\n".join(texts))
    for first in range(0, count, PARTS_OF_FILE):
        (config / f"wiring{first:06}.yaml").write_text(wiring(range(first, min(first + PARTS_OF_FILE, count)), count))
    path = str(directory / "control")
    command = [program, "--config", config, "--socket", path, "--log-level", "warning"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while call(path, "io.mediatord.Control.Status", allows_failure=True).find(b'"starting"') >= 0:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"looking.py: {program} does not serve {path}")
            time.sleep(0.1)
        yield path, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(directory)


def call(path: str, method: str, allows_failure: bool = False) -> bytes:
    """The reply to a call."""
    with socket.socket(socket.AF_UNIX) as connection:
        if connection.connect_ex(path) != 0 and allows_failure:
            return b'"starting"'
        connection.sendall(json.dumps({"method": method, "parameters": {}}).encode() + b"\0")
        reply = bytearray()
        while not reply.endswith(b"\0"):
            piece = connection.recv(1 << 20)
            if not piece:
                raise SystemExit(f"looking.py: {method} is not answered")
            reply += piece
        return bytes(reply)


def processor_time(pid: int) -> float:
    """What the daemon and the clients that have ended have had of the processors, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    clients = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + clients.ru_utime + clients.ru_stime


def seconds(rounds: int, pid: int, body: Callable[[], object]) -> dict[str, float]:
    """How long something takes, by the clock and of the processors: the latter says less of what else the machine does."""
    times = []
    before = processor_time(pid)
    for _ in range(rounds):
        begin = time.monotonic()
        body()
        times.append(time.monotonic() - begin)
    taken = (processor_time(pid) - before) / rounds
    return {"least": min(times), "median": statistics.median(times), "processors": taken}


def pings(path: str, program: Path, environment: dict[str, str]) -> dict[str, float]:
    """How long a short call takes while another client lists all systems again and again, in milliseconds."""
    with socket.socket(socket.AF_UNIX) as connection, subprocess.Popen(
        ["sh", "-c", f'while :; do "{program}" list systems --json >/dev/null; done'], env=environment,
        start_new_session=True,
    ) as lister:
        connection.connect(path)
        times = []
        for _ in range(500):
            begin = time.monotonic()
            connection.sendall(b'{"method":"io.systemd.service.Ping"}\0')
            connection.recv(4096)
            times.append(1e3 * (time.monotonic() - begin))
            time.sleep(0.005)
        os.killpg(lister.pid, signal.SIGKILL)
    times.sort()
    return {"median": times[250], "p99": times[495], "greatest": times[-1]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=Path)
    parser.add_argument("--systems", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    client = options.programs / "mediatorctl"
    result: dict = {"systems": options.systems, "load_before": os.getloadavg()[0], "verbs": {}, "calls": {}}
    with daemon(options.programs / "mediatord", options.systems) as (path, pid):
        environment = {**os.environ, "MEDIATORD_SOCKET": path}
        for verb in VERBS:

            def run(verb: str = verb) -> None:
                subprocess.run([client, *verb.split()], env=environment, stdout=subprocess.DEVNULL, check=True)

            result["verbs"][verb] = seconds(options.rounds, pid, run)
        for method in METHODS:
            name = f"io.mediatord.Control.{method}"
            result["calls"][method] = seconds(options.rounds, pid, lambda name=name: call(path, name))
        result["ping_beside_lists"] = pings(path, client, environment)
    if options.json:
        print(json.dumps(result))
        return
    print(f"{options.systems} systems, {options.systems} buses, {2 * options.systems} links; load {result['load_before']:.1f}")
    for kind, names in (("verbs", "mediatorctl "), ("calls", "the daemon alone, ")):
        for name, taken in result[kind].items():
            print(f"{names + name:40} {taken['least']:6.3f} s at least, {taken['median']:6.3f} s in the median, "
                f"{taken['processors']:6.3f} s of the processors")
    ping = result["ping_beside_lists"]
    print(f"a Ping beside a client that lists: {ping['median']:.2f} ms, p99 {ping['p99']:.2f} ms, {ping['greatest']:.2f} ms at most")


if __name__ == "__main__":
    main()
