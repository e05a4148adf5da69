"""The check of comments and guides: it finds what is hard to read, and leaves the rest alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, REPOSITORY
from waiting import WAIT


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [REPOSITORY / ".ci" / "check-prose", "--worst", "5", path]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT)


@pytest.fixture
def folder() -> Path:
    folder = BUILD / "prose"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("summary.swift", "/// What the limit of a mailbox is.\n/// Who asks waits for what comes of it.\n", "begins with a clause"),
        ("clause.md", "The daemon reads what is written there. It tells how it went, and what becomes of it.\n", "clause in place of a noun"),
        ("long.md", ("One sentence " + "with many words " * 12 + "ends here. ") * 3 + "\n", "words in one sentence"),
        ("vague.md", "Meanwhile it begins anew. The other way round it is thereby kept.\n", "vague word"),
    ],
)
def test_a_text_that_is_hard_to_read_is_found(folder: Path, name: str, text: str, reason: str) -> None:
    (folder / name).write_text(text)
    done = check(folder / name)
    assert done.returncode == 1 and reason in done.stdout, done.stdout


def test_code_tables_and_plain_sentences_are_left_alone(folder: Path) -> None:
    path = folder / "plain.md"
    path.write_text("# What is meanwhile\n\n```sh\nwhat is this meanwhile\n```\n\n| what is | anew |\n\nThe daemon reads `what is` there.\n")
    done = check(path)
    assert done.returncode == 0 and "0.0 marks" in done.stdout, done.stdout
