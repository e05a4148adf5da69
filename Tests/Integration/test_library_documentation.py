"""The programs in the documentation of the library: each is compiled, and what it is said to print is what it prints.

Programs that are wrong are compiled, too, for what the compiler says about them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY

CATALOGUE = REPOSITORY / "Sources" / "FeedbackKit" / "FeedbackKit.docc"
TUTORIAL = CATALOGUE / "Tutorial.md"
WORKSHOP = REPOSITORY / ".build" / "tutorial"
BUILT = REPOSITORY / ".build" / "debug"

# What the programs of a page import besides FeedbackKit.
IMPORTS = {
    "ComingFromCombineFeedback.md": ["Testing"],
    "ComingFromReactiveFeedback.md": ["Synchronization"],
    "Recipes.md": ["Synchronization"],
    "RecordingAndSaving.md": ["Foundation"],
    "Semantics.md": ["Dispatch", "Synchronization"],
    "Testing.md": ["FeedbackKitTesting", "Testing"],
}
# A line at the margin that may stand at the top level of a file.
DECLARATION = re.compile(
    r"(?:@\w+(?:\(.*\))? )*(?:private |final )*(?:struct|enum|class|func|extension|let|var)\b|[@})\]/ ]|$"
)

# A program with the file it is for before it, or commands with what they print.
STEP = re.compile(
    r"^(?:`(?P<file>[\w./]+)`\n\n)?```(?P<language>swift|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def tested() -> str:
    """All that the tests written in Swift say."""
    return squeezed("\n".join(path.read_text() for path in sorted((REPOSITORY / "Tests").glob("**/*.swift"))))


@pytest.mark.parametrize("page", sorted(path.name for path in CATALOGUE.glob("*.md") if path != TUTORIAL))
def test_each_program_of_a_page_is_tested(page: str, tested: str) -> None:
    untested = [
        program
        for program in re.findall(r"^```swift\n(.*?)^```$", (CATALOGUE / page).read_text(), re.MULTILINE | re.DOTALL)
        if squeezed(program) not in tested
    ]
    assert not untested, f"{page}: occurs in no file below Tests:\n" + "\n".join(untested)


def as_file(page: str) -> str:
    """The programs of a page in one file, as somebody would write them who has only the products."""
    parts = [f"import {module}" for module in ["FeedbackKit", *IMPORTS.get(page, [])]]
    programs = re.findall(r"^```swift\n(.*?)^```$", (CATALOGUE / page).read_text(), re.MULTILINE | re.DOTALL)
    for number, program in enumerate(programs):
        is_declaration = all(DECLARATION.match(line) for line in program.splitlines())
        if is_declaration and re.search(r"^(?:@|final |struct |enum |class |func |extension )", program, re.MULTILINE):
            parts.append(program)
        else:
            parts.append(f"func program{number}() async throws {{\n{program}}}")
    return "\n\n".join(parts) + "\n"


def compiler_errors(text: str, folder: Path) -> list[str]:
    """What the compiler has against a file that imports the modules that are built."""
    path = folder / "Program.swift"
    path.write_text(text)
    maps = sorted(BUILT.glob("*.build/module.modulemap"))
    maps += sorted((REPOSITORY / ".build" / "checkouts").glob("OpenCombine/Sources/*/include/module.modulemap"))
    options = [option for path in maps for option in ("-Xcc", f"-fmodule-map-file={path}")]
    command = ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-module-name", "Program"]
    result = subprocess.run(
        [*command, "-I", BUILT / "Modules", *options, path], capture_output=True, text=True, timeout=600
    )
    errors = [line.split(" error: ", 1)[1] for line in result.stderr.splitlines() if " error: " in line]
    assert bool(errors) == (result.returncode != 0), result.stderr
    return errors


@pytest.mark.parametrize("page", sorted(path.name for path in CATALOGUE.glob("*.md") if path != TUTORIAL))
def test_the_programs_of_a_page_compile_with_the_products_alone(page: str, tmp_path: Path) -> None:
    assert compiler_errors(as_file(page), tmp_path) == []


STATES = """
struct Loading: FeedbackKit.State {}
struct Loaded: Event {}
func load() async throws -> any Event { Loaded() }
"""
# What is easily got wrong, with a part of what the compiler says first.
MISTAKES = {
    "a publisher without the module for it": (
        "import OpenCombine\n" + STATES + """
        let feedback = Feedback(on: Loading.self, strategy: .cancelOnNewState) { _ -> AnyPublisher<any Event, Never> in
            Just(Loaded() as any Event).eraseToAnyPublisher()
        }
        """,
        "import FeedbackKitOpenCombine to return a publisher",
    ),
    "a publisher in a typed feedback without the module for it": (
        """
        import OpenCombine
        let feedback = Feedback<Int, Int>(effects: { state -> AnyPublisher<Int, Never> in
            Just(state).eraseToAnyPublisher()
        })
        """,
        "import FeedbackKitOpenCombine to return a publisher",
    ),
    "a side effect that throws": (
        STATES + """
        let feedbacks = Feedbacks {
            Feedback(on: Loading.self, strategy: .cancelOnNewState) { _ in try await load() }
        }
        """,
        "use Effect.attempt for a side effect that throws",
    ),
    "a side effect that answers with no event": (
        STATES + """
        let feedbacks = Feedbacks { Feedback(on: Loading.self, strategy: .cancelOnNewState) { _ in "loaded" } }
        """,
        "a side effect returns an event or nil",
    ),
    "a queue as an executor": (
        "import Dispatch\n" + STATES + """
        func run(_ system: System) -> System { system.execute(on: DispatchQueue(label: "background")) }
        """,
        "execute(on:) takes a LoopExecutor; import FeedbackKitOpenCombine and OpenCombineDispatch to use a DispatchQueue",
    ),
    "a middleware with a dependency": (
        """
        let feedbacks: [Feedback<Int, String>] = [.middleware { state, dependency in "\\(state)" }]
        """,
        "use eventMiddleware for a state and its event; capture a dependency",
    ),
    "a system without a beginning": (
        "let system = System {\n    Feedbacks {}\n    Transitions {}\n}\n",
        "a system begins with its InitialState",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_a_message_that_says_what_fits(mistake: str, tmp_path: Path) -> None:
    program, expected = MISTAKES[mistake]
    errors = compiler_errors("import FeedbackKit\n" + program, tmp_path)
    assert errors and expected in errors[0], errors


def test_the_tutorial_can_be_followed() -> None:
    package = WORKSHOP / "Thermostat"
    # What was built before is kept; what was written is not.
    for folder in ("Sources", "Tests"):
        shutil.rmtree(package / folder, ignore_errors=True)
    package.mkdir(parents=True, exist_ok=True)
    link = WORKSHOP / "mediatord"
    if not link.is_symlink():
        link.symlink_to(REPOSITORY)
    commands = 0
    for step in STEP.finditer(TUTORIAL.read_text()):
        if step["language"] == "swift":
            assert step["file"], f"the page does not say which file this is:\n{step['text']}"
            write(package / step["file"], step["text"])
        else:
            command, expected = step["text"].split("\n", 1)
            follow(package, command, expected)
            commands += 1
    assert commands == 4


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def follow(package: Path, command: str, expected: str) -> None:
    """Runs a command. A program prints exactly what is shown; a test run prints it, in one piece, among more."""
    assert command.startswith("$ swift ")
    result = subprocess.run(
        command.removeprefix("$ "), shell=True, cwd=package, capture_output=True, text=True, timeout=1200
    )
    if command.startswith("$ swift run"):
        assert result.returncode == 0, result.stderr
        assert result.stdout == expected, result.stdout + result.stderr
    else:
        assert (result.returncode == 0) == ("passed" in expected), result.stdout + result.stderr
        assert squeezed(expected) in squeezed(result.stdout + result.stderr), result.stdout + result.stderr


def test_the_tests_that_the_page_about_semantics_names_exist(tested: str) -> None:
    page = re.sub(r"^```.*?^```$", "", (CATALOGUE / "Semantics.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    named = [squeezed(span) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", page)]
    # A test's name is a sentence; what else is in code has fewer words.
    sentences = [name for name in named if name.count(" ") >= 3 and not name.startswith("…")]
    assert len(sentences) > 30
    assert not [name for name in sentences if f"func `{name}`" not in tested and f"struct `{name}`" not in tested]


def test_a_program_that_uses_the_library_alone_fetches_one_package(tmp_path: Path) -> None:
    # A package is known by the name of its folder.
    (tmp_path / "mediatord").symlink_to(REPOSITORY)
    program = tmp_path / "program"
    (program / "Sources" / "program").mkdir(parents=True)
    (program / "Sources" / "program" / "main.swift").write_text("import FeedbackKit\n\nprint(Overflow.dropOldest)\n")
    (program / "Package.swift").write_text(
        """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "program",
    dependencies: [.package(path: "../mediatord", traits: [])],
    targets: [.executableTarget(name: "program", dependencies: [.product(name: "FeedbackKit", package: "mediatord")])]
)
"""
    )

    def swift(*words: str) -> str:
        done = subprocess.run(["swift", *words], cwd=program, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    shown = json.loads(swift("package", "show-dependencies", "--format", "json"))
    (library,) = shown["dependencies"]
    assert [one["identity"] for one in library["dependencies"]] == ["swift-collections"]
    # An event is dropped when a mailbox is full: the program runs.
    assert swift("run", "program").strip() == "dropOldest"
