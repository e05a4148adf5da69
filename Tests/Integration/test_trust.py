"""Directories that somebody else may write: no socket there is believed, and none is made there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from daemon import CANNOT_SERVE, Binaries, Daemon
from test_shells import BASH, needs, zsh
from varlink_socket import VarlinkSocket
from waiting import WAIT, eventually, listens

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")

VICTIM = 60010
ATTACKER = 54321


class Impostor:
    """Listens at a path, notes what it is sent, and answers each call with what `answers` has for its method."""

    def __init__(self, path: Path, answers: dict[str, dict[str, object]] | None = None) -> None:
        self.path = path
        self.answers = answers or {}
        self.heard = b""
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(one,), daemon=True).start()

    def _answer(self, one: socket.socket) -> None:
        buffer = b""
        with one:
            while data := one.recv(65536):
                self.heard += data
                buffer += data
                while b"\0" in buffer:
                    message, _, buffer = buffer.partition(b"\0")
                    method = json.loads(message)["method"].rpartition(".")[2]
                    one.sendall(json.dumps({"parameters": self.answers.get(method, {})}).encode() + b"\0")

    def close(self) -> None:
        # Wakes the thread that waits for somebody to connect.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(WAIT)
        self._listener.close()


@contextmanager
def directory(path: Path, owner: int, mode: int) -> Iterator[Path]:
    path.mkdir()
    os.chown(path, owner, owner)
    path.chmod(mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory of root's that everybody can reach."""
    folder = Path(tempfile.mkdtemp(prefix="mediatord-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def program(open_binaries: Binaries) -> Path:
    """mediatorctl where everybody can run it."""
    return open_binaries.mediatorctl


# What is below /run on this machine, such as a daemon's directory, changes what a client finds. So it sees an empty one.
ALONE = ("unshare", "--mount", "sh", "-e", "-c", 'mount -t tmpfs -o mode=755 none /run; exec "$@"', "sh")


def as_victim(program: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    if "LD_LIBRARY_PATH" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    become = ("setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}", "--clear-groups", "--")
    result = subprocess.run(
        [*ALONE, *become, program, *arguments], env=environment, input="", capture_output=True, text=True, timeout=WAIT
    )
    assert result.returncode != 127, result
    return result


# Whose the directory is, its mode, and the reason that is told.
UNTRUSTED = {
    "another user's": (ATTACKER, 0o755, f"owned by another user ({ATTACKER})"),
    "for a group": (VICTIM, 0o775, "members of a group can write to"),
    "for everybody": (VICTIM, 0o777, "others can write to"),
    "for everybody, but sticky": (VICTIM, 0o1777, "others can write to"),
}


@pytest.mark.parametrize("case", UNTRUSTED)
@pytest.mark.parametrize("place", ["/tmp", "XDG_RUNTIME_DIR"])
def test_a_client_ignores_a_socket_that_somebody_else_may_have_made(program: Path, case: str, place: str) -> None:
    owner, mode, reason = UNTRUSTED[case]
    with tempfile.TemporaryDirectory() as runtime:
        os.chown(runtime, VICTIM, VICTIM)
        own = Path(f"/tmp/mediatord-{VICTIM}") if place == "/tmp" else Path(runtime) / "mediatord"
        variables = {} if place == "/tmp" else {"XDG_RUNTIME_DIR": runtime}
        with directory(own, owner, mode):
            impostor = Impostor(own / "io.mediatord.Control")
            try:
                for arguments in (["status"], ["publish", "alarms", "red"], ["bridge"]):
                    result = as_victim(program, *arguments, **variables)
                    assert result.returncode == 69, result
                    assert reason in result.stderr and str(own) in result.stderr, result
                    # What to do next.
                    assert "--socket or MEDIATORD_SOCKET" in result.stderr, result
                told = as_victim(program, "complete", "--", "show", "", **variables)
                assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
                assert impostor.connections == 0 and impostor.heard == b""
                # Who names it means it.
                as_victim(program, "status", "--socket", str(impostor.path), "--timeout", "4")
                assert impostor.connections > 0
            finally:
                impostor.close()


def test_a_client_ignores_a_link_to_a_socket(program: Path, parent: Path) -> None:
    with directory(parent / "inner", ATTACKER, 0o755) as elsewhere:
        link = Path(f"/tmp/mediatord-{VICTIM}")
        link.symlink_to(elsewhere)
        impostor = Impostor(elsewhere / "io.mediatord.Control")
        try:
            result = as_victim(program, "status")
            assert (result.returncode, impostor.connections) == (69, 0)
            assert "is a symbolic link" in result.stderr, result
        finally:
            link.unlink()
            impostor.close()


def test_a_client_ignores_a_runtime_directory_of_somebody_else(program: Path, parent: Path) -> None:
    with directory(parent / "runtime", ATTACKER, 0o755) as runtime, directory(
        runtime / "mediatord", VICTIM, 0o755
    ) as own:
        impostor = Impostor(own / "io.mediatord.Control")
        try:
            result = as_victim(program, "status", XDG_RUNTIME_DIR=str(runtime))
            assert (result.returncode, impostor.connections) == (69, 0)
            assert f"'{runtime}' is owned by another user" in result.stderr, result
        finally:
            impostor.close()


@pytest.mark.parametrize("owner", [VICTIM, 0])
def test_a_client_finds_a_socket_of_its_user_or_of_root(program: Path, owner: int) -> None:
    with directory(Path(f"/tmp/mediatord-{VICTIM}"), owner, 0o755) as own:
        impostor = Impostor(own / "io.mediatord.Control")
        try:
            result = as_victim(program, "status", "--timeout", "4")
            assert impostor.connections > 0 and "ignored" not in result.stderr, result
        finally:
            impostor.close()


# What a name is not, and a shell would carry out or misread.
HOSTILE = ["$(id>{mark})", "`id>{mark}`", "a;id>{mark}", "a&&id", "a|id", "'a", 'a"', "a\\b", "a*", "a b", "~root", "-x", ":files", "(id)"]


@pytest.fixture
def hostile(daemon: Callable[..., Daemon], tmp_path: Path) -> Iterator[SimpleNamespace]:
    """A socket at which a system has names that are made to be carried out."""
    one = daemon()
    with VarlinkSocket(one.socket) as connection:
        connection.call("io.mediatord.Control.ListSystems")
        (system,) = connection.reply()["parameters"]["systems"]
    mark = tmp_path / "mark"
    names = [name.format(mark=mark) for name in HOSTILE] + ["harmless@a:1"]
    systems = [{**system, "name": name, "description": name} for name in names]
    impostor = Impostor(
        one.directory / "impostor", {"ListSystems": {"systems": systems}, "ListBuses": {"buses": []}, "ListLinks": {"links": []}}
    )
    environment = {**os.environ, "MEDIATORD_SOCKET": str(impostor.path)}
    yield SimpleNamespace(binaries=one.binaries, client_environment=environment, mark=mark)
    impostor.close()
    assert not mark.exists()


@pytest.mark.parametrize("line", ["mediatorctl restart ", "mediatorctl publish x --wait "])
def test_bash_offers_no_name_that_it_would_carry_out(hostile: SimpleNamespace, line: str) -> None:
    result = subprocess.run(
        [needs("bash"), "--norc", "-c", BASH],
        env={**hostile.client_environment, "PROGRAM": str(hostile.binaries.mediatorctl), "LINE": line},
        capture_output=True, text=True, timeout=WAIT,
    )
    assert result.stdout.split("\n") in (["harmless@a:1", ""], ["harmless@a:1=", ""]), result


def test_fish_offers_no_name_that_it_would_carry_out(hostile: SimpleNamespace, tmp_path: Path) -> None:
    script = f'"{hostile.binaries.mediatorctl}" completion fish | source; complete -C "$LINE"'
    result = subprocess.run(
        [needs("fish"), "--no-config", "-c", script],
        env={
            **hostile.client_environment, "LINE": "mediatorctl restart ", "HOME": str(tmp_path),
            "PATH": f"{hostile.binaries.mediatorctl.parent}:{os.environ['PATH']}",
        },
        capture_output=True, text=True, timeout=WAIT,
    )
    assert [text.split("\t")[0] for text in result.stdout.splitlines()] == ["harmless@a:1"], result


def test_zsh_offers_no_name_that_it_would_carry_out(hostile: SimpleNamespace, tmp_path: Path) -> None:
    needs("zsh")
    assert zsh(hostile, "mediatorctl restart ", tmp_path).replace("\\", "") == "mediatorctl restart harmless@a:1 "


# Making sockets


def events(one: Daemon) -> int:
    (described,) = json.loads(one.ctl("show", "door", "--json").stdout).values()
    return described["summary"]["counters"]["events"]


DOOR = """\
system: door
states: {{ A: {{}} }}
events: {{ Knock: {{}} }}
initialState: A
feedbacks:
  knocks:
    onState: A
    strategy: continueOnNewState
    socket: {{ path: {path} }}
    onMessage: Knock
transitions: {{ A: {{ Knock: stay }} }}
"""

UNSAFE = {
    "another user's": (ATTACKER, 0o755, f"owned by another user ({ATTACKER})"),
    "another user's, sticky": (ATTACKER, 0o1777, f"owned by another user ({ATTACKER})"),
    "for a group": (0, 0o775, "members of a group can write to"),
    "for everybody": (0, 0o777, "others can write to"),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_no_side_effect_listens_where_others_could_replace_its_socket(
    daemon: Callable[..., Daemon], parent: Path, case: str
) -> None:
    owner, mode, reason = UNSAFE[case]
    with directory(parent / "inner", owner, mode) as folder:
        one = daemon({"door.yaml": DOOR.format(path=folder / "door.sock")})
        line = one.wait_log("cannot listen on")
        assert reason in line, line
        assert "a directory that only the daemon's user or root can write" in line
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_side_effect_listens_where_nobody_else_can_replace_its_socket(
    daemon: Callable[..., Daemon], parent: Path, mode: int
) -> None:
    with directory(parent / "inner", 0, mode) as folder:
        one = daemon({"door.yaml": DOOR.format(path=folder / "door.sock")})
        # The daemon is ready before its side effects are under way.
        while not listens(folder / "door.sock"):
            assert "cannot listen" not in one.ctl("show", "door").stdout + one.log
        with socket.socket(socket.AF_UNIX) as sender:
            sender.connect(str(folder / "door.sock"))
            sender.sendall(b"1\n")
            eventually(lambda: events(one))


@pytest.mark.parametrize("case", UNSAFE)
def test_no_daemon_serves_where_others_could_replace_its_socket(
    daemon: Callable[..., Daemon], parent: Path, case: str
) -> None:
    owner, mode, reason = UNSAFE[case]
    with directory(parent / "inner", owner, mode) as folder:
        one = daemon(ready=False, socket=folder / "control")
        assert one.wait_exit() == CANNOT_SERVE
        assert reason in one.log and "--socket or MEDIATORD_SOCKET" in one.log
        assert list(folder.iterdir()) == []
