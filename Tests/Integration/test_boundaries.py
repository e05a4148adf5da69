"""What is read of memory that belongs to others: not a byte beyond it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon import Binaries, Daemon
from waiting import WAIT

# Each entry of a directory lies at the end of a page, behind which nothing may be read (getdents(2): an entry is as long as
# its name, whatever its declaration says).
GUARD = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

static __thread char *page;

static void *put(void *entry, size_t length) {
    if (!entry) return entry;
    if (!page) {
        page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(page + 4096, 4096, PROT_NONE);
    }
    return memcpy(page + 4096 - length, entry, length);
}

struct dirent *readdir(DIR *directory) {
    struct dirent *(*next)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    struct dirent *entry = next(directory);
    return put(entry, entry ? entry->d_reclen : 0);
}

struct dirent64 *readdir64(DIR *directory) {
    struct dirent64 *(*next)(DIR *) = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
    struct dirent64 *entry = next(directory);
    return put(entry, entry ? entry->d_reclen : 0);
}
"""

WATCHED = """\
system: watch
states: { Looking: {}, Found: {}, Late: {} }
events: { Seen: {}, Gone: {}, Slow: {} }
initialState: Looking
feedbacks:
  look:
    onState: Looking
    process: { command: mediatord }
    onRunning: Seen
    onEnded: Gone
  wait:
    onState: Found
    run: { command: [sh, -c, 'trap "" TERM; while :; do sleep 0.05; done'], timeout: 100ms }
    onFailure: Slow
transitions: { Looking: { Seen: Found, Gone: stay }, Found: { Slow: Late, Gone: stay, Seen: stay } }
"""


@pytest.fixture(scope="session")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guard")
    (folder / "guard.c").write_text(GUARD)
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "there is no C compiler"
    library = folder / "guard.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, folder / "guard.c"], check=True)
    return library


def test_entries_of_directories_are_not_read_beyond_their_end(
    guard: Path, binaries: Binaries, daemon: Callable[..., Daemon]
) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(guard)}
    one = daemon({"a.yaml": WATCHED, "a.yaml.d/10-x.yaml": "{}\n"}, environment={"LD_PRELOAD": str(guard)})
    result = subprocess.run(
        [binaries.mediatorctl, "validate", one.config], env=environment, capture_output=True, text=True, timeout=WAIT
    )
    assert result.returncode == 0, result
    # A reload reads the folders, the side effects the processes.
    for _ in range(3):
        one.ctl("reload")
    one.wait_log("Found → Late")
    one.ctl("status")


def test_a_folder_with_more_than_is_read_at_once_is_read_again_and_again(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"a.yaml": WATCHED})
    for number in range(3_000):
        (one.config / f"{number:04}-of-somebody-else").touch()
    for _ in range(30):
        one.ctl("reload")
    assert one.process.poll() is None
