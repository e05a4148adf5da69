"""An uplink with an override, a spare line and a job that somebody holds: real daemons that are killed at random moments."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conftest import children, end_children
from daemon import STOPPED, Binaries, Daemon, DaemonEnded
from pages import blocks, guide
from previous import ENDED
from rings import troubles
from varlink_socket import VarlinkSocket
from waiting import WAIT, eventually

KILLS = 100 * int(os.environ.get("SOAK_FACTOR", "1"))
# The line of the page. Here nobody measures the lines again after a start.
LINE = blocks(guide("HowTo/SurviveACrash.md"), "yaml")[0].replace("persist: false", "persist: true")
LINES = ["fibre", "radio", "copper"]
JOB = """\
system: job
persist: state
states: { Waiting: { runs: int }, Running: { runs: int }, Held: { runs: int, by: string } }
events: { Start: {}, Ended: {}, Hold: { by: string }, Release: {} }
fromOutside: [Start, Hold, Release]
initialState: { Waiting: { runs: 0 } }
feedbacks:
  work: { onState: Running, run: [SCRIPT, "${string(state.runs)}"], onSuccess: Ended, onFailure: log }
transitions:
  Waiting: { Start: { to: Running, set: { runs: "${state.runs + 1}" } }, Release: stay }
  Running: { Ended: Waiting, Start: stay, Release: stay }
  Held: { Release: Waiting, Start: stay, Ended: stay }
  any: { Hold: { to: Held, set: { by: "${event.by}" } } }
"""
# Two at once would want the lock at once.
WORK = """\
#!/bin/sh
flock --nonblock --conflict-exit-code 7 lock sh -c 'echo "$1" >>started; sleep 0.3; echo "$1" >>finished' sh "$1"
code=$?
[ $code -ne 7 ] || touch twice
exit $code
"""
SWITCH = """\
#!/bin/sh
echo "$1" >carries.new && mv carries.new carries
"""

# A state, and its data in the order of their names.
State = tuple[Any, ...]


@dataclass
class Uplink:
    """What a person and a program do with the uplink, and what its states must be."""

    folder: Path
    random: random.Random
    line: State = ("Automatic", "fibre")
    job: State = ("Waiting", 0)
    # What was asked for last, if nobody knows whether it was done: the system, and its state then.
    asked: tuple[str, State] | None = None
    # The value that was put on the bus with it, and the last one that surely was.
    published: str | None = None
    best: str = "fibre"
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for name, script in (("work", WORK), ("switch", SWITCH)):
            (self.folder / name).write_text(script.replace("#!/bin/sh\n", f"#!/bin/sh\ncd {self.folder}\n"))
            (self.folder / name).chmod(0o755)

    def daemon(self, binaries: Binaries) -> Daemon:
        return Daemon(
            binaries, {"line.yaml": LINE, "job.yaml": JOB.replace("SCRIPT", str(self.folder / "work"))},
            arguments=("--store", str(self.folder / "store"), "--stop-limit", "0"), socket=self.folder / "control",
            environment={"SWITCH": str(self.folder / "switch")},
        )

    def words(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    # What is seen.

    def seen(self, connection: VarlinkSocket) -> dict[str, Any]:
        connection.call("io.mediatord.Control.ListSystems")
        connection.call("io.mediatord.Control.ListBuses")
        systems, buses = connection.reply(), connection.reply()
        if not systems or not buses:
            raise ConnectionError
        found = {bus["name"]: bus["value"] for bus in buses["parameters"]["buses"]}
        for system in systems["parameters"]["systems"]:
            data = system["state"]["data"]
            # The line or the number of the run comes first.
            found[system["name"]] = (system["state"]["name"], *(data[name] for name in ("line", "runs", "by") if name in data))
        return found

    def fits(self, system: str, seen: State, wanted: State) -> bool:
        """Whether a system is in a state. A job that runs also ends."""
        return seen == wanted or (system == "job" and wanted[0] == "Running" and seen == ("Waiting", wanted[1]))

    # What is done.

    def ask(self, connection: VarlinkSocket) -> None:
        """Does something at random, and waits until it is to be seen."""
        # Another one than there is, so that it shows whether it was done.
        best = self.random.choice([line for line in LINES if line not in (self.line[1], self.best)])
        by = f"person{self.random.randrange(1000)}"
        way: list[tuple[str, str, dict[str, str], State]] = [
            ("line", "Take", {"line": best, "by": by}, ("ByHand", best, by)),
            ("job", "Hold", {"by": by}, ("Held", self.job[1], by)),
        ]
        if self.line[0] == "ByHand":
            way.append(("line", "Release", {}, ("Automatic", self.line[1])))
        else:
            way.append(("line", "", {}, ("Automatic", best)))
        if self.job[0] == "Held":
            # A job that is held does not start.
            way += [("job", "Release", {}, ("Waiting", self.job[1])), ("job", "Start", {}, self.job)]
        elif self.job[0] == "Waiting":
            way += [("job", "Start", {}, ("Running", self.job[1] + 1))] * 3
        system, event, data, wanted = self.random.choice(way)
        self.asked = (system, wanted)
        self.published = None if event else best
        if event:
            connection.call("io.mediatord.Control.Emit", {"system": system, "event": event, "data": data})
        else:
            connection.call("io.mediatord.Control.Publish", {"bus": "line.best", "value": best})
        reply = connection.reply()
        if not reply:
            raise ConnectionError
        assert "error" not in reply, reply
        # A state is seen when it is stored, so it must last from now on.
        eventually(lambda: self.fits(system, self.seen(connection)[system], wanted))
        self.settle(connection)
        self.done[f"{system} {event or 'best'}"] += 1

    def settle(self, connection: VarlinkSocket) -> None:
        """Notes what was asked for as done."""
        if self.asked:
            setattr(self, self.asked[0], self.asked[1])
            self.best = self.published or self.best
        self.asked = None
        if self.job[0] == "Running" and (job := self.seen(connection)["job"])[0] == "Waiting":
            self.job = job

    # What must be.

    def check(self, one: Daemon) -> None:
        """Checks the uplink after a start."""
        with VarlinkSocket(one.socket) as connection:
            if self.asked:
                system, wanted = self.asked
                now = self.seen(connection)
                # The link shows a value that was stored before the daemon was killed.
                is_done = now["line.best"] == self.published if self.published else self.fits(system, now[system], wanted)
                if not is_done:
                    self.asked = None
                    wanted = getattr(self, system)
                eventually(lambda: self.fits(system, self.seen(connection)[system], wanted))
            self.settle(connection)
            now = self.seen(connection)
        assert now["line"] == self.line, (now, self.line, one.log)
        assert self.fits("job", now["job"], self.job), (now, self.job, one.log)
        # The command of the line that carries the traffic begins again at a start.
        eventually(lambda: self.words("carries") == [self.line[1]])
        if self.job[0] == "Held":
            self.check_held()
        assert not (self.folder / "twice").exists(), one.log
        assert not troubles(one), one.log

    def check_held(self) -> None:
        """Checks that the command of a job that is held does not run, and has not begun since."""

        def is_free() -> bool:
            with open(self.folder / "lock", "w") as file, contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False

        eventually(is_free)
        assert set(self.words("started")) <= {str(number) for number in range(1, self.job[1] + 1)}


@contextmanager
def killed_after(one: Daemon, seconds: float) -> Iterator[None]:
    """Kills a daemon after some time, whatever it does then."""
    timer = threading.Timer(seconds, one.process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.join(WAIT)
        one.wait_exit()


def reap(orphans: set[int]) -> None:
    """Reaps the orphans that have ended, as the first process of a machine does."""
    for pid in orphans:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.nightly
def test_an_uplink_is_right_after_a_kill_at_any_moment(
    binaries: Binaries, tmp_path: Path, say: Callable[[str], None], seed: int
) -> None:
    begin = time.monotonic()
    before = children()
    uplink = Uplink(tmp_path, random.Random(seed))
    moments = random.Random(seed + 1)
    ended = 0
    kills: Counter[str] = Counter()
    try:
        for number in range(KILLS + 1):
            one = uplink.daemon(binaries)
            try:
                if number % 4 == 3 and number < KILLS:
                    with killed_after(one, moments.uniform(0, 0.5)), contextlib.suppress(DaemonEnded):
                        one.wait_ready()
                    kills["at the start"] += 1
                else:
                    one.wait_ready()
                    uplink.check(one)
                    if number == KILLS:
                        eventually(lambda: uplink.job[0] != "Running" or str(uplink.job[1]) in uplink.words("finished"))
                        assert one.stop() == STOPPED
                    else:
                        with killed_after(one, moments.uniform(0, 0.8)), contextlib.suppress(ConnectionError):
                            with VarlinkSocket(one.socket) as connection:
                                while True:
                                    uplink.ask(connection)
                        kills["later"] += 1
                ended += one.log.count(ENDED)
            finally:
                one.discard()
            reap(children() - before)
    finally:
        end_children(children() - before, grace=5)
    assert not (tmp_path / "twice").exists()
    assert ended > 0 and uplink.done["line Take"] > 0 and uplink.done["job Hold"] > 0, (ended, uplink.done)
    say(f"{kills.total()} kills {dict(kills)}, {uplink.done.total()} changes that were seen {dict(uplink.done)}, "
        f"{len(uplink.words('started'))} starts of the job, {ended} commands of a previous run ended, "
        f"in {time.monotonic() - begin:.0f} s")
