"""Commands that are under way when the daemon is restarted, under a real systemd."""

from __future__ import annotations

import os
import random
import time

from container import Container
from test_lifetime import UNIT, drop_in

# How many restarts there are: a few, or with SOAK_FACTOR a hundred times as many as that says.
SOAK_FACTOR = os.environ.get("SOAK_FACTOR")
RESTARTS = 25 if SOAK_FACTOR is None else 100 * int(SOAK_FACTOR)

LOG = "/var/lib/mediatord/log"
# How long the command takes, in seconds.
SPAN = 0.3

# One command after the other, each with the number of those that counted before it.
JOB = """\
system: job
states: { Working: { n: int } }
events: { Ended: {}, Broke: {} }
initialState: { Working: { n: 0 } }
feedbacks:
  work:
    onState: Working
    run: [/bin/sh, -c, "echo begin $0 >>LOG; sleep SPAN; echo end $0 >>LOG", "${string(state.n)}"]
    onSuccess: Ended
    onFailure: Broke
transitions:
  Working:
    Ended: { to: Working, set: { n: "${state.n + 1}" } }
    Broke: { to: Working, set: { n: "${state.n + 1000}" } }
""".replace("LOG", LOG).replace("SPAN", str(SPAN))

# What the start limit would forbid, and what only takes time.
DROP_IN = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStartPre=\n"


def test_each_command_that_ended_before_the_stop_limit_counts_exactly_once(system: Container) -> None:
    drop_in(system, DROP_IN)
    system.write("/etc/mediatord/job.yaml", JOB)
    system.systemctl("start", UNIT)
    log = system.path(LOG)
    dice = random.Random(20261125)
    begins = 0
    for _ in range(RESTARTS):
        system.wait_until(lambda: log.exists() and log.read_text().count("begin") > begins, "a command")
        # The moment is the test: anywhere from its beginning to beyond its end.
        time.sleep(dice.random() * SPAN * 1.2)
        system.systemctl("restart", UNIT)
        begins = log.read_text().count("begin")
    system.systemctl("stop", UNIT)
    # Each began once, when the one before had ended and counted.
    lines = log.read_text().splitlines()
    assert lines == [f"{word} {number}" for number in range(len(lines) // 2) for word in ("begin", "end")]
    assert len(lines) >= 2 * RESTARTS
