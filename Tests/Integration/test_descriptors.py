"""A daemon whose descriptors run out goes on."""

from __future__ import annotations

import resource
import time
from typing import Callable

from daemon import Daemon

BUSY = """\
system: busy-{number}
states: {{ Here: {{}} }}
events: {{ Ended: {{}}, Failed: {{ why: string }} }}
initialState: Here
feedbacks:
  work:
    onState: Here
    strategy: continueOnNewState
    every: 100ms
    run: {{ command: [sleep, "0.3"], input: hello }}
    onSuccess: Ended
    onFailure: {{ Failed: {{ why: "${{result.error}}" }} }}
transitions: {{ Here: {{ Ended: stay, Failed: stay }} }}
"""


def test_commands_fail_while_there_are_no_descriptors_and_begin_again_after(daemon: Callable[..., Daemon]) -> None:
    one = daemon({f"{number}.yaml": BUSY.format(number=number) for number in range(20)})

    def outcomes() -> dict[str, float]:
        lines = one.ctl("metrics").stdout.splitlines()
        counts = {"onSuccess": 0.0, "onFailure": 0.0}
        for line in lines:
            for name in counts:
                if line.startswith("mediatord_feedback_outcomes_total") and f'outcome="{name}"' in line:
                    counts[name] += float(line.rsplit(" ", 1)[1])
        return counts

    def until(name: str, more_than: float) -> dict[str, float]:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if outcomes()[name] > more_than:
                return outcomes()
        raise AssertionError(f"{name} is not above {more_than}: {outcomes()}\n{one.log[-2000:]}")

    until("onSuccess", 20)
    soft, hard = resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE)
    for limit in (40, 60, 90, 120):
        before = outcomes()["onFailure"]
        resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (limit, hard))
        time.sleep(1)
        resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        if limit < 60:
            until("onFailure", before)
        until("onSuccess", outcomes()["onSuccess"] + 20)
    assert one.process.poll() is None
    assert one.stop() == 0, one.log[-2000:]
