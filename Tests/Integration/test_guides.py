"""The tutorial and the how-to pages, followed as a reader would."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY
from daemon import Binaries
from guide import files, follow

DOCUMENTATION = REPOSITORY / "Documentation"
TUTORIAL = DOCUMENTATION / "Tutorial.md"


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """An empty directory with a short path: the address of a socket has room for 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix="mediatord-"))
    yield directory
    shutil.rmtree(directory)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_the_tutorial_leads_a_new_user_to_a_configuration_of_their_own(binaries: Binaries, short_directory: Path) -> None:
    # The port of the page may be taken on this machine.
    commands = follow(TUTORIAL, binaries, short_directory, {"8000": str(free_port())})
    assert commands > 20
