"""The guide to installing, and what the tests of installing configure."""

from __future__ import annotations

from conftest import CONFIGURATION, REPOSITORY
from pages import blocks
from test_restart import COUNTER

INSTALLING = (REPOSITORY / "Documentation" / "HowTo" / "Install.md").read_text()

# Systems whose files a package cannot know, of which one has something to remember, and buses.
OWN = {
    **{f"/etc/mediatord/{name}": text for name, text in CONFIGURATION.items()},
    "/etc/mediatord/counter.yaml": COUNTER,
}


def commands(heading: str) -> list[str]:
    """The commands that a section of the guide shows, without sudo."""
    section = INSTALLING.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.removeprefix("sudo ") for block in blocks(section, "sh") for line in block.splitlines()]
