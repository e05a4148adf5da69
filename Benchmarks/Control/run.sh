#!/bin/sh
# Measures calls of the control socket beside a Redis server's PING, and what watchers cost.
#   --rounds N, --seconds S, --json
set -eu
cd "$(dirname "$0")"

for program in python3 redis-server redis-benchmark; do
    command -v "$program" >/dev/null || { echo "run.sh: there is no $program in PATH" >&2; exit 2; }
done
mkdir -p .build
log=.build/benchmarks.log
# As make release builds it.
{
    ../../.ci/build-release mediatord &&
        clang -O2 -Wall -Werror -o .build/calls peers/calls.c &&
        clang -O2 -Wall -Werror -o .build/watchers peers/watchers.c
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py ../../.build/release/mediatord .build "$@"
