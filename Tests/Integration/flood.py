"""Clients that connect, call and go, one after the other and many at a time."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import TracebackType

from waiting import WAIT

PING = b'{"method":"io.systemd.service.Ping"}\0'


def ping(path: Path) -> None:
    """One client: it connects, calls and reads the answer. Raises where that is not to be had."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT)
        client.connect(str(path))
        client.sendall(PING)
        answer = b""
        while not answer.endswith(b"\0"):
            part = client.recv(4096)
            if not part:
                raise ConnectionError(f"closed before the answer, after {answer!r}")
            answer += part
    if "error" in json.loads(answer[:-1]):
        raise ConnectionError(answer.decode())


class Flood:
    """Clients that go on until the end of the block; what they met afterwards in `failures`."""

    def __init__(self, path: Path, clients: int = 8) -> None:
        self.path = path
        self.failures: list[str] = []
        self.answered = 0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]

    def __enter__(self) -> Flood:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(WAIT + 10)
        if any(thread.is_alive() for thread in self._threads):
            self.failures.append("a client has had no answer")

    def _run(self) -> None:
        while not self._is_over.is_set():
            failure = None
            try:
                ping(self.path)
            except (OSError, ValueError) as error:
                failure = f"{type(error).__name__}: {error}"
            with self._lock:
                if failure is None:
                    self.answered += 1
                else:
                    self.failures.append(failure)
