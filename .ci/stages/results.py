"""Reads which tests failed, and which had not ended, from what a stage left behind."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# A longer first error is cut.
ERROR_LENGTH = 300
# A log is read up to so many bytes from its end.
LOG_LENGTH = 8 << 20

# Lines that say why a command failed, the most telling ones first.
TELLING = [
    re.compile(pattern)
    for pattern in (
        r"WARNING: ThreadSanitizer|SUMMARY: ", r"Fatal error|fatalError|Precondition failed", r"\berror:", r"^E  ", r"FAILED|Error\b",
    )
]  # fmt: skip
# The closing lines of runners, and the seeds of random tests.
CLOSING = re.compile(
    r"^(✔|✘|━) Test run with [1-9]|^=+ .*\b(passed|failed|error|errors|skipped|no tests ran)\b.* =+$|^(Done \d|stat::)"
    r"|\bSEED=\d|^INFO: Seed: \d|^SKIPPED "
)


@dataclass(frozen=True)
class Failure:
    """A test that failed, and the first reason."""

    test: str
    error: str


@dataclass
class Results:
    ended: int = 0
    failures: list[Failure] = field(default_factory=list)
    # The tests that had begun and not ended.
    unfinished: list[str] = field(default_factory=list)


def tail(log: Path) -> list[str]:
    """The last lines of a log."""
    if not log.exists():
        return []
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_LENGTH))
        return file.read().decode(errors="replace").splitlines()


def closing(log: Path) -> list[str]:
    """The lines with which the runners say how many tests passed."""
    return [line for line in tail(log) if CLOSING.search(line)]


def lines_with(text: str, log: Path) -> list[str]:
    """The different lines of a log that contain a text, and those that sum up a report of a sanitizer."""
    with open(log, encoding="utf-8", errors="replace") as file:
        found = dict.fromkeys(cut(line) for line in file if text in line or line.startswith("SUMMARY: "))
    return [*found]


def first_error(log: Path) -> str:
    """The line of a log that most likely says why the command failed: the first of the most telling kind."""
    lines = [line.strip() for line in tail(log) if line.strip()]
    for pattern in TELLING:
        for line in lines:
            if pattern.search(line):
                return cut(line)
    return cut(lines[-1]) if lines else "it wrote nothing"


def cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= ERROR_LENGTH else text[: ERROR_LENGTH - 1] + "…"


def read(kind: str, stem: Path, is_over: bool = True) -> Results:
    """The results of a stage of a kind, whose files are named after it. Files that are written at the end are read if it is over."""
    match kind:
        case "swift":
            return swift(stem.with_suffix(".jsonl"))
        case "pytest":
            return pytest(stem.with_suffix(".xml") if is_over else None, stem.with_suffix(".progress"))
        case _:
            return Results()


def records(stream: Path) -> Iterator[dict]:
    if not stream.exists():
        return
    with open(stream, encoding="utf-8", errors="replace") as file:
        for line in file:
            # A process that was killed may have left half a line.
            try:
                yield json.loads(line)
            except ValueError:
                continue


def swift(stream: Path) -> Results:
    """The results in a stream of events of Swift Testing (its ABI, version 0: Documentation/ABI/JSON.md in its repository)."""
    names: dict[str, str] = {}
    suites: set[str] = set()
    running: dict[str, None] = {}
    issues: dict[str, str] = {}
    results = Results()
    for record in records(stream):
        payload = record.get("payload", {})
        identifier = payload.get("id") or payload.get("testID") or ""
        if record.get("kind") == "test":
            names[identifier] = payload.get("displayName") or payload.get("name") or identifier
            if payload.get("kind") == "suite":
                suites.add(identifier)
            continue
        match payload.get("kind"):
            case "testStarted":
                running[identifier] = None
            case "testEnded":
                running.pop(identifier, None)
                results.ended += identifier not in suites
            case "testSkipped" if must_run() and "SKIPPED" in described(payload):
                # The tests begin the reason so if the machine lacks something.
                issues.setdefault(identifier, described(payload))
            case "issueRecorded" if not payload.get("issue", {}).get("isKnown") and is_error(payload):
                issues.setdefault(identifier, described(payload))
    results.failures = [Failure(label(test, names), error) for test, error in issues.items()]
    results.unfinished = [label(test, names) for test in running if test and test not in suites]
    return results


def must_run() -> bool:
    """Whether tests that cannot run on this machine fail."""
    return os.environ.get("CI") == "true"


def is_error(payload: dict) -> bool:
    return payload.get("issue", {}).get("severity", payload.get("issue", {}).get("_severity", "error")) == "error"


def described(payload: dict) -> str:
    place = payload.get("issue", {}).get("sourceLocation") or {}
    texts = [message.get("text", "") for message in payload.get("messages", [])]
    file = place.get("fileID") or place.get("filePath") or ""
    return cut(f"{file}:{place.get('line', '?')}: {' '.join(texts)}" if file else " ".join(texts))


def label(test: str, names: dict[str, str]) -> str:
    """The suite and the name of a test."""
    if not test:
        return "outside of a test"
    name = names.get(test, test)
    parents = [names[other] for other in names if other and test.startswith(f"{other}/")]
    return " / ".join([*parents, name])


def pytest(junit: Path | None, progress: Path) -> Results:
    """The results in the progress that conftest.py writes, with the messages of the XML, which pytest writes at its end."""
    results = Results()
    running: dict[str, None] = {}
    failures: dict[str, str] = {}
    lines = progress.read_text(errors="replace").splitlines() if progress.exists() else []
    for line in lines:
        word, _, rest = line.partition(" ")
        test, _, error = rest.partition(" \t")
        if word == "begin":
            running[test] = None
        elif word == "end":
            running.pop(test, None)
            results.ended += 1
        elif word == "fail":
            failures.setdefault(test, cut(error))
    results.unfinished = list(running)
    results.failures = [Failure(test, error) for test, error in failures.items()]
    if junit is not None and junit.exists():
        results.failures += [failure for failure in collected(junit) if not failures]
    return results


def collected(junit: Path) -> list[Failure]:
    """The failures in the XML of pytest, among them those of files that could not be read."""
    try:
        root = ElementTree.parse(junit).getroot()
    except ElementTree.ParseError as error:
        return [Failure("(the whole stage)", f"{junit.name} is not complete: {error}")]
    found = []
    for case in root.iter("testcase"):
        for element in [*case.findall("failure"), *case.findall("error")][:1]:
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found.append(Failure(name, cut(element.get("message") or element.text or element.tag)))
    return found
