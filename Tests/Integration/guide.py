"""A reader of a guide: does what a page says, step by step, in a real shell, and compares what is printed."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from daemon import Binaries
from waiting import WAIT

# Commands that only look. They are repeated until they print what the page shows: a reader types more slowly than a test.
LOOKING = re.compile(r"mediatorctl (status|list|show|graph|why|why-not|trace)\b")


@dataclass(frozen=True)
class Step:
    """A fenced block of a page."""

    language: str
    text: str
    line: int


def steps(page: Path) -> list[Step]:
    text = page.read_text()
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Step(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in found]


def file_name(step: Step) -> str | None:
    """The path in the comment at the beginning of a block, if it is a file to be saved."""
    found = re.match(r"(?:#!.*\n)?# (\S+\.(?:yaml|sh))\n", step.text)
    return found[1] if found else None


def files(page: Path) -> list[tuple[str, str]]:
    """The files that a page has its reader save, in their order."""
    return [(name, step.text) for step in steps(page) if step.language in ("yaml", "sh") and (name := file_name(step))]


def comparable(line: str) -> str:
    """The line without what differs from run to run: times, durations, processes, paths of sockets, the width of columns."""
    line = re.sub(r"\((just now|now|(in )?\d+ (s|min|h|d)( ago)?)\)", "(AGO)", line)
    line = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?", "TIME", line)
    # A time of another day has the day, as around midnight.
    line = re.sub(r"\b[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d(:\d\d)?\b", "TIME", line)
    line = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", line)
    line = re.sub(r"\b(process|uid|pid=|uid=|user=|user) ?\w+", r"\1 #", line)
    line = re.sub(r"\bup \d+ \w+", "up #", line)
    line = re.sub(r"\b(after|in) \d+ (ms|s)\b|duration\(\"[^\"]*\"\)", r"\1 #", line)
    line = re.sub(r"control socket \S+; next: .* status", "control socket SOCKET; next: mediatorctl status", line)
    line = re.sub(r"[─-]{2,}", "-", line)
    return re.sub(r"\s+", " ", line).strip()


def lines_of(text: str) -> list[str]:
    return [comparable(line) for line in text.splitlines() if line.strip()]


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what the page shows, where a line `…` stands for any lines."""
    parts = [lines_of(part) for part in re.split(r"^…$", expected, flags=re.MULTILINE)]
    lines = lines_of(printed)
    if len(parts) == 1:
        return parts[0] == lines
    first, *middle, last = parts
    if lines[: len(first)] != first or len(lines) < len(first) + len(last) or (last and lines[-len(last) :] != last):
        return False
    rest = lines[len(first) : len(lines) - len(last)]
    for part in middle:
        at = next((i for i in range(len(rest)) if rest[i : i + len(part)] == part), None)
        if at is None:
            return False
        rest = rest[at + len(part) :]
    return True


class Shell:
    """The reader's first terminal: one shell, whose variables and jobs last from command to command."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["bash", "-s"], cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            # The shell's own words about jobs that end.
            stderr=subprocess.DEVNULL, start_new_session=True,
        )
        # Jobs have numbers, and groups of their own, as at a prompt.
        self.run("set -m")

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command; returns its exit code and what it printed."""
        assert self._shell.stdin is not None and self._shell.stdout is not None
        # A command reads nothing of what is typed after it.
        self._shell.stdin.write(f"{{ {command}\n}} < /dev/null 2>&1\necho \"=ended=$?\"\n".encode())
        self._shell.stdin.flush()
        printed = b""
        deadline = time.monotonic() + WAIT
        while not (end := re.search(rb"=ended=(\d+)\n$", printed)):
            ready, _, _ = select.select([self._shell.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no end of this command: $ {command}\n{printed.decode()}"
            part = os.read(self._shell.stdout.fileno(), 65536)
            assert part, f"the shell ended\n$ {command}\n{printed.decode()}"
            printed += part
        # The shell reports jobs that have ended before any command.
        notice = re.compile(r"^(?:\[\d+\][+-]? +(?:Terminated|Done) |bash: line \d+: +\d+ Killed ).*\n", re.MULTILINE)
        return int(end[1]), notice.sub("", printed[: end.start()].decode())

    def close(self) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(b"for job in $(jobs -p); do kill -- -$job; done 2> /dev/null; exit\n")
        self._shell.stdin.close()
        self._shell.wait(WAIT)
        assert self._shell.stdout is not None
        self._shell.stdout.close()


class OtherTerminal:
    """Another terminal of the reader, in which a program stays in the foreground."""

    def __init__(self, command: str, directory: Path, environment: dict[str, str]) -> None:
        self._terminal, end = pty.openpty()
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "bash", "-c", f"exec env {command}"],
            cwd=directory, env=environment, stdin=end, stdout=end, stderr=end, start_new_session=True,
        )
        os.close(end)
        self._printed = b""
        self._shown = 0

    def _read(self, timeout: float) -> bool:
        if not select.select([self._terminal], [], [], max(0, timeout))[0]:
            return False
        try:
            part = os.read(self._terminal, 65536)
        except OSError:  # the other end is closed
            return False
        self._printed += part
        return bool(part)

    @property
    def text(self) -> str:
        return self._printed.decode(errors="replace").replace("\r\n", "\n")

    def wait_ready(self) -> None:
        """Waits until the daemon that runs here has said that it is ready."""
        deadline = time.monotonic() + WAIT
        while " ready: " not in self.text:
            assert self._read(deadline - time.monotonic()), f"never ready\n{self.text}"

    def wait(self, expected: str) -> None:
        """Waits for each of these lines among those that came since the last wait; others may come between them."""
        deadline = time.monotonic() + WAIT
        seen: set[int] = set()
        for line in map(comparable, expected.splitlines()):
            while True:
                lines = self.text.split("\n")[:-1]
                at = next((i for i in range(self._shown, len(lines)) if i not in seen and comparable(lines[i]) == line), None)
                if at is not None:
                    seen.add(at)
                    break
                assert self._read(deadline - time.monotonic()), f"never printed: {line}\n{self.text}"
        self._shown = max(seen) + 1

    def interrupt(self) -> int:
        """Ends the program as Ctrl-C does; returns its exit code."""
        self._process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + WAIT
        # A program that nobody reads could not end.
        while self._read(deadline - time.monotonic()):
            pass
        code = self._process.wait(max(0, deadline - time.monotonic()))
        os.close(self._terminal)
        return code


def follow(page: Path, binaries: Binaries, directory: Path, substitutes: dict[str, str] | None = None) -> int:
    """Does everything that a page says, in an empty directory. Returns the number of commands.

    A block `yaml` or `sh` that begins with a path is saved; another `sh` is run in a terminal of its own and stays there;
    `console` has commands and what they print; `text` is what the other terminal shows by then.
    """
    work = directory / "work"
    work.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MEDIATORD_", "NOTIFY_", "JOURNAL_"))},
        "PATH": f"{binaries.mediatord.parent}:{os.environ['PATH']}",
        "MEDIATORD_SOCKET": str(directory / "control"),
        # What persists does not go into the home of who runs the tests.
        "XDG_STATE_HOME": str(directory / "states"),
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }

    def substituted(text: str) -> str:
        for old, new in (substitutes or {}).items():
            text = text.replace(old, new)
        return text

    shell = Shell(work, environment)
    terminals: list[OtherTerminal] = []
    commands = 0
    try:
        for step in steps(page):
            text = substituted(step.text)
            place = f"{page.name}:{step.line}"
            name = file_name(step)
            if step.language in ("yaml", "sh") and name:
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text)
                if step.language == "sh":
                    assert subprocess.run(["sh", "-n", name], cwd=work).returncode == 0, place
            elif step.language == "sh":
                terminals.append(OtherTerminal(text.strip(), work, environment))
                terminals[-1].wait_ready()
            elif step.language == "text":
                terminals[-1].wait(text)
            elif step.language == "console":
                for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", text, re.MULTILINE):
                    deadline = time.monotonic() + WAIT
                    code, printed = shell.run(command)
                    while LOOKING.match(command) and not agrees(expected, printed) and time.monotonic() < deadline:
                        time.sleep(0.05)
                        code, printed = shell.run(command)
                    logs = "".join(terminal.text for terminal in terminals)
                    assert agrees(expected, printed), (
                        f"{place}: $ {command}\n{printed}\n--- the page:\n{expected}\n--- log:\n{logs}"
                    )
                    assert expected or code == 0, f"{place}: $ {command}\nexit code {code}"
                    commands += 1
            else:
                raise AssertionError(f"{place}: a block {step.language!r} that nobody checks")
    finally:
        shell.close()
        codes = [terminal.interrupt() for terminal in terminals]
    assert not any(codes), codes
    return commands
