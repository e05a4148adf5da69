"""Fixtures: the programs under test, the daemon as a process, and a container with a real systemd."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import package
from container import SUITES, Container, ContainerUnavailable, make_root
from daemon import STOPPED, Binaries, Daemon
from hostile import CONNECTIONS

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build"
UNITS = REPOSITORY / "systemd"

# Where what lies in `systemd` belongs.
UNIT_FILES = {
    "/usr/lib/systemd/system/mediatord.service": UNITS / "mediatord.service",
    "/usr/lib/systemd/system/mediatord.socket": UNITS / "mediatord.socket",
    "/usr/lib/systemd/system/mediatord@.service": UNITS / "mediatord@.service",
    "/usr/lib/systemd/system/mediatord@.socket": UNITS / "mediatord@.socket",
    "/usr/lib/systemd/user/mediatord.service": UNITS / "user" / "mediatord.service",
    "/usr/lib/systemd/user/mediatord.socket": UNITS / "user" / "mediatord.socket",
    "/usr/lib/sysusers.d/mediatord.conf": UNITS / "mediatord.sysusers",
    "/usr/lib/tmpfiles.d/mediatord.conf": UNITS / "mediatord.tmpfiles",
}

# The configuration that the project ships.
SHIPPED = {path.name: path.read_text() for path in sorted((REPOSITORY / "Config").iterdir())}

# A small system which is healthy from its beginning.
CONFIGURATION = {
    "heartbeat.yaml": """\
system: heartbeat
states: { Beating: { } }
events: { Beat: { } }
initialState: Beating
feedbacks:
  beat:
    onState: Beating
    every: 100ms
    emit: Beat
transitions:
  Beating:
    Beat: stay
"""
}


# Each test belongs to one tier: `make check` runs those without `gate` and `nightly`, `make gate` runs those of `gate` as well,
# and `make nightly` those of `nightly`.
MARKERS = {
    "depends_on_systemd": "its result depends on the version of systemd, so `make gate` runs it in Debian 13, too",
    "gate": "`make gate` runs it, and `make check` does not",
    "nightly": "takes long, or builds or downloads much, or is random, so only `make nightly` runs it",
}

# The files whose tests belong to `nightly`: packages, and programs that are built for the test. In the container of Debian 13,
# so do all tests but those with the marker `depends_on_systemd`. A few tests elsewhere have their marker in their file.
NIGHTLY = {"test_package", "test_install", "test_own_daemon", "test_library_documentation"}

# The second Debian. `make check` runs the tests in a container in the first one.
SECOND = "trixie"


def pytest_configure(config: pytest.Config) -> None:
    for name, description in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {description}")
    # Orphans become this process's children, so that those which a daemon leaves behind can be found.
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# The groups of tests that take longest, of which none should be left over in the end.
LONGEST = [
    "trixie", "bookworm", "test_store_promises", "test_store_power", "test_package", "test_power_cuts", "test_own_daemon",
    "test_hostile_clients",
]

# Files whose tests run in the group of another file: both link the programs of packages, or both need very many connections.
SHARED = {"test_install": "test_package", "test_sbom": "test_package", "test_hostile_users": "test_hostile_clients"}


# Before the plugin that runs tests side by side looks at the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Divides the tests among processes: those in the container of a release, which is booted once for them all, and each file
    of the rest, some with another file. What takes longest begins first."""
    groups = {}
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        groups[item] = parameters.get("container") or SHARED.get(item.path.stem, item.path.stem)
        item.add_marker(pytest.mark.xdist_group(groups[item]))
        if item.path.stem in NIGHTLY:
            item.add_marker(pytest.mark.nightly)
        elif groups[item] == SECOND:
            item.add_marker(pytest.mark.gate if item.get_closest_marker("depends_on_systemd") else pytest.mark.nightly)
    items.sort(key=lambda item: LONGEST.index(groups[item]) if groups[item] in LONGEST else len(LONGEST))


# Around all of a test. With several processes, each one writes of its own tests; the one that waits for them runs none.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Appends to the file that TEST_PROGRESS names when a test begins and when it has ended."""
    _note("begin", item)
    try:
        return (yield)
    finally:
        _note("end", item)


# The beginnings of reasons for which a test may be skipped in continuous integration, too: an older systemd.
MAY_BE_SKIPPED = ("systemd 252 ", "for systemd 25")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes a failure at once. In continuous integration a test that cannot run on the machine fails."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = str(call.excinfo.value) if call.excinfo else ""
        if not reason.removeprefix("Skipped: ").startswith(MAY_BE_SKIPPED):
            report.outcome, report.longrepr = "failed", f"a test must not be skipped here: {reason}"
    if report.failed:
        text = str(report.longrepr.reprcrash.message if hasattr(report.longrepr, "reprcrash") else report.longrepr)
        _note("fail", item, " \t" + " ".join(text.split())[:1_000])
    return report


def _note(word: str, item: pytest.Item, more: str = "") -> None:
    path = os.environ.get("TEST_PROGRESS")
    if not path:
        return
    # The plugin that runs tests side by side appends the group to the name.
    marker = item.get_closest_marker("xdist_group")
    name = item.nodeid.removesuffix(f"@{marker.args[0]}") if marker else item.nodeid
    # One write of a line at the end of the file never mixes with those of other processes.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{word} {name}{more}\n".encode())
    finally:
        os.close(file)


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Prints a line at once, whatever pytest captures."""

    def say(text: str) -> None:
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            # Where tests run side by side, the output of their processes goes nowhere, but errors go to the terminal.
            stream = sys.stderr if "PYTEST_XDIST_WORKER" in os.environ else sys.stdout
            print(f"\n[integration] {text}", file=stream, flush=True)

    return say


@pytest.fixture
def seed(request: pytest.FixtureRequest, say: Callable[[str], None]) -> int:
    """The seed of a test with random input: that in SEED, or a new one. It is printed, so that the run can be repeated."""
    number = int(os.environ.get("SEED") or random.randrange(1 << 32))
    text = f"{request.node.name}: SEED={number} repeats this choice"
    say(text)
    # If the test fails, its report shows this.
    print(text)
    return number


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The programs of the debug build, or those in the folder that MEDIATORD_BINARIES names."""
    folder = Path(os.environ.get("MEDIATORD_BINARIES") or BUILD / "debug").resolve()
    found = Binaries(folder / "mediatord", folder / "mediatorctl")
    for path in (found.mediatord, found.mediatorctl):
        assert os.access(path, os.X_OK), f"{path} is not there; run `make build` first"
    return found


@pytest.fixture(scope="session")
def open_binaries(binaries: Binaries) -> Iterator[Binaries]:
    """Copies of the programs for other users, who may not be able to enter the folder of the build."""
    with tempfile.TemporaryDirectory(prefix="mediatord-programs-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield Binaries(*(Path(shutil.copy(path, folder)) for path in (binaries.mediatord, binaries.mediatorctl)))


@pytest.fixture
def daemon(binaries: Binaries) -> Iterator[Callable[..., Daemon]]:
    """Starts daemons: `daemon(config)` returns one that is ready, `daemon(config, ready=False)` one that just began.

    In the end each one still running must stop cleanly, and none may leave a process behind.
    """
    before = children()
    started: list[Daemon] = []

    def start(config: Mapping[str, str] = CONFIGURATION, *, ready: bool = True, **options: Any) -> Daemon:
        one = Daemon(binaries, config, **options)
        started.append(one)
        if ready:
            one.wait_ready()
        return one

    try:
        yield start
        for one in started:
            if one.process.poll() is None:
                code = one.stop()
                assert code == STOPPED, f"mediatord exited {code} on SIGTERM:\n{one.log}"
    finally:
        for one in started:
            one.discard()
        left = end_children(children() - before)
    assert not left, f"mediatord left processes behind: {', '.join(left)}"


@pytest.fixture
def shipped(daemon: Callable[..., Daemon], tmp_path: Path) -> Iterator[Daemon]:
    """The shipped configuration on a disk with room, when the speaker has come to rest and the disk has been measured."""
    # The pages show such a disk; that of this machine may be full.
    df = tmp_path / "bin" / "df"
    df.parent.mkdir()
    df.write_text("#!/bin/sh\nprintf 'Use%%\\n 16%%\\n'\n")
    df.chmod(0o755)
    one = daemon(SHIPPED, environment={"PATH": f"{df.parent}:{os.environ['PATH']}"})
    one.wait_log("volume: 15, target: 15")
    yield one


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """The daemon that is started meanwhile may have as many connections as it takes, and the test as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * CONNECTIONS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no more than {hard} descriptors on this machine")
        pytest.skip(f"no more than {hard} descriptors on this machine")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def children() -> set[int]:
    tasks = Path("/proc/self/task")
    found: set[int] = set()
    for task in tasks.iterdir():
        # A thread may end between the two looks.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


def end_children(pids: set[int], grace: float = 1.0) -> list[str]:
    """Ends orphans, and names those which had not ended by themselves within the grace (seconds)."""
    left = []
    deadline = time.monotonic() + grace
    for pid in pids:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            while os.waitpid(pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    left.append(f"{pid} ({command})")
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    break
                time.sleep(0.01)
        except (ChildProcessError, FileNotFoundError, ProcessLookupError):
            continue
    return left


@pytest.fixture(scope="session", params=SUITES)
def container(say: Callable[[str], None], request: pytest.FixtureRequest) -> Iterator[Container]:
    """A booted Debian system of each release, for all tests that need one.

    Where no container can be had, the tests that need one are skipped with a warning; with CI=true they fail.
    """
    try:
        box = Container(request.param, make_root(request.param, BUILD / "roots", say))
        box.boot()
    except ContainerUnavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no container on this machine: {reason}", pytrace=False)
        warnings.warn(pytest.PytestWarning(f"NOT TESTED with a real systemd: {reason}"), stacklevel=1)
        pytest.skip("no container on this machine; a warning says why")
    say(f"Booted Debian {box.suite} in {box.boot_seconds:.1f} s")
    for unit in box.failed_units:
        warnings.warn(pytest.PytestWarning(f"in the container, {unit} failed to start"), stacklevel=1)
    try:
        yield box
    finally:
        box.stop()


@pytest.fixture(scope="session")
def installed(container: Container, binaries: Binaries) -> Container:
    """The container with the programs, the units and the account installed."""
    container.install([binaries.mediatord, binaries.mediatorctl], UNIT_FILES)
    container.run("systemd-tmpfiles", "--create", "mediatord.conf")
    # What nothing wants systemd forgets once it is stopped, and its result with it.
    container.systemctl("enable", "mediatord")
    return container


@pytest.fixture
def system(installed: Container) -> Iterator[Container]:
    """The container with mediatord stopped, a good configuration and no drop-ins; reset after each test."""

    def reset() -> None:
        installed.systemctl("stop", "mediatord.socket", "mediatord.service", check=False)
        installed.run(
            *("rm", "-rf", "/etc/mediatord", "/etc/systemd/system/mediatord.service.d", "/run/mediatord"),
            *("/var/lib/mediatord", "/var/lib/mediatord-store/main"),
        )
        installed.systemctl("daemon-reload")
        installed.systemctl("reset-failed", check=False)
        # Some tests read the whole journal; the others what came after this.
        installed.run("journalctl", "--rotate", "--vacuum-time=1s")
        installed.forget_journal()

    reset()
    for name, text in CONFIGURATION.items():
        installed.write(f"/etc/mediatord/{name}", text)
    try:
        yield installed
    finally:
        reset()


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs that a package contains."""
    return package.programs()


@pytest.fixture(params=SUITES)
def fresh(say: Callable[[str], None], request: pytest.FixtureRequest) -> Iterator[Container]:
    """A booted Debian system in which nothing was installed."""
    try:
        box = Container(request.param, make_root(request.param, BUILD / "roots", say))
        box.boot()
    except ContainerUnavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no container on this machine: {reason}", pytrace=False)
        warnings.warn(pytest.PytestWarning(f"NOT TESTED in a container: {reason}"), stacklevel=1)
        pytest.skip("no container on this machine; a warning says why")
    try:
        yield box
    finally:
        box.stop()
