"""A thousand systems in a thousand files."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable

from conftest import REPOSITORY
from daemon import Daemon
from test_reload import systems
from waiting import WAIT

sys.path.insert(0, str(REPOSITORY / "Benchmarks" / "Configuration"))
from measure import SYSTEM, WIRING  # noqa: E402

COUNT = 1000


def test_a_change_of_one_disturbs_no_other(daemon: Callable[..., Daemon]) -> None:
    files = {"00-wiring.yaml": WIRING} | {f"job-{number}.yaml": SYSTEM.format(n=number) for number in range(COUNT)}
    one = daemon(files)
    assert f"{COUNT + 1} systems" in one.ctl("validate", str(one.config)).stdout
    before = systems(one)
    assert len(before) == COUNT + 1

    # Traffic over a bus to all of them while one is changed, more than they can take: each gets each event once.
    rounds = 0
    is_over = threading.Event()
    has_talked = threading.Semaphore(0)

    def talk() -> None:
        nonlocal rounds
        while not is_over.is_set() and rounds < 40:
            one.ctl("emit", "guard", "Fill")
            one.ctl("emit", "guard", "Clear")
            rounds += 1
            has_talked.release()

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        assert has_talked.acquire(timeout=WAIT)
        changed = one.config / "job-7.yaml"
        changed.write_text(changed.read_text().replace("rounds < 1000", "rounds < 2000"))
        reply = json.loads(one.ctl("reload", "--json").stdout)
        assert has_talked.acquire(timeout=WAIT)
    finally:
        is_over.set()
        talking.join()

    steps = {(step["kind"], step["name"]): step["action"] for step in reply["steps"]}
    assert steps == {
        ("system", "job-7"): "change",
    }
    kept = json.loads(one.ctl("plan", "--all", "--json").stdout)["steps"]
    assert len(kept) == COUNT + 1 + 2 + 3 * COUNT + 3 and {step["action"] for step in kept} == {"keep"}

    undisturbed = before.keys() - {"guard", "job-7"}
    expected = {name: before[name]["counters"]["events"] + 2 * rounds for name in undisturbed}
    deadline = time.monotonic() + WAIT
    counted: dict[str, int] = {}
    while counted != expected and time.monotonic() < deadline:
        now = systems(one)
        counted = {name: now[name]["counters"]["events"] for name in undisturbed}
    assert counted == expected
