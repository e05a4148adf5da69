"""The programs in the documentation of the library: each is compiled, and what it is said to print is what it prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY

CATALOGUE = REPOSITORY / "Sources" / "FeedbackKit" / "FeedbackKit.docc"
TUTORIAL = CATALOGUE / "Tutorial.md"
WORKSHOP = REPOSITORY / ".build" / "tutorial"

# A program with the file it is for before it, or commands with what they print.
STEP = re.compile(
    r"^(?:`(?P<file>[\w./]+)`\n\n)?```(?P<language>swift|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def tested() -> str:
    """All that the tests written in Swift say."""
    return squeezed("\n".join(path.read_text() for path in sorted((REPOSITORY / "Tests").glob("**/*.swift"))))


@pytest.mark.parametrize("page", sorted(path.name for path in CATALOGUE.glob("*.md") if path != TUTORIAL))
def test_each_program_of_a_page_is_tested(page: str, tested: str) -> None:
    untested = [
        program
        for program in re.findall(r"^```swift\n(.*?)^```$", (CATALOGUE / page).read_text(), re.MULTILINE | re.DOTALL)
        if squeezed(program) not in tested
    ]
    assert not untested, f"{page}: occurs in no file below Tests:\n" + "\n".join(untested)


def test_the_tutorial_can_be_followed() -> None:
    package = WORKSHOP / "Thermostat"
    # What was built before is kept; what was written is not.
    for folder in ("Sources", "Tests"):
        shutil.rmtree(package / folder, ignore_errors=True)
    package.mkdir(parents=True, exist_ok=True)
    link = WORKSHOP / "mediatord"
    if not link.is_symlink():
        link.symlink_to(REPOSITORY)
    commands = 0
    for step in STEP.finditer(TUTORIAL.read_text()):
        if step["language"] == "swift":
            assert step["file"], f"the page does not say which file this is:\n{step['text']}"
            write(package / step["file"], step["text"])
        else:
            command, expected = step["text"].split("\n", 1)
            follow(package, command, expected)
            commands += 1
    assert commands == 4


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def follow(package: Path, command: str, expected: str) -> None:
    """Runs a command. A program prints exactly what is shown; a test run prints it, in one piece, among more."""
    assert command.startswith("$ swift ")
    result = subprocess.run(
        command.removeprefix("$ "), shell=True, cwd=package, capture_output=True, text=True, timeout=1200
    )
    if command.startswith("$ swift run"):
        assert result.returncode == 0, result.stderr
        assert result.stdout == expected, result.stdout + result.stderr
    else:
        assert (result.returncode == 0) == ("passed" in expected), result.stdout + result.stderr
        assert squeezed(expected) in squeezed(result.stdout + result.stderr), result.stdout + result.stderr


def test_the_tests_that_the_page_about_semantics_names_exist(tested: str) -> None:
    page = re.sub(r"^```.*?^```$", "", (CATALOGUE / "Semantics.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    named = [squeezed(span) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", page)]
    # A test's name is a sentence; what else is in code has fewer words.
    sentences = [name for name in named if name.count(" ") >= 3 and not name.startswith("…")]
    assert len(sentences) > 30
    assert not [name for name in sentences if f"func `{name}`" not in tested]
