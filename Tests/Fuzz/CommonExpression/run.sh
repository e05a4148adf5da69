#!/bin/sh
# Fuzzes for a time in seconds, 30 unless told: run.sh [SECONDS [CORPUS]]. It begins with the inputs in `seeds`, a dictionary, and the
# conformance suite if CEL_CONFORMANCE names its file. SEED=N repeats a run. Exits with a status other than 0 on a finding.
set -eu
cd "$(dirname "$0")"
seconds=${1:-30}
corpus=${2:-.build/corpus}
# The library is instrumented as well, by the flags for the whole build.
swift build -c release -Xswiftc -sanitize=fuzzer
mkdir -p "$corpus"
# Each line of the stored texts is an input.
cat seeds/*.txt | split -l 1 -a 4 - "$corpus/seed-"
find seeds -name '*.input' -exec cp {} "$corpus" \;
if [ -n "${CEL_CONFORMANCE:-}" ]; then
    python3 - "$CEL_CONFORMANCE" "$corpus" <<'SEEDS'
import hashlib, json, pathlib, sys

for line in open(sys.argv[1], encoding="utf-8"):
    text = json.loads(line)["expr"].encode()
    (pathlib.Path(sys.argv[2]) / hashlib.sha256(text).hexdigest()[:16]).write_bytes(text)
SEEDS
fi
SWIFT_BACKTRACE=enable=no exec .build/release/ExpressionFuzzer "$corpus" -dict=dictionary.txt -max_len=600 \
    -timeout=10 -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1 ${SEED:+-seed="$SEED"}
