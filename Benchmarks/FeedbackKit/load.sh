#!/bin/sh
# Checks promises of the library under load: ten million events through eight senders, a hundred thousand loops, and the
# latency of loops beside one that floods and one that blocks. It exits with 1 if a promise is broken.
#   --quick     a short run, to see that everything runs
#   --effects   only the async effects
set -eu
cd "$(dirname "$0")"

for option; do
    case $option in
    --quick | --effects) ;;
    *)
        echo "load.sh: unknown option $option; there are --quick and --effects" >&2
        exit 2
        ;;
    esac
done
mkdir -p .build
swift build -c release --product Load >.build/load.log 2>&1 || {
    cat .build/load.log >&2
    exit 1
}
exec .build/release/Load "$@"
