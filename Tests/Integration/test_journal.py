"""What is sensed of a real journal: `journal`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest

from container import Container
from pages import blocks, section, side_effects
from test_documentation import example

UNIT = "mediatord.service"

# Keeps what it is told.
READ = """\
system: read
states: { Reading: { texts: list(string), lost: int } }
events: { Entry: { text: string }, Dropped: { count: int } }
initialState: { Reading: { texts: [], lost: 0 } }
feedbacks:
  read:
    onState: any
    strategy: continueOnNewState
    journal: { match: { SYSLOG_IDENTIFIER: probe }OPTIONS }
    onEntry: { Entry: { text: "${result.priority} ${result.message} ${result.fields['_TRANSPORT']}" } }
    onDropped: { Dropped: { count: "${result.count}" } }
transitions:
  any:
    Entry: { to: Reading, set: { texts: "${state.texts + [event.text]}", lost: "${state.lost}" } }
    Dropped: { to: Reading, set: { texts: "${state.texts}", lost: "${state.lost + event.count}" } }
"""


@pytest.fixture
def journal(system: Container) -> Iterator[Container]:
    """The container; its mediatord may read the journal."""
    system.write(f"/etc/systemd/system/{UNIT}.d/test.conf", "[Service]\nSupplementaryGroups=systemd-journal\n")
    system.systemctl("daemon-reload")
    yield system


def start(system: Container, text: str) -> None:
    system.write("/etc/mediatord/system.yaml", text)
    assert system.systemctl("start", UNIT, check=False).returncode == 0, logged(system)
    # What is read from now on begins when the journal has been opened.
    system.wait_until(lambda: "inotify" in opened(system), "an open journal")


def opened(system: Container) -> str:
    """What the daemon has open."""
    pid = system.show(UNIT, "MainPID")["MainPID"]
    return system.run("sh", "-c", f"ls -l /proc/{pid}/fd").stdout


def say(system: Container, text: str, priority: str = "info") -> None:
    system.run("systemd-cat", "-t", "probe", "-p", priority, "echo", text)


def logged(system: Container) -> str:
    """What the daemon has logged since it was started last."""
    system.run("journalctl", "--sync")
    run = system.show(UNIT, "InvocationID")["InvocationID"]
    return system.run("journalctl", f"_SYSTEMD_INVOCATION_ID={run}", "--output=cat", "--no-pager").stdout


def wait(system: Container, condition: Callable[[], object], what: str) -> None:
    """Waits for something, and shows what was logged if it does not come."""
    try:
        system.wait_until(lambda: bool(condition()), what)
    except AssertionError as failure:
        # Of all its runs, should it have been started again meanwhile.
        runs = system.run("journalctl", "-u", UNIT, "-n", "60", "--output=short-precise", "--no-pager").stdout
        raise AssertionError(f"{failure} {told(system)}:\n{logged(system)}\n{runs}") from None


def told(system: Container) -> list[str]:
    """What has been told so far, in order."""
    shown = system.run("mediatorctl", "show", "read", "--json").stdout
    return json.loads(re.search(r'"texts":(\[".*?"\]|\[\])', shown).group(1))


def lost(system: Container) -> int:
    """How many entries were not told."""
    shown = system.run("mediatorctl", "show", "read", "--json").stdout
    return int(re.search(r'"lost":(\d+)', shown).group(1))


def wait_told(system: Container, *texts: str) -> None:
    """Waits until this and nothing else has been told."""
    wait(system, lambda: told(system) == list(texts), f"{texts}")


def test_entries_that_match_are_told_from_now_on(journal: Container) -> None:
    say(journal, "before")
    start(journal, READ.replace("OPTIONS", ""))
    say(journal, "one", "warning")
    journal.run("systemd-cat", "-t", "other", "echo", "another")
    say(journal, "two")
    wait_told(journal, "4 one stdout", "6 two stdout")
    # A file that is closed and a new one.
    journal.run("journalctl", "--rotate")
    say(journal, "three")
    wait_told(journal, "4 one stdout", "6 two stdout", "6 three stdout")


def test_only_grave_entries_are_told_where_a_priority_is_given(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ", priority: warning"))
    for priority in ("debug", "err", "notice", "warning", "info", "crit"):
        say(journal, priority, priority)
    wait_told(journal, "3 err stdout", "4 warning stdout", "2 crit stdout")


def test_entries_since_the_boot_are_told_first_and_none_is_left_out(journal: Container) -> None:
    journal.run("systemd-cat", "-t", "probe", "sh", "-c", "for i in $(seq 30); do echo old $i; done")
    journal.run("journalctl", "--sync")
    start(journal, READ.replace("OPTIONS", ", since: boot, perSecond: 10"))
    say(journal, "new")
    wait(journal, lambda: len(told(journal)) >= 31, "all entries")
    texts = [text.split(" ", 1)[1].rsplit(" ", 1)[0] for text in told(journal)]
    assert texts[-31:] == [f"old {number}" for number in range(1, 31)] + ["new"]


def test_entries_behind_a_cursor_are_told(journal: Container) -> None:
    say(journal, "first")
    say(journal, "second")
    journal.run("journalctl", "--sync")
    shown = journal.run("journalctl", "-t", "probe", "--show-cursor", "--output=cat", "-n", "2", "--grep", "first").stdout
    cursor = re.search(r"-- cursor: (.*)", shown).group(1)
    start(journal, READ.replace("OPTIONS", f', cursor: "{cursor}"'))
    wait_told(journal, "6 second stdout")
    journal.systemctl("stop", UNIT)
    journal.write("/etc/mediatord/system.yaml", READ.replace("OPTIONS", ", cursor: nonsense"))
    journal.systemctl("start", UNIT)
    wait(journal, lambda: "'nonsense' is no cursor of the journal" in logged(journal), "a fault")


def test_of_a_flood_the_rest_is_counted(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ", perSecond: 20"))
    journal.run("systemd-cat", "-t", "probe", "sh", "-c", "for i in $(seq 3000); do echo $i; done")
    journal.run("journalctl", "--sync")

    wait(journal, lambda: len(told(journal)) + lost(journal) >= 3000, "everything")
    assert len(told(journal)) + lost(journal) == 3000 and 20 <= len(told(journal)) < 1000
    # It goes on.
    say(journal, "after")
    wait(journal, lambda: told(journal)[-1:] == ["6 after stdout"], "what comes after")


def test_without_permission_it_is_a_fault_that_says_what_to_do(journal: Container) -> None:
    journal.run("rm", f"/etc/systemd/system/{UNIT}.d/test.conf")
    journal.systemctl("daemon-reload")
    journal.write("/etc/mediatord/system.yaml", READ.replace("OPTIONS", ""))
    journal.systemctl("start", UNIT)
    wait(journal, lambda: "members of the group systemd-journal" in logged(journal), "a fault")


def test_the_example_of_the_guide(journal: Container) -> None:
    text = example("journal").replace("_SYSTEMD_UNIT: ssh.service", "SYSLOG_IDENTIFIER: probe")
    start(journal, text)
    say(journal, "Failed password for root")
    wait(journal, lambda: "1 failed: Failed password for root" in logged(journal), "the warning")


def test_the_fields_of_the_guide_are_fields_of_the_journal(system: Container) -> None:
    (copier,) = blocks(section(side_effects(), "log"), "yaml")
    system.write("/etc/mediatord/copier.yaml", copier)
    assert system.systemctl("start", UNIT, check=False).returncode == 0, logged(system)
    system.run("mediatorctl", "emit", "copier", "Copied", "share=photos", "files=3")
    query = ("journalctl", "MEDIATOR_SYSTEM=copier", "SHARE=photos", "-o", "json", "--no-pager")

    def found() -> str:
        system.run("journalctl", "--sync")
        return system.run(*query, check=False).stdout

    system.wait_until(found, "the entry")
    (entry,) = map(json.loads, found().splitlines())
    assert entry["MESSAGE"] == "photos is copied  feedback=tell files=3 share=photos system=copier"
    assert (entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"], entry["FILES"]) == ("5", "mediatord", "3")
    assert (entry["MEDIATOR_FEEDBACK"], entry["_SYSTEMD_UNIT"], entry["_TRANSPORT"]) == ("tell", UNIT, "journal")
    # It is among the unit's other lines.
    assert "photos is copied" in system.journal(UNIT)
