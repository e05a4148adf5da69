"""What the log says of the acts of clients, and of those that were refused."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable

import pytest

from access import ACCESS, CONFIGURATION, DENIED, answer, connect
from daemon import Daemon
from waiting import WAIT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    result = daemon({**CONFIGURATION, "access.yaml": ACCESS})
    result.directory.chmod(0o755)
    return result


def test_acts_are_logged_with_who_did_them(one: Daemon) -> None:
    one.ctl("emit", "door", "Go", "n=1")
    line = one.wait_log("verb=emit")
    assert re.search(r"event emitted by a client  event=Go pid=\d+ system=door uid=0 user=root verb=emit", line)
    one.ctl("publish", "alarms", "red")
    assert "bus=alarms" in one.wait_log("verb=publish")
    for verb, *arguments in [("restart", "door"), ("reset", "door"), ("pause", "bell"), ("resume", "bell")]:
        one.ctl(verb, *arguments)
        line = one.wait_log(f"verb={verb}")
        assert f"system={arguments[0]}" in line and "uid=0 user=root" in line and "pid=" in line
    one.ctl("detach", "ring")
    assert "link=ring" in one.wait_log("verb=detach")
    one.ctl("attach", "ring")
    one.ctl("set", "ring", "emitValue=7")
    one.ctl("reload")
    for verb in ("attach", "set", "reload"):
        assert "uid=0 user=root" in one.wait_log(f"verb={verb}")
    assert answer(one, "administrator", "ResetSystem", {"name": "bell"}) == {"parameters": {}}
    line = one.wait_log("uid=60004")
    assert "reset by a client" in line and "user=" not in line
    for verb in ("emit", "publish", "restart", "pause", "resume", "detach", "attach", "set", "reload"):
        assert one.log.count(f"verb={verb}") == 1, verb


def test_what_is_logged_is_set_while_it_runs(one: Daemon) -> None:
    assert json.loads(one.ctl("log-level", "--json").stdout) == {"level": "info", "given": "info"}
    assert "logs error and more severe levels, and was started with info" in one.ctl("log-level", "error").stdout
    line = one.wait_log("log level set by a client")
    assert "before=info" in line and "level=error" in line and "uid=0 user=root verb=log-level" in line
    # What somebody does is told whatever the level.
    one.ctl("emit", "door", "Go", "n=1")
    assert "uid=0 user=root" in one.wait_log("verb=emit")
    one.ctl("log-level", "critical")
    assert "before=error" in one.wait_log("level=critical")
    one.ctl("reload")
    one.ctl("detach", "ring")
    assert "user=root" in one.wait_log("verb=reload") and "user=root" in one.wait_log("verb=detach")
    one.ctl("log-level", "trace")
    one.ctl("emit", "door", "Go", "n=2")
    one.wait_log("control client")
    assert len(one.wait_lines("verb=emit", 2)) == 2
    assert json.loads(one.ctl("log-level", "default", "--json").stdout) == {"level": "info", "given": "info"}
    wrong = one.ctl("log-level", "debgu", check=False)
    assert wrong.returncode == 2 and "did you mean 'debug'?" in wrong.stderr


def test_of_many_refusals_a_few_are_logged_and_the_rest_counted(one: Daemon) -> None:
    with connect(one, "reader by a supplementary group") as connection:
        for _ in range(200):
            connection.call("io.mediatord.Control.Reload")
            assert connection.reply()["error"] == DENIED
    line = one.wait_log("more after this one")
    assert "verb=reload" in line and "missing=administer" in line and "uid=60010" in line

    def told() -> tuple[int, int]:
        log = one.log
        lines = sum("refused to a client" in line for line in log.splitlines())
        return lines, sum(int(match) for match in re.findall(r"repeated=\"?(\d+) more", log))

    # What is withheld is told when its second is over; then none is missing, and none counted twice.
    deadline = time.monotonic() + WAIT
    while sum(told()) < 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    lines, counted = told()
    assert lines + counted == 200
    # Three a second, and one more when it is over.
    assert lines < 40
    assert one.stop() == 0
    assert told() == (lines, counted)
