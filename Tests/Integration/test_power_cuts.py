"""What the power does to a daemon under a real systemd, when it fails at any moment."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import BUILD, UNIT_FILES
from container import PATH, SUITES, Container, ContainerUnavailable, make_root
from daemon import Binaries
from powercut import Disk
from unit import UNIT, UNLIMITED, drop_in, wait_active
from waiting import WAIT, eventually

# The number of power cuts in each container: the same few each time, or random ones; SOAK_FACTOR multiplies the random ones.
SAME_CUTS = 3
RANDOM_CUTS = 5 * int(os.environ.get("SOAK_FACTOR", "1"))

# What is busy: a command that writes a file, lines of the log, values on buses, and links that are changed.
BUSY = {
    "worker.yaml": """\
system: worker
states: { Working: { rounds: int } }
events: { Wrote: {}, Failed: { why: string } }
initialState: { Working: { rounds: 0 } }
feedbacks:
  write:
    onState: any
    strategy: continueOnNewState
    every: 100ms
    run:
      command: [sh, -c, "date +%s%N >$STATE_DIRECTORY/round.new && mv $STATE_DIRECTORY/round.new $STATE_DIRECTORY/round"]
      timeout: 1m
    onSuccess: Wrote
    onFailure: { Failed: { why: "${result.error}" } }
  tell: { onState: any, log: "round ${state.rounds}" }
transitions:
  Working:
    Wrote: { to: Working, set: { rounds: "${state.rounds + 1}" } }
    Failed: stay
""",
    "wiring.yaml": """\
buses:
  rounds: { kind: currentValue, value: int, initial: 0, fromOutside: both, persist: false }
  marks: { kind: currentValue, value: int, initial: 0, fromOutside: both, persist: false }
links:
  tell: { attach: worker, to: rounds, onState: Working, emitValue: "${state.rounds}" }
  mark: { attach: worker, to: marks, onState: Working, emitValue: 0 }
""",
    "second.yaml": "system: second\nstates: { Here0: {} }\nevents: {}\ninitialState: Here0\n",
}

# Writes what somebody changes of links, one number after the other; and with every fifth a link more, or less. It says
# what it is about to do, and that it is done.
PERSIST = """\
n=$1
while n=$((n + 1)); do
    echo "try mark $n"
    mediatorctl set mark emitValue=$n --persist >/dev/null && echo "done mark $n"
    case $((n % 10)) in
    0)
        echo "try extra 1"
        mediatorctl attach extra "{ attach: second, to: marks, onState: any, emitValue: 7 }" --persist >/dev/null &&
            echo "done extra 1";;
    5)
        echo "try extra 0"
        mediatorctl detach extra --persist >/dev/null && echo "done extra 0";;
    esac
done
"""

# Edits a file as an administrator does who knows how, and has it read; now and then the daemon is restarted.
EDIT = """\
n=$1
while n=$((n + 1)); do
    cd /etc/mediatord
    printf 'system: second\\nstates: { Here%s: {} }\\nevents: {}\\ninitialState: Here%s\\n' $n $n >.second
    sync .second
    mv .second second.yaml
    case $((n % 7)) in
    3) systemctl reload mediatord.service;;
    6) systemctl restart mediatord.service;;
    *) mediatorctl reload;;
    esac >/dev/null && echo "done edit $n"
done
"""


@dataclass
class Work:
    """What is done inside until everything is killed, and how far that is known to have come."""

    box: Container
    # What may have been done, and what surely was.
    tried: dict[str, set[int]] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    promised: int = 0

    def __post_init__(self) -> None:
        self._programs: list[subprocess.Popen[str]] = []
        self._readers: list[threading.Thread] = []

    def begin(self) -> None:
        """Begins, where it was when it was killed."""
        for script in (PERSIST, EDIT):
            start = self.done.get("mark" if script is PERSIST else "edit", 0)
            inside = ("nsenter", "-t", str(self.box.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--")
            program = subprocess.Popen(
                [*inside, "sh", "-c", script, "sh", str(start)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/",
                env={"PATH": PATH, "LANG": "C.UTF-8"},
            )
            reader = threading.Thread(target=self._read, args=(program,), daemon=True)
            reader.start()
            self._programs.append(program)
            self._readers.append(reader)

    def _read(self, program: subprocess.Popen[str]) -> None:
        assert program.stdout is not None
        for line in program.stdout:
            # The last line may have been cut off; a number that is shorter than it was would be another one.
            if not line.endswith("\n"):
                break
            verb, what, number = line.split()
            if verb == "try":
                self.tried.setdefault(what, set()).add(int(number))
            else:
                self.done[what] = int(number)
                self.tried[what] = set()
                self.promised += what != "edit"

    def end(self) -> None:
        """Waits until all that was told has been heard, when everything has been killed."""
        for program, reader in zip(self._programs, self._readers):
            program.wait(WAIT)
            reader.join(WAIT)
            assert not reader.is_alive() and program.stdout is not None
            program.stdout.close()
        self._programs.clear()
        self._readers.clear()


@pytest.fixture(params=SUITES)
def machine(
    say: Callable[[str], None], request: pytest.FixtureRequest, binaries: Binaries, tmp_path: Path
) -> Iterator[Container]:
    """A system with a disk of its own, on which the programs are installed and the daemon is enabled; booted."""
    try:
        root = make_root(request.param, BUILD / "roots", say)
        box = Container(request.param, root, Disk(tmp_path, root))
        box.boot()
    except (ContainerUnavailable, subprocess.CalledProcessError, OSError) as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no container with a disk on this machine: {reason}", pytrace=False)
        warnings.warn(pytest.PytestWarning(f"NOT TESTED with power cuts: {reason}"), stacklevel=1)
        pytest.skip("no container with a disk on this machine; a warning says why")
    try:
        box.install([binaries.mediatord, binaries.mediatorctl], UNIT_FILES)
        for name, text in BUSY.items():
            box.write(f"/etc/mediatord/{name}", text)
        box.run("chown", "-R", "mediatord", "/etc/mediatord")
        drop_in(box, UNLIMITED + "[Service]\nReadOnlyPaths=\nReadWritePaths=/etc/mediatord\n")
        box.systemctl("enable", "--now", UNIT)
        box.run("sync")
        yield box
    finally:
        box.stop()


def written(box: Container) -> dict[str, int]:
    """What the files say of what was changed of links."""
    marked = box.path("/etc/mediatord/wiring.yaml.d/90-mediatorctl.yaml")
    found = re.search(r"emitValue: \"?(\d+)", marked.read_text()) if marked.exists() else None
    assert found or not marked.exists(), marked.read_text()
    return {
        "mark": int(found[1]) if found else 0, "extra": int(box.path("/etc/mediatord/90-mediatorctl.yaml").exists()),
    }


def check_well(box: Container, work: Work) -> None:
    """Whether the daemon is as it should be after a power cut: it is ready, what somebody was told to be done is there,
    and everything that is there is whole."""
    status = box.run("mediatorctl", "status", check=False)
    assert status.returncode == 0, status.stdout + status.stderr
    validated = box.run("mediatorctl", "validate", "--quiet", check=False)
    assert (validated.returncode, validated.stdout + validated.stderr) == (0, "")
    assert "nothing to do" in box.run("mediatorctl", "plan").stdout
    # What was promised is kept; what was under way is there wholly or not at all.
    there = written(box)
    for what, now in there.items():
        assert now in {work.done.get(what, 0)} | work.tried.get(what, set()), (what, now, work)
        work.done[what] = now
        work.tried[what] = set()
    links = box.run("mediatorctl", "list", "links").stdout
    assert ("extra" in links) == bool(there["extra"]), links
    shown = json.loads(box.run("mediatorctl", "show", "marks", "--json").stdout)
    assert f'"value": {there["mark"]}' in json.dumps(shown) or there["extra"], (shown, there)
    entries = {path.name for path in box.path("/etc/mediatord").iterdir() if path.name != ".second"}
    hidden = {name for name in entries if name.startswith(".")}
    assert entries - hidden <= {*BUSY, "wiring.yaml.d", "90-mediatorctl.yaml"}, entries
    assert all(name.startswith(".90-mediatorctl.yaml.") for name in hidden) and len(hidden) <= 1, hidden
    box.run("journalctl", "--sync")
    wrong = box.run("journalctl", "--boot", "--unit", UNIT, "--priority=err", "--output=cat", "--quiet").stdout
    assert wrong == "", wrong


# One release is enough, because the disk and the daemon are the same in both. The seed cuts the power twice during work, and kills
# everything once during a start.
@pytest.mark.gate
@pytest.mark.parametrize("machine", ["bookworm"], indirect=True)
def test_the_daemon_comes_back_after_the_same_power_cuts(machine: Container, say: Callable[[str], None]) -> None:
    cut_the_power(machine, say, SAME_CUTS, seed=31)


@pytest.mark.nightly
def test_the_daemon_comes_back_whenever_the_power_fails(machine: Container, say: Callable[[str], None], seed: int) -> None:
    cut_the_power(machine, say, RANDOM_CUTS, seed)


def cut_the_power(machine: Container, say: Callable[[str], None], count: int, seed: int) -> None:
    """Cuts the power at moments that the seed chooses, and checks after each start that nothing is lost or half written."""
    choose = random.Random(seed)
    work = Work(machine)
    cuts = 0
    while True:
        wait_active(machine)
        check_well(machine, work)
        if cuts == count:
            break
        work.begin()
        # One moment is as good as another. Only a slow machine waits for changes, of which there must be some.
        time.sleep(choose.uniform(0.2, 3))
        eventually(lambda: work.promised >= count)
        machine.kill(is_power_cut=choose.random() < 0.6)
        work.end()
        cuts += 1
        machine.power_on()
        # Now and then it fails again while everything, or just the daemon, starts.
        while cuts < count and choose.random() < 0.3:
            time.sleep(choose.uniform(0, 3))
            machine.kill(is_power_cut=choose.random() < 0.6)
            cuts += 1
            machine.power_on()
    assert work.promised >= count, work
    # What was half written is gone with the next change.
    number = work.done["mark"] + 1
    machine.run("mediatorctl", "set", "mark", f"emitValue={number}", "--persist")
    link = "{ attach: second, to: marks, onState: any, emitValue: 8 }"
    machine.run("mediatorctl", "attach", "last", link, "--persist")
    left = machine.run("find", "/etc/mediatord", "-name", ".90*").stdout
    assert left == "" and written(machine)["mark"] == number
    say(f"{work.promised} changes of links were persisted meanwhile, and none is lost")
