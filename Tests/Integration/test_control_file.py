"""The file of the control socket, when somebody removes it: the daemon makes it anew, and says so."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import CONFIGURATION
from daemon import Daemon
from varlink_socket import VarlinkSocket

AGAIN = "the file of the control socket was removed; the daemon has restored it"
GONE = "the file of the control socket is gone"

# The group that may read; the file is given to it.
ACCESS = {"access.yaml": "access:\n  read: { groups: [60001] }\n"}


def permissions(one: Daemon) -> tuple[int, int]:
    status = os.stat(one.socket)
    return stat.S_IMODE(status.st_mode), status.st_gid


@pytest.mark.parametrize("with_lock", [False, True])
def test_a_control_socket_that_is_removed_comes_back(daemon: Callable[..., Daemon], with_lock: bool) -> None:
    one = daemon({**CONFIGURATION, **(ACCESS if os.geteuid() == 0 else {})})
    before = permissions(one)
    assert before == (0o660, 60001) if os.geteuid() == 0 else before[0] == 0o600
    with VarlinkSocket(one.socket) as kept:
        for _ in range(3):
            lines = one.log.count(AGAIN)
            # The lock first: the daemon watches the socket, and may make both anew at once.
            if with_lock:
                Path(f"{one.socket}.lock").unlink()
            one.socket.unlink()
            one.wait_lines(AGAIN, lines + 1)
            one.ctl("reload")
            assert permissions(one) == before
        # Who was connected before is served on.
        kept.call("io.mediatord.Control.Status")
        assert "parameters" in kept.reply()
    assert one.stop() == 0
    assert not one.socket.exists() and not Path(f"{one.socket}.lock").exists()


def test_a_second_daemon_does_not_take_a_path_that_came_back(daemon: Callable[..., Daemon]) -> None:
    one = daemon()
    one.socket.unlink()
    one.wait_log(AGAIN)
    other = daemon(ready=False, socket=one.socket)
    assert other.wait_exit() == 4
    assert "another program serves" in other.log
    one.ctl("status")


def test_a_directory_that_is_removed_comes_back_with_the_socket(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    one = daemon(socket=folder / "io.mediatord.Control")
    shutil.rmtree(folder)
    one.wait_log(GONE)
    # A directory that --socket names is not made; who makes it has the socket there again.
    folder.mkdir(mode=0o755)
    one.wait_log(AGAIN)
    one.ctl("reload")


def test_a_hangup_brings_back_what_could_not_be_made(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    one = daemon(socket=folder / "control")
    folder.chmod(0o777)
    one.socket.unlink()
    line = one.wait_log(GONE)
    assert "others can write to" in line and "chmod go-w" in line
    folder.chmod(0o755)
    one.signal(signal.SIGHUP)
    one.wait_log(AGAIN)
    one.wait_log("reloaded")
    one.ctl("status")


def test_what_lies_in_the_way_is_left_alone(daemon: Callable[..., Daemon]) -> None:
    one = daemon()
    one.socket.unlink()
    one.socket.write_text("mine")
    line = one.wait_log(GONE)
    assert "exists and is not a socket" in line
    assert one.socket.read_text() == "mine"
    one.socket.unlink()
    one.wait_log(AGAIN)
    one.ctl("status")


def test_a_program_that_kept_the_path_and_ended_gives_it_back(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    one = daemon()
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(tmp_path / "other"))
    other.listen()
    os.rename(tmp_path / "other", one.socket)
    assert "another program serves" in one.wait_log(GONE)
    # Its file stays, and nothing else changes at the path.
    other.close()
    one.wait_log(AGAIN)
    one.ctl("status")


# Runs a program for which inotify_init1(2) has no more to give (seccomp(2), prctl(2)).
WITHOUT_WATCHES = """
import ctypes, os, struct, sys
INOTIFY_INIT1, EMFILE, ALLOW, ERROR = {"x86_64": 294, "aarch64": 26}[os.uname().machine], 24, 0x7FFF0000, 0x00050000
def step(code, true, false, k): return struct.pack("HBBI", code, true, false, k)
program = b"".join([
    step(0x20, 0, 0, 0), step(0x15, 0, 1, INOTIFY_INIT1), step(0x06, 0, 0, ERROR | EMFILE), step(0x06, 0, 0, ALLOW),
])
held = ctypes.create_string_buffer(program)
header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(held)))
library = ctypes.CDLL(None, use_errno=True)
if library.prctl(38, 1, 0, 0, 0) or library.prctl(22, 2, header, 0, 0): sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_a_file_that_cannot_be_watched_is_checked_all_the_same(daemon: Callable[..., Daemon]) -> None:
    one = daemon(wrapper=[sys.executable, "-c", WITHOUT_WATCHES])
    assert "every ten seconds" in one.wait_log("cannot watch the file of the control socket")
    one.socket.unlink()
    one.wait_log(AGAIN)
    one.ctl("status")
    assert one.log.count("cannot watch the file") == 1


def test_of_a_socket_of_systemd_it_is_said_what_to_do(daemon: Callable[..., Daemon], tmp_path: Path) -> None:
    path = tmp_path / "control"
    # What systemd does for a socket unit.
    wrapper = [
        sys.executable, "-c",
        "import os, socket, sys\n"
        "one = socket.socket(socket.AF_UNIX); one.bind(sys.argv[1]); one.listen()\n"
        "os.dup2(one.fileno(), 3); os.set_inheritable(3, True)\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='varlink')\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n",
        str(path),
    ]
    one = daemon(socket=path, wrapper=wrapper)
    one.ctl("status")
    path.unlink()
    assert "systemctl restart mediatord.socket mediatord" in one.wait_log(GONE)
    assert not path.exists()
    # Once, until it has been there again.
    one.signal(signal.SIGHUP)
    one.wait_log("reloaded")
    assert one.log.count(GONE) == 1
