#!/bin/sh
# Measures what a hop from one configured system by a bus to the next costs, beside Erlang's gen_statem.
#   --rounds N, --seconds N, --json; further daemons to be compared with
#   --instructions: counts instructions instead, which takes valgrind, and no peer
set -eu
cd "$(dirname "$0")"

if test "${1:-}" = --instructions; then
    shift
    command -v callgrind_control >/dev/null || { echo "run.sh: there is no valgrind in PATH; install it" >&2; exit 2; }
    ../../.ci/build-release mediatord >&2
    exec python3 instructions.py ../../.build/release/mediatord "$@"
fi
command -v erlc >/dev/null || { echo "run.sh: there is no erlc in PATH; install erlang-base" >&2; exit 2; }
mkdir -p .build
log=.build/benchmarks.log
# As make release builds it.
{
    ../../.ci/build-release mediatord && erlc -o .build peers/chain.erl
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py ../../.build/release/mediatord --peer .build "$@"
