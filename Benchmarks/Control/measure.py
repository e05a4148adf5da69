#!/usr/bin/env python3
"""Calls of the control socket beside Redis' PING in rounds that take turns, and what watchers cost; prints a table."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSES = """\
buses:
  busy: { kind: currentValue, value: int, initial: 0, fromOutside: both }
  idle: { kind: currentValue, value: int, initial: 0, fromOutside: both }
"""
SYSTEM = "system: quiet\nstates: { Here: {} }\nevents: {}\ninitialState: Here\n"

SHAPES = [(1, 1), (100, 1), (1, 16), (100, 16)]
WATCHERS = 1_000


@contextmanager
def daemon(program: Path) -> Iterator[tuple[str, int]]:
    """A daemon with two buses and a system; its socket and its process."""
    directory = Path(tempfile.mkdtemp(prefix="mediatord-bench-"))
    config = directory / "config"
    config.mkdir()
    (config / "buses.yaml").write_text(BUSES)
    (config / "quiet.yaml").write_text(SYSTEM)
    path = str(directory / "control")
    command = [program, "--config", config, "--socket", path, "--log-level", "warning"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(path, process)
        yield path, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(directory)


@contextmanager
def redis() -> Iterator[str]:
    """A Redis server that keeps nothing; its socket."""
    directory = tempfile.mkdtemp(prefix="redis-bench-")
    path = f"{directory}/redis"
    command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", directory]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(path, process)
        yield path
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(directory)


def wait_for(path: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"measure.py: {process.args[0]} does not serve {path}")
        time.sleep(0.02)


def calls(tools: Path, path: str, protocol: str, shape: tuple[int, int], seconds: float, *call: str) -> list[float]:
    """Calls per second, and the 50th and 99th percentile in microseconds."""
    arguments = [tools / "calls", path, protocol, str(shape[0]), str(shape[1]), str(seconds), *call]
    said = subprocess.run(arguments, capture_output=True, text=True)
    if said.returncode != 0:
        raise SystemExit(f"measure.py: {said.stderr}")
    return [float(word) for word in said.stdout.split()]


def redis_benchmark(path: str) -> float:
    """What Redis' own client measures: PING, one connection, not pipelined."""
    command = ["redis-benchmark", "-s", path, "-t", "ping_mbulk", "-c", "1", "-n", "50000", "-q"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.findall(r"([\d.]+) requests per second", said)[-1])


def processor_time(pid: int) -> float:
    """What a process has had of the processors, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def publishing(tools: Path, path: str, pid: int, seconds: float) -> float:
    """Processor time of the daemon for one value on a bus, in microseconds. Time by the clock says more of what else the
    machine does."""
    begin = processor_time(pid)
    call = ("io.mediatord.Control.Publish", '{"bus":"busy","value":0}')
    count = calls(tools, path, "varlink", (1, 16), seconds, *call)[3]
    return 1e6 * (processor_time(pid) - begin) / count


@contextmanager
def watching(tools: Path, path: str, bus: str, *last: str) -> Iterator[subprocess.Popen[str]]:
    arguments = [tools / "watchers", path, bus, str(WATCHERS), *last]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit("measure.py: watchers do not watch")
        yield process
        process.stdin.close()
        process.wait()
    finally:
        process.kill()


def publish_all(path: str, count: int) -> float:
    """Publishes the numbers from 1, each after the one before was answered; calls per second."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        begin = time.monotonic()
        for value in range(1, count + 1):
            text = f'{{"method":"io.mediatord.Control.Publish","parameters":{{"bus":"busy","value":{value}}}}}\0'
            connection.sendall(text.encode())
            answer = b""
            while not answer.endswith(b"\0"):
                answer += connection.recv(4096)
            assert b"error" not in answer, answer
        return count / (time.monotonic() - begin)


def median(values: list[float]) -> float:
    return statistics.median(values)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("daemon", type=Path)
    parser.add_argument("tools", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--values", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    load = os.getloadavg()[0]
    rows: list[dict] = []
    with daemon(options.daemon) as (path, _), redis() as peer:
        for shape in SHAPES:
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(calls(options.tools, path, "varlink", shape, options.seconds))
                theirs.append(calls(options.tools, peer, "redis", shape, options.seconds))
            ratios = [a[0] / b[0] for a, b in zip(ours, theirs)]
            rows.append(
                {
                    "connections": shape[0],
                    "pipelined": shape[1],
                    "ours": {n: median([r[i] for r in ours]) for i, n in enumerate(("calls_per_second", "p50", "p99"))},
                    "redis": {n: median([r[i] for r in theirs]) for i, n in enumerate(("calls_per_second", "p50", "p99"))},
                    "ratio": {"median": median(ratios), "least": min(ratios), "greatest": max(ratios)},
                }
            )
        own_client = redis_benchmark(peer)
    idle, alone = [], []
    with daemon(options.daemon) as (path, pid):
        publishing(options.tools, path, pid, options.seconds)
        for _ in range(options.rounds):
            with watching(options.tools, path, "idle"):
                idle.append(publishing(options.tools, path, pid, options.seconds))
            while len(os.listdir(f"/proc/{pid}/fd")) > WATCHERS // 2:
                time.sleep(0.02)
            alone.append(publishing(options.tools, path, pid, options.seconds))
    with daemon(options.daemon) as (path, _):
        with watching(options.tools, path, "busy", str(options.values)) as process:
            rate = publish_all(path, options.values)
            assert process.stdout is not None
            values, dropped, wrong = map(int, process.stdout.readline().split())
    result = {
        "load_before": load,
        "calls": rows,
        "redis_benchmark_calls_per_second": own_client,
        "idle_watchers": {
            "count": WATCHERS,
            "microseconds_with": {"least": min(idle), "median": median(idle)},
            "microseconds_without": {"least": min(alone), "median": median(alone)},
        },
        "active_watchers": {
            "count": WATCHERS,
            "published": options.values,
            "published_per_second": rate,
            "values": values,
            "dropped": dropped,
            "unaccounted": wrong,
        },
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{options.rounds} rounds of {options.seconds} s each; load before: {load:.2f}")
    for row in rows:
        mine, theirs, ratio = row["ours"], row["redis"], row["ratio"]
        print(
            f"{row['connections']:4} connection(s), {row['pipelined']:2} at once:"
            f" {mine['calls_per_second']:8.0f}/s p50 {mine['p50']:6.1f} µs p99 {mine['p99']:7.1f} µs"
            f"   Redis {theirs['calls_per_second']:8.0f}/s p50 {theirs['p50']:6.1f} µs p99 {theirs['p99']:7.1f} µs"
            f"   {ratio['median']:.2f} × ({ratio['least']:.2f}…{ratio['greatest']:.2f})"
        )
    print(f"redis-benchmark itself, 1 connection: {own_client:.0f}/s")
    # What else runs makes figures greater and never smaller, so the least of the rounds says most.
    print(
        f"a value published takes {min(alone):.2f} µs of the daemon's processor time at least, {median(alone):.2f} in the"
        f" median; with {WATCHERS} idle watchers {min(idle):.2f} µs and {median(idle):.2f} µs:"
        f" {100 * (min(idle) / min(alone) - 1):+.1f} % and {100 * (median(idle) / median(alone) - 1):+.1f} %"
    )
    print(
        f"{WATCHERS} active watchers, {options.values} values at {rate:.0f}/s: {values} came, {dropped} were said to be"
        f" dropped; {wrong} watchers for which these do not add up"
    )


if __name__ == "__main__":
    main()
