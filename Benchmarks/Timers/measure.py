"""Measures the processor time and the memory of many systems that do nothing but tick."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEM = """\
system: ticks-{n}
states: {{ Here: {{ count: int }} }}
events: {{ Tick: {{}} }}
initialState: {{ Here: {{ count: 0 }} }}
feedbacks: {{ tick: {{ onState: Here, strategy: continueOnNewState, every: 1s, emit: Tick }} }}
transitions: {{ Here: {{ Tick: {{ to: Here, set: {{ count: "${{state.count + 1}}" }} }} }} }}
"""

HERTZ = os.sysconf("SC_CLK_TCK")


def used(pid: int) -> tuple[float, float]:
    """Seconds of processor time, and megabytes resident."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / HERTZ, pages * os.sysconf("SC_PAGESIZE") / 1e6


def stolen() -> float:
    """Seconds that the machine was kept from using its processors, by the machine it runs on."""
    return int(Path("/proc/stat").read_text().splitlines()[0].split()[8]) / HERTZ


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("daemon", type=Path)
    arguments.add_argument("peer", type=Path, help="where ticks.beam is")
    arguments.add_argument("--systems", type=int, default=1000)
    arguments.add_argument("--minutes", type=int, default=10)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()

    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "config"
        directory.mkdir()
        for number in range(options.systems):
            (directory / f"ticks-{number}.yaml").write_text(SYSTEM.format(n=number))
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        ours = subprocess.Popen(
            [options.daemon, "--config", directory, "--socket", f"{name}/control", "--log-level", "warning"], **quiet)
        peer = subprocess.Popen(
            ["erl", "-noinput", "-pa", options.peer, "-run", "ticks", "main", str(options.systems)], **quiet)
        minutes = []
        try:
            # Until both are there and have settled.
            time.sleep(10)
            if not options.json:
                print(f"{options.systems} systems with a timer of a second; per cent of a processor, and megabytes resident")
                print(f"{'minute':>6}  {'mediatord':>16}  {'gen_statem':>16}  {'ratio':>7}  {'stolen':>7}")
            for minute in range(1, options.minutes + 1):
                begin, before = time.monotonic(), (used(ours.pid)[0], used(peer.pid)[0], stolen())
                time.sleep(60)
                seconds = time.monotonic() - begin
                (cpu, memory), (peer_cpu, peer_memory) = used(ours.pid), used(peer.pid)
                share, peer_share = (cpu - before[0]) / seconds, (peer_cpu - before[1]) / seconds
                row = {
                    "cpu": share, "resident": memory, "peerCPU": peer_share, "peerResident": peer_memory,
                    "stolen": (stolen() - before[2]) / seconds,
                }
                minutes.append(row)
                if not options.json:
                    print(
                        f"{minute:6}  {share:7.1%} {memory:5.1f} MB  {peer_share:7.1%} {peer_memory:5.1f} MB"
                        f"  {share / peer_share:5.2f} ×  {row['stolen']:7.1%}", flush=True)
        finally:
            for process in (ours, peer):
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        if ours.returncode != 0:
            sys.exit("mediatord did not end well")
    if options.json:
        print(json.dumps(minutes))
        return
    median = statistics.median(row["cpu"] for row in minutes)
    print(f"median {median:.1%} of a processor, {median / statistics.median(row['peerCPU'] for row in minutes):.2f} × the peer")


if __name__ == "__main__":
    main()
