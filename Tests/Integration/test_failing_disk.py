"""What the daemon does where a disk fails: a real daemon, whose calls strace answers as the kernel does for such a disk."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import STOPPED, Binaries, Daemon
from test_full_disk import COUNTER, WIRING
from waiting import WAIT, eventually

LINK = "{ attach: counter, to: counts, onState: Counting, emitValue: other }"


@pytest.fixture
def one(binaries: Binaries) -> Iterator[Daemon]:
    one = Daemon(binaries, {"counter.yaml": COUNTER, "wiring.yaml": WIRING})
    try:
        one.wait_ready()
        yield one
        assert one.stop() == STOPPED
    finally:
        one.discard()


@contextmanager
def failing(one: Daemon, when: str) -> Iterator[None]:
    """Whatever of fsync(2) each thread of the daemon calls as the numbers say fails, as it does where a disk is broken."""
    inject = f"inject=fsync:error=EIO:when={when}"
    command = ["strace", "-f", "-e", "trace=fsync", "-e", inject, "-p", str(one.pid)]
    tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    try:
        said = tracer.stderr.readline()
        if "attached" not in said:
            if os.environ.get("CI") == "true":
                pytest.fail(f"strace cannot attach to the daemon: {said}", pytrace=False)
            pytest.skip(f"strace cannot attach to the daemon: {said}")
        # It names one thread after the other: each has to be attached, wherever the change is made.
        eventually(lambda: all(
            f"TracerPid:\t{tracer.pid}\n" in task.joinpath("status").read_text()
            for task in Path(f"/proc/{one.pid}/task").iterdir()
        ))
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=WAIT)


def files(one: Daemon) -> dict[str, str]:
    return {str(path): path.read_text() if path.is_file() else "" for path in one.config.rglob("*")}


def persisted_at_last(one: Daemon, *command: str) -> int:
    """How many of the calls may fail by which a change is made to last. With each of them nothing is changed."""
    before, running = files(one), one.ctl("cat-config", "--running").stdout
    for number in range(1, 10):
        with failing(one, str(number)):
            result = one.ctl(*command, "--persist", check=False)
        if result.returncode == 0:
            assert files(one) != before
            return number - 1
        assert "nothing has changed: Input/output error" in result.stderr, result.stderr
        assert "put back" not in result.stderr, result.stderr
        assert files(one) == before
        assert one.ctl("cat-config", "--running").stdout == running
    raise AssertionError("it always fails")


def test_a_change_that_does_not_reach_the_disk_is_not_promised(one: Daemon) -> None:
    # A directory, a file in it, its name; then only the file and its name.
    assert persisted_at_last(one, "set", "tell", "emitValue=more") == 3
    assert persisted_at_last(one, "set", "tell", "emitValue=most") == 2
    assert persisted_at_last(one, "attach", "other", LINK) == 2
    # A file that goes: its name.
    assert persisted_at_last(one, "detach", "other") == 1
    assert "nothing to do" in one.ctl("plan").stdout


def test_what_cannot_be_put_back_either_is_told(one: Daemon) -> None:
    one.ctl("set", "tell", "emitValue=more", "--persist")
    with failing(one, "2+"):
        result = one.ctl("set", "tell", "emitValue=most", "--persist", check=False)
    assert result.returncode != 0
    assert "Input/output error; what was there before cannot be put back, so look at it, and reload" in result.stderr
    # It is whole, and it is not what runs: nobody writes over it unasked.
    assert any("most" in text for text in files(one).values())
    assert "more" in one.ctl("cat-config", "tell", "--running").stdout
    refused = one.ctl("set", "tell", "emitValue=least", "--persist", check=False)
    assert refused.returncode != 0 and "reload first" in refused.stderr, refused.stderr
    one.ctl("reload")
    one.ctl("set", "tell", "emitValue=least", "--persist")
