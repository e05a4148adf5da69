"""The tutorial and the how-to pages, followed as a reader would."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY
from daemon import Binaries
from guide import files, follow
from waiting import WAIT

DOCUMENTATION = REPOSITORY / "Documentation"
TUTORIAL = DOCUMENTATION / "Tutorial.md"
# The other how-to pages have no configuration of their own; other tests run their commands.
HOW_TO = [page for page in sorted((DOCUMENTATION / "HowTo").glob("*.md")) if files(page)]
NAMES = [page.stem for page in HOW_TO]


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """An empty directory with a short path: the address of a socket has room for 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix="mediatord-"))
    yield directory
    # A daemon that a page has ended may remove its socket meanwhile.
    shutil.rmtree(directory, onerror=raise_unless_missing)


def raise_unless_missing(_: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


def of_this_run(directory: Path) -> dict[str, str]:
    """Another port and another lock than those of the pages, which may be taken on this machine."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return {"8000": str(one.getsockname()[1]), "/run/lock/": f"{directory}/"}


def test_the_tutorial_leads_a_new_user_to_a_configuration_of_their_own(binaries: Binaries, short_directory: Path) -> None:
    assert follow(TUTORIAL, binaries, short_directory, of_this_run(short_directory)) >= 20


def test_there_is_a_page_for_each_common_task() -> None:
    assert set(NAMES) >= {
        "Failover", "Backup", "Alert", "Hysteresis", "SeveralConditions", "RestartBudget", "TemplatesAndDropIns",
        "ManualOverride", "WhyAndWhyNot", "ShellAndCron",
    }


@pytest.mark.parametrize("page", HOW_TO, ids=NAMES)
def test_a_how_to_page_works_as_it_says(page: Path, binaries: Binaries, short_directory: Path) -> None:
    assert follow(page, binaries, short_directory, of_this_run(short_directory)) >= 2


@pytest.mark.parametrize("page", HOW_TO, ids=NAMES)
def test_the_configuration_of_a_how_to_page_has_no_warning(page: Path, binaries: Binaries, tmp_path: Path) -> None:
    for name, text in files(page):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    # Where a page has layers, a later one overrides those before it.
    layers = list(dict.fromkeys(name.split("/")[0] for name, _ in files(page) if name.endswith(".yaml")))
    options = [option for layer in reversed(layers) for option in ("--config", layer)]
    result = subprocess.run(
        [binaries.mediatorctl, "validate", "--deny-warnings", *options],
        cwd=tmp_path, capture_output=True, text=True, timeout=WAIT,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", [TUTORIAL, *HOW_TO], ids=["Tutorial", *NAMES])
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text().splitlines()) < (400 if page == TUTORIAL else 200)


def test_every_page_is_in_the_index() -> None:
    index = DOCUMENTATION / "README.md"
    listed = {(DOCUMENTATION / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", index.read_text())}
    # The index of diagnostics and that of side effects list the pages of their folders.
    folders = {page.with_suffix("") for page in listed}
    missing = [
        page for page in DOCUMENTATION.rglob("*.md") if page != index and page not in listed and page.parent not in folders
    ]
    assert not missing, missing
