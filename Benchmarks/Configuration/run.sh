#!/bin/sh
# Measures what a configuration of 1 000 systems in 1 000 files costs, beside libyaml alone.
#   --systems N, --rounds N, --json
set -eu
cd "$(dirname "$0")"

command -v python3 >/dev/null || { echo "run.sh: there is no python3 in PATH" >&2; exit 2; }
mkdir -p .build
log=.build/benchmarks.log
# As make release builds them.
{
    ../../.ci/build-release mediatord mediatorctl &&
        clang -O2 -Wall -Werror -o .build/parse peers/parse.c -lyaml
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py ../../.build/release .build/parse "$@"
