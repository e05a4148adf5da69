"""The service manager's end of the notification protocol (sd_notify(3))."""

from __future__ import annotations

import os
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Callable


class NotifySocket:
    """An AF_UNIX datagram socket to be named in NOTIFY_SOCKET, and what arrived on it."""

    def __init__(self) -> None:
        # A short path: the address of a socket has room for 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="notify-")
        self.path = os.path.join(self.directory, "socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind(self.path)
        self.datagrams: list[dict[str, str]] = []

    def close(self) -> None:
        self.socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def last(self, key: str) -> str | None:
        """The newest value of a key among what was received so far."""
        self._drain()
        return next((d[key] for d in reversed(self.datagrams) if key in d), None)

    def wait_for(
        self,
        condition: Callable[[dict[str, str]], bool],
        timeout: float,
        pidfd: int | None = None,
    ) -> dict[str, str] | None:
        """The first datagram, old or new, that meets the condition.

        None when the process of `pidfd` ends before, or the time (seconds) is over.
        """
        deadline = time.monotonic() + timeout
        seen = 0
        has_ended = False
        while True:
            self._drain()
            for datagram in self.datagrams[seen:]:
                if condition(datagram):
                    return datagram
            seen = len(self.datagrams)
            remaining = deadline - time.monotonic()
            if has_ended or remaining <= 0:
                return None
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            if pidfd is not None:
                poll.register(pidfd, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(remaining * 1000)]
            # What the process sent before its end is still to be read.
            has_ended = pidfd is not None and pidfd in ready

    def _drain(self) -> None:
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(self.socket, 65536, 4)
            except BlockingIOError:
                return
            # A barrier is answered by closing its descriptor.
            for fd in fds:
                os.close(fd)
            lines = data.decode(errors="replace").splitlines()
            self.datagrams.append(dict(line.split("=", 1) for line in lines if "=" in line))
