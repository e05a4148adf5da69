"""A Debian system with systemd as its first process, booted by systemd-nspawn for a test."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from notify import NotifySocket
from powercut import Disk
from waiting import WAIT

# The releases of Debian that are supported, with systemd 252 and 257.
SUITES = ("bookworm", "trixie")
PACKAGES = ("dbus", "libcurl4", "libsqlite3-0", "libyaml-0-2", "systemd", "systemd-sysv")
TOOLS = ("mmdebstrap", "systemd-nspawn", "nsenter", "setpriv", "ldd")

# Where the libraries go which the programs need and Debian does not have, such as Swift's.
LIBRARIES = "/usr/lib/mediatord/runtime"

# A shell joins control groups, which end with --, and becomes the command that follows.
ENTER = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"'

# Numbers for control groups.
BOOTS = itertools.count(1)

# Seconds that a system may take to power off before it is killed.
STOP_TIMEOUT = 30.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ContainerUnavailable(Exception):
    """This machine cannot boot a container, for the reason given."""


def make_root(suite: str, cache: Path, say: Callable[[str], None], more: Sequence[str] = ()) -> Path:
    """The directory of a root of a release of Debian below `cache`, with more packages if wanted, made if it is not there.

    It is named after what is in it, so that another list of packages makes another one. It appears under its name only
    when it is complete; a lock keeps a second maker waiting.
    """
    _require_tools()
    packages = (*PACKAGES, *more)
    recipe = hashlib.sha256("\n".join((suite, "minbase", *packages)).encode()).hexdigest()[:12]
    root = cache / f"{suite}-{recipe}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{root.name}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Waiting for another process to make {root}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if root.is_dir():
            return root
        partial = cache / f"{root.name}.partial"
        if partial.exists():
            shutil.rmtree(partial)
        say(f"Making a root of Debian {suite} in {root} (once; about a minute)")
        begin = time.monotonic()
        made = subprocess.run(
            ["mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, str(partial)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1200,
        )
        if made.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise ContainerUnavailable(f"mmdebstrap failed:\n{_tail(made.stderr)}")
        partial.rename(root)
        say(f"Made it in {time.monotonic() - begin:.1f} s")
        return root


def _require_tools() -> None:
    if os.geteuid() != 0:
        raise ContainerUnavailable("booting a container needs root")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise ContainerUnavailable(f"missing programs: {', '.join(missing)}")


class Container:
    """A booted system. What is written to it lives in memory and goes with it, or on a disk, and is there at the next
    boot; the root's directory stays clean."""

    def __init__(self, suite: str, root: Path, disk: Disk | None = None) -> None:
        _require_tools()
        self.suite = suite
        self.root = root
        self.disk = disk
        self.leader = 0
        self._journal_start = ""
        self.failed_units: list[str] = []
        self.boot_seconds = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._control_groups: list[Path] = []
        self._notify: NotifySocket | None = None
        self._console = tempfile.TemporaryFile()

    def __enter__(self) -> Container:
        self.boot()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def console(self) -> str:
        """What the system wrote to its console, and nspawn to its own."""
        return os.pread(self._console.fileno(), 1 << 20, 0).decode(errors="replace")

    def boot(self) -> None:
        """Boots, and returns when systemd has started everything; `failed_units` names what it could not."""
        begin = time.monotonic()
        try:
            self.power_on()
            self._wait_booted()
        except BaseException:
            self.stop()
            raise
        finally:
            self._close_notify()
        self.boot_seconds = time.monotonic() - begin

    def power_on(self) -> None:
        """Begins to boot, and returns when there is a first process."""
        self._close_notify()
        self._notify = NotifySocket()
        # nspawn ends the system when this process ends, however it does. Where a systemd manages this machine's
        # control groups, it must be asked for one; elsewhere there is nobody to ask, and this makes one: two systems in the same
        # would take each other's services for their own.
        is_managed = Path("/run/systemd/system").is_dir()
        self._control_groups = [] if is_managed else _make_control_groups(f"mediatord-test-{os.getpid()}-{next(BOOTS)}")
        if not is_managed and not self._control_groups and "PYTEST_XDIST_WORKER" in os.environ:
            raise ContainerUnavailable("no control group can be made, without which only one system can run at a time")
        self._process = subprocess.Popen(
            [
                *("sh", "-c", ENTER, "sh", *map(str, self._control_groups), "--"),
                *(self.disk.wrapper() if self.disk else ()),
                *("setpriv", "--pdeathsig", "TERM", "systemd-nspawn"),
                *("--directory", str(self.disk.root if self.disk else self.root)),
                *(() if self.disk else ("--volatile=overlay",)),
                *(f"--machine=test-{os.getpid()}-{id(self):x}", "--private-network", "--register=no"),
                *([] if is_managed else ["--keep-unit"]),
                *("--notify-ready=yes", "--console=pipe", "--boot"),
                # A root in memory has no options in fstab to be mounted anew with.
                "systemd.mask=systemd-remount-fs.service",
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._console,
            stderr=self._console,
            env={"PATH": PATH, "NOTIFY_SOCKET": self._notify.path},
        )
        leader = self._wait_for(lambda d: "X_NSPAWN_LEADER_PID" in d)
        self.leader = int(leader["X_NSPAWN_LEADER_PID"])

    def _wait_booted(self) -> None:
        self._wait_for(lambda d: d.get("READY") == "1")
        state = self.systemctl("is-system-running", "--wait", check=False).stdout.strip()
        if state == "degraded":
            failed = self.systemctl("list-units", "--failed", "--plain", "--no-legend").stdout
            self.failed_units = [line.split()[0] for line in failed.splitlines() if line.strip()]
        elif state != "running":
            raise RuntimeError(f"the system is {state!r}:\n{_tail(self.console)}")

    def _wait_for(self, condition: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """What nspawn tells of the boot."""
        assert self._process is not None and self._notify is not None
        pidfd = os.pidfd_open(self._process.pid)
        try:
            told = self._notify.wait_for(condition, pidfd=pidfd)
        finally:
            os.close(pidfd)
        if self._process.poll() is not None:
            raise ContainerUnavailable(f"systemd-nspawn ended:\n{_tail(self.console)}")
        if told is None:
            raise TimeoutError(f"no boot within {WAIT} s:\n{_tail(self.console)}")
        return told

    def _close_notify(self) -> None:
        notify, self._notify = self._notify, None
        if notify is not None:
            notify.close()

    def kill(self, is_power_cut: bool = False) -> None:
        """Kills every process inside at once, at whatever they are.

        If that is since the power is cut, what has not reached the disk is lost; else all that was written is there.
        """
        process, self._process = self._process, None
        assert process is not None
        if is_power_cut:
            assert self.disk is not None
            self.disk.cut_power(process.pid)
        leader = os.pidfd_open(self.leader)
        try:
            signal.pidfd_send_signal(leader, signal.SIGKILL)
            process.kill()
            process.wait(WAIT)
            # The first process takes all others along, and is there until they are gone.
            poll = select.poll()
            poll.register(leader, select.POLLIN)
            assert poll.poll(WAIT * 1000), "the first process is not to be killed"
            try:
                os.waitpid(self.leader, 0)
            except ChildProcessError:
                pass
        finally:
            os.close(leader)
        self._close_notify()
        _remove_control_groups(self._control_groups)
        if self.disk is not None:
            self.disk.wait_unmounted()

    def stop(self) -> None:
        """Powers the system off; kills what does not heed that. Nothing of it is left afterwards."""
        process, self._process = self._process, None
        if process is None:
            return
        # The first SIGTERM asks systemd to power off, the second one makes nspawn kill.
        for number, timeout in ((signal.SIGTERM, STOP_TIMEOUT), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            process.send_signal(number)
            try:
                process.wait(timeout)
                break
            except subprocess.TimeoutExpired:
                continue
        if self.leader and Path(f"/proc/{self.leader}").exists() and process.returncode == -signal.SIGKILL:
            # Killed, nspawn leaves the system running; its first process takes all others along.
            os.kill(self.leader, signal.SIGKILL)
        _remove_control_groups(self._control_groups)

    def run(
        self, *argv: str, timeout: float = WAIT, check: bool = True, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program inside, as root; on failure, if checked, raises with what it printed."""
        # Only what the namespaces need: the caller's environment means nothing inside.
        result = subprocess.run(
            ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", *argv],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            # Some programs are asked for bytes, such as the journal's export format.
            errors="surrogateescape",
            timeout=timeout,
            env={"PATH": PATH, "LANG": "C.UTF-8", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"},
            cwd="/",
        )
        if check and result.returncode != 0:
            raise AssertionError(
                f"{' '.join(argv)} exited {result.returncode}\n{result.stdout}{result.stderr}"
            )
        return result

    def systemctl(self, *argv: str, timeout: float = WAIT, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("systemctl", *argv, timeout=timeout, check=check)

    def show(self, unit: str, *properties: str) -> dict[str, str]:
        """Properties of a unit."""
        text = self.systemctl("show", unit, *(f"--property={name}" for name in properties)).stdout
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def journal(self, unit: str) -> str:
        """Everything that a unit logged since `forget_journal`, and systemd about it, as bare messages."""
        return self.entries("--unit", unit, "--output=cat")

    def entries(self, *options: str) -> str:
        """The output of journalctl(1) with these options, of entries since `forget_journal`."""
        self.run("journalctl", "--sync")
        since = [f"--after-cursor={self._journal_start}"] if self._journal_start else []
        return self.run("journalctl", "--no-pager", *since, *options).stdout

    def forget_journal(self) -> None:
        """Begins the journal of another test here; a time would be too coarse, since a test begins as the last one ends."""
        self.run("journalctl", "--sync")
        text = self.run("journalctl", "--show-cursor", "--lines=0", "--no-pager").stdout
        self._journal_start = text.rpartition("-- cursor: ")[2].strip()

    def wait_until(self, condition: Callable[[], bool], what: str, timeout: float = WAIT) -> None:
        """Waits for something which nothing announces; fails, naming `what`, when the time (seconds) is over."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout} s: {what}")
            time.sleep(0.1)

    def path(self, path: str) -> Path:
        """The way from outside to a file inside, by its absolute path there."""
        return Path(f"/proc/{self.leader}/root") / path.lstrip("/")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Writes a file inside, with the directories above it."""
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def processes(self, name: str) -> list[int]:
        """The processes inside which run a program, by its name, as the system inside numbers them."""
        found = []
        for entry in self.path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if (entry / "comm").read_text().strip() == name[:15]:
                        found.append(int(entry.name))
                except OSError:
                    continue
        return sorted(found)

    def install(self, binaries: Iterable[Path], files: Mapping[str, Path]) -> None:
        """Puts programs into /usr/bin with the shared libraries they lack, and further files at the paths given.

        The libraries go to a directory of their own, which the dynamic loader's configuration names; programs need no
        LD_LIBRARY_PATH, nor would a service have it.
        """
        self.path(LIBRARIES).mkdir(parents=True, exist_ok=True)
        for binary in binaries:
            shutil.copy(binary, self.path("/usr/bin") / binary.name)
            for library in shared_libraries(binary):
                is_there = any(self.path(f"{d}/{library.name}").exists() for d in _library_directories(library))
                if not is_there:
                    shutil.copy(library, self.path(LIBRARIES) / library.name)
        self.write("/etc/ld.so.conf.d/mediatord.conf", f"{LIBRARIES}\n")
        self.run("ldconfig")
        for destination, source in files.items():
            self.write(destination, source.read_text())
        self.run("systemd-sysusers")
        self.systemctl("daemon-reload")


def _make_control_groups(name: str) -> list[Path]:
    """A control group of that name below that of this process, in each hierarchy by which systemd tells services apart, where
    one can be made. Sources: cgroups(7), proc_pid_mountinfo(5)."""
    places = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "name=systemd"):
            places[controllers] = path
    made = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        controllers = {"cgroup2": "", "cgroup": "name=systemd"}.get(kind)
        if controllers in places and (kind == "cgroup2" or controllers in options.split(",")):
            # The hierarchy may be mounted from a group on, such as that of the container which this runs in.
            root, point = mount.split()[3:5]
            path = os.path.relpath(places[controllers], root)
            group = Path(point) / path / name
            try:
                if path.startswith(".."):
                    continue
                group.mkdir()
            except OSError:
                continue
            del places[controllers]
            made.append(group)
    return made


def _remove_control_groups(groups: Iterable[Path]) -> None:
    """Removes control groups and those below, as soon as what is killed in them has ended; what does not end stays."""
    deadline = time.monotonic() + 5
    for group in groups:
        while group.exists() and time.monotonic() < deadline:
            for directory, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    time.sleep(0.01)


def shared_libraries(binary: Path) -> Sequence[Path]:
    """The shared libraries which a program loads, where this machine has them. Source: ldd(1)."""
    output = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True, timeout=WAIT).stdout
    missing = [line.split()[0] for line in output.splitlines() if line.endswith("not found")]
    if missing:
        raise AssertionError(f"{binary} lacks {', '.join(missing)}")
    return [Path(line.split("=>")[1].split()[0]) for line in output.splitlines() if "=>" in line]


def _library_directories(library: Path) -> Sequence[str]:
    """Where a Debian system has the library, if it has it: the multiarch directory of this machine's own ones."""
    machine = f"{os.uname().machine}-linux-gnu"
    return (f"/lib/{machine}", f"/usr/lib/{machine}", LIBRARIES)


def _tail(text: str, lines: int = 30) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
