"""`mediatorctl top` in a real terminal: what is on the screen, and that the terminal is given back."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon import Daemon
from door_and_bell import CONFIGURATION
from waiting import WAIT


class Terminal:
    """A terminal of tmux, in which a shell runs."""

    def __init__(self, folder: Path, columns: int = 100, rows: int = 20) -> None:
        self.socket = folder / "tmux"
        shell = {**os.environ, "PS1": "$ ", "ENV": "", "TERM": "screen"}
        subprocess.run(
            [
                *("tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns)),
                *("-y", str(rows), "env", "-u", "TMUX", "sh"),
            ],
            env=shell,
            check=True,
            timeout=WAIT,
        )

    def tmux(self, *arguments: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=True, timeout=WAIT
        ).stdout

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def until(self, condition: Callable[[str], object], timeout: float = WAIT) -> str:
        """Waits until the screen meets a condition."""
        deadline = time.monotonic() + timeout
        while not condition(screen := self.screen):
            assert time.monotonic() < deadline, screen
            time.sleep(0.05)
        return screen

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=WAIT)


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if not shutil.which("tmux"):
        if os.environ.get("CI") == "true":
            pytest.fail("there is no tmux; install it", pytrace=False)
        pytest.skip("there is no tmux on this machine")
    found = Terminal(tmp_path)
    try:
        found.until(lambda screen: "$" in screen)
        yield found
    finally:
        found.close()


def begin(terminal: Terminal, one: Daemon, *arguments: str) -> str:
    command = f"{one.binaries.mediatorctl} top --socket {one.socket} --interval 200ms {' '.join(arguments)}"
    terminal.type(f"clear; {command}; echo ended with $?", "Enter")
    return terminal.until(lambda screen: "q quit" in screen and "door" in screen)


def is_given_back(terminal: Terminal) -> None:
    """The shell's screen is back, with what was typed, and echoes again."""
    assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
    terminal.type("echo it is $((40 + 2))", "Enter")
    screen = terminal.until(lambda screen: "it is 42" in screen)
    assert "echo it is" in screen


def test_it_shows_what_is_busy_and_is_steered_by_keys(one: Daemon, terminal: Terminal) -> None:
    screen = begin(terminal, one).splitlines()
    assert re.match(r"mediatord \d+\.\d+\.\d+  up \d+ \w+  2 systems: 2 healthy", screen[0]), screen
    assert screen[3].split()[:4] == ["KIND", "NAME", "RATE/S", "TOTAL"]
    assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["1", "0"]
    one.ctl("emit", "door", "Push", "by=cat")
    terminal.until(lambda screen: "Open by=cat times=1" in screen)
    terminal.type("2")
    systems = terminal.until(lambda screen: "[2 systems]" in screen)
    assert "visitor" not in systems and "bell" in systems
    terminal.type("/")
    terminal.until(lambda screen: "filter: " in screen)
    terminal.type("DOO", "Enter")
    terminal.until(lambda screen: "filter: DOO" in screen and "bell" not in screen)
    terminal.type("Enter")
    opened = terminal.until(lambda screen: "system door" in screen)
    assert "Is it open?" in opened and "q back" in opened
    terminal.type("q")
    terminal.until(lambda screen: "q quit" in screen)
    terminal.type("?")
    terminal.until(lambda screen: "any key: back" in screen)
    terminal.type("x", "Escape")
    terminal.until(lambda screen: "bell" in screen and "filter" not in screen.splitlines()[2])
    terminal.type("q")
    terminal.until(lambda screen: "ended with 0" in screen)
    is_given_back(terminal)


def test_it_counts_down_the_pending_waits(daemon: Callable[..., Daemon], terminal: Terminal) -> None:
    one = daemon({
        "door.yaml": """\
system: door
states: { Open: {}, Closed: {} }
events: { Shut: {} }
initialState: Open
feedbacks: { shut: { onState: Open, after: 50s, emit: Shut } }
transitions: { Open: { Shut: Closed } }
"""
    })  # fmt: skip
    begin(terminal, one)
    terminal.type("w")

    def left(screen: str) -> str | None:
        found = re.search(r"door +shut +after .*\((in [^)]+)\)", screen)
        return found and found[1]

    first = left(terminal.until(lambda screen: left(screen) is not None and "q back" in screen))
    terminal.until(lambda screen: left(screen) not in (first, None))
    terminal.type("q")
    terminal.until(lambda screen: "q quit" in screen)


def test_it_fits_any_size_of_terminal(one: Daemon, terminal: Terminal) -> None:
    begin(terminal, one)
    terminal.resize(40, 10)
    narrow = terminal.until(lambda screen: "KIND" not in screen and "NAME" in screen)
    lines = narrow.rstrip("\n").split("\n")
    assert len(lines) <= 10 and all(len(line) <= 40 for line in lines) and "q quit" in lines[-1]
    terminal.resize(12, 4)
    terminal.until(lambda screen: "too small" in screen)
    terminal.resize(140, 30)
    wide = terminal.until(lambda screen: "DROPS/S" in screen or "KIND" in screen)
    assert "q quit" in wide.rstrip("\n").split("\n")[-1]
    terminal.type("C-c")
    terminal.until(lambda screen: "ended with 0" in screen)
    is_given_back(terminal)


def test_it_says_that_the_daemon_is_gone_and_goes_on_with_the_next(
    one: Daemon, daemon: Callable[..., Daemon], terminal: Terminal
) -> None:
    begin(terminal, one)
    one.stop()
    gone = terminal.until(lambda screen: "no daemon, trying again" in screen)
    assert "door" in gone
    two = daemon({"gate.yaml": "system: gate\nstates: { Down: {} }\nevents: {}\ninitialState: Down\n"}, socket=one.socket)
    back = terminal.until(lambda screen: "gate" in screen and "no daemon" not in screen)
    assert "door" not in back and two.process.poll() is None
    terminal.type("q")
    terminal.until(lambda screen: "ended with 0" in screen)
    is_given_back(terminal)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_given_back_at_each_end(one: Daemon, terminal: Terminal, number: signal.Signals) -> None:
    begin(terminal, one)
    (pid,) = subprocess.run(
        ["pgrep", "-f", f"top --socket {one.socket} --interval"], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(pid), number)
    terminal.until(lambda screen: "ended with" in screen)
    is_given_back(terminal)


def test_without_a_terminal_it_writes_objects(one: Daemon) -> None:
    lines = one.ctl("top", "--json", "--count", "2", "--interval", "100ms").stdout.splitlines()
    assert len(lines) == 2 and all('"parts":[' in line for line in lines)
    assert "door" in one.ctl("top", "--count", "1", "--interval", "100ms").stdout


def test_it_ends_by_a_signal_also_where_the_terminal_stands_still(one: Daemon) -> None:
    leader, follower = pty.openpty()
    try:
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 250, 0, 0))
        before = termios.tcgetattr(follower)
        process = subprocess.Popen(
            [one.binaries.mediatorctl, "top"], env={**one.client_environment, "TERM": "xterm"},
            stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        # Once it has drawn something nobody reads on; a screen is longer than what the kernel keeps.
        assert os.read(leader, 8)
        deadline = time.monotonic() + WAIT
        tasks = Path(f"/proc/{process.pid}/task")
        # A thread of it waits in write(1, …).
        while not any(task.joinpath("syscall").read_text().startswith("1 0x1 ") for task in tasks.iterdir()):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0
        assert termios.tcgetattr(follower) == before
    finally:
        os.close(leader)
        os.close(follower)
