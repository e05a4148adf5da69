"""Runs stages of the checks one after the other, and tells everything that is wrong in the last lines.

    python3 .ci/stages gate                    all stages of the gate, which continuous integration runs
    python3 .ci/stages build StrictJSONTests   some stages by name
    python3 .ci/stages --list                  the stages of each check, with their limits

A failure of the format, the prose or the build ends the run. After any other failure the rest runs as well. A stage that passes its limit
is killed; the tests that had begun and not ended are named, and the stacks of its threads are printed. The stages of the thread
sanitizer run beside those that mostly wait.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import process
import results
from results import Failure, Results
from table import GROUPS, ROOT, Stage

LOGS = ROOT / ".build" / "logs"
# More failures, unfinished tests and lines of stacks of one stage are in its log only.
MOST_FAILURES = 50
MOST_LINES = 400


@dataclass
class Ended:
    """A stage that ran, with its failures."""

    stage: Stage
    seconds: float
    failures: list[Failure] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "FAILED" if self.failures else "passed"


def say(text: str = "") -> None:
    print(text, flush=True)


def seconds(duration: float) -> str:
    return f"{duration:.0f} s" if duration < 100 else f"{duration / 60:.1f} min"


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def run(stage: Stage, logs: Path, spared: frozenset[int] = frozenset()) -> Ended:
    """Runs a stage, and prints its closing lines or what failed. Spares processes that do not belong to it."""
    stem = logs / stage.name
    log = stem.with_suffix(".log")
    for suffix in (".log", ".jsonl", ".xml", ".progress", ".stacks", ".unfinished"):
        stem.with_suffix(suffix).unlink(missing_ok=True)
    command = list(stage.command)
    environment = dict(stage.environment)
    if stage.reads == "swift":
        command += ["--event-stream-output-path", str(stem.with_suffix(".jsonl")), "--event-stream-version", "0"]
    elif stage.reads == "pytest":
        command += ["--junit-xml", str(stem.with_suffix(".xml"))]
        environment["TEST_PROGRESS"] = str(stem.with_suffix(".progress"))
    say(f"== {stage.name}")

    def beat(passed: float) -> None:
        found = results.read(stage.reads, stem, is_over=False)
        tests = f", {found.ended} tests have ended, {len(found.failures)} failed" if found.ended else ""
        say(f"   {stage.name}: {seconds(passed)} of at most {seconds(stage.limit)}{tests}")

    try:
        outcome = process.run(command, log, stage.limit, ROOT / stage.folder, environment, beat, spared)
    except OSError as error:
        say(f"   {error}")
        return Ended(stage, 0, [Failure("(the whole stage)", str(error))])
    found = results.read(stage.reads, stem, is_over=True)
    ended = Ended(stage, outcome.seconds, judged(stage, outcome, found, log))
    for line in results.closing(log):
        say(line)
    if found.unfinished:
        stem.with_suffix(".unfinished").write_text("\n".join(found.unfinished) + "\n")
    if outcome.stacks:
        stem.with_suffix(".stacks").write_text(outcome.stacks)
        say("\n".join(outcome.stacks.splitlines()[:MOST_LINES]))
        say(f"   all stacks: {shown(stem.with_suffix('.stacks'))}")
    if ended.failures:
        for failure in ended.failures[:MOST_FAILURES]:
            say(f"✘ {failure.test}\n    {failure.error}")
        say(f"   {stage.name} failed after {seconds(outcome.seconds)}; log: {shown(log)}; again: python3 .ci/stages {stage.name}")
    else:
        say(f"   {stage.name} passed in {seconds(outcome.seconds)}")
    return ended


def judged(stage: Stage, outcome: process.Outcome, found: Results, log: Path) -> list[Failure]:
    """Returns the failures of a stage that has ended."""
    failures = list(found.failures)
    if outcome.status is None:
        failures += [Failure(test, f"it had begun and not ended at the limit of {outcome.limit}") for test in found.unfinished]
        if not found.unfinished:
            failures.append(Failure("(the whole stage)", f"it did not end within its limit of {outcome.limit}"))
    elif outcome.status != 0:
        # After a crash the tests that ran are suspects.
        suspects = ", ".join(found.unfinished[:5])
        if suspects or not failures:
            reason = f"exit status {outcome.status}: {results.first_error(log)}"
            failures.append(Failure(f"(ended while these ran: {suspects})" if suspects else "(the whole stage)", reason))
    elif stage.reads != "log" and found.ended == 0:
        failures.append(Failure("(the whole stage)", "no test ran"))
    if stage.forbidden:
        failures += [Failure("(the whole stage)", line) for line in results.lines_with(stage.forbidden, log)]
    return failures


def summary(all_ended: Sequence[Ended], left_out: Sequence[Stage], logs: Path = LOGS) -> list[str]:
    """The last lines of a run: the time of each stage, and each failure with its stage, its first error and its log."""
    width = max(len(stage.name) for stage in [*(ended.stage for ended in all_ended), *left_out])
    lines = ["", f"{'stage':{width}}  {'time':>8}  result"]
    lines += [f"{ended.stage.name:{width}}  {seconds(ended.seconds):>8}  {ended.verdict}" for ended in all_ended]
    lines += [f"{stage.name:{width}}  {'':>8}  did not run" for stage in left_out]
    failed = [ended for ended in all_ended if ended.failures]
    if not failed:
        return lines
    lines += ["", f"{sum(len(ended.failures) for ended in failed)} failures in {len(failed)} of {len(all_ended)} stages:"]
    for ended in failed:
        stem = shown(logs / ended.stage.name)
        for failure in ended.failures[:MOST_FAILURES]:
            lines.append(f"✘ {ended.stage.name}: {failure.test}: {failure.error} (log: {stem}.log)")
        if len(ended.failures) > MOST_FAILURES:
            lines.append(f"✘ {ended.stage.name}: {len(ended.failures) - MOST_FAILURES} more, see {stem}.log and {stem}.unfinished")
    return lines


class Row:
    """Stages that run beside the others: another process of this program, whose output and results are read at its end."""

    def __init__(self, stages: Sequence[Stage], logs: Path) -> None:
        self.stages = stages
        self.output, self.record = logs / "beside.out", logs / "beside.json"
        self.record.unlink(missing_ok=True)
        self.printed = 0
        row = json.dumps({"stages": [stage.described() for stage in stages], "logs": str(logs), "record": str(self.record)})
        command = [sys.executable, "-B", str(Path(__file__).parent), "--row", row]
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def print_news(self) -> None:
        """Prints the output since the last call, to the end of its last line."""
        with open(self.output, "rb") as file:
            file.seek(self.printed)
            text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        self.printed += len(text)
        if text:
            say(text.decode(errors="replace").rstrip())

    def join(self) -> list[Ended]:
        """Waits for the end, prints the output, and returns the results."""
        while self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(process.LOOK)
            self.print_news()
        if not self.record.exists():
            reason = f"the stages beside the others ended with status {self.process.returncode} and without results"
            return [Ended(stage, 0, [Failure("(the whole stage)", reason)]) for stage in self.stages]
        found = json.loads(self.record.read_text())
        named = {stage.name: stage for stage in self.stages}
        return [Ended(named[name], took, [Failure(*failure) for failure in failures]) for name, took, failures in found]

    def end(self) -> None:
        """Ends the process and everything below it, if it still runs."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2 * process.KILL_LIMIT)
        process.kill()


def run_all(stages: Sequence[Stage], logs: Path = LOGS) -> int:
    """Runs stages, and returns the exit status."""
    logs.mkdir(parents=True, exist_ok=True)
    main = [stage for stage in stages if not stage.beside]
    beside = [stage for stage in stages if stage.beside]
    if not main:
        main, beside = beside, []
    all_ended: list[Ended] = []
    row: Row | None = None
    try:
        for index, stage in enumerate([*main, None]):
            if beside and row is None and not any(later.ends_run or later.alone for later in main[index:]):
                row = Row(beside, logs)
            if stage is None:
                break
            ended = run(stage, logs, frozenset([row.process.pid]) if row else frozenset())
            all_ended.append(ended)
            if row:
                row.print_news()
            if ended.failures and stage.ends_run:
                break
        if row:
            all_ended += row.join()
    finally:
        if row:
            row.end()
    left_out = [stage for stage in stages if stage not in [ended.stage for ended in all_ended]]
    for line in summary(all_ended, left_out, logs):
        say(line)
    return 1 if left_out or any(ended.failures for ended in all_ended) else 0


def run_row(row: dict) -> int:
    """Runs the stages of a row, and writes their results."""
    all_ended: list[Ended] = []
    for described in row["stages"]:
        all_ended.append(run(Stage(**described), Path(row["logs"])))
        if all_ended[-1].failures and all_ended[-1].stage.ends_run:
            break
    found = [(ended.stage.name, ended.seconds, [(each.test, each.error) for each in ended.failures]) for ended in all_ended]
    Path(row["record"]).write_text(json.dumps(found))
    return 0


def chosen(names: Sequence[str]) -> list[Stage]:
    """The stages and groups of these names, each stage once."""
    single = {stage.name: stage for group in GROUPS.values() for stage in group}
    found: dict[str, Stage] = {}
    for name in names:
        if name not in GROUPS and name not in single:
            sys.exit(f"There is no stage or check '{name}'. `--list` names them all.")
        for stage in GROUPS.get(name) or [single[name]]:
            found.setdefault(stage.name, stage)
    return list(found.values())


def end(number: int, frame: object) -> None:
    """Ends this process on a signal. A second one must not disturb the end of its children."""
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(prog=".ci/stages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a stage, or a check: " + ", ".join(GROUPS))
    parser.add_argument("--list", action="store_true", help="list the stages of each check")
    parser.add_argument("--row", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list or not (options.names or options.row):
        for name, stages in GROUPS.items():
            say(f"{name}: {', '.join(f'{stage.name} ({stage.limit} s)' for stage in stages)}")
        return 0 if options.list else 2
    process.adopt_orphans()
    # As at Ctrl-C, the children of the present stage end with this process.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    os.chdir(ROOT)
    if options.row:
        return run_row(options.row)
    stages = chosen(options.names)
    begun = time.monotonic()
    status = run_all(stages)
    say(f"{'ended' if status == 0 else 'FAILED'} after {seconds(time.monotonic() - begun)}")
    return status
