"""The daemon as a process of its own, driven and watched from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from notify import NotifySocket
from waiting import WAIT

# The daemon's exit codes.
STOPPED = 0
CONFIGURATION_INVALID = 1
USAGE = 2
CANNOT_SERVE = 4


@dataclass(frozen=True)
class Binaries:
    """The programs under test."""

    mediatord: Path
    mediatorctl: Path


class DaemonEnded(AssertionError):
    """The daemon ended where it should have gone on."""


class Daemon:
    """One run of the daemon on a configuration directory and a control socket of its own.

    `config` maps file names to their text. The daemon has a real notification socket; nothing here sleeps: waits are
    for a datagram, a log line or the process's end, and all have a limit in seconds.
    """

    def __init__(
        self,
        binaries: Binaries,
        config: Mapping[str, str],
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        socket: Path | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        self.binaries = binaries
        # A short path: the address of a socket has room for 107 bytes.
        self.directory = Path(tempfile.mkdtemp(prefix="mediatord-"))
        self.config = self.directory / "config"
        self.config.mkdir()
        for name, text in config.items():
            path = self.config / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.socket = socket or self.directory / "control"
        self.notify = NotifySocket()
        self._lines: list[str] = []
        self._lines_changed = threading.Condition()
        self._is_log_at_end = False
        self.process = subprocess.Popen(
            [
                # Tests that are killed take the daemon along.
                *("setpriv", "--pdeathsig", "KILL", "--", *wrapper, str(binaries.mediatord)),
                *("--config", str(self.config), "--socket", str(self.socket), *arguments),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={
                **{
                    k: v
                    for k, v in os.environ.items()
                    if k not in ("JOURNAL_STREAM", "WATCHDOG_USEC", "WATCHDOG_PID", "MEDIATORD_STORE")
                },
                "NOTIFY_SOCKET": self.notify.path,
                # What persists does not go into the home of who runs the tests.
                "XDG_STATE_HOME": str(self.directory / "states"),
                **(environment or {}),
            },
            # A session of its own, so that a signal for the tests' terminal does not reach it.
            start_new_session=True,
        )
        self._pidfd = os.pidfd_open(self.process.pid)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            with self._lines_changed:
                self._lines.append(raw.decode(errors="replace").rstrip("\n"))
                self._lines_changed.notify_all()
        with self._lines_changed:
            self._is_log_at_end = True
            self._lines_changed.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        """What the daemon wrote to standard error so far."""
        with self._lines_changed:
            return "\n".join(self._lines)

    @property
    def status(self) -> str | None:
        """The newest STATUS= line."""
        return self.notify.last("STATUS")

    def wait_ready(self, timeout: float = WAIT) -> None:
        """Waits for READY=1."""
        if self.notify.wait_for(lambda d: d.get("READY") == "1", timeout, self._pidfd) is None:
            self._fail("READY=1", timeout)

    def wait_status(self, condition: Callable[[str], bool], timeout: float = WAIT) -> str:
        """Waits for a STATUS= line which meets the condition."""
        found = self.notify.wait_for(lambda d: "STATUS" in d and condition(d["STATUS"]), timeout, self._pidfd)
        if found is None:
            self._fail("a certain STATUS=", timeout)
        return found["STATUS"]

    def wait_log(self, text: str, timeout: float = WAIT) -> str:
        """Waits for a line on standard error that contains `text`, and returns it."""
        return self.wait_lines(text, 1, timeout)[0]

    def wait_lines(self, text: str, count: int, timeout: float = WAIT) -> list[str]:
        """Waits for so many lines on standard error that contain `text`, and returns all that do."""
        deadline = time.monotonic() + timeout
        with self._lines_changed:
            seen = 0
            found: list[str] = []
            while True:
                found += [line for line in self._lines[seen:] if text in line]
                if len(found) >= count:
                    return found
                seen = len(self._lines)
                remaining = deadline - time.monotonic()
                if self._is_log_at_end or remaining <= 0:
                    break
                self._lines_changed.wait(remaining)
        lines = "a log line" if count == 1 else f"{count} log lines, but {len(found)},"
        self._fail(f"{lines} with {text!r}", timeout)

    def wait_exit(self, timeout: float = WAIT) -> int:
        """Waits for the end of the process and of its log; returns the exit code, negative for a signal."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._fail("the end of the process", timeout)
        self._reader.join(5.0)
        return code

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self, timeout: float = WAIT) -> int:
        """Asks the daemon to end as systemd does, and returns its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait_exit(timeout)

    @property
    def client_environment(self) -> dict[str, str]:
        """The environment in which mediatorctl speaks to this daemon."""
        return {**os.environ, "MEDIATORD_SOCKET": str(self.socket)}

    def ctl(
        self, *arguments: str, timeout: float = WAIT, check: bool = True, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs mediatorctl against this daemon; on failure, if checked, raises with what it printed."""
        result = subprocess.run(
            [str(self.binaries.mediatorctl), *arguments],
            env=self.client_environment,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check and result.returncode != 0:
            raise AssertionError(
                f"mediatorctl {' '.join(arguments)} exited {result.returncode}\n{result.stdout}{result.stderr}"
            )
        return result

    def discard(self) -> None:
        """Kills the process if it still runs, and removes the run's files."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(5.0)
        os.close(self._pidfd)
        self.notify.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _fail(self, what: str, timeout: float) -> NoReturn:
        code = self.process.poll()
        if code is not None:
            self._reader.join(5.0)
            raise DaemonEnded(f"waited for {what}, but mediatord exited {code}:\n{self.log}")
        raise AssertionError(f"no {what} within {timeout} s; the log so far:\n{self.log}")
