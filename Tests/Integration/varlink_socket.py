"""A Varlink client of a few lines, for what the library does not let one do: send rubbish, half messages, floods."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import Any

from waiting import WAIT


class VarlinkSocket:
    """A raw connection; every wait has a limit in seconds."""

    def __init__(self, path: Path, timeout: float = WAIT) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # With a timeout of Python's own, connecting would fail where many wait to be accepted.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(timeout), 0))
        self.socket.connect(str(path))
        self.socket.settimeout(timeout)
        self._buffer = b""

    def __enter__(self) -> VarlinkSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def call(self, method: str, parameters: dict[str, Any] | None = None, **flags: bool) -> None:
        self.send(json.dumps({"method": method, "parameters": parameters or {}, **flags}).encode() + b"\0")

    def reply(self) -> dict[str, Any] | None:
        """The next reply; None when the daemon has closed the connection."""
        while b"\0" not in self._buffer:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def is_closed(self) -> bool:
        """Waits for the daemon to close the connection."""
        while True:
            if self.reply() is None:
                return True
