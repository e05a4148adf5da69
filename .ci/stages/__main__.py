"""Runs the stages of the checks: `python3 .ci/stages --help`."""

from __future__ import annotations

import sys

import runner

if __name__ == "__main__":
    try:
        sys.exit(runner.main())
    except KeyboardInterrupt:
        sys.exit(130)
