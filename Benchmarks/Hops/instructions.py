"""Counts the instructions of a hop under valgrind, which no noise of the machine disturbs: when nobody looks, with clients
that watch another bus, and with one that watches a bus in the row."""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Ours

LENGTH = 50
FLIGHT = 100
ROUNDS = 4
WATCHERS = 1_000


class Counted(Ours):
    """The daemon under valgrind, which counts nothing until it is told to."""

    def __init__(self, program: Path, directory: Path) -> None:
        self.output = directory / "callgrind.out"
        wrapper = directory / "daemon"
        wrapper.write_text(
            f"#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file='{self.output}'"
            f" '{program}' \"$@\"\n")
        wrapper.chmod(0o755)
        super().__init__(wrapper, directory, LENGTH)
        self.send(2 * FLIGHT)

    def count(self, wanted: bool) -> None:
        subprocess.run(
            ["callgrind_control", "-i", "on" if wanted else "off", str(self.process.pid)], check=True,
            stdout=subprocess.DEVNULL)

    def end(self) -> int:
        """Ends it; how many instructions were counted."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(120) != 0:
            sys.exit("instructions.py: the daemon did not end well")
        return sum(int(total) for total in re.findall(r"^totals: (\d+)", self.output.read_text(), re.MULTILINE))


def watch(path: str, bus: str) -> socket.socket:
    """A client that watches a bus, and has got the value that it has."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(120)
    client.connect(path)
    message = {"method": "io.mediatord.Control.WatchBus", "parameters": {"name": bus}, "more": True}
    client.sendall(json.dumps(message).encode() + b"\0")
    reply = b""
    while not reply.endswith(b"\0"):
        reply += client.recv(4096)
    assert b"error" not in reply, reply
    return client


def measure(program: Path, watchers: int, bus: str) -> float:
    """Instructions of a hop, while so many clients watch a bus."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        one = Counted(program, directory)
        path = str(directory / "control")
        clients = [watch(path, bus) for _ in range(watchers)]
        one.count(True)
        for _ in range(ROUNDS):
            one.send(FLIGHT)
        one.count(False)
        for client in clients:
            client.close()
        return one.end() / (ROUNDS * FLIGHT * LENGTH)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("daemon", type=Path)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    if shutil.which("callgrind_control") is None:
        sys.exit("instructions.py: there is no callgrind_control in PATH; install valgrind")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16 * WATCHERS), most))
    # Valgrind cannot read all that debuggers can.
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "mediatord"
        subprocess.run(["objcopy", "--strip-debug", options.daemon, program], check=True)
        nobody = measure(program, 0, "idle")
        again = measure(program, 0, "idle")
        others = measure(program, WATCHERS, "idle")
    rows = [
        ("nobody looks", nobody), ("nobody looks, once more", again), (f"{WATCHERS} clients watch another bus", others),
    ]
    if options.json:
        print(json.dumps([{"case": case, "instructions": count, "ratio": count / nobody} for case, count in rows]))
        return
    for case, count in rows:
        print(f"{case:32} {count:10,.0f} instructions a hop  {count / nobody - 1:+7.2%}")


if __name__ == "__main__":
    main()
