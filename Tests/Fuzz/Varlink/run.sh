#!/bin/sh
# Fuzzes what reads the bytes of a peer, each part for a time in seconds, 30 unless told: run.sh [SECONDS [CORPUS]]. The
# interfaces of the repository, a few messages and a dictionary are where it begins. SEED=N repeats a run. Exits with a status other
# than 0 on a finding.
set -eu
cd "$(dirname "$0")"
seconds=${1:-30}
corpus=${2:-.build/corpus}
# The library is instrumented as well, by the flags for the whole build.
swift build -c release -Xswiftc -sanitize=fuzzer
mkdir -p "$corpus/FrameFuzzer" "$corpus/JSONFuzzer" "$corpus/DefinitionFuzzer"
cp seeds/*.json "$corpus/JSONFuzzer"
cp seeds/*.varlink "$corpus/DefinitionFuzzer"
find seeds -name '*.frames' -exec cp {} "$corpus/FrameFuzzer" \;
for file in seeds/*.json; do
    # Two bytes that say the limit and how the rest is cut, then messages.
    { printf '\377\003'; cat "$file"; printf '\000'; cat "$file"; printf '\000'; } \
        >"$corpus/FrameFuzzer/$(basename "$file")"
done
for part in FrameFuzzer JSONFuzzer DefinitionFuzzer; do
    echo "== $part"
    SWIFT_BACKTRACE=enable=no .build/release/$part "$corpus/$part" -dict=dictionary.txt -max_len=4096 -timeout=10 \
        -rss_limit_mb=2048 -print_funcs=0 -max_total_time="$seconds" -print_final_stats=1 ${SEED:+-seed="$SEED"}
done
