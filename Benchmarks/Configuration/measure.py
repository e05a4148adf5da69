"""Measures what a configuration of many files costs: to check, to start with, and to change in one place."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# The row of a reload without a process of its own, and the seconds that it may take with a thousand systems.
RELOAD = "the same, call to answer"
RELOAD_LIMIT = 0.060

# One system, of the size and the kind of those in Config: a job that reports to a bus and heeds another.
SYSTEM = """\
# Job number {n}.
system: job-{n}
description: Count stale files, unless the disk is filling.
states:
  Waiting: {{ stale: int, rounds: int, trouble: string }}
  Working: {{ stale: int, rounds: int, trouble: string }}
  Paused: {{ stale: int, rounds: int, trouble: string }}
events:
  Due: {{}}
  Finished: {{ stale: int }}
  Failed: {{ reason: string }}
  Pause: {{}}
  Resume: {{}}
initialState: {{ Waiting: {{ stale: 0, rounds: 0, trouble: none }} }}

feedbacks:
  schedule:
    onState: Waiting
    after: 1h
    emit: Due
  work:
    onState: Working
    strategy: cancelOnNewState
    run:
      command: [find, /tmp/job-{n}, -ignore_readdir_race, -xdev, -maxdepth, "2", -type, f, -mtime, "+1", -printf, .]
      timeout: 30s
    onSuccess: {{ Finished: {{ stale: "${{size(result.output)}}" }} }}
    onFailure: {{ Failed: {{ reason: "${{result.error}}" }} }}

transitions:
  Waiting:
    Due: Working
    Pause: Paused
    Resume: stay
  Working:
    Finished:
      - when: event.stale > {n} && state.rounds < 1000
        to: Waiting
        set: {{ stale: "${{event.stale}}", rounds: "${{state.rounds + 1}}", trouble: many }}
      - {{ to: Waiting, set: {{ stale: "${{event.stale}}", rounds: "${{state.rounds + 1}}", trouble: none }} }}
    Failed: {{ to: Waiting, set: {{ rounds: "${{state.rounds + 1}}", trouble: "${{event.reason}}" }} }}
    Pause: Paused
    Resume: stay
  Paused:
    Resume: Waiting
    Pause: stay
---
links:
  tell-{n}: {{ attach: job-{n}, to: troubles, onState: Waiting, when: state.trouble != "none", emitValue: "${{state.trouble}}" }}
  pause-{n}: {{ attach: job-{n}, to: disk, onValue: full, emitEvent: Pause }}
  resume-{n}: {{ attach: job-{n}, to: disk, onValue: normal, emitEvent: Resume }}
"""

WIRING = """\
buses:
  disk: { kind: currentValue, value: string, initial: normal }
  troubles: { kind: passthrough, value: string }
---
system: guard
states: { Normal: {}, Full: {}, Troubled: {} }
events: { Fill: {}, Clear: {}, Trouble: {} }
initialState: Normal
transitions: { any: { Fill: Full, Clear: Normal, Trouble: Troubled } }
---
links:
  disk-full: { attach: guard, to: disk, onState: Full, emitValue: full }
  disk-normal: { attach: guard, to: disk, onState: Normal, emitValue: normal }
  note: { attach: guard, to: troubles, emitEvent: Trouble }
"""


def write(directory: Path, count: int) -> None:
    (directory / "00-wiring.yaml").write_text(WIRING)
    for number in range(count):
        (directory / f"job-{number}.yaml").write_text(SYSTEM.format(n=number))


def parsed(peer: Path, directory: Path) -> float:
    """Seconds that libyaml needs."""
    names = "".join(f"{path}\n" for path in sorted(directory.iterdir()))
    result = subprocess.run([peer], input=names, capture_output=True, text=True, check=True)
    return int(result.stdout.split()[1]) / 1e9


def timed(command: list[str | Path], expected: int = 0) -> float:
    begin = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if result.returncode != expected:
        sys.exit(f"{' '.join(map(str, command))} exited {result.returncode}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return seconds


class Daemon:
    """A daemon that is ready; `seconds` says how long that took."""

    def __init__(self, program: Path, directory: Path, work: Path) -> None:
        self.socket = work / "control"
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = work / "notify"
        path.unlink(missing_ok=True)
        notify.bind(str(path))
        notify.settimeout(300)
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [program, "--config", directory, "--socket", self.socket],
            env={**os.environ, "NOTIFY_SOCKET": str(path)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(work / "log", "w"),
        )
        while b"READY=1" not in notify.recv(65536).split(b"\n"):
            pass
        self.seconds = time.monotonic() - begin
        notify.close()

    def reload(self) -> float:
        """Seconds from the call of a reload to its answer, on a connection that is open."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(self.socket))
            call = {"method": "io.mediatord.Control.Reload", "parameters": {}}
            begin = time.monotonic()
            client.sendall(json.dumps(call).encode() + b"\0")
            answer = b""
            while not answer.endswith(b"\0"):
                answer += client.recv(1 << 16) or sys.exit("mediatord closed the connection")
            seconds = time.monotonic() - begin
        reply = json.loads(answer[:-1])
        if not reply.get("parameters", {}).get("applied"):
            sys.exit(f"the reload failed: {answer[:2000]!r}")
        return seconds

    def resident(self) -> float:
        """Resident memory in MB."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("Rss:")).split()[1]) * 1024 / 1e6

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(120) != 0:
            sys.exit("mediatord did not end well")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binaries", type=Path, help="where mediatord and mediatorctl are")
    arguments.add_argument("peer", type=Path, help="the program that only parses")
    arguments.add_argument("--systems", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    mediatord, mediatorctl = options.binaries / "mediatord", options.binaries / "mediatorctl"

    figures: dict[str, list[tuple[float, float]]] = {}

    resident: list[float] = []

    def note(line: str, ours: float, peer: float) -> None:
        figures.setdefault(line, []).append((ours, peer))

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        directory = work / "config"
        directory.mkdir()
        write(directory, options.systems)
        for _ in range(options.rounds):
            peer = parsed(options.peer, directory)
            note("validate", timed([mediatorctl, "validate", "--quiet", directory]), peer)
            peer = parsed(options.peer, directory)
            daemon = Daemon(mediatord, directory, work)
            note("start to READY=1", daemon.seconds, peer)
            resident.append(daemon.resident())
            control = [mediatorctl, "--socket", daemon.socket]
            peer = parsed(options.peer, directory)
            note("plan, nothing changed", timed([*control, "plan"]), peer)
            changed = directory / "job-7.yaml"
            text = changed.read_text()
            changed.write_text(text.replace("rounds < 1000", "rounds < 2000"))
            peer = parsed(options.peer, directory)
            note("reload, one system changed", timed([*control, "reload"]), peer)
            # Alternately changed and as before, so each of these has one change to apply.
            for reload in range(4):
                changed.write_text(text if reload % 2 == 0 else text.replace("rounds < 1000", "rounds < 2000"))
                peer = parsed(options.peer, directory)
                note(RELOAD, daemon.reload(), peer)
            changed.write_text(text)
            daemon.stop()

    median: Callable[[list[float]], float] = statistics.median
    if options.json:
        lines = {line: [{"seconds": a, "libyaml": b} for a, b in pairs] for line, pairs in figures.items()}
        print(json.dumps({**lines, "resident": resident}))
    else:
        print(f"{options.systems} systems in as many files, {options.rounds} rounds")
        for line, pairs in figures.items():
            ratios = sorted(a / b for a, b in pairs)
            print(
                f"{line:28} {median([a for a, _ in pairs]):7.3f} s   libyaml alone {median([b for _, b in pairs]):7.3f} s"
                f"   {median(ratios):5.2f} ×  {ratios[0]:5.2f} ×…{ratios[-1]:5.2f} ×"
            )
        print(f"resident after the start {median(resident):8.1f} MB")
    reload = median([seconds for seconds, _ in figures[RELOAD]])
    if options.systems <= 1000 and reload > RELOAD_LIMIT:
        sys.exit(f"a reload took {1000 * reload:.0f} ms; the limit is {1000 * RELOAD_LIMIT:.0f} ms")


if __name__ == "__main__":
    main()
