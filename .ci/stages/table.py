"""The stages of the checks, and which of them each check has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ".build/venv/bin/python"
TESTS = "Tests/ThreadSanitizer"


@dataclass(frozen=True)
class Stage:
    """A command with a limit of time, and the way in which its results are read."""

    name: str
    command: tuple[str, ...]
    # In seconds: several times what the stage takes on two quiet processors.
    limit: int
    # `log`, `swift` (Swift Testing's stream of events) or `pytest` (its XML, and the progress that conftest.py writes).
    reads: str = "log"
    # Whether a failure ends the run, because nothing behind it can be tested.
    ends_run: bool = False
    folder: str = "."
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # A text that the log of a good run does not have.
    forbidden: str = ""
    # Whether the stage needs the processors for itself, because its tests keep them busy.
    alone: bool = False
    # Whether the stage runs beside others. These stages form a row, which begins after the last stage that needs the processors.
    beside: bool = False

    def described(self) -> dict[str, object]:
        """The stage as a value of JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"environment": dict(self.environment)}


def swift_test(name: str, *arguments: str, limit: int = 600) -> Stage:
    return Stage(name, ("swift", "test", "--skip-build", *arguments), limit, reads="swift", alone=True)


# The arguments of modules whose tests do not all run in parallel, in one process. The tests of the side effect `socket` have a process
# of their own, because they use up the connections of a process. The check of side effects runs one test at a time, because it looks at
# the memory, descriptors and threads of its process; those of FeedbackKit do, because hundreds of busy loops delay each other.
SPECIAL = {
    "SideEffectsTests": {
        "SideEffectsTests-socket": ("--filter", r"^SideEffectsTests\..*SocketEffectTests\.swift"),
        "SideEffectsTests": ("--filter", r"^SideEffectsTests\.", "--skip", r"SocketEffectTests\.swift"),
    },
    "MediatorEffectTestingTests": {
        "MediatorEffectTestingTests": ("--no-parallel", "--filter", r"^MediatorEffectTestingTests\.")
    },
    "FeedbackKitTests": {"FeedbackKitTests": ("--no-parallel", "--filter", r"^FeedbackKitTests\.", "--skip", "million")},
}


def modules() -> list[Stage]:
    """One stage for each module of tests, because tests that keep the processors busy for a minute would delay others."""
    names = sorted(path.name for path in (ROOT / "Tests").glob("*Tests") if path.is_dir())
    parts = [SPECIAL.get(name, {name: ("--filter", rf"^{name}\.")}) for name in names]
    return [swift_test(stage, *arguments) for part in parts for stage, arguments in part.items()]


def pytest(name: str, marker: str, limit: int) -> Stage:
    """The tests of programs with a marker. They mostly wait, so there is one process more than processors.

    Tests that cannot run fail in a nightly run, as they do in continuous integration.
    """
    processes = min((os.cpu_count() or 1) + 1, 6)
    return Stage(
        name,
        (
            PYTHON, "-u", "-m", "pytest", "-ra", "-p", "no:cacheprovider", "-n", str(processes), "--dist", "loadgroup",
            "--no-loadscope-reorder", "Tests/Integration", "-m", marker,
        ),
        limit, reads="pytest", environment={"PYTHONDONTWRITEBYTECODE": "1"} | ({"CI": "true"} if marker == "nightly" else {}),
    )  # fmt: skip


# The random tests, by suite or file, and the tests with millions of events. One at a time, because some measure memory.
RANDOM = (
    "million", "HardnessTests", "CompoundEffectTests", "ObserverOrderTests", "LoopPropertyTests", "CacheTests", "ReuseTests",
    "MutationTests", "CausePropertyTests", "ApplyPropertyTests", "ReloadCountTests", "WaitPropertyTests", "SimulatedHostTests",
    "SimulatedReloadTests", "RunTableTests", "RandomMachineTests", "ConditionPropertyTests", "DamageTests",
)  # fmt: skip
# The tests of mailboxes, effects, pauses and mediators, which can run while a task-local value travels with each event.
TRAVELLING = (
    "HardnessTests", "StrainTests", "WaitingEffectTests", "PauseTests", "LoopExchangeTests", "MediatorTests", "ObserverOrderTests",
    "WhenDueTests", "PromiseTests", "PromiseMailboxTests", "PromiseCancellationTests", "PromiseLifetimeTests", "PromiseObserverTests",
)  # fmt: skip


def filters(names: tuple[str, ...]) -> list[str]:
    return [word for name in names for word in ("--filter", name)]


def long_tests() -> list[Stage]:
    """The random tests several times as long, by the factor in the environment, and those with a value that travels."""
    factor = int(os.environ.get("SOAK_FACTOR", "5"))
    random = swift_test("random", "--no-parallel", *filters(RANDOM), limit=600 + 300 * factor)
    travelling = swift_test("travelling", *filters(TRAVELLING), "--skip", "million")
    return [
        replace(random, environment={"SOAK_FACTOR": str(factor)}),
        replace(travelling, environment={"TRAVELLING": "1"}),
    ]


# The ordinary tests cover the large numbers of the promises (millions of events, ten thousand starts), and the tests of files.
SANITIZED = (
    "--sanitize=thread", "--scratch-path", "../../.build/sanitize", "--skip", "million", "--skip", "ten thousand starts", "--skip",
    "hundred thousand times", "--skip", "ReportTests", "--skip", "The messages", "--skip", "goes no deeper with each new state",
)  # fmt: skip


def sanitized(name: str, *arguments: str) -> Stage:
    return Stage(
        name, ("swift", "test", "--skip-build", *SANITIZED, *arguments), 1200, reads="swift", folder=TESTS,
        environment={"TSAN_OPTIONS": "exitcode=66"}, forbidden="WARNING: ThreadSanitizer", beside=True,
    )  # fmt: skip


LINT = [
    Stage(
        "format",
        ("swift", "format", "lint", "--strict", "--recursive", "--parallel", "Package.swift", "Sources", "Tests", "Benchmarks", "Examples"),
        300, ends_run=True,
    ),
    Stage("prose", (".ci/check-prose",), 300, ends_run=True),
]  # fmt: skip
BUILD = [Stage("build", ("swift", "build", "--build-tests"), 2400, ends_run=True)]
INTEGRATION = [pytest("integration", "not gate and not nightly", 1200)]
DOCS = [Stage("docs", ("Documentation/build.py",), 300)]
# One test at a time in the two first parts, so that no test waits for the processors beyond its limits.
SANITIZE = [
    Stage(
        "sanitize-build",
        ("swift", "build", "--build-tests", "--sanitize=thread", "--scratch-path", "../../.build/sanitize"), 1800, folder=TESTS,
        ends_run=True, beside=True,
    ),
    sanitized("sanitize-library", "--no-parallel", "--filter", "^FeedbackKitTests"),
    sanitized("sanitize-host", "--no-parallel", "--filter", "^MediatorHostTests"),
    sanitized("sanitize-others", "--skip", "^FeedbackKitTests", "--skip", "^MediatorHostTests"),
]  # fmt: skip
FUZZERS = ("CommonExpression", "Configuration", "Varlink")


def fuzz(seconds: int) -> list[Stage]:
    """The fuzzers, each of which begins with its stored inputs and goes on with new ones for so many seconds a part."""
    return [Stage(f"fuzz-{name}", (f"Tests/Fuzz/{name}/run.sh", str(seconds)), 1200 + 3 * seconds) for name in FUZZERS]


CHECK = LINT + BUILD + modules() + INTEGRATION
GATE = CHECK + DOCS + SANITIZE + [pytest("integration-gate", "gate", 900)]
NIGHTLY = (
    BUILD
    + long_tests()
    + [pytest("integration-nightly", "nightly", 3600)]
    + fuzz(60)
)

# What can be named on the command line, besides single stages.
GROUPS: dict[str, list[Stage]] = {
    "check": CHECK,
    "gate": GATE,
    "nightly": NIGHTLY,
    "lint": LINT,
    "test": BUILD + modules(),
    "integration": BUILD + INTEGRATION,
    "sanitize": SANITIZE,
    "fuzz": fuzz(30),
}
