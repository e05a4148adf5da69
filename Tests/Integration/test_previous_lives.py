"""Many lives of a daemon, each killed at a random moment: every command runs once, and no foreign process is ended."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon import STOPPED, Daemon
from previous import AT_ONCE, ENDED, NOT_ENDED, OUTSIDE, Place, begin_of, kill, new_place, reap
from waiting import eventually

LIVES = 25 * int(os.environ.get("SOAK_FACTOR", "1"))


@dataclass(frozen=True)
class Kind:
    """A command that is a shell. The shell and the processes that it begins hold a lock, except for those with `9>&-`."""

    first: str
    last: str = "while :; do sleep 1000; done"
    before: tuple[str, ...] = ()
    user: str | None = None
    # Whether the command may be started again within a life. Processes outside the group would be left without a message.
    again: bool = True


KINDS = {
    "plain": Kind(":"),
    "family": Kind("(sleep 1000; :) & sleep 1000 &"),
    "stubborn": Kind("trap '' TERM"),
    # Without the shell nothing identifies the rest, and the page says that it may run on.
    "bare": Kind("sleep 1000 9>&- &", "while :; do sleep 1000 9>&-; done", before=("env", "-i", "PATH=/usr/bin:/bin")),
    "leaver": Kind("setsid sleep 1000 9>&- &", again=False),
}
if os.geteuid() == 0:
    KINDS["other"] = Kind("sleep 1000 &", user="nobody")


def run(place: Place, name: str, kind: Kind) -> str:
    """The side effect of a command. The command notes if another one of its name holds the lock."""
    lock = f"exec 9>{place.shared}/{name}.lock; flock --nonblock 9 || : >{place.shared}/{name}.twice"
    command = [*kind.before, "sh", "-c", "\n".join([lock, kind.first, kind.last])]
    return json.dumps({"command": command, "directory": str(place.shared)} | ({"user": kind.user} if kind.user else {}))


def configuration(place: Place) -> dict[str, str]:
    config = {
        f"{name}.yaml": f"""\
system: {name}
states: {{ Working: {{}} }}
events: {{ Again: {{}} }}
fromOutside: any
persist: none
initialState: Working
feedbacks:
  work: {{ onState: Working, run: {run(place, name, kind)}, onFailure: log }}
transitions: {{ Working: {{ Again: Working }} }}
"""
        for name, kind in KINDS.items()
    }
    # Commands that begin all the time, so one is about to start whenever the daemon is killed.
    config["short.yaml"] = f"""\
system: short
states: {{ Working: {{}} }}
events: {{}}
initialState: Working
feedbacks:
  work: {{ onState: Working, every: 30ms, run: {run(place, "short", Kind(":", "sleep 0.02"))}, onFailure: log }}
"""
    return config


@dataclass(frozen=True)
class Process:
    number: int
    begin: int
    group: int
    line: str


def processes(place: Place) -> list[Process]:
    """The processes of all commands: their working directory is that of the place."""
    found = []
    for entry in Path("/proc").iterdir():
        # A process may end meanwhile.
        with suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(place.shared):
                number = int(entry.name)
                line = (entry / "cmdline").read_text(errors="replace")
                found.append(Process(number, begin_of(number), os.getpgid(number), line))
    return found


def leaders(place: Place, name: str) -> list[Process]:
    return [one for one in processes(place) if one.number == one.group and f"/{name}.lock" in one.line]


class Lives:
    """The lives of a daemon at one place, and what their logs have named."""

    def __init__(self, start: Callable[..., Daemon], place: Place, choose: random.Random) -> None:
        self.start = start
        self.place = place
        self.choose = choose
        self.logs: list[Daemon] = []
        self.figures: Counter[str] = Counter()
        # Whether a start of the command without an environment was not recorded: nothing identifies its processes then.
        self.is_bare_unknown = False

    def named(self, message: str) -> set[int]:
        """The numbers in the lines of all lives with a message."""
        lines = (line for one in self.logs for line in one.log.splitlines() if message in line)
        return {int(found[1]) for line in lines if (found := re.search(r" pid=(\d+)", line))}

    def check(self, one: Daemon) -> None:
        """Checks that each command runs once, and that the log names each process of an earlier life."""
        begin = begin_of(one.pid)
        for name in KINDS:
            eventually(lambda name=name: [leader for leader in leaders(self.place, name) if leader.begin > begin])
            if name != "bare" or not self.is_bare_unknown:
                assert len(leaders(self.place, name)) == 1, (name, one.log)
        outside, unproven = self.named(OUTSIDE), self.named(NOT_ENDED)
        for process in processes(self.place):
            is_named = process.number in outside or process.group in unproven
            is_unknown = self.is_bare_unknown and process.line.startswith(("sh\0-c\0exec 9>", "sleep\0"))
            assert process.begin >= begin or is_named or is_unknown, (process, one.log)
        twice = {path.stem for path in self.place.shared.glob("*.twice")}
        assert twice <= ({"bare"} if self.is_bare_unknown else set()), (twice, one.log)

    def live(self) -> None:
        """Starts a daemon, and kills it at a random moment."""
        one = self.start(configuration(self.place), ready=False, arguments=AT_ONCE, socket=self.place.socket)
        self.logs.append(one)
        if self.choose.random() < 0.4:
            self.figures["killed during the start"] += 1
            time.sleep(self.choose.uniform(0, 1))
        else:
            one.wait_ready()
            self.check(one)
            for name, kind in KINDS.items():
                if kind.again and self.choose.random() < 0.5:
                    one.ctl("emit", name, "Again")
            time.sleep(self.choose.uniform(0, 0.1))
        kill(one)
        for path in self.place.files():
            first, *rest = path.read_text().split("\n")
            if len(rest) < 2:
                self.figures["killed between a start and its record"] += 1
                self.is_bare_unknown |= "\tbare\t" in first
        for name in KINDS:
            if self.choose.random() < 0.2:
                for leader in leaders(self.place, name):
                    self.figures["leaders killed"] += 1
                    reap(leader.number)


@pytest.fixture
def foreign() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that look like those of commands."""
    with new_place() as other, ExitStack() as stack:
        looks = [
            (["sleep", "1000"], {}),
            (["sh", "-c", "sleep 1000; :"], {"MEDIATOR_RUN": "00112233445566778899aabbccddeeff"}),
            (["env", "-i", "sleep", "1000"], {}),
        ]
        begun = []
        for command, environment in looks:
            process = subprocess.Popen(
                command, cwd=other.shared, env={**os.environ, **environment}, start_new_session=True
            )
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
            begun.append(process)
        yield begun


@pytest.mark.nightly
def test_every_command_runs_once_over_many_lives(
    daemon: Callable[..., Daemon], foreign: list[subprocess.Popen[bytes]], say: Callable[[str], None], seed: int
) -> None:
    with new_place() as place:
        lives = Lives(daemon, place, random.Random(seed))
        try:
            for _ in range(LIVES):
                lives.live()
                assert all(process.poll() is None for process in foreign)
            last = daemon(configuration(place), arguments=AT_ONCE, socket=place.socket)
            lives.logs.append(last)
            lives.check(last)
            assert last.stop() == STOPPED
            assert not place.records.exists()
        finally:
            for one in lives.logs:
                if one.process.poll() is None:
                    kill(one)
            for process in processes(place):
                with suppress(OSError):
                    reap(process.number)
        assert all(process.poll() is None for process in foreign)
        for message in (ENDED, OUTSIDE, NOT_ENDED):
            lives.figures[message] = sum(one.log.count(message) for one in lives.logs)
        # Otherwise the moments were not those that this is about.
        assert lives.figures[ENDED] > LIVES // 2 and lives.figures[OUTSIDE] > 0
        say(f"{LIVES} lives: " + ", ".join(f"{count} × {what}" for what, count in lives.figures.items()))
