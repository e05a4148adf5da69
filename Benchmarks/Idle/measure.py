#!/usr/bin/env python3
"""Measures size, start and memory at rest of mediatord, monit and supervisord.

    measure.py MEDIATORD CONFIGURATION [--rounds N] [--seconds S] [--json]

CONFIGURATION is the shipped one. Rounds of all take turns; shown are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SERVICES = ("one", "two", "three")

# A service that is watched as monit watches it: by the file with its number.
WATCHED = """\
system: {name}
states: {{ Unknown: {{}}, Runs: {{ pid: int }}, Fails: {{}} }}
events: {{ Began: {{ pid: int }}, Ended: {{}} }}
initialState: Unknown
ready: [Runs]
feedbacks:
  watch:
    onState: any
    strategy: continueOnNewState
    process: {{ pidFile: {pid_file} }}
    onRunning: {{ Began: {{ pid: "${{result.pid}}" }} }}
    onEnded: Ended
transitions:
  any:
    Began: {{ to: Runs, set: {{ pid: "${{event.pid}}" }} }}
    Ended: Fails
"""


class Ready:
    """Where a program says that it is ready: the notification socket of a service manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        self.socket.settimeout(30)
        while b"READY=1" not in self.socket.recv(65_536).split(b"\n"):
            pass

    def drain(self) -> None:
        """What is told later nobody waits for, but the sender must not."""
        self.socket.setblocking(False)
        try:
            while self.socket.recv(65_536):
                pass
        except BlockingIOError:
            pass


class Accepts:
    """Where a program that says nothing is ready: it answers at its control socket."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 30
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(self.path)) == 0:
                    return
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"measure.py: {process.args[0]} does not serve {self.path}")
            time.sleep(0.001)

    def drain(self) -> None:
        pass


@dataclass
class Run:
    """What one start of a program has shown."""

    ready: float
    """Seconds from its start until it was ready."""
    resident: int
    """Bytes that it holds in memory, with what it shares with others."""
    own: int
    """Bytes of these that only it holds: what would be free without it."""


def rest(folder: Path, arguments: list[str], sign: Ready | Accepts, environment: dict[str, str], seconds: float) -> Run:
    """Starts a program, leaves it alone for a while, and looks."""
    begin = time.monotonic()
    process = subprocess.Popen(
        arguments, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        sign.wait(process)
        ready = time.monotonic() - begin
        # It may still be busy with its beginning.
        time.sleep(seconds)
        sign.drain()
        memory = {
            name: int(value.split()[0]) * 1024
            for name, _, value in (
                line.partition(":") for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
            )
        }
        return Run(ready, memory["Rss"], memory["Private_Clean"] + memory["Private_Dirty"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def mediatord(folder: Path, program: Path, configuration: Path, seconds: float) -> Run:
    sign = Ready(folder / "notify")
    arguments = [str(program), "--config", str(configuration), "--socket", str(folder / "control"), "--log-level", "warning"]
    return rest(folder, arguments, sign, {"NOTIFY_SOCKET": str(sign.path)}, seconds)


def watching(folder: Path, program: Path, pid_files: dict[str, Path], seconds: float) -> Run:
    configuration = folder / "config"
    configuration.mkdir()
    for name, path in pid_files.items():
        (configuration / f"{name}.yaml").write_text(WATCHED.format(name=name, pid_file=path))
    return mediatord(folder, program, configuration, seconds)


def monit(folder: Path, pid_files: dict[str, Path], seconds: float) -> Run:
    file = folder / "monitrc"
    lines = ["set daemon 5", f"set pidfile {folder}/monit.pid", f"set idfile {folder}/id", f"set statefile {folder}/state"]
    lines += [f"set httpd unixsocket {folder}/monit.sock", "  allow root:root"]
    lines += [f"check process {name} with pidfile {path}" for name, path in pid_files.items()]
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)
    return rest(folder, ["monit", "-I", "-c", str(file)], Accepts(folder / "monit.sock"), {}, seconds)


def supervisord(folder: Path, seconds: float) -> Run:
    file = folder / "supervisord.conf"
    text = f"[unix_http_server]\nfile={folder}/supervisor.sock\n"
    text += f"[supervisord]\nnodaemon=true\nlogfile={folder}/log\npidfile={folder}/supervisord.pid\nchildlogdir={folder}\n"
    text += "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
    text += "".join(f"[program:{name}]\ncommand=sleep infinity\n" for name in SERVICES)
    file.write_text(text)
    return rest(folder, ["supervisord", "-c", str(file)], Accepts(folder / "supervisor.sock"), {}, seconds)


def package_size(package: str) -> int:
    """The bytes of a Debian package's files."""
    names = subprocess.run(["dpkg-query", "-L", package], check=True, capture_output=True, text=True).stdout.splitlines()
    return sum(os.path.getsize(name) for name in names if os.path.isfile(name) and not os.path.islink(name))


def version(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("daemon", type=Path)
    parser.add_argument("configuration", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    program, configuration = options.daemon.resolve(), options.configuration.resolve()
    load = os.getloadavg()[0]

    folders = Path(tempfile.mkdtemp(prefix="idle-bench-"))
    services = [subprocess.Popen(["sleep", "infinity"]) for _ in SERVICES]
    try:
        pid_files = {name: folders / f"{name}.pid" for name in SERVICES}
        for service, path in zip(services, pid_files.values()):
            path.write_text(f"{service.pid}\n")
        kinds: list[tuple[str, Callable[[Path], Run]]] = [
            ("mediatord, shipped configuration", lambda f: mediatord(f, program, configuration, options.seconds)),
            ("mediatord, three services", lambda f: watching(f, program, pid_files, options.seconds)),
            ("monit, three services", lambda f: monit(f, pid_files, options.seconds)),
            ("supervisord, three services", lambda f: supervisord(f, options.seconds)),
        ]
        runs: dict[str, list[Run]] = {name: [] for name, _ in kinds}
        for round in range(options.rounds):
            for index, (name, measure) in enumerate(kinds):
                folder = folders / f"{round}-{index}"
                folder.mkdir()
                runs[name].append(measure(folder))
    finally:
        for service in services:
            service.kill()
            service.wait()
        shutil.rmtree(folders)

    interpreter = os.path.getsize(os.path.realpath("/usr/bin/python3"))
    sizes = {
        "mediatord": program.stat().st_size, "monit": os.path.getsize(shutil.which("monit") or "/usr/bin/monit"),
        "supervisord": package_size("supervisor") + interpreter,
    }
    rows = [
        {
            "program": name,
            "bytes": sizes[name.partition(",")[0]],
            "ready_ms": 1e3 * statistics.median(run.ready for run in found),
            "resident_bytes": statistics.median(run.resident for run in found),
            "own_bytes": statistics.median(run.own for run in found),
        }
        for name, found in runs.items()
    ]
    versions = {name: version("dpkg-query", "-W", "-f", "${Version}", name) for name in ("monit", "supervisor")}
    if options.json:
        json.dump({"load_before": load, "rounds": options.rounds, "versions": versions, "rows": rows}, sys.stdout, indent=2)
        print()
        return
    print(f"{options.rounds} rounds, {options.seconds:g} s at rest; load before: {load:.2f}")
    print(f"monit {versions['monit']}, supervisor {versions['supervisor']}")
    print("| | program | ready | resident | of it its own |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['program']} | {row['bytes'] / 1e6:.1f} MB | {row['ready_ms']:.0f} ms | {row['resident_bytes'] / 1e6:.1f} MB"
            f" | {row['own_bytes'] / 1e6:.1f} MB |"
        )


if __name__ == "__main__":
    main()
