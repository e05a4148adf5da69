"""The runner of the checks, with small stages in place of the real ones."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import REPOSITORY

STAGES = REPOSITORY / ".ci" / "stages"
sys.path.insert(0, str(STAGES))

import results  # noqa: E402
from table import GROUPS, Stage  # noqa: E402

# The runner ends all processes below its own, so it runs in a process of its own.
RUN = """
import json, sys
from pathlib import Path
import process, runner
from table import Stage
process.adopt_orphans()
stages = [Stage(**fields) for fields in json.loads(sys.argv[2])]
sys.exit(runner.run_all(stages, Path(sys.argv[1])))
"""
SPIN = "while True: pass"


def shell(name: str, text: str, **options: object) -> Stage:
    return Stage(name, ("sh", "-c", text), **{"limit": 60, **options})  # type: ignore[arg-type]


def swift(name: str, records: list[dict], text: str = "true", **options: object) -> Stage:
    """A stage that writes such a stream of events to the path that it is given, and then runs a script."""
    lines = "\n".join(map(json.dumps, records))
    return Stage(name, ("sh", "-c", f"cat >\"$2\" <<'END'\n{lines}\nEND\n{text}", name), **{"limit": 60, **options}, reads="swift")  # type: ignore[arg-type]


def test(name: str) -> dict:
    return {"kind": "test", "payload": {"kind": "function", "id": f"M.S/{name}()/F.swift:1:2", "name": name}}


def event(kind: str, name: str, **more: object) -> dict:
    return {"kind": "event", "payload": {"kind": kind, "testID": f"M.S/{name}()/F.swift:1:2", **more}}


def issue(name: str, text: str, known: bool = False) -> dict:
    place = {"fileID": "M/F.swift", "line": 7}
    return event(
        "issueRecorded", name, issue={"isKnown": known, "sourceLocation": place}, messages=[{"symbol": "fail", "text": text}]
    )  # fmt: skip


test.__test__ = False  # type: ignore[attr-defined]


def last_lines(stages: list[Stage], logs: Path) -> tuple[int, str, str]:
    """The exit status, everything printed, and the part behind the table's head."""
    described = json.dumps([stage.described() for stage in stages])
    ran = subprocess.run(
        [sys.executable, "-B", "-c", RUN, str(logs), described], cwd=STAGES, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert not ran.stderr, ran.stderr
    return ran.returncode, ran.stdout, ran.stdout[ran.stdout.index("\nstage ") :]


def test_one_run_lists_the_failures_of_all_stages(tmp_path: Path) -> None:
    good = [test("fine"), event("testStarted", "fine"), event("testEnded", "fine")]
    bad = [test("wrong"), event("testStarted", "wrong"), issue("wrong", "Expectation failed: 1 == 2"), event("testEnded", "wrong")]
    stages = [
        shell("one", "echo it began; echo 'a.swift:1:2: error: no such thing'; exit 1"),
        swift("two", good, "echo '✔ Test run with 1 test passed after 1 second.'"),
        swift("three", [*good, *bad], "exit 1"),
        shell("four", "echo WARNING: ThreadSanitizer: data race", forbidden="WARNING: ThreadSanitizer"),
        swift("five", [*good, test("last"), event("testStarted", "last")], "echo 'Fatal error: no value'; kill -ABRT $$"),
        swift("six", []),
    ]
    status, text, end = last_lines(stages, tmp_path)
    assert status == 1
    assert "✔ Test run with 1 test passed after 1 second." in text
    assert "5 failures in 5 of 6 stages:" in end
    found = [line for line in end.splitlines() if line.startswith("✘")]
    assert [line.split(":")[0] for line in found] == ["✘ one", "✘ three", "✘ four", "✘ five", "✘ six"], end
    assert "a.swift:1:2: error: no such thing" in found[0]
    assert "three: wrong: M/F.swift:7: Expectation failed: 1 == 2" in found[1]
    assert "data race" in found[2]
    assert "these ran: last" in found[3] and "Fatal error: no value" in found[3]
    assert "no test ran" in found[4]
    assert all(str(tmp_path) in line for line in found)
    assert "two  " in end and end.count("FAILED") == 5 and end.count("passed") == 1


def test_a_run_that_finds_nothing_ends_well(tmp_path: Path) -> None:
    known = [test("known"), event("testStarted", "known"), issue("known", "as it is", known=True), event("testEnded", "known")]
    status, _, end = last_lines([shell("one", "true"), swift("two", known)], tmp_path)
    assert status == 0 and "✘" not in end and "FAILED" not in end


def test_nothing_runs_behind_a_build_that_failed(tmp_path: Path) -> None:
    stages = [shell("build", "exit 1", ends_run=True), shell("tests", f"touch {tmp_path}/ran")]
    status, _, end = last_lines(stages, tmp_path)
    assert status == 1 and not (tmp_path / "ran").exists()
    assert "tests" in end and "did not run" in end


def test_a_stage_that_passes_its_limit_names_its_tests_and_shows_its_stacks(tmp_path: Path) -> None:
    records = [test("done"), test("endless"), event("testStarted", "done"), event("testStarted", "endless"), event("testEnded", "done")]
    # A child in a session of its own, whose parent ends, must not outlive the stage either.
    left = f"setsid {sys.executable} -c '{SPIN}' & echo $! >{tmp_path}/pid"
    begun = time.monotonic()
    status, text, end = last_lines([swift("slow", records, f"{left}; sleep 1000; true", limit=2)], tmp_path)
    assert status == 1 and time.monotonic() - begun < 60
    assert "✘ slow: endless: it had begun and not ended at the limit of 2 s" in end
    assert "done" not in end
    # The stacks of `sleep`, which gdb reads.
    assert "sleep 1000" in text and "#0" in text, text
    assert "#0" in (tmp_path / "slow.stacks").read_text()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_what_a_stage_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    status, _, _ = last_lines([shell("one", f"setsid sleep 1000 & echo $! >{tmp_path}/pid")], tmp_path)
    assert status == 0
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_row_runs_beside_the_others_behind_the_build(tmp_path: Path) -> None:
    # Each of the two waits until the other one has begun.
    def meeting(own: str, other: str) -> str:
        return f"test -e {tmp_path}/built || exit 3; touch {tmp_path}/{own}; until test -e {tmp_path}/{other}; do sleep 0.05; done"

    stages = [
        shell("build", f"touch {tmp_path}/built", ends_run=True),
        shell("main", meeting("main", "beside")),
        shell("beside", meeting("beside", "main"), beside=True),
        shell("wrong", "echo 'x.swift:1: error: not so'; exit 1", beside=True),
        shell("long", "sleep 1000", beside=True, limit=1),
        shell("last", "true"),
    ]
    status, text, end = last_lines(stages, tmp_path)
    assert status == 1
    found = [line for line in end.splitlines() if line.startswith("✘")]
    assert [line.split(":")[0] for line in found] == ["✘ wrong", "✘ long"], text
    assert "x.swift:1: error: not so" in found[0] and "did not end within its limit of 1 s" in found[1]
    assert end.count("passed") == 4


def test_a_row_without_other_stages_runs(tmp_path: Path) -> None:
    stages = [shell("build", "true", ends_run=True), shell("beside", "exit 1", beside=True)]
    status, _, end = last_lines(stages, tmp_path)
    assert status == 1 and "✘ beside: " in end


def test_a_row_ends_with_its_build(tmp_path: Path) -> None:
    stages = [
        shell("main", "true"), shell("build", "exit 1", beside=True, ends_run=True), shell("tests", f"touch {tmp_path}/ran", beside=True)
    ]  # fmt: skip
    status, _, end = last_lines(stages, tmp_path)
    assert status == 1 and "tests" in end and "did not run" in end and not (tmp_path / "ran").exists()


def test_a_test_that_cannot_run_fails_in_continuous_integration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = event("testSkipped", "poor", messages=[{"symbol": "skip", "text": 'Test "poor" skipped: "SKIPPED: no bus here"'}])
    good = [test("fine"), event("testStarted", "fine"), event("testEnded", "fine"), test("poor"), skipped]
    for ci, expected in (("true", 1), ("", 0)):
        monkeypatch.setenv("CI", ci)
        status, _, end = last_lines([swift("one", good)], tmp_path)
        assert status == expected and ("SKIPPED: no bus here" in end) == bool(expected), end


def test_nothing_runs_beside_a_build_that_failed(tmp_path: Path) -> None:
    stages = [shell("build", "exit 1", ends_run=True), shell("beside", f"touch {tmp_path}/ran", beside=True)]
    status, _, end = last_lines(stages, tmp_path)
    assert status == 1 and "beside" in end and "did not run" in end and not (tmp_path / "ran").exists()


def test_the_progress_and_the_xml_of_pytest_are_read(tmp_path: Path) -> None:
    (tmp_path / "p.progress").write_text("begin a\nbegin b\nend a\nbegin c\nfail c \tassert 1 == 2\nend c\n")
    found = results.read("pytest", tmp_path / "p")
    # The failure is known although there is no XML.
    assert (found.ended, found.unfinished, found.failures) == (2, ["b"], [results.Failure("c", "assert 1 == 2")])
    (tmp_path / "p.progress").write_text("")
    # A file of tests that cannot be read is in the XML only.
    (tmp_path / "p.xml").write_text(
        '<testsuites><testsuite><testcase classname="T" name="a"/><testcase classname="T" name="c">'
        '<failure message="assert 1 == 2">long text</failure></testcase></testsuite></testsuites>'
    )
    found = results.read("pytest", tmp_path / "p")
    assert found.failures == [results.Failure("T::c", "assert 1 == 2")]
    (tmp_path / "p.xml").write_text("<testsuites><testsuite>")
    assert "is not complete" in results.read("pytest", tmp_path / "p").failures[0].error


def test_the_gate_begins_with_the_check() -> None:
    check, gate = GROUPS["check"], GROUPS["gate"]
    assert gate[: len(check)] == check
    names = [stage.name for stage in [*gate, *GROUPS["nightly"]] if stage.name != "build"]
    assert len(names) == len(set(names))
