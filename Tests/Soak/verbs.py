"""Random verbs of mediatorctl, and random clients of the control socket, against a busy daemon, with random disconnects.

Whoever disconnects does so at any moment: programs are killed, connections closed in the middle of a message or a reply.
In the end nothing may be left of them: as many descriptors, threads and children as at the beginning, memory that does not
grow, every system healthy, and the daemon stops as it should.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Integration"))
from memory import anonymous  # noqa: E402

BUSY = """\
system: busy-{n}
states: {{ Here: {{ count: int, note: string }} }}
events: {{ Tick: {{}}, Add: {{ number: int }}, Note: {{ text: string }}, Ran: {{}} }}
initialState: {{ Here: {{ count: 0, note: "" }} }}
mailbox: {{ limit: 10000 }}
feedbacks:
  tick: {{ onState: Here, strategy: continueOnNewState, every: 20ms, emit: Tick }}
  work: {{ onState: Here, strategy: continueOnNewState, every: 500ms, run: [echo, "hello"], onSuccess: Ran }}
transitions:
  Here:
    Tick: {{ to: Here, set: {{ count: "${{state.count + 1}}" }} }}
    Add: {{ to: Here, when: event.number > 0, set: {{ count: "${{state.count + event.number}}" }} }}
    Note: {{ to: Here, set: {{ note: "${{event.text}}" }} }}
    Ran: stay
"""

DOOR = """\
system: door
states: { Closed: {}, Open: { by: string } }
events: { Push: { by: string }, Shut: {} }
initialState: Closed
transitions:
  Closed: { Push: { to: Open, set: { by: "${event.by}" } } }
  Open: { Shut: Closed }
"""

WIRING = """\
buses:
  counts: { kind: passthrough, value: int, fromOutside: both }
  numbers: { kind: passthrough, value: int, fromOutside: both }
  last: { kind: currentValue, value: string, initial: nobody, fromOutside: both }
links:
  tell: { attach: busy-0, to: counts, onState: Here, emitValue: "${state.count}" }
  add: { attach: busy-1, to: numbers, when: value > 3, emitEvent: { Add: { number: "${value}" } } }
  who: { attach: door, to: last, onState: Open, emitValue: "${state.by}" }
  note: { attach: busy-2, to: last, emitEvent: { Note: { text: "${value}" } } }
access:
  read: { groups: [nogroup] }
"""

COMING = "system: coming\nstates: { Here: {} }\nevents: {}\ninitialState: Here\n"
WRONG = "system: wrong\nstates: { Here: {} }\nevents: {}\ninitialState: Nowhere\n"

PARTS = ["busy-0", "busy-1", "busy-2", "door", "counts", "numbers", "last", "tell", "add", "who", "coming", "nobody"]


def verbs(chance: random.Random, config: Path) -> list[str]:
    """A verb with its arguments, most of which make sense."""
    part = chance.choice(PARTS)
    system = chance.choice(PARTS[:4])
    json_too = ["--json"] if chance.random() < 0.5 else []
    choices = [
        ["status"], ["list"], ["list", chance.choice(["systems", "buses", "links"])], ["show", part], ["why", system],
        ["why-not", "door", chance.choice(["Push", "Shut", "Nothing"])], ["why-not", "busy-1", "Add", "number=1"],
        ["trace", system], ["trace", system, "--limit", "3"], ["metrics"], ["log-level"], ["store"],
        ["log-level", chance.choice(["info", "warning", "error"])], ["log-level", "default"],
        ["emit", "door", "Push", f"by=guest-{chance.randrange(100)}"], ["emit", "door", "Shut"],
        ["emit", "busy-1", "Add", f"number={chance.randrange(-2, 9)}"], ["emit", "busy-1", "Add", "number=many"],
        ["emit", "door", "Shut", "--wait", "Closed", "--timeout", "2"],
        ["emit", "door", "Push", "by=me", "--wait", "Closed", "--timeout", "0.2"],
        ["publish", "numbers", str(chance.randrange(10))], ["publish", "last", f"n{chance.randrange(100)}"],
        ["publish", "last", "x" * 50_000], ["publish", "nobody", "1"],
        ["pause", system], ["resume", system], ["restart", system], ["reset", system],
        ["validate", str(config)], ["plan"], ["reload"], ["reload", "--drop-transient"], ["cat-config"],
        ["attach", "more", "--system", "busy-2", "--to", "counts", "--when", "value % 50 == 0", "--emit-event", "Tick"],
        ["attach", "more", "--system", "nobody", "--to", "counts", "--emit-event", "Tick"],
        ["detach", "more"], ["detach", "who"], ["attach", "who"],
        ["graph", "--format", chance.choice(["text", "dot", "mermaid", "svg"])], ["graph", "--live"],
        ["tap", part, "--count", str(chance.randrange(1, 30)), "--for", "1s"],
        ["tap", "system:*", "bus:*", "link:*", "--for", f"{chance.randrange(100, 1500)}ms"],
        ["tap", "busy-*", "--where", "state.count % 7 == 0", "--rate", "20/s", "--for", "500ms"],
        ["eval", "1 + 2 * 3"], ["version"],
    ]
    verb = chance.choice(choices)
    return verb + (json_too if verb[0] not in ("eval", "version") else [])


class Session:
    """The daemon, and all that is done to it."""

    def __init__(self, mediatord: Path, mediatorctl: Path, seed: int) -> None:
        self.mediatorctl = mediatorctl
        self.seed = seed
        self.directory = Path(tempfile.mkdtemp(prefix="mediatord-verbs-"))
        self.config = self.directory / "config"
        self.config.mkdir()
        for n in range(3):
            (self.config / f"busy-{n}.yaml").write_text(BUSY.format(n=n))
        (self.config / "door.yaml").write_text(DOOR)
        (self.config / "wiring.yaml").write_text(WIRING)
        self.path = str(self.directory / "control")
        self.log = open(self.directory / "log", "wb")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", mediatord, "--config", self.config, "--socket", self.path,
             "--log-level", "warning"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.is_over = threading.Event()
        self.done: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.problems: list[str] = []
        self.lock = threading.Lock()
        deadline = time.monotonic() + 30
        while self.ctl("status").returncode != 0:
            if time.monotonic() > deadline:
                sys.exit("verbs.py: the daemon does not become ready")

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.mediatorctl, "--socket", self.path, *arguments] if arguments[0] not in ("eval",) else
            [self.mediatorctl, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def note(self, what: str, code: int | None = None, problem: str | None = None) -> None:
        with self.lock:
            self.done[what] += 1
            if code is not None:
                self.codes[code] += 1
            if problem and len(self.problems) < 20:
                self.problems.append(problem)

    def run_verbs(self, number: int) -> None:
        """Runs verbs one after the other; every third is killed at some moment."""
        chance = random.Random(f"{self.seed}/{number}")
        while not self.is_over.is_set():
            verb = verbs(chance, self.config)
            local = verb[0] in ("eval", "validate")
            process = subprocess.Popen(
                [self.mediatorctl, *verb, *([] if local else ["--socket", self.path])],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                if chance.random() < 0.33:
                    time.sleep(chance.uniform(0, 0.3))
                    process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
                    process.communicate(timeout=60)
                    self.note(f"{verb[0]}, killed")
                    continue
                _, errors = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.note(verb[0], problem=f"no end: {verb}")
                continue
            # Crashes, and what says that nobody answers, are never right.
            is_wrong = process.returncode < 0 or process.returncode in (69, 70)
            self.note(verb[0], process.returncode, f"{verb}: {process.returncode} {errors}" if is_wrong else None)

    def run_clients(self, number: int) -> None:
        """Connects and leaves in ways no program of ours would."""
        chance = random.Random(f"{self.seed}/client/{number}")
        call = b'{"method":"io.mediatord.Control.%s","parameters":%s%s}\0'
        while not self.is_over.is_set():
            time.sleep(chance.uniform(0, 0.05))
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(20)
                kind = chance.randrange(7)
                try:
                    client.connect(self.path)
                    if kind == 0:
                        client.sendall(call[: chance.randrange(1, 20)])
                    elif kind == 1:
                        client.sendall(chance.randbytes(chance.randrange(1, 5000)))
                    elif kind == 2:
                        client.sendall(call % (b"ListSystems", b"{}", b"") * chance.randrange(1, 300))
                    elif kind == 3:
                        client.sendall(call % (b"WatchBus", b'{"name":"counts"}', b',"more":true'))
                        time.sleep(chance.uniform(0, 0.5))
                    elif kind == 4:
                        client.sendall(call % (b"Watch", b'{"patterns":["*"]}', b',"more":true'))
                        client.recv(chance.randrange(1, 3000))
                    elif kind == 5:
                        client.sendall(call % (b"Publish", b'{"bus":"last","value":"y"}', b',"oneway":true') * 100)
                    else:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        client.sendall(call % (b"DescribeSystem", b'{"name":"door"}', b""))
                except OSError:
                    # What is malformed or refused is closed.
                    pass
            self.note(f"client {kind}")

    def change_files(self) -> None:
        """Adds, breaks and removes files, which the next reload meets."""
        chance = random.Random(f"{self.seed}/files")
        while not self.is_over.is_set():
            name, text = chance.choice([("coming.yaml", COMING), ("wrong.yaml", WRONG)])
            if chance.random() < 0.5:
                (self.config / name).write_text(text)
            else:
                (self.config / name).unlink(missing_ok=True)
            time.sleep(chance.uniform(0, 1))

    def quiet(self) -> None:
        """Undoes what was done for the time being, so that what is left can be compared."""
        for name in ("coming.yaml", "wrong.yaml"):
            (self.config / name).unlink(missing_ok=True)
        for name in ("busy-0", "busy-1", "busy-2", "door"):
            self.ctl("resume", name)
        result = self.ctl("reload", "--drop-transient")
        assert result.returncode == 0, result
        self.ctl("log-level", "default")
        # What was sent ahead has been taken, commands that ran have ended, and faults are no longer remembered.
        time.sleep(65)

    def usage(self) -> dict[str, int]:
        pid = self.process.pid
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        return {
            "kB": anonymous(pid) // 1024,
            "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "children": sum(len(path.read_text().split()) for path in Path(f"/proc/{pid}/task").glob("*/children")),
        }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("mediatord", type=Path)
    arguments.add_argument("mediatorctl", type=Path)
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--workers", type=int, default=3)
    options = arguments.parse_args()
    print(f"verbs.py: --seed {options.seed} repeats this choice of verbs", flush=True)

    session = Session(options.mediatord, options.mediatorctl, options.seed)
    threads = [threading.Thread(target=session.run_verbs, args=(n,), daemon=True) for n in range(options.workers)]
    threads += [threading.Thread(target=session.run_clients, args=(n,), daemon=True) for n in range(2)]
    threads += [threading.Thread(target=session.change_files, daemon=True)]
    begin = time.monotonic()
    first = session.usage()
    for thread in threads:
        thread.start()
    samples = []
    while time.monotonic() - begin < 60 * options.minutes and session.process.poll() is None:
        time.sleep(min(60, max(0.1, 60 * options.minutes - (time.monotonic() - begin))))
        if session.process.poll() is not None:
            break
        samples.append(session.usage())
        print(f"{(time.monotonic() - begin) / 60:5.1f} min  {sum(session.done.values()):7} done  {samples[-1]}", flush=True)
    session.is_over.set()
    for thread in threads:
        thread.join(70)
    if session.process.poll() is not None:
        sys.exit(f"verbs.py: the daemon ended with {session.process.returncode}; see {session.directory}/log")
    session.quiet()
    last = session.usage()
    health = session.ctl("status")
    print(f"quiet: first {first}, last {last}")
    print("verbs:", dict(sorted(session.done.items())))
    print("exit codes:", dict(sorted(session.codes.items())))
    wrong = list(session.problems)
    if any(thread.is_alive() for thread in threads):
        wrong.append("a client still waits")
    # What runs at the moment: three systems with a command each twice a second.
    if last["descriptors"] > first["descriptors"] + 12:
        wrong.append(f"descriptors: {first['descriptors']} before, {last['descriptors']} after")
    if last["threads"] > first["threads"] + 8:
        wrong.append(f"threads: {first['threads']} before, {last['threads']} after")
    if health.returncode != 0:
        wrong.append(f"status: {health.stdout}{health.stderr}")
    # The first third is for what is made once; from then on it may not grow by more than a tenth and 4 MiB.
    third = len(samples) // 3
    if third > 1:
        middle = max(sample["kB"] for sample in samples[third : 2 * third])
        end = max(sample["kB"] for sample in samples[2 * third :])
        print(f"most anonymous memory in the second third {middle} kB, in the last {end} kB")
        if end > middle * 1.1 + 4096:
            wrong.append("memory grows")
    session.process.send_signal(signal.SIGTERM)
    if session.process.wait(60) != 0:
        wrong.append(f"the daemon ended with {session.process.returncode}")
    for line in wrong:
        print("WRONG:", line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
