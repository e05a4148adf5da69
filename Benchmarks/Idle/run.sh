#!/bin/sh
# Measures how large the daemon is, how soon it is ready and what it holds while nothing happens, beside monit and supervisord.
#   --rounds N, --seconds S, --json
#   --memory: measures the memory of many systems instead, without a peer
set -eu
cd "$(dirname "$0")"

if test "${1:-}" = --memory; then
    shift
    ../../.ci/build-release mediatord >&2
    exec python3 memory.py ../../.build/release/mediatord "$@"
fi
for program in python3 monit supervisord; do
    command -v "$program" >/dev/null || { echo "run.sh: there is no $program in PATH" >&2; exit 2; }
done
mkdir -p .build
log=.build/benchmarks.log
# As the Debian package has it: make release builds it, and the package leaves its symbols out.
{
    ../../.ci/build-release mediatord && strip -o .build/mediatord ../../.build/release/mediatord
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
exec python3 measure.py .build/mediatord ../../Config "$@"
