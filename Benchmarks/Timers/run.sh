#!/bin/sh
# Measures what a thousand systems with a timer of a second each cost, beside as many of Erlang's gen_statem.
#   --systems N, --minutes N, --json
set -eu
cd "$(dirname "$0")"

command -v erlc >/dev/null || { echo "run.sh: there is no erlc in PATH; install erlang-base" >&2; exit 2; }
mkdir -p .build
log=.build/benchmarks.log
# As make release builds it.
{
    ../../.ci/build-release mediatord && erlc -o .build peers/ticks.erl
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py ../../.build/release/mediatord .build "$@"
