"""What is sensed of a real journal: `journal`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest

from container import Container
from pages import blocks, example, section, side_effects

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
    # The position is known when the child that follows has been started.
    system.wait_until(lambda: followers(system), "a child that follows")


def followers(system: Container) -> list[int]:
    """The daemon's processes of journalctl that follow."""
    found = []
    for number in system.processes("journalctl"):
        try:
            if b"--follow" in system.path(f"/proc/{number}/cmdline").read_bytes():
                found.append(number)
        except OSError:
            # The process has ended since it was listed.
            continue
    return found


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


@pytest.mark.depends_on_systemd
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


def test_nothing_is_lost_or_told_twice_when_journalctl_is_killed(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ""))
    say(journal, "one")
    wait_told(journal, "6 one stdout")
    for number in range(2):
        (follower,) = followers(journal)
        journal.run("sh", "-c", f"kill -KILL {follower}")
        say(journal, f"while it is away {number}")
        wait(journal, lambda: followers(journal) not in ([], [follower]), "another child")
    wait_told(journal, "6 one stdout", "6 while it is away 0 stdout", "6 while it is away 1 stdout")
    assert "journalctl was ended by SIGKILL" in logged(journal)


@pytest.mark.depends_on_systemd
def test_entries_that_are_gone_are_passed_over_and_what_is_left_is_told(journal: Container) -> None:
    """journald removes files while they are read, and also the one of the position."""
    start(journal, READ.replace("OPTIONS", ""))
    say(journal, "one")
    wait_told(journal, "6 one stdout")
    journal.run("journalctl", "--rotate", "--vacuum-size=1")
    say(journal, "two")
    wait_told(journal, "6 one stdout", "6 two stdout")
    (follower,) = followers(journal)
    journal.run("sh", "-c", f"kill -STOP {follower}")
    say(journal, "three")
    # It is in a file before that is removed.
    journal.run("journalctl", "--sync")
    journal.run("journalctl", "--rotate", "--vacuum-size=1")
    say(journal, "four")
    say(journal, "five")
    journal.run("sh", "-c", f"kill -KILL {follower}")
    wait(journal, lambda: told(journal)[-1:] == ["6 five stdout"], "the last entry")
    assert told(journal)[2:] == ["6 four stdout", "6 five stdout"]


def test_journalctl_ends_with_the_daemon(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ""))
    journal.systemctl("stop", UNIT)
    assert followers(journal) == []
    assert "still runs" not in logged(journal)


def test_journalctl_ends_when_the_daemon_is_killed(journal: Container) -> None:
    """systemd would kill the rest of the unit, so it must not."""
    text = "[Service]\nSupplementaryGroups=systemd-journal\nKillMode=process\nRestart=no\n"
    journal.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
    journal.systemctl("daemon-reload")
    start(journal, READ.replace("OPTIONS", ""))
    (follower,) = followers(journal)
    journal.systemctl("kill", "--kill-whom=main", "--signal=KILL", UNIT)
    wait(journal, lambda: not followers(journal), f"the end of {follower}")


def test_journalctl_stays_at_a_reload_of_another_system_and_ends_with_its_own(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ""))
    first = followers(journal)
    journal.write("/etc/mediatord/other.yaml", READ.replace("system: read", "system: other").replace("OPTIONS", ""))
    journal.run("mediatorctl", "reload")
    wait(journal, lambda: len(followers(journal)) == 2, "a second child")
    assert set(first) < set(followers(journal))
    say(journal, "one")
    wait_told(journal, "6 one stdout")
    # The options belong to the side effect, so this is another one.
    journal.write("/etc/mediatord/system.yaml", READ.replace("OPTIONS", ", priority: warning"))
    journal.run("mediatorctl", "reload")
    wait(journal, lambda: len(followers(journal)) == 2 and not set(first) & set(followers(journal)), "a new child")
    journal.run("rm", "/etc/mediatord/system.yaml", "/etc/mediatord/other.yaml")
    journal.run("mediatorctl", "reload")
    wait(journal, lambda: not followers(journal), "the end of both children")


def test_bytes_and_long_fields_are_told(journal: Container) -> None:
    start(journal, READ.replace("OPTIONS", ""))
    journal.run("systemd-cat", "-t", "probe", "printf", "a\\377\\033b\\n")
    journal.run("systemd-cat", "-t", "probe", "sh", "-c", "head -c 9000 /dev/zero | tr '\\0' q; echo")
    wait_told(journal, "6 a\ufffd\x1bb stdout", f"6 {'q' * 9000} stdout")


@pytest.mark.parametrize("options", ["", ', cursor: "s=0000000000000000000000000000000a;i=1"'])
def test_without_permission_it_is_a_fault_that_says_what_to_do(journal: Container, options: str) -> None:
    journal.run("rm", f"/etc/systemd/system/{UNIT}.d/test.conf")
    journal.systemctl("daemon-reload")
    journal.write("/etc/mediatord/system.yaml", READ.replace("OPTIONS", options))
    journal.systemctl("start", UNIT)
    wait(journal, lambda: "SupplementaryGroups=systemd-journal" in logged(journal), "a fault")


def test_without_journalctl_it_is_a_fault_until_it_is_there(journal: Container) -> None:
    journal.run("mv", "/usr/bin/journalctl", "/usr/bin/journalctl.away")
    try:
        journal.write("/etc/mediatord/system.yaml", READ.replace("OPTIONS", ""))
        journal.systemctl("start", UNIT)
        shown = lambda: journal.run("mediatorctl", "show", "read", check=False).stdout
        journal.wait_until(lambda: "there is no program journalctl" in shown(), "a fault")
    finally:
        journal.run("mv", "/usr/bin/journalctl.away", "/usr/bin/journalctl")
    journal.wait_until(lambda: bool(followers(journal)), "a child that follows")
    say(journal, "one")
    wait_told(journal, "6 one stdout")


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
