"""The daemon's start, its end, and the exit codes between them."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable

import pytest

from daemon import CANNOT_SERVE, CONFIGURATION_INVALID, STOPPED, USAGE, Binaries, Daemon


def test_it_becomes_ready_and_says_how_it_fares(daemon: Callable[..., Daemon]) -> None:
    one = daemon()
    assert "1 healthy" in one.wait_status(lambda text: "healthy" in text)
    assert str(one.socket) in one.wait_log("control socket")
    assert one.socket.is_socket()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_on_a_signal(daemon: Callable[..., Daemon], number: signal.Signals) -> None:
    one = daemon()
    one.signal(number)
    assert one.wait_exit() == STOPPED, one.log
    assert one.notify.last("STOPPING") == "1"
    assert not one.socket.exists()


def test_it_refuses_an_invalid_configuration_and_says_where(daemon: Callable[..., Daemon]) -> None:
    broken = {"broken.yaml": "system: broken\nstates: { A: { } }\ninitialState: Nowhere\n"}
    one = daemon(broken, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    assert re.search(rf"^{re.escape(str(one.config))}/broken\.yaml:3:\d+: error: ", one.log, re.MULTILINE), one.log
    assert one.notify.last("READY") is None


def test_it_does_not_take_the_socket_of_a_running_daemon(daemon: Callable[..., Daemon]) -> None:
    first = daemon()
    second = daemon(ready=False, socket=first.socket)
    assert second.wait_exit() == CANNOT_SERVE
    assert str(first.socket) in second.log
    assert first.process.poll() is None
    assert first.socket.is_socket()


def test_it_takes_over_the_socket_of_a_killed_daemon(daemon: Callable[..., Daemon]) -> None:
    first = daemon()
    first.signal(signal.SIGKILL)
    assert first.wait_exit() == -signal.SIGKILL
    assert first.socket.is_socket()
    daemon(socket=first.socket)


def test_an_unknown_option_is_a_mistake_in_usage(binaries: Binaries) -> None:
    result = subprocess.run([binaries.mediatord, "--no-such-option"], capture_output=True, timeout=20)
    assert result.returncode == USAGE


def test_the_watchdog_is_fed(daemon: Callable[..., Daemon]) -> None:
    one = daemon(environment={"WATCHDOG_USEC": "200000"})
    feedings = 0

    def is_third(datagram: dict[str, str]) -> bool:
        nonlocal feedings
        feedings += datagram.get("WATCHDOG") == "1"
        return feedings == 3

    assert one.notify.wait_for(is_third, 10.0) is not None, one.log
