"""The pages of the guides, as the tests read them."""

from __future__ import annotations

import re

from conftest import REPOSITORY

DOCUMENTATION = REPOSITORY / "Documentation"
REFERENCE = DOCUMENTATION / "Reference"


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
