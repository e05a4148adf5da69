"""The programs where /proc is not mounted, as in a bare chroot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from daemon import USAGE, Binaries
from waiting import WAIT

HIDDEN = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]


@pytest.fixture(autouse=True)
def _may_hide() -> None:
    if subprocess.run([*HIDDEN, "true"], capture_output=True, timeout=WAIT).returncode != 0:
        if os.environ.get("CI") == "true":
            pytest.fail("no mount namespaces on this machine", pytrace=False)
        pytest.skip("no mount namespaces on this machine")


@pytest.mark.parametrize("program", ["mediatord", "mediatorctl"])
def test_a_configuration_does_not_count_as_checked(binaries: Binaries, program: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("system: a\n")
    words = ["--validate", "--config"] if program == "mediatord" else ["validate"]
    said = subprocess.run(
        [*HIDDEN, getattr(binaries, program), *words, tmp_path], capture_output=True, text=True, timeout=WAIT
    )
    assert said.returncode == USAGE, said
    assert said.stderr == f"{program}: the command line cannot be read: there is no /proc/self/cmdline; mount /proc\n"
    assert said.stdout == ""
