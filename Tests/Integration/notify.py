"""The service manager's end of the notification protocol (sd_notify(3))."""

from __future__ import annotations

import os
import select
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable

from waiting import WAIT


class NotifySocket:
    """An AF_UNIX datagram socket to be named in NOTIFY_SOCKET, and what arrived on it.

    Like a service manager it takes datagrams as they come, whether anybody waits for one or not: of those that nobody
    takes the kernel keeps only a few, and then the sender waits.
    """

    def __init__(self) -> None:
        # A short path: the address of a socket has room for 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="notify-")
        self.path = os.path.join(self.directory, "socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind(self.path)
        self.datagrams: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._arrived = os.eventfd(0, os.EFD_NONBLOCK)
        self._closing = os.eventfd(0)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        os.eventfd_write(self._closing, 1)
        self._reader.join()
        self.socket.close()
        os.close(self._arrived)
        os.close(self._closing)
        shutil.rmtree(self.directory, ignore_errors=True)

    def last(self, key: str) -> str | None:
        """The newest value of a key among what was received so far."""
        self._drain()
        with self._lock:
            received = list(self.datagrams)
        return next((d[key] for d in reversed(received) if key in d), None)

    def wait_for(
        self,
        condition: Callable[[dict[str, str]], bool],
        timeout: float = WAIT,
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
            with self._lock:
                received = self.datagrams[seen:]
            for datagram in received:
                if condition(datagram):
                    return datagram
            seen += len(received)
            remaining = deadline - time.monotonic()
            if has_ended or remaining <= 0:
                return None
            poll = select.poll()
            poll.register(self._arrived, select.POLLIN)
            if pidfd is not None:
                poll.register(pidfd, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(remaining * 1000)]
            if self._arrived in ready:
                os.eventfd_read(self._arrived)
            # What the process sent before its end is still to be read.
            has_ended = pidfd is not None and pidfd in ready

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(self._closing, select.POLLIN)
        while self._closing not in [fd for fd, _ in poll.poll()]:
            self._drain()
            os.eventfd_write(self._arrived, 1)

    def _drain(self) -> None:
        with self._lock:
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
