#!/bin/sh
# Measures this package and, where PEERS names a Python with cel-python and common-expression-language installed, those.
set -eu
cd "$(dirname "$0")"
swift build -c release
.build/release/Benchmarks
if [ -n "${PEERS:-}" ]; then "$PEERS" peers.py; fi
