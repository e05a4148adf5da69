"""Looking in from another machine, over ssh."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Daemon
from door_and_bell import CONFIGURATION
from waiting import WAIT


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def remote(one: Daemon, *arguments: str, host: str = "other", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(one.binaries.mediatorctl), *arguments],
        env={**os.environ, "MEDIATORD_HOST": host, **environment},
        capture_output=True,
        text=True,
        timeout=WAIT,
    )


@pytest.fixture
def stand_in(one: Daemon, tmp_path: Path) -> Path:
    """A program in the place of ssh, which runs the command on this machine and notes its arguments."""
    path = tmp_path / "ssh"
    path.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nwhile [ "$1" != -- ]; do shift; done\n'
        f"PATH={one.binaries.mediatorctl.parent}:$PATH MEDIATORD_SOCKET={one.socket}\n"
        'export PATH MEDIATORD_SOCKET; exec sh -c "$3"\n'
    )
    path.chmod(0o755)
    return path


def test_another_machine_is_reached_over_ssh(one: Daemon, stand_in: Path) -> None:
    ssh = {"MEDIATORCTL_SSH": str(stand_in)}
    status = remote(one, "status", "--json", **ssh)
    assert status.returncode == 0 and json.loads(status.stdout)["pid"] == one.pid, status
    assert remote(one, "tap", "door", "--count", "1", **ssh).stdout.endswith("is Closed\n")
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", **ssh)
    assert waited.stdout.endswith("door is in Open by=cat times=1\n"), waited
    named = remote(one, "--host", "else@where", "list", "--socket", str(one.socket), host="", **ssh)
    assert named.returncode == 0, named
    arguments = (stand_in.parent / "arguments").read_text().splitlines()
    assert arguments[0] == "-T -x -o ClearAllForwardings=yes -- other mediatorctl bridge"
    assert arguments[-1].endswith(f"-- else@where mediatorctl bridge --socket {one.socket}")
    # A socket that is named is one of this machine.
    assert remote(one, "status", "--socket", str(one.socket), **ssh).returncode == 0
    assert len((stand_in.parent / "arguments").read_text().splitlines()) == len(arguments)


def test_a_state_is_not_missed_where_watching_begins_late(one: Daemon, tmp_path: Path) -> None:
    # Of two connections the second, over which the state is watched, takes long to come about.
    path = tmp_path / "ssh"
    path.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nmkdir {tmp_path}/first 2>/dev/null || sleep 2\n'
        f"PATH={one.binaries.mediatorctl.parent}:$PATH MEDIATORD_SOCKET={one.socket}\n"
        'export PATH MEDIATORD_SOCKET; exec sh -c "$3"\n'
    )
    path.chmod(0o755)
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", MEDIATORCTL_SSH=str(path))
    assert waited.stdout.endswith("door is in Open by=cat times=1\n"), waited
    assert (tmp_path / "first").exists()


@pytest.mark.parametrize(
    ("script", "host", "code", "said"),
    [
        (None, "other", 69, "cannot be run"),
        ("#!/bin/sh\necho 'ssh: no route' >&2; exit 255\n", "other", 69, "no connection to mediatord on 'other'"),
        ("#!/bin/sh\necho 'mediatorctl: not found' >&2; exit 127\n", "other", 69, "needs mediatorctl, too"),
        ("#!/bin/sh\necho Welcome; exec cat\n", "other", 69, "on 'other'"),
        ("#!/bin/sh\nexec sleep 100\n", "other", 69, "does not answer in time"),
        ("#!/bin/sh\nexec cat\n", "-oProxyCommand=x", 2, "no name of a machine"),
    ],
)
def test_what_is_wrong_with_another_machine_is_told(
    one: Daemon, tmp_path: Path, script: str | None, host: str, code: int, said: str
) -> None:
    path = tmp_path / "ssh"
    if script:
        path.write_text(script)
        path.chmod(0o755)
    result = remote(one, "status", "--timeout", "5", host=host, MEDIATORCTL_SSH=str(path))
    assert result.returncode == code and said in result.stderr, result


@pytest.fixture
def ssh_server(one: Daemon, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A real server, for this user with a key of the test's."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if not server:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no sshd; install openssh-server", pytrace=False)
        pytest.skip("there is no sshd on this machine")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized")
    Path("/run/sshd").mkdir(exist_ok=True)
    (tmp_path / "sshd.conf").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        f'SetEnv PATH="{one.binaries.mediatorctl.parent}:/usr/bin:/bin" MEDIATORD_SOCKET={one.socket}\n'
    )
    # A server for each connection, over pipes: a port of the machine could be somebody else's by the time it is used.
    client = tmp_path / "ssh"
    client.write_text(
        f"#!/bin/sh\nexec ssh -F none -i {tmp_path}/user -o IdentitiesOnly=yes -o BatchMode=yes "
        f"-o 'ProxyCommand={server} -i -f {tmp_path}/sshd.conf -E {tmp_path}/sshd.log' "
        f'-o UserKnownHostsFile={tmp_path}/known -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR "$@"\n'
    )
    client.chmod(0o755)
    yield {"MEDIATORCTL_SSH": str(client)}
    print((tmp_path / "sshd.log").read_text())


def test_a_real_ssh_carries_everything(one: Daemon, ssh_server: dict[str, str]) -> None:
    # The shell of the user may have much to do before it begins.
    patient = ("--timeout", "100")
    status = remote(one, "status", "--json", *patient, host="127.0.0.1", **ssh_server)
    assert status.returncode == 0 and json.loads(status.stdout)["pid"] == one.pid, status
    waited = remote(one, "emit", "door", "Push", "by=cat", "--wait", "Open", *patient, host="127.0.0.1", **ssh_server)
    assert waited.returncode == 0 and "door is in Open" in waited.stdout, waited
    gone = remote(
        one, "status", "--host", "127.0.0.1", "--socket", "/nowhere/x", *patient, host="", **ssh_server
    )
    assert gone.returncode == 69 and "Is mediatord running on this machine?" in gone.stderr, gone
