"""The daemon in a virtual machine: what needs a kernel of its own."""

from __future__ import annotations

import os
import random
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import BUILD, UNIT_FILES
from container import ContainerUnavailable
from daemon import Binaries
from guest import Guest, make_image

pytestmark = pytest.mark.nightly

STOPS = 5 * int(os.environ.get("SOAK_FACTOR", "1"))
# The machine is stopped after at least one and at most so many numbers of one life.
LONGEST = 100

COUNTER = """\
system: counter
persist: state
states: { At: { number: int } }
events: { Next: {} }
initialState: { At: { number: 0 } }
feedbacks:
  tell: { onState: At, log: "told ${state.number}." }
  count: { onState: At, after: 20ms, emit: Next }
transitions: { At: { Next: { to: At, set: { number: "${state.number + 1}" } } } }
"""
TOLD = r"told ([0-9]+)\."

# A command that takes memory without end, in a unit with little memory.
HUNGRY = """\
system: hungry
states: { Waiting: {}, Working: {}, Done: { how: string } }
events: { Go: {}, Ok: {}, Bad: { error: string } }
initialState: Waiting
final: [Done]
feedbacks:
  wait: { onState: Waiting, after: 1s, emit: Go }
  eat:
    onState: Working
    run: { command: [tail, /dev/zero], timeout: 5m }
    onSuccess: Ok
    onFailure: { Bad: { error: "${result.error}" } }
  tell: { onState: Done, log: "the meal is over: ${state.how}." }
transitions:
  Waiting: { Go: Working }
  Working:
    Ok: { to: Done, set: { how: ok } }
    Bad: { to: Done, set: { how: "${event.error}" } }
"""
LITTLE = "[Service]\nMemoryMax=256M\nMemorySwapMax=0\n"


@pytest.fixture
def image(binaries: Binaries, tmp_path: Path, say: Callable[[str], None]) -> Callable[[dict[str, str]], Path]:
    """Makes a disk with the programs, the units and further files."""

    def make(files: dict[str, str]) -> Path:
        units = {path: source.read_text() for path, source in UNIT_FILES.items()}
        try:
            return make_image(BUILD / "roots", tmp_path, say, [binaries.mediatord, binaries.mediatorctl], {**units, **files})
        except ContainerUnavailable as reason:
            if os.environ.get("CI") == "true":
                pytest.fail(f"no virtual machine here: {reason}", pytrace=False)
            warnings.warn(pytest.PytestWarning(f"NOT TESTED in a virtual machine: {reason}"), stacklevel=1)
            pytest.skip("no virtual machine here; a warning says why")

    return make


def test_nothing_is_lost_when_a_machine_is_stopped_hard(
    image: Callable[[dict[str, str]], Path], say: Callable[[str], None], seed: int
) -> None:
    disk = image({"/etc/mediatord/counter.yaml": COUNTER})
    choose = random.Random(seed)
    acted = -1
    for _ in range(STOPS):
        with Guest(disk) as guest:
            first = int(guest.wait(TOLD)[0])
            # A number is told only when its state is on the disk.
            assert first >= acted, (first, acted, guest.journal)
            guest.wait(TOLD, choose.randrange(1, LONGEST))
            # The moment is not only that at which a line has come, but any up to some lines later.
            time.sleep(choose.uniform(0, 0.1))
            guest.cut()
            told = [int(number) for number in guest.found(TOLD)]
            assert told == list(range(first, first + len(told))), (told, guest.journal)
            acted = told[-1]
    say(f"{STOPS} stops; the counter is at {acted}")


def test_the_kernel_kills_a_command_without_room_in_memory_and_the_daemon_goes_on(
    image: Callable[[dict[str, str]], Path]
) -> None:
    files = {
        "/etc/mediatord/hungry.yaml": HUNGRY, "/etc/mediatord/counter.yaml": COUNTER,
        "/etc/systemd/system/mediatord.service.d/little.conf": LITTLE,
    }  # fmt: skip
    with Guest(image(files)) as guest:
        (how,) = guest.wait(r"the meal is over: (.*)\.")
        assert how.startswith("it was ended by SIGKILL"), guest.journal
        # systemd has seen it, too.
        guest.wait("mediatord.service: A process of this unit has been killed by the OOM killer")
        # The same daemon counts on.
        count = len(guest.found(TOLD))
        guest.wait(TOLD, count + 10)
        assert len(set(re.findall(r"mediatord\[([0-9]+)\]: told", guest.journal))) == 1, guest.journal
