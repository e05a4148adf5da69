"""The daemon's start, its end, and the exit codes between them."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import CONFIGURATION
from daemon import CANNOT_SERVE, CONFIGURATION_INVALID, STOPPED, USAGE, Binaries, Daemon
from waiting import WAIT, eventually, listens


def test_it_becomes_ready_and_says_how_it_fares(daemon: Callable[..., Daemon]) -> None:
    one = daemon()
    assert "1 healthy" in one.wait_status(lambda text: "healthy" in text)
    assert str(one.socket) in one.wait_log("control socket")
    assert one.socket.is_socket()


@pytest.mark.parametrize("umask", ["277", "0"])
def test_the_directory_of_its_socket_has_the_same_permissions_with_any_umask(
    binaries: Binaries, tmp_path: Path, umask: str
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "heartbeat.yaml").write_text(CONFIGURATION["heartbeat.yaml"])
    socket = tmp_path / "new" / "control"
    with subprocess.Popen(
        ["sh", "-c", f'umask {umask}; exec "$@"', "sh", binaries.mediatord, "--config", config, "--store", tmp_path / "store"],
        env={**os.environ, "MEDIATORD_SOCKET": str(socket)}, stderr=subprocess.PIPE, text=True,
    ) as process:
        try:
            eventually(socket.is_socket)
            assert stat.S_IMODE(socket.parent.stat().st_mode) == (0o755 if os.geteuid() == 0 else 0o700)
        finally:
            process.terminate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_on_a_signal(daemon: Callable[..., Daemon], number: signal.Signals) -> None:
    one = daemon()
    one.signal(number)
    assert one.wait_exit() == STOPPED, one.log
    assert one.notify.last("STOPPING") == "1"
    assert not one.socket.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_as_soon_as_its_socket_can_be_seen(
    daemon: Callable[..., Daemon], number: signal.Signals
) -> None:
    for _ in range(10):
        one = daemon(ready=False)
        deadline = time.monotonic() + WAIT
        while not one.socket.exists():
            assert time.monotonic() < deadline, one.log
        one.signal(number)
        assert one.wait_exit() == STOPPED, one.log


WORK = """\
system: work
states: { Idle: {}, Busy: {}, Done: {} }
events: { Go: {}, End: {} }
fromOutside: Go
initialState: Idle
feedbacks:
  work: { onState: Busy, run: [sleep, "%s"], onSuccess: End, onFailure: End }
transitions: { Idle: { Go: Busy, End: stay }, Busy: { End: Done, Go: stay }, Done: { Go: stay, End: stay } }
"""


def test_a_stop_that_takes_a_while_is_shown_and_refuses_events(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"work.yaml": WORK % 5})
    one.ctl("emit", "work", "Go", "--wait", "Busy")
    one.signal(signal.SIGTERM)
    one.wait_log("waits for side effects to end")
    status = one.ctl("status", check=False)
    assert status.returncode == 5 and "stopping; " in status.stdout, status
    assert "\nwaits for the side effect work of work to end, until " in status.stdout, status
    refused = one.ctl("emit", "work", "Go", "--timeout", "1s", check=False)
    assert refused.returncode == 69 and "it is stopping" in refused.stderr, refused
    assert one.wait_exit() == STOPPED, one.log
    assert "event dropped" not in one.log


def test_a_stop_names_the_side_effects_that_it_cancels(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"work.yaml": WORK % 1000}, arguments=["--stop-limit", "1s"])
    one.ctl("emit", "work", "Go", "--wait", "Busy")
    assert one.stop() == STOPPED, one.log
    assert "system=work" in one.wait_log("side effects did not end within the limit and are cancelled  feedbacks=work")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_stop_at_once(daemon: Callable[..., Daemon], second: signal.Signals) -> None:
    one = daemon({"work.yaml": WORK % 1000}, arguments=["--stop-limit", "1h"])
    one.ctl("emit", "work", "Go", "--wait", "Busy")
    one.signal(signal.SIGTERM)
    one.wait_log("waits for side effects to end")
    # Nobody knows when the daemon listens for the second one.
    while one.process.poll() is None and "on a second signal" not in one.log:
        one.signal(second)
        time.sleep(0.05)
    assert one.wait_exit() == STOPPED, one.log


def test_a_further_signal_ends_the_wait_of_a_reload(daemon: Callable[..., Daemon]) -> None:
    one = daemon({**CONFIGURATION, "work.yaml": WORK % 1000}, arguments=["--stop-limit", "1h"])
    one.ctl("emit", "work", "Go", "--wait", "Busy")
    (one.config / "work.yaml").unlink()
    one.signal(signal.SIGHUP)
    assert "feedbacks=work" in one.wait_log("waits for side effects to end")
    one.signal(signal.SIGHUP)
    one.wait_log("1 removed")


def test_one_long_state_moves_no_other_line_of_a_pipe(daemon: Callable[..., Daemon]) -> None:
    text = "system: long\nstates: {{ A: {{ text: string }} }}\ninitialState: {{ A: {{ text: {text} }} }}\n"
    one = daemon({**CONFIGURATION, "long.yaml": text.format(text="x" * 700)})
    lines = one.ctl("list", "systems").stdout.splitlines()
    (long,) = [line for line in lines if line.startswith("long")]
    assert "x" * 40 in long and "…" in long, long
    assert max(len(line) for line in lines) < 200, lines
    assert "x" * 700 in one.ctl("show", "long").stdout


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


def test_why_there_is_no_connection_is_told(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    one = daemon()
    one.signal(signal.SIGKILL)
    one.wait_exit()
    result = one.ctl("status", check=False)
    assert result.returncode == 69
    assert f"nobody listens on '{one.socket}' any longer" in result.stderr and "start it again" in result.stderr
    one.socket.unlink()
    result = one.ctl("status", check=False)
    assert result.returncode == 69
    assert f"there is no socket '{one.socket}'" in result.stderr and "Is mediatord running?" in result.stderr


def test_why_there_can_be_no_socket_is_told(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    one = daemon(ready=False, socket=tmp_path / "no" / "where" / "s")
    assert one.wait_exit() == 4
    assert f"there is no directory '{tmp_path}/no/where' for the control socket; make it, or" in one.log
    if os.geteuid() == 0:
        (tmp_path / "theirs").mkdir()
        os.chown(tmp_path / "theirs", 54321, 54321)
        other = daemon(ready=False, socket=tmp_path / "theirs" / "s")
        assert other.wait_exit() == 4
        assert f"'{tmp_path}/theirs' is owned by another user (54321)" in other.log


def test_it_takes_over_the_socket_of_a_killed_daemon(daemon: Callable[..., Daemon]) -> None:
    first = daemon()
    first.signal(signal.SIGKILL)
    assert first.wait_exit() == -signal.SIGKILL
    assert first.socket.is_socket()
    daemon(socket=first.socket)


def test_an_unknown_option_is_a_mistake_in_usage(binaries: Binaries) -> None:
    result = subprocess.run([binaries.mediatord, "--no-such-option"], capture_output=True, timeout=WAIT)
    assert result.returncode == USAGE


def test_the_watchdog_is_fed(daemon: Callable[..., Daemon]) -> None:
    one = daemon(environment={"WATCHDOG_USEC": "200000"})
    feedings = 0

    def is_third(datagram: dict[str, str]) -> bool:
        nonlocal feedings
        feedings += datagram.get("WATCHDOG") == "1"
        return feedings == 3

    assert one.notify.wait_for(is_third) is not None, one.log


FAULTY = {
    "a.yaml": """\
system: faulty
states: { Here: { value: int } }
events: { Divide: { by: int } }
initialState: { Here: { value: 1 } }
transitions: { Here: { Divide: { to: Here, set: { value: "${state.value / event.by}" } } } }
"""
}


def test_the_status_tells_of_a_fault(daemon: Callable[..., Daemon]) -> None:
    one = daemon(FAULTY)
    one.ctl("emit", "faulty", "Divide", "by=0")
    assert one.wait_status(lambda text: "degraded" in text) == "1 system: 1 degraded (faulty: transition from Here on Divide)"
    assert one.ctl("status", check=False).returncode == 5
    assert "division by zero" in one.ctl("show", "faulty").stdout


def test_the_initial_state_that_cannot_be_computed_is_named(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": FAULTY["a.yaml"].replace("value: 1 }", "value: \"${int('x')}\" }")}, ready=False)
    assert one.wait_exit() == CONFIGURATION_INVALID
    assert re.search(r"a\.yaml:\d+:\d+: error: .*'faulty'|a\.yaml:\d+:\d+: error: ", one.log), one.log


def test_an_empty_directory_is_worth_a_warning(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"notes.txt": "not a configuration"})
    one.wait_log("there is no system in the configuration")


def test_a_reader_of_the_log_that_stands_still_holds_nobody_up(binaries: Binaries, tmp_path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "a.yaml").write_text("buses: { numbers: { kind: currentValue, value: int, initial: 0 } }")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        [binaries.mediatord, "--config", config, "--socket", tmp_path / "s"], stderr=writing, stdin=subprocess.DEVNULL
    )
    try:
        environment = {**os.environ, "MEDIATORD_SOCKET": str(tmp_path / "s")}
        while not listens(tmp_path / "s"):
            assert process.poll() is None
        for number in range(100):
            # Nobody reads the pipe, which is full after some thirty lines.
            subprocess.run(
                [binaries.mediatorctl, "publish", "numbers", str(number)],
                env=environment, check=True, timeout=WAIT, stdout=subprocess.DEVNULL,
            )
        process.terminate()
        assert process.wait(WAIT) == STOPPED
    finally:
        process.kill()
        os.close(reading)
        os.close(writing)


def test_closed_standard_descriptors_are_nobody_elses(binaries: Binaries, tmp_path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "a.yaml").write_text("buses: { numbers: { kind: currentValue, value: int, initial: 0 } }")
    (config / "b.yaml").write_text(CONFIGURATION["heartbeat.yaml"])
    command = f"exec {binaries.mediatord} --config {config} --socket {tmp_path}/s <&- >&- 2>&-"
    process = subprocess.Popen(["sh", "-c", command])
    try:
        while not listens(tmp_path / "s"):
            assert process.poll() is None
        for number in range(3):
            assert os.readlink(f"/proc/{process.pid}/fd/{number}") == "/dev/null"
        # It takes signals from when its systems run.
        status = [binaries.mediatorctl, "--socket", tmp_path / "s", "status"]
        while subprocess.run(status, capture_output=True, timeout=WAIT).returncode != 0:
            assert process.poll() is None
        process.terminate()
        assert process.wait(WAIT) == STOPPED
    finally:
        process.kill()


def test_who_is_neither_root_nor_the_daemons_user_may_not_call(
    daemon: Callable[..., Daemon], open_binaries: Binaries
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can try as another user")
    one = daemon()
    one.directory.chmod(0o755)
    stranger = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    program = open_binaries.mediatorctl
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for access, message in [(0o600, "has no right to use"), (0o666, "may not read what mediatord does")]:
        # The file's mode keeps others out; and if it did not, the daemon would.
        one.socket.chmod(access)
        result = subprocess.run(
            [*stranger, program, "status"], env=one.client_environment, capture_output=True, text=True, timeout=WAIT
        )
        if result.returncode == 127:
            pytest.skip(f"another user cannot load the program here: {libraries}")
        assert result.returncode == 4, result
        assert message in result.stderr
