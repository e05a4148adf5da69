"""The programs as a package has them, and packages of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from waiting import WAIT

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build"
PROGRAMS = ("mediatord", "mediatorctl")

# What a static Foundation consists of. Objects that were compiled for the shared one name only some of it.
FOUNDATION = (
    "Foundation", "FoundationInternationalization", "FoundationEssentials", "_FoundationCShims", "_FoundationCollections",
    "_FoundationICU", "CoreFoundation",
)


def make(*arguments: str, environment: Mapping[str, str] = {}, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs make in the repository."""
    # A make above this one has options and variables of its own.
    outer = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    result = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=REPOSITORY,
        env={**outer, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert not check or result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    return result


def programs() -> Path:
    """The folder of the programs to package: what MEDIATORD_BINARIES names; or, with MEDIATORD_RELEASE_TESTS=1, what `make
    release` builds; or the debug build, linked as a release is, which differs from it in how fast it is and how large."""
    if given := os.environ.get("MEDIATORD_BINARIES"):
        return Path(given).resolve()
    if os.environ.get("MEDIATORD_RELEASE_TESTS") == "1":
        make("release")
        return BUILD / "dist" / "unstripped"
    return _linked(BUILD / "debug", BUILD / "debug-static")


def is_release() -> bool:
    """Whether `programs` are those that people get."""
    return "MEDIATORD_BINARIES" in os.environ or os.environ.get("MEDIATORD_RELEASE_TESTS") == "1"


def _linked(build: Path, folder: Path) -> Path:
    """The objects of a debug build, linked with Swift's runtime and RE2 in them, unless that has been done already."""
    folder.mkdir(exist_ok=True)
    archive = subprocess.run(
        ["g++", "-print-file-name=libre2.a"], check=True, capture_output=True, text=True, timeout=WAIT
    ).stdout.strip()
    # The driver leaves only the linker's own options in their order.
    choices = REPOSITORY / ".ci" / "linker-options"
    options = [*choices.read_text().split(), "--start-group", *(f"-l{library}" for library in FOUNDATION), "--end-group", archive]
    options += ["-lcurl", "-lsqlite3", "-lsystemd", "-lyaml", "-lstdc++"]
    for name in PROGRAMS:
        linked = folder / name
        newest = max(path.stat().st_mtime for path in (build / name, choices, Path(__file__)))
        if linked.exists() and linked.stat().st_mtime > newest:
            continue
        raw = folder / f"{name}.raw"
        result = subprocess.run(
            [
                *("swiftc", "-static-stdlib", "-use-ld=lld", "-o", str(raw), f"@{build / f'{name}.product' / 'Objects.LinkFileList'}"),
                *(word for option in [*options, f"--defsym=main={name}_main"] for word in ("-Xlinker", option)),
            ],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert result.returncode == 0, result.stderr[-5000:]
        subprocess.run(["strip", "--strip-debug", "-o", f"{linked}.new", raw], check=True, timeout=WAIT)
        raw.unlink()
        os.replace(f"{linked}.new", linked)
    lists = [build / f"{name}.product" / "Objects.LinkFileList" for name in PROGRAMS]
    notices = subprocess.run([REPOSITORY / ".ci" / "notices", *lists], check=True, capture_output=True, timeout=WAIT)
    (folder / "NOTICES").write_bytes(notices.stdout)
    bill = subprocess.run([REPOSITORY / ".ci" / "sbom", build, folder], check=True, capture_output=True, timeout=300)
    (folder / "sbom.cdx.json").write_bytes(bill.stdout)
    return folder


def build(binaries: Path, folder: Path, version: str = "", environment: Mapping[str, str] = {}, umask: int = 0o022) -> Path:
    """Builds a package into the folder. It is what `make deb` builds; of a debug build, in haste."""
    haste = {} if is_release() else {
        "DEB_BUILD_OPTIONS": "noautodbgsym", "DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1",
    }
    result = subprocess.run(
        [REPOSITORY / ".ci" / "build-deb", folder, *([version] if version else [])],
        env={**os.environ, **haste, "BINARIES": str(binaries), **environment},
        umask=umask,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    (package,) = folder.glob("mediatord_*.deb")
    # What has been packed takes much room.
    shutil.rmtree(folder / "mediatord")
    return package


def field(package: Path, name: str) -> str:
    """What a package says of itself."""
    return subprocess.run(
        ["dpkg-deb", "--field", package, name], check=True, capture_output=True, text=True, timeout=WAIT
    ).stdout.strip()
