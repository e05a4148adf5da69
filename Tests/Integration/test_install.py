"""Installing from source by make, and what that leaves in the folders of a system."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

import package
from conftest import REPOSITORY
from container import Container
from daemon import Binaries
from installing import OWN, commands
from test_shells import needs
from waiting import WAIT

UNIT = "mediatord.service"


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or not path.is_dir())


def environment(binaries: Binaries, root: Path) -> dict[str, str]:
    return {"BINARIES": str(binaries.mediatord.parent), "DESTDIR": str(root)}


def test_make_installs_and_takes_away(binaries: Binaries, tmp_path: Path) -> None:
    # Whoever builds may keep everything to themselves.
    before = os.umask(0o077)
    try:
        said = package.make("install", environment=environment(binaries, tmp_path)).stdout
    finally:
        os.umask(before)
    installed = files(tmp_path)
    assert f"Installed {len(installed) - 1} files below {tmp_path}/usr/local." in said
    assert {
        *(f"usr/local/{path}" for path in (
            "bin/mediatord", "bin/mediatorctl", "lib/systemd/system/mediatord.service", "lib/sysusers.d/mediatord.conf",
            "share/man/man1/mediatorctl.1.gz", "share/man/man1/mediatorctl-tap.1.gz", "share/man/man5/mediatord.yaml.5.gz",
            "share/man/man8/mediatord.8.gz", "share/bash-completion/completions/mediatorctl",
            "share/zsh/site-functions/_mediatorctl", "share/fish/vendor_completions.d/mediatorctl.fish",
            "share/mediatord/configuration.schema.json", "share/mediatord/drop-in.schema.json", "share/mediatord/manifest",
            "share/doc/mediatord/README.md", "share/doc/mediatord/Documentation/HowTo/Install.md",
            "share/doc/mediatord/examples/Config/disk-guard.yaml",
        )),
    } <= set(installed)
    # Everything of systemd/ is somewhere.
    for path in (path for path in (REPOSITORY / "systemd").rglob("*") if path.is_file()):
        assert any(path.stem in name for name in installed), path
    for path in tmp_path.rglob("*"):
        if not path.is_symlink():
            expected = 0o755 if path.is_dir() or path.parent.name == "bin" else 0o644
            assert path.stat().st_mode & 0o777 == expected, path
    # Everybody is told the paths of this installation.
    unit = (tmp_path / "usr/local/lib/systemd/system" / UNIT).read_text()
    assert "ExecStart=/usr/local/bin/mediatord" in unit and "Documentation=man:mediatord(8) man:mediatorctl(1)" in unit
    for name in installed:
        path = tmp_path / name
        if "/bin/" not in name and path.exists():
            text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
            assert not re.search(rb"/usr/(bin/mediator|share/(doc/)?mediatord)", text), name
            assert str(tmp_path).encode() not in text, name
    package.make("uninstall", environment=environment(binaries, tmp_path))
    assert files(tmp_path) == []
    left = {path.name for path in tmp_path.rglob("*")}
    assert "mediatord" not in left and "Documentation" not in left
    again = package.make("uninstall", environment=environment(binaries, tmp_path), check=False)
    assert again.returncode != 0 and "nothing was installed below" in again.stderr


def test_what_a_new_version_no_longer_has_is_taken_away(binaries: Binaries, tmp_path: Path) -> None:
    package.make("install", environment=environment(binaries, tmp_path))
    manifest = tmp_path / "usr/local/share/mediatord/manifest"
    old = tmp_path / "usr/local/share/doc/mediatord/old/page.md"
    old.parent.mkdir()
    old.write_text("of an older version")
    foreign = tmp_path / "usr/local/bin/foreign"
    foreign.write_text("somebody else's")
    manifest.write_text(manifest.read_text() + "share/doc/mediatord/old/page.md\n")
    package.make("install", environment=environment(binaries, tmp_path))
    assert not old.parent.exists() and foreign.exists()
    assert "old/page.md" not in manifest.read_text()
    # A list that names what cannot have been installed is none, and removes nothing.
    for name in ("../foreign", "/etc/passwd"):
        text = manifest.read_text()
        manifest.write_text(f"{text}{name}\n")
        refused = package.make("uninstall", environment=environment(binaries, tmp_path), check=False)
        assert refused.returncode != 0 and f"it contains {name!r}; nothing was removed" in refused.stderr
        assert (tmp_path / "usr/local/bin/mediatord").exists()
        manifest.write_text(text)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"PREFIX": "usr"}, "it must be an absolute path"),
        ({"PREFIX": "/opt/a b"}, "it must be an absolute path"),
        ({"PREFIX": "/usr/../opt"}, "it must be an absolute path"),
        ({"BINARIES": "/nowhere"}, "there is no /nowhere/mediatord; `make release` builds the programs"),
    ],
)
def test_what_cannot_be_installed_changes_nothing(
    binaries: Binaries, tmp_path: Path, variables: dict[str, str], says: str
) -> None:
    result = package.make("install", environment={**environment(binaries, tmp_path), **variables}, check=False)
    assert result.returncode != 0 and says in result.stderr
    assert files(tmp_path) == []


@pytest.fixture(scope="module")
def below_usr(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("usr")
    package.make("install", "PREFIX=/usr", environment=environment(binaries, root))
    return root


def test_links_between_installed_pages_lead_somewhere(below_usr: Path) -> None:
    pages = sorted((below_usr / "usr/share/doc/mediatord").rglob("*.md"))
    links = 0
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)
            links += 1
    assert len(pages) >= 9 and links >= 30
    # A link to a file that is only in the repository has become its text.
    assert "[control calls](Benchmarks/Control/README.md)" in (REPOSITORY / "README.md").read_text()
    readme = (below_usr / "usr/share/doc/mediatord/README.md").read_text()
    assert "control calls" in readme and "Benchmarks/" not in readme


def test_shells_find_the_completions(below_usr: Path) -> None:
    share = below_usr / "usr/share"
    script = share / "bash-completion/completions/mediatorctl"
    said = subprocess.run(
        [needs("bash"), "--norc", "-c", f"source {script}; complete -p mediatorctl"],
        capture_output=True, text=True, timeout=WAIT,
    )
    assert "_mediatorctl mediatorctl" in said.stdout, said
    said = subprocess.run(
        [
            needs("zsh"), "-f", "-c",
            f"fpath=({share}/zsh/vendor-completions $fpath); autoload -U compinit; compinit -u -D; print $_comps[mediatorctl]",
        ],
        capture_output=True, text=True, timeout=WAIT,
    )
    assert said.stdout == "_mediatorctl\n", said
    said = subprocess.run(
        [needs("fish"), "-c", "complete -C 'mediatorctl sta'"],
        env={
            "HOME": str(below_usr), "XDG_DATA_DIRS": str(share), "PATH": f"{below_usr}/usr/bin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
        },
        capture_output=True, text=True, timeout=WAIT,
    )
    assert said.stdout.startswith("status\t"), said


def test_what_is_installed_from_source_runs(fresh: Container, programs: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    package.make("install", environment={"BINARIES": str(programs), "DESTDIR": str(root)})
    subprocess.run(["cp", "-a", f"{root}/usr", fresh.path("/")], check=True, timeout=WAIT)
    build, install, *rest = commands("From source")
    assert (build, install) == ("make release", "make install")
    for path, text in OWN.items():
        fresh.write(path, text)
    for command in rest:
        fresh.run("sh", "-ec", command)
    assert fresh.show(UNIT, "ActiveState", "UnitFileState") == {"ActiveState": "active", "UnitFileState": "enabled"}
    assert "/usr/local/bin/mediatord" in fresh.show(UNIT, "ExecStart")["ExecStart"]
    assert "2 systems: 2 healthy" in fresh.run("mediatorctl", "status").stdout
