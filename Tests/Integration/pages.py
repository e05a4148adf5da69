"""The readme and the pages of the guides, as the tests read them."""

from __future__ import annotations

import re

from conftest import REPOSITORY

DOCUMENTATION = REPOSITORY / "Documentation"
REFERENCE = DOCUMENTATION / "Reference"
README = (REPOSITORY / "README.md").read_text()


def guide(page: str) -> str:
    """The text of a page."""
    return (DOCUMENTATION / page).read_text()


def side_effects() -> str:
    """The reference of side effects: the overview, then the pages of the groups."""
    pages = [REFERENCE / "SideEffects.md", *sorted((REFERENCE / "SideEffects").glob("*.md"))]
    return "\n".join(page.read_text() for page in pages)


def section(text: str, title: str) -> str:
    """A section of a page with its subsections."""
    level, found, fenced = 0, [], False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(#+) (.*)", line)
        if level and heading and len(heading[1]) <= level:
            break
        if level:
            found.append(line)
        elif heading and heading[2] == title:
            level = len(heading[1])
    assert level, f"no section {title!r}"
    return "".join(found)


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language in a text."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


EFFECTS = side_effects()


def example(name: str) -> str:
    """The configuration that the section of a side effect shows."""
    (block,) = blocks(section(EFFECTS, name), "yaml")
    return block


def shape(text: str) -> list[str]:
    """The text without what differs from run to run: numbers, times, and the width of columns."""
    text = re.sub(r"\((just now|\d+ s ago|\d+ min ago)\)", "(AGO)", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"[─-]{2,}", "-", text)
    # Numbers differ from run to run, places in files do not.
    text = re.sub(r"(\.yaml:\d+:\d+)|\d+", lambda match: match[1] or "#", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)
