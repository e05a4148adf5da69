#!/usr/bin/env python3
"""Transitions of persisted systems beside commits of SQLite, in rounds that take turns; prints a table."""

from __future__ import annotations

import argparse
import json
import os
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

CLIENTS = [1, 64]


def system(number: int, persist: str) -> str:
    return f"""\
system: s{number}
persist: {persist}
states: {{ At: {{ n: int }} }}
events: {{ Go: {{}} }}
fromOutside: any
initialState: {{ At: {{ n: 0 }} }}
transitions: {{ At: {{ Go: {{ to: At, set: {{ n: "${{state.n + 1}}" }} }} }} }}
"""


@contextmanager
def daemon(program: Path, place: Path, persist: str) -> Iterator[str]:
    """A daemon with a system for each client; its socket."""
    directory = Path(tempfile.mkdtemp(prefix="mediatord-bench-"))
    config = directory / "config"
    config.mkdir()
    (config / "systems.yaml").write_text("---\n".join(system(number, persist) for number in range(max(CLIENTS))))
    path = str(directory / "control")
    command = [program, "--config", config, "--socket", path, "--store", place / "store", "--log-level", "warning"]
    process = subprocess.Popen(command)
    try:
        wait_for(path, process)
        yield path
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(directory)
        shutil.rmtree(place / "store", ignore_errors=True)


def wait_for(path: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"measure.py: {process.args[0]} does not serve {path}")
        time.sleep(0.02)


def run(*command: object) -> list[float]:
    """The rate, and the 50th and 99th percentile in microseconds."""
    said = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if said.returncode != 0:
        raise SystemExit(f"measure.py: {command[0]} ends with {said.returncode}: {said.stderr}")
    return [float(word) for word in said.stdout.split()]


def commits(tools: Path, place: Path, seconds: float) -> list[float]:
    with tempfile.TemporaryDirectory(dir=place) as directory:
        return run(tools / "commits", Path(directory) / "db", seconds)


def medians(rounds: list[list[float]]) -> dict[str, float]:
    return {name: statistics.median(r[i] for r in rounds) for i, name in enumerate(("per_second", "p50", "p99"))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("daemon", type=Path)
    parser.add_argument("tools", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--directory", type=Path, default=Path(".build"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="store-", dir=options.directory)).absolute()
    place.chmod(0o700)
    load = os.getloadavg()[0]
    rows = []
    try:
        for persist in ("state", "none"):
            with daemon(options.daemon, place, persist) as path:
                for clients in CLIENTS:
                    ours, theirs = [], []
                    for _ in range(options.rounds):
                        ours.append(run(options.tools / "emits", path, clients, options.seconds))
                        theirs.append(commits(options.tools, place, options.seconds))
                    ratios = [a[1] / b[1] for a, b in zip(ours, theirs)]
                    rows.append(
                        {
                            "persist": persist, "clients": clients, "ours": medians(ours), "sqlite": medians(theirs),
                            "ratio_of_p50": {
                                "median": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)
                            },
                        }
                    )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if options.json:
        print(json.dumps({"load_before": load, "rows": rows}, indent=2))
        return
    print(f"{options.rounds} rounds of {options.seconds} s each; load before: {load:.2f}")
    for row in rows:
        mine, theirs, ratio = row["ours"], row["sqlite"], row["ratio_of_p50"]
        print(
            f"persist: {row['persist']:5}, {row['clients']:2} client(s):"
            f" {mine['per_second']:7.0f}/s p50 {mine['p50']:7.1f} µs p99 {mine['p99']:8.1f} µs"
            f"   SQLite {theirs['per_second']:6.0f}/s p50 {theirs['p50']:7.1f} µs"
            f"   p50 {ratio['median']:.2f} × ({ratio['least']:.2f}…{ratio['greatest']:.2f})"
        )


if __name__ == "__main__":
    main()
