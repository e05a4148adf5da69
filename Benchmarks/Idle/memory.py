#!/usr/bin/env python3
"""Measures the memory of many systems, and the time until they are ready.

    memory.py MEDIATORD [--seconds S] [--json]

Systems in files, one in each, and instances of one template. Each row is one daemon, which then rests.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from measure import mediatord

TEMPLATE = """\
system: probe@
states: { Idle: { count: int }, Busy: { count: int } }
events: { Begin: {}, End: {} }
initialState: { Idle: { count: 0 } }
fromOutside: any
feedbacks: { end: { onState: Busy, after: 1h, emit: End } }
transitions:
  Idle: { Begin: { to: Busy } }
  Busy: { End: { to: Idle, set: { count: "${state.count + 1}" } } }
---
instances:
"""

ROWS = [("instances", 1), ("files", 1_000), ("files", 4_000), ("instances", 10_000)]


def files(folder: Path, count: int) -> None:
    """The systems of the benchmark of the configuration."""
    path = Path(__file__).resolve().parent.parent / "Configuration" / "measure.py"
    spec = importlib.util.spec_from_file_location("configuration", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(folder, count)


def write(folder: Path, kind: str, count: int) -> None:
    if kind == "files":
        files(folder, count)
    else:
        lines = [f"  probe@{number}: {{}}\n" for number in range(count)]
        (folder / "probes.yaml").write_text(TEMPLATE + "".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("daemon", type=Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for kind, count in ROWS:
        with tempfile.TemporaryDirectory() as name:
            configuration = Path(name) / "configuration"
            configuration.mkdir()
            write(configuration, kind, count)
            run = mediatord(Path(name), options.daemon.resolve(), configuration, options.seconds)
        rows.append({"systems": count, "kind": kind, **asdict(run)})
    if options.json:
        print(json.dumps(rows))
        return
    least = rows[0]["own"]
    print(f"{'systems':>17} {'ready':>9} {'resident':>10} {'each adds':>10}")
    for row in rows:
        added = f"{(row['own'] - least) / row['systems'] / 1e3:.1f} kB" if row["systems"] > 1 else ""
        print(f"{row['systems']:7,} {row['kind']:9} {row['ready'] * 1000:6.0f} ms {row['resident'] / 1e6:7.1f} MB {added:>10}")


if __name__ == "__main__":
    main()
