#!/bin/sh
# Fuzzes for a time in seconds, 30 unless told: run.sh [SECONDS [CORPUS]]. The shipped configuration, the corpus of broken
# ones and a dictionary are where it begins. SEED=N repeats a run. Exits with a status other than 0 on a finding.
set -eu
cd "$(dirname "$0")"
seconds=${1:-30}
corpus=${2:-.build/corpus}
# The library is instrumented as well, by the flags for the whole build.
swift build -c release -Xswiftc -sanitize=fuzzer
mkdir -p "$corpus"
find ../../../Config ../../Corpus seeds \( -name '*.yaml' -o -name '*.input' \) -size -8k | while read -r file; do
    cp "$file" "$corpus/$(echo "$file" | tr '/' '_')"
done
SWIFT_BACKTRACE=enable=no exec .build/release/ConfigurationFuzzer "$corpus" -dict=dictionary.txt -max_len=4096 \
    -timeout=10 -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1 ${SEED:+-seed="$SEED"}
