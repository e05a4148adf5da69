"""Two users who mean harm against a daemon: one may inject into one system, one may look. Others must not notice.

The injector makes the state of its system grow and floods it; the reader watches with costly conditions, asks for long replies
and does not read them; both keep idle connections. Meanwhile root runs every administrative verb, again and again. In the end
the daemon's memory has stayed below a bound, each verb was answered in time, and a system that has nothing to do with it ran on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "Integration"))
from attacks import ATTACKS, INJECTOR, READER  # noqa: E402
from memory import anonymous  # noqa: E402


def wide(states: int, events: int) -> str:
    """A system with many states and events, whose data a client chooses."""
    fields = "{ text: string, texts: list(string), other: 'map(string, string)' }"
    rows = {
        "states": [f"S{number}: {fields}" for number in range(states)],
        "events": [f"E{number}: {{ text: string }}" for number in range(events)],
    }
    goes = ", ".join(
        f'E{number}: {{ to: S{number}, set: {{ text: "${{event.text}}", texts: "${{[event.text]}}", other: {{ text: "${{event.text}}" }} }} }}'
        for number in range(events)
    )
    text = "system: wide\nfromOutside: any\ninitialState: { S0: { text: '', texts: [], other: { text: '' } } }\n"
    for key, lines in rows.items():
        text += f"{key}:\n" + "".join(f"  {line}\n" for line in lines)
    return text + f"transitions:\n  any: {{ {goes} }}\n"


CONFIGURATION = {
    "hog.yaml": """\
system: hog
states: { Growing: { texts: list(string), text: string, numbers: list(int) } }
events:
  Add: { text: string }
  Append: { text: string }
  Double: {}
  Numbers: { numbers: list(int) }
fromOutside: any
initialState: { Growing: { texts: [], text: "", numbers: [] } }
transitions:
  Growing:
    Add: { to: Growing, set: { texts: "${state.texts + [event.text]}" } }
    Append: { to: Growing, set: { text: "${state.text + event.text}" } }
    Double: { to: Growing, set: { texts: "${state.texts + state.texts}" } }
    Numbers: { to: Growing, set: { numbers: "${event.numbers}" } }
---
system: next
states: { Taking: { texts: list(string), taken: int } }
events: { Took: { texts: list(string) } }
initialState: { Taking: { texts: [], taken: 0 } }
transitions: { Taking: { Took: { to: Taking, set: { texts: "${event.texts}", taken: "${state.taken + 1}" } } } }
---
buses: { copies: { kind: currentValue, value: list(string), initial: [] } }
links:
  copy: { attach: hog, to: copies, onState: Growing, emitValue: "${state.texts}" }
  hand: { attach: next, to: copies, emitEvent: { Took: { texts: "${value}" } } }
""",
    "heartbeat.yaml": """\
system: heartbeat
states: { Beating: { beats: int } }
events: { Beat: {}, Poke: {} }
fromOutside: [Poke]
initialState: { Beating: { beats: 0 } }
feedbacks:
  beat: { onState: Beating, every: 10ms, emit: Beat }
transitions: { Beating: { Beat: { to: Beating, set: { beats: "${state.beats + 1}" } }, Poke: stay } }
""",
    "access.yaml": f"""\
access:
  read: {{ users: [{READER}] }}
  inject: {{ users: [{INJECTOR}], systems: [hog, wide] }}
""",
    "wide.yaml": wide(100, 100),
}


def attack(path: str, user: int, seed: int) -> None:
    """Does harm until it is killed."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    # The processor's time is not what is fought for.
    os.nice(10)
    random.seed(seed)
    while True:
        try:
            random.choice(ATTACKS[user])(path)
        except OSError:
            time.sleep(0.05)


@contextmanager
def attackers(path: str, seed: int, each: int = 2) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes of each user that do harm meanwhile."""
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--attack", path, "--user", str(user), "--seed", str(1000 * seed + number)],
            stdout=subprocess.DEVNULL)
        for user in ATTACKS
        for number in range(each)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


# What root does meanwhile, and the codes with which it may end.
VERBS: list[tuple[list[str], set[int]]] = [
    (["status"], {0, 5}),
    (["list", "--json"], {0}),
    (["show", "hog", "--json"], {0}),
    (["show", "copies", "--json"], {0}),
    (["why", "next"], {0}),
    (["show", "wide", "--json"], {0}),
    (["why", "wide"], {0}),
    (["trace", "hog"], {0}),
    (["why-not", "hog", "Double"], {0}),
    (["emit", "heartbeat", "Poke"], {0}),
    (["metrics"], {0}),
    (["plan"], {0}),
    (["pause", "hog"], {0}),
    (["resume", "hog"], {0}),
    (["reset", "hog"], {0}),
    (["restart", "hog"], {0}),
    (["reload"], {0}),
    (["log-level"], {0}),
    (["cat-config", "--running"], {0}),
    (["graph", "--live"], {0}),
]


class Watcher:
    """Looks at the daemon's anonymous memory ten times a second."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.first = self.most = self.last = anonymous(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            try:
                self.last = anonymous(self.pid)
            except OSError:
                return
            self.most = max(self.most, self.last)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def beats(ctl: str, path: str) -> int:
    shown = subprocess.run([ctl, "--socket", path, "show", "heartbeat", "--json"], capture_output=True, check=True)
    (described,) = json.loads(shown.stdout).values()
    return described["summary"]["state"]["data"]["beats"]


def run(ctl: str, path: str, pid: int, seconds: float, seed: int, each: int = 2) -> dict[str, Any]:
    """Attacks for a while; what came of it."""
    before = beats(ctl, path)
    begun = time.monotonic()
    watcher = Watcher(pid)
    took: dict[str, list[float]] = {}
    failures: list[str] = []
    with attackers(path, seed, each):
        while time.monotonic() - begun < seconds:
            for words, codes in VERBS:
                start = time.monotonic()
                done = subprocess.run(
                    [ctl, "--socket", path, *words], capture_output=True, text=True, errors="replace", timeout=150)
                took.setdefault(words[0], []).append(time.monotonic() - start)
                if done.returncode not in codes:
                    failures.append(f"{' '.join(words)}: {done.returncode} {done.stderr.strip()[:300]}")
    passed = time.monotonic() - begun
    watcher.end()
    try:
        after = beats(ctl, path)
    except subprocess.CalledProcessError as error:
        after = before
        failures.append(f"show heartbeat: {error.returncode} {error.stderr[:300]}")
    slowest = max(((max(times), verb) for verb, times in took.items()))
    return {
        "seconds": round(passed), "verbs": sum(len(times) for times in took.values()), "failures": failures,
        "slowest": [slowest[1], round(slowest[0], 3)],
        "slow": {verb: round(max(times), 3) for verb, times in sorted(took.items())},
        "over_a_second": sum(time > 1 for times in took.values() for time in times),
        "p999": round(sorted(time for times in took.values() for time in times)[-len(sum(took.values(), [])) // 1000 - 1], 3),
        "beats": (after - before) / (passed / 0.01),
        "MiB": {name: round(getattr(watcher, name) / 2**20) for name in ("first", "most", "last")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="mediatord and mediatorctl")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--most-mib", type=int, default=300)
    parser.add_argument("--within", type=float, default=1.0, help="the seconds that a verb may take")
    parser.add_argument("--attack")
    parser.add_argument("--user", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.attack:
        attack(options.attack, options.user, options.seed)
    if os.geteuid() != 0:
        sys.exit("only root can be others")
    print(f"attackers.py: --seed {options.seed} repeats this choice of attacks", flush=True)
    mediatord, mediatorctl = options.programs
    with tempfile.TemporaryDirectory(prefix="mediatord-") as directory:
        os.chmod(directory, 0o755)
        config = Path(directory, "config")
        config.mkdir()
        for name, text in CONFIGURATION.items():
            Path(config, name).write_text(text)
        path = str(Path(directory, "control"))
        with open(Path(directory, "log"), "wb") as log:
            daemon = subprocess.Popen([mediatord, "--config", str(config), "--socket", path], stderr=log)
            try:
                while subprocess.run([mediatorctl, "--socket", path, "status"], capture_output=True).returncode not in (0, 5):
                    if daemon.poll() is not None:
                        sys.exit(Path(directory, "log").read_text()[-4000:])
                    time.sleep(0.1)
                found = run(mediatorctl, path, daemon.pid, options.minutes * 60, options.seed)
            finally:
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(30)
    print(json.dumps(found, indent=2))
    problems = found["failures"][:20]
    if found["MiB"]["most"] >= options.most_mib:
        problems.append(f"{found['MiB']['most']} MiB of anonymous memory were resident")
    if found["slowest"][1] > options.within:
        problems.append(f"{found['slowest'][0]} took {found['slowest'][1]} s")
    if found["beats"] < 0.5:
        problems.append("the other system was held up")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
