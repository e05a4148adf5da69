#!/bin/sh
# Measures calls of the control socket beside a Redis server's PING, and what watchers cost.
#   --rounds N, --seconds S, --json
# With --looking first it measures what mediatorctl takes to show thousands of systems: --systems N, --rounds N, --json
set -eu
cd "$(dirname "$0")"

mkdir -p .build
log=.build/benchmarks.log
if test "${1-}" = --looking; then
    shift
    ../../.ci/build-release mediatord mediatorctl >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
    exec python3 looking.py ../../.build/release "$@"
fi
for program in redis-server redis-benchmark; do
    command -v "$program" >/dev/null || { echo "run.sh: $program is not in PATH; install redis-server and redis-tools" >&2; exit 2; }
done
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
