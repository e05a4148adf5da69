"""Completion in real shells, and the manual pages."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import REPOSITORY
from daemon import Binaries, Daemon
from door_and_bell import CONFIGURATION
from waiting import WAIT


@pytest.fixture
def one(daemon: Callable[..., Daemon]) -> Daemon:
    return daemon(CONFIGURATION)


def needs(program: str) -> str:
    found = shutil.which(program)
    if not found:
        if os.environ.get("CI") == "true":
            pytest.fail(f"there is no {program}; install it", pytrace=False)
        pytest.skip(f"there is no {program} on this machine")
    return found


def environment(one: Daemon) -> dict[str, str]:
    return {**one.client_environment, "PATH": f"{one.binaries.mediatorctl.parent}:{os.environ['PATH']}"}


# A line, and the words that it may become.
CASES = [
    ("mediatorctl sta", {"status"}),
    ("mediatorctl show do", {"door"}),
    ("mediatorctl emit door Pu", {"Push"}),
    ("mediatorctl emit door Push b", {"by="}),
    ("mediatorctl emit door Push by=x --wait O", {"Open"}),
    ("mediatorctl publish visitor x --wait door=C", {"door=Closed"}),
    ("mediatorctl tap bus:vis", {"bus:visitor"}),
    ("mediatorctl list ", {"systems", "buses", "links"}),
    ("mediatorctl graph --format=me", {"--format=mermaid"}),
    ("mediatorctl emit door ", {"Push", "Shut"}),
    ("mediatorctl frobnicate ", set()),
    ("mediatorctl graph --config /usr/lib/os-rel", set()),
    ("mediatorctl graph --config /usr/lib/system", {"/usr/lib/systemd"}),
    ("mediatorctl graph --config=/usr/lib/system", {"--config=/usr/lib/systemd"}),
    ("mediatorctl status --socket=/etc/os-rel", {"--socket=/etc/os-release"}),
]

BASH = r"""
source <("$PROGRAM" completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
_mediatorctl "$PROGRAM" "${LINE##*[ :=]}" ""
printf '%s\n' "${COMPREPLY[@]}"
"""


def proposals(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Has a shell complete a line. Completion gives up after 1.5 seconds, which a busy machine may exceed: it has three
    attempts to propose something."""
    for _ in range(3):
        result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=WAIT)
        if result.stdout.strip():
            break
    return result


@pytest.mark.parametrize(("line", "words"), CASES)
def test_bash_completes(one: Daemon, line: str, words: set[str]) -> None:
    variables = {**environment(one), "PROGRAM": str(one.binaries.mediatorctl), "LINE": line}
    result = proposals([needs("bash"), "--norc", "-c", BASH], variables)
    # Bash puts what it is given behind the last character at which it breaks words.
    kept = re.match(r".*[:=]|", line.rpartition(" ")[2])[0]
    assert {kept + word for word in result.stdout.split()} == words, result


@pytest.mark.parametrize(("line", "words"), CASES)
def test_fish_completes(one: Daemon, line: str, words: set[str], tmp_path: Path) -> None:
    script = f'"{one.binaries.mediatorctl}" completion fish | source; complete -C "$LINE"'
    variables = {**environment(one), "LINE": line, "HOME": str(tmp_path)}
    result = proposals([needs("fish"), "--no-config", "-c", script], variables)
    assert {text.split("\t")[0].rstrip("/") for text in result.stdout.splitlines()} == words, result


def zsh(one: Daemon, line: str, folder: Path) -> str:
    """What an interactive zsh shows after the line and two tabs."""
    setup = (
        "PS1='$ '; unsetopt beep; autoload -Uz compinit; compinit -u -D; LISTMAX=1000; "
        f"zstyle ':completion:*' list-prompt ''; source <('{one.binaries.mediatorctl}' completion zsh); echo re''ady\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(environment(one), HOME=str(folder), TERM="dumb", COLUMNS="200")
        os.execv(needs("zsh"), ["zsh", "-f", "-i"])
    text = ""

    def read(until: str, timeout: float = WAIT) -> None:
        nonlocal text
        deadline = time.monotonic() + timeout
        while until not in text and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 65_536).decode(errors="replace")
        assert until in text, text

    try:
        os.write(terminal, setup.encode())
        read("ready\r\n")
        text = ""
        # The line is completed; what is in the buffer then is told by a widget, as zsh has it.
        os.write(terminal, b"tell() { print -r -- \"<<$BUFFER>>\" }; zle -N tell; bindkey '^X' tell; echo do''ne\n")
        read("done\r\n")
        text = ""
        os.write(terminal, line.encode() + b"\t\x18")
        read(">>")
        return re.search(r"<<(.*?)>>", text)[1]
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("mediatorctl stat", "mediatorctl status "),
        ("mediatorctl show do", "mediatorctl show door "),
        ("mediatorctl emit door Push b", "mediatorctl emit door Push by="),
        ("mediatorctl tap bus:vis", "mediatorctl tap bus:visitor "),
        ("mediatorctl publish visitor x --wait door=C", "mediatorctl publish visitor x --wait door=Closed "),
        ("mediatorctl frobnicate x", "mediatorctl frobnicate x"),
        ("mediatorctl graph --config=/usr/lib/system", "mediatorctl graph --config=/usr/lib/systemd/"),
        ("mediatorctl status --socket /etc/os-rel", "mediatorctl status --socket /etc/os-release "),
    ],
)
def test_zsh_completes(one: Daemon, line: str, completed: str, tmp_path: Path) -> None:
    needs("zsh")
    assert zsh(one, line, tmp_path) == completed


def test_nothing_is_said_where_there_is_no_daemon(binaries: Binaries) -> None:
    result = subprocess.run(
        [binaries.mediatorctl, "complete", "--", "show", ""],
        env={**os.environ, "MEDIATORD_SOCKET": "/nowhere/socket"},
        capture_output=True,
        text=True,
        timeout=WAIT,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def pages(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    subprocess.run(
        [sys.executable, REPOSITORY / "Documentation" / "man.py", binaries.mediatorctl.parent, folder],
        check=True,
        timeout=WAIT,
    )
    return folder


def test_there_is_a_page_for_each_verb(pages: Path, binaries: Binaries) -> None:
    help = subprocess.run([binaries.mediatorctl, "--help"], capture_output=True, text=True, timeout=WAIT).stdout
    verbs = set(re.findall(r"^  ([a-z-]+)  ", help.split("SUBCOMMANDS:")[1], re.MULTILINE)) - {"help"}
    names = {page.name for page in pages.iterdir()}
    assert names == {f"mediatorctl-{verb}.1" for verb in verbs} | {"mediatorctl.1", "mediatord.8", "mediatord.yaml.5"}


def test_no_line_of_an_example_or_a_list_of_a_help_is_broken(binaries: Binaries) -> None:
    def help(*command: str | Path) -> str:
        return subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=WAIT).stdout

    verbs = re.findall(r"^  ([a-z-]+)  ", help(binaries.mediatorctl).split("SUBCOMMANDS:")[1], re.MULTILINE)
    for command in [[binaries.mediatord], [binaries.mediatorctl], *([binaries.mediatorctl, verb] for verb in verbs)]:
        parts = re.findall(r"^[A-Z][A-Z ]+\n((?:.+\n)+)", help(*command), re.MULTILINE)
        assert parts and all(line.startswith("  ") for part in parts for line in part.splitlines()), (command, parts)


def test_the_pages_are_right(pages: Path) -> None:
    mandoc = needs("mandoc")
    for page in sorted(pages.iterdir()):
        lint = subprocess.run([mandoc, "-T", "lint", "-W", "warning", page], capture_output=True, text=True, timeout=WAIT)
        assert lint.stdout + lint.stderr == "", lint.stdout + lint.stderr
    # References lead to pages that there are.
    names = {page.stem: page.suffix[1:] for page in pages.iterdir()}
    for page in pages.iterdir():
        for name, section in re.findall(r"^\.(?:It )?Xr (\S+) (\d)", page.read_text(), re.MULTILINE):
            assert names.get(name) == section or name.startswith("system"), (page.name, name)


def test_the_pages_say_what_the_programs_do(pages: Path) -> None:
    def text(name: str) -> str:
        return re.sub(
            r"\s+", " ",
            subprocess.run(
                [needs("mandoc"), "-T", "utf8", "-O", "width=1000", pages / name], capture_output=True, text=True,
                check=True, timeout=WAIT,
            ).stdout.replace("\b", "").replace("_", "_"),
        )

    def plain(name: str) -> str:
        result = subprocess.run(
            [needs("mandoc"), "-T", "html", "-O", "fragment", pages / name], capture_output=True, text=True, check=True,
            timeout=WAIT,
        ).stdout
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", result).replace("&lt;", "<").replace("&gt;", ">"))

    assert "--where expression" in plain("mediatorctl-tap.1") and "mediatorctl tap 'disk*'" in plain("mediatorctl-tap.1")
    assert "--ready-limit" in plain("mediatord.8") and "6" in plain("mediatord.8")
    assert "has a page of its own, and --help." in plain("mediatorctl.1")
    # Nothing is a mere name, and the words are those of the guide.
    assert re.findall(r"^\.It Cm (\S+)\n\\&", (pages / "mediatord.yaml.5").read_text(), re.MULTILINE) == []
    assert "the number of bytes of output, and of errors, that are kept" in plain("mediatord.yaml.5")
    assert "In result: nothing" not in plain("mediatord.yaml.5")
    schema = json.loads((REPOSITORY / "Documentation" / "configuration.schema.json").read_text())
    for key in schema["$defs"]["feedback"]["properties"]:
        assert re.search(rf"^\.(It Cm|Ss) {key}$", (pages / "mediatord.yaml.5").read_text(), re.MULTILINE), key
    assert "the number of failures until it is down" in plain("mediatord.yaml.5")
    assert "The default is 30s." in plain("mediatord.8")
    assert "initialState" in plain("mediatord.yaml.5") and "supervision" in plain("mediatord.yaml.5")
    assert "NO_COLOR" in plain("mediatorctl.1") and "74" in plain("mediatorctl.1")
    assert text("mediatorctl.1")
