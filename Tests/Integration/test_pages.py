"""The names, links and tables of the pages: they lead to things that exist."""

from __future__ import annotations

import re
import subprocess

import pytest

from conftest import REPOSITORY
from daemon import Binaries
from pages import blocks, guide, section
from waiting import WAIT


def test_each_verb_has_a_section_with_an_example(binaries: Binaries) -> None:
    page = guide("Reference/Mediatorctl.md")
    rows = dict(re.findall(r"^\| \[`([a-z-]+)[^`]*`\]\(#([a-z-]+)\) \|", page, re.MULTILINE))
    help = subprocess.run([binaries.mediatorctl, "--help"], capture_output=True, text=True, timeout=WAIT).stdout
    assert set(rows) == set(re.findall(r"^  ([a-z-]+)  ", help.split("SUBCOMMANDS:")[1], re.MULTILINE)) - {"help"}
    titles = {re.sub(r"[^\w -]", "", title).replace(" ", "-"): title for title in re.findall(r"^### (.*)$", page, re.MULTILINE)}
    for verb, anchor in rows.items():
        examples = "".join(blocks(section(page, titles[anchor]), "sh"))
        assert f"mediatorctl {verb}" in examples, verb


def test_the_guide_names_every_option_of_the_daemon(binaries: Binaries) -> None:
    help = subprocess.run([binaries.mediatord, "--help"], capture_output=True, text=True, timeout=WAIT).stdout
    page = guide("Reference/Mediatord.md")
    options = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", help, re.MULTILINE)) - {"--help", "--version"}
    assert options == set(re.findall(r"--[a-z-]+", blocks(page, "")[0]))
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE))
    assert set(re.findall(r"^  ([A-Z_]+)  ", help, re.MULTILINE)) == set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))


def test_the_architecture_names_files_and_code_that_exist() -> None:
    page = (REPOSITORY / "ARCHITECTURE.md").read_text()
    places = section(page, "If you want to change X, look in Y")
    roots = [REPOSITORY / "Sources", REPOSITORY]
    paths = set(re.findall(r"`(\w[\w.-]*/[\w./-]+|\w+\.swift)`", places))
    assert len(paths) > 50
    assert [path for path in sorted(paths) if not any((root / path).exists() for root in roots)] == []
    # A name that has changed there is changed in the glossary, too, or left out where it is now the term itself.
    code = "".join(path.read_text() for path in (REPOSITORY / "Sources").glob("**/*.swift"))
    words = set(re.findall(r"\w+", code))
    rows = re.findall(r"^\|.*\|.*\|(.*)\|$", section(page, "Glossary"), re.MULTILINE)
    names = {name for row in rows for span in re.findall(r"`([^`]*)`", row) for name in re.findall(r"\w+", span)}
    assert len(names) > 20 and sorted(names - words) == []


def test_the_package_of_the_thread_sanitizer_has_every_folder_of_the_library() -> None:
    """It links the folders of `FeedbackKit` one by one, since it leaves the documentation out."""
    folders = {path.name for path in (REPOSITORY / "Sources" / "FeedbackKit").iterdir() if path.suffix != ".docc"}
    links = {path.name for path in (REPOSITORY / "Tests" / "ThreadSanitizer" / "Sources" / "FeedbackKit").iterdir()}
    assert links - {"Mutex.swift"} == folders


def test_the_architecture_has_the_table_of_layers() -> None:
    """The rows of the page, held against the table with which `Tests/LayeringTests` reads the imports."""
    modules = {path.name for path in (REPOSITORY / "Sources").iterdir() if path.is_dir()}
    layers = (REPOSITORY / "Tests" / "LayeringTests" / "Layers.swift").read_text()
    table = re.sub(r"//.*", "", layers.split("static let table")[1].split("\n    ]\n")[0])
    entries = re.findall(r'^        "([\w-]+)": (.*?)(?=^        "[\w-]+": |\Z)', table, re.MULTILINE | re.DOTALL)
    allowed = {name: set(re.findall(r'"(\w+)"', text)) & modules for name, text in entries if name in modules}
    assert set(allowed) == modules
    page = section((REPOSITORY / "ARCHITECTURE.md").read_text(), "Modules")
    shown: dict[str, set[str]] = {}
    for names, imports in re.findall(r"^\| \d \| (.*?) \| .* \| (.*) \|$", page, re.MULTILINE):
        found = re.findall(r"`(\w+)`", names)
        # One row has both programs, in the order of their imports.
        parts = imports.split(";") if len(found) > 1 else [imports]
        for name, part in zip(found, parts, strict=True):
            shown[name] = allowed[name] if part.startswith("all of the above") else set(re.findall(r"`(\w+)`", part)) & modules
    assert shown == allowed


PAGES = [path.relative_to(REPOSITORY).as_posix() for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("Documentation/**/*.md")])]


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower().replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = next(number for number in range(1000) if (f"{anchor}-{number}" if number else anchor) not in found)
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    path = REPOSITORY / page
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text()):
        there = path.parent / target if target else path
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text()), f"{target}#{anchor}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("Documentation/")])
def test_a_page_of_the_guides_is_short(page: str) -> None:
    assert len((REPOSITORY / page).read_text().splitlines()) <= 400


def test_the_diagnostic_of_the_page_about_loops_is_the_real_one() -> None:
    links, diagnostic = blocks(guide("Explanation/Loops.md"), "")[:2]
    example = guide("Reference/Diagnostics/Whole.md").split("\n## `loop`\n")[1].split("\n## ")[0]
    # That page is held against the program by DiagnosticPageTests.
    assert links in example and diagnostic in example
