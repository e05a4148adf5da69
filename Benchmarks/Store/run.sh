#!/bin/sh
# Measures transitions of persisted systems beside commits of SQLite on the same disk.
#   --rounds N, --seconds S, --directory DIR (the disk, by default that of this folder), --json
set -eu
cd "$(dirname "$0")"

mkdir -p .build
log=.build/benchmarks.log
# As make release builds it.
{
    ../../.ci/build-release mediatord &&
        clang -O2 -Wall -Werror -o .build/emits peers/emits.c &&
        clang -O2 -Wall -Werror -o .build/commits peers/commits.c -lsqlite3
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py ../../.build/release/mediatord .build "$@"
