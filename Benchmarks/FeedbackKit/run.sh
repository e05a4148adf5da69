#!/bin/sh
# Measures FeedbackKit and its peers in rounds that take turns, and prints one table.
#   --quick   one short round, to see that everything runs
#   --rounds N   how many rounds, 5 if not said
#   --json    the table as JSON
#   --strict  exit with 1 where a target is missed
set -eu
cd "$(dirname "$0")"

rounds=5
scale=1
quick=
report=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) rounds=1 scale=0.05 quick=--quick ;;
    --rounds) shift; rounds=${1:?--rounds needs a number} ;;
    --json | --strict) report="$report $1" ;;
    *)
        echo "run.sh: unknown option $1; there are --quick, --rounds N, --json and --strict" >&2
        exit 2
        ;;
    esac
    shift
done
case $rounds in
'' | *[!0-9]*)
    echo "run.sh: --rounds needs a number, not '$rounds'" >&2
    exit 2
    ;;
esac

for program in erl erlc; do
    command -v "$program" >/dev/null || {
        echo "run.sh: there is no $program in PATH; install it with: apt-get install erlang-base" >&2
        exit 2
    }
done

# Programs are built in silence; what they print is shown if that fails.
mkdir -p .build/peers
log=.build/benchmarks.log
{
    ./unobserved.sh .build/unobserved &&
        FEEDBACKKIT_UNOBSERVED=.build/unobserved swift build -c release &&
        erlc -Wall -Werror -o .build/peers peers/gen_statem_peer.erl
} >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}

figures=.build/figures.tsv
: >"$figures"

# measure ROUND PROGRAM NAME...: adds what the program prints to the figures.
measure() {
    round=$1 program=$2
    shift 2
    case $program in
    ours) .build/release/Benchmarks --scale "$scale" "$@" ;;
    opencombine) .build/release/OpenCombinePeer --scale "$scale" "$@" ;;
    actor) .build/release/ActorPeer --scale "$scale" "$@" ;;
    observer) .build/release/ObserverCost $quick ;;
    erlang1) erlang "+S 1:1" "$@" ;;
    erlang) erlang "" "$@" ;;
    esac >.build/output.tsv
    sed "s/^/$round	$program	/" .build/output.tsv >>"$figures"
}

# erlang FLAGS NAME...: runs the peer with these flags of the emulator.
erlang() {
    flags=$1
    shift
    # shellcheck disable=SC2086 # the flags are several words
    ERL_CRASH_DUMP_SECONDS=0 erl -noshell $flags -pa .build/peers -run gen_statem_peer main "$scale" "$@"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    [ ! -t 2 ] || printf '\rround %s of %s' "$round" "$rounds" >&2
    measure "$round" ours loop-sender
    measure "$round" erlang1 casts-1
    measure "$round" ours system-1 system-10 bus-system store-dispatch
    measure "$round" opencombine scan
    for senders in 1 2 8; do
        measure "$round" ours "loop-pool-$senders"
        measure "$round" erlang "casts-$senders"
        measure "$round" actor "actor-$senders"
    done
    measure "$round" ours bus-system-pool
    for size in 2 100 10000; do
        measure "$round" ours "ring-$size"
        measure "$round" erlang1 "ring-$size"
    done
    for line in start-stop restart-timer; do
        measure "$round" ours "$line"
        measure "$round" erlang "$line"
    done
    measure "$round" ours restart-task
    measure "$round" erlang restart-process
    # What memory something takes is seen in a process that has done nothing else.
    for line in idle-rss idle-allocated; do
        measure "$round" ours "$line"
        measure "$round" erlang "$line"
    done
    measure "$round" ours idle-loop-allocated
    measure "$round" observer
done
[ ! -t 2 ] || printf '\r\033[K' >&2

# shellcheck disable=SC2086 # the options are several words
.build/release/Report $report <"$figures"
