"""Measures what a hop costs: an event of a configured system, its new state, a link, a bus and a link to the next."""

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
from pathlib import Path

SYSTEM = """\
system: hop-{n}
states: {{ Idle: {{}}, Here: {{ number: int }} }}
events: {{ Take: {{ number: int }} }}
initialState: Idle
transitions:
  Idle:
    Take: {{ to: Here, when: event.number >= 0, set: {{ number: "${{event.number + 1}}" }} }}
  Here:
    Take: {{ to: Here, when: event.number >= 0, set: {{ number: "${{event.number + 1}}" }} }}
"""

# The same with an input instead of an event: a rule of `always` follows each change of the input.
LEVEL_SYSTEM = """\
system: hop-{n}
inputs: {{ number: {{ type: int, default: 0 }} }}
states: {{ Here: {{ number: int }} }}
initialState: {{ Here: {{ number: 0 }} }}
transitions:
  Here:
    always: {{ when: input.number != state.number, to: Here, set: {{ number: "${{input.number}}" }} }}
"""

# The last number that is put in at a time begins here, the others at 0.
LAST = 1_000_000

HERTZ = os.sysconf("SC_CLK_TCK")


def wiring(length: int, levels: bool) -> str:
    lines = ["buses:"]
    for n in range(length):
        outside = ", fromOutside: write" if n == 0 else ""
        lines.append(f"  bus-{n}: {{ kind: passthrough, value: int, limit: 100000{outside} }}")
    lines.append("  idle: { kind: currentValue, value: int, initial: 0, fromOutside: write }")
    lines.append("  out: { kind: currentValue, value: int, initial: 0, fromOutside: read }")
    lines.append("links:")
    for n in range(length):
        sends = 'setInput: { number: "${value + 1}" }' if levels else 'emitEvent: { Take: { number: "${value}" } }'
        lines.append(f"  into-{n}: {{ attach: hop-{n}, to: bus-{n}, {sends} }}")
        if n + 1 < length:
            lines.append(
                f"  out-of-{n}: {{ attach: hop-{n}, to: bus-{n + 1}, onState: Here, emitValue: \"${{state.number}}\" }}")
    # What tells that all the others have come out too, since they come out in the order in which they were put in.
    lines.append(
        f"  out: {{ attach: hop-{length - 1}, to: out, onState: Here, when: state.number >= {LAST},"
        " emitValue: \"${state.number}\" }")
    return "\n".join(lines) + "\n"


def used(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / HERTZ


def stolen() -> float:
    """Seconds that the machine was kept from using its processors, by the machine it runs on."""
    return int(Path("/proc/stat").read_text().splitlines()[0].split()[8]) / HERTZ


class Ours:
    """The daemon with a row of systems; numbers are published on the first bus."""

    def __init__(self, program: Path, directory: Path, length: int, levels: bool = False) -> None:
        self.levels, self.next = levels, 1
        config = directory / "config"
        config.mkdir()
        for n in range(length):
            system = LEVEL_SYSTEM if levels else SYSTEM
            (config / f"hop-{n}.yaml").write_text(system.format(n=n) + "mailbox: { limit: 100000 }\n")
        (config / "wiring.yaml").write_text(wiring(length, levels))
        path = str(directory / "control")
        # Each number put in is an act, which is logged at any level.
        self.process = subprocess.Popen(
            [program, "--config", config, "--socket", path, "--log-level", "warning"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        self.socket = socket.socket(socket.AF_UNIX)
        while self.socket.connect_ex(path) != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("measure.py: the daemon does not serve its socket")
            time.sleep(0.02)
        self.rest = b""
        while any(one["health"] != "healthy" for one in self.call("ListSystems", {})["systems"]):
            time.sleep(0.02)
        self.out = socket.socket(socket.AF_UNIX)
        self.out.connect(path)
        watch = {"method": "io.mediatord.Control.WatchBus", "parameters": {"name": "out"}, "more": True}
        self.out.sendall(json.dumps(watch).encode() + b"\0")
        self.wait_out()

    def call(self, method: str, parameters: dict) -> dict:
        message = {"method": f"io.mediatord.Control.{method}", "parameters": parameters}
        self.socket.sendall(json.dumps(message).encode() + b"\0")
        while b"\0" not in self.rest:
            self.rest += self.socket.recv(1 << 20)
        line, _, self.rest = self.rest.partition(b"\0")
        reply = json.loads(line)
        if "error" in reply:
            sys.exit(f"measure.py: {method}: {reply}")
        return reply["parameters"]

    def wait_out(self) -> None:
        """Waits until something comes out."""
        reply = b""
        while not reply.endswith(b"\0"):
            got = self.out.recv(1 << 16)
            if not got:
                sys.exit("measure.py: the daemon watches no longer")
            reply += got
        if b"error" in reply:
            sys.exit(f"measure.py: {reply.decode()}")

    def send(self, count: int) -> None:
        def message(value: int) -> bytes:
            parameters = {"bus": "bus-0", "value": value}
            call = {"method": "io.mediatord.Control.Publish", "parameters": parameters, "oneway": True}
            return json.dumps(call).encode() + b"\0"

        if self.levels:
            # An input that keeps its value sets nothing off.
            numbers = range(self.next, self.next + count - 1)
            self.next += count
            self.socket.sendall(b"".join(message(number % LAST) for number in numbers) + message(LAST + self.next))
        else:
            self.socket.sendall(message(0) * (count - 1) + message(LAST))
        self.wait_out()


class Peer:
    """A row of Erlang's gen_statems. Its schedulers do not spin while they wait."""

    def __init__(self, beams: Path, length: int) -> None:
        self.process = subprocess.Popen(
            ["erl", "-noinput", "-noshell", *("+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"),
             "-pa", beams, "-run", "chain", "main", str(length)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, count: int) -> None:
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


def measure(one: Ours | Peer, length: int, flight: int, seconds: float) -> tuple[float, float]:
    """Microseconds of processor time for a hop, and hops in a second."""
    one.send(flight)
    begin, before, hops = time.monotonic(), used(one.process.pid), 0
    while time.monotonic() - begin < seconds:
        one.send(flight)
        hops += flight * length
    return (used(one.process.pid) - before) / hops * 1e6, hops / (time.monotonic() - begin)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("daemons", nargs="+", type=Path, help="daemons to be compared, the first with the peer")
    arguments.add_argument("--peer", type=Path, required=True, help="where chain.beam is")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=2)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument(
        "--levels", action="store_true", help="compare a row that passes inputs on with one that passes events on")
    options = arguments.parse_args()

    shapes = [(4, 100), (100, 10), (100, 1000)]
    rows = []
    for length, flight in shapes:
        with tempfile.TemporaryDirectory() as name:
            ones: list[Ours | Peer] = []
            for number, program in enumerate(options.daemons):
                (Path(name) / str(number)).mkdir()
                ones.append(Ours(program, Path(name) / str(number), length))
            if options.levels:
                (Path(name) / "levels").mkdir()
                ones.append(Ours(options.daemons[0], Path(name) / "levels", length, levels=True))
            ones.append(Peer(options.peer, length))
            results: list[list[tuple[float, float]]] = [[] for _ in ones]
            begin, before = time.monotonic(), stolen()
            for _ in range(options.rounds):
                for one, result in zip(ones, results):
                    result.append(measure(one, length, flight, options.seconds))
            share = (stolen() - before) / (time.monotonic() - begin)
            for one in ones[:-1]:
                one.process.send_signal(signal.SIGTERM)
                if one.process.wait(60) != 0:
                    sys.exit("measure.py: the daemon did not end well")
            ones[-1].process.stdin.close()
            ones[-1].process.wait(60)
        rows.append({
            "systems": length, "inFlight": flight, "stolen": share,
            "microseconds": [statistics.median(cost for cost, _ in result) for result in results],
            "hopsPerSecond": [statistics.median(rate for _, rate in result) for result in results],
            "ratios": [statistics.median(ours[1] / peer[1] for ours, peer in zip(result, results[-1])) for result in results],
        })
    if options.json:
        print(json.dumps(rows))
        return
    names = [str(path) for path in options.daemons] if len(options.daemons) > 1 else ["mediatord"]
    names += ["inputs"] if options.levels else []
    print(f"{'systems':>7} {'in flight':>9}  {'':24} {'µs a hop':>9} {'hops/s':>10} {'ratio':>8} {'stolen':>7}")
    for row in rows:
        for index, name in enumerate([*names, "gen_statem"]):
            print(
                f"{row['systems']:7} {row['inFlight']:9}  {name[-24:]:24} {row['microseconds'][index]:9.2f}"
                f" {row['hopsPerSecond'][index]:10,.0f} {row['ratios'][index]:6.2f} × {row['stolen']:7.1%}")


if __name__ == "__main__":
    main()
