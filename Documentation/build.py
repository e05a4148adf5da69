#!/usr/bin/env python3
"""Builds the documentation of the libraries from the products of `swift build`: symbol graphs, then DocC.

Fails if a public symbol has no comment, and if DocC has a warning, such as a broken link or an undescribed parameter.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / ".build"
MODULES = BUILD / "debug" / "Modules"
SYMBOLS = BUILD / "symbols"
# Each public symbol of these has a comment.
COMMENTED = ["FeedbackKit", "FeedbackKitTesting", "FeedbackKitOpenCombine", "FeedbackKitServiceLifecycle"]
# These have a catalogue.
CATALOGUES = ["FeedbackKit", "CommonExpression"]


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def extract(module: str, target: str) -> Path:
    """Writes the symbol graphs of a module to their own folder."""
    folder = SYMBOLS / module
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    maps = [REPOSITORY / "Sources" / name / "include" / "module.modulemap" for name in ("CRE2", "CLinux", "CTasks")]
    maps += sorted((BUILD / "debug").glob("*.build/module.modulemap"))
    options = [option for path in maps for option in ("-Xcc", f"-fmodule-map-file={path}")]
    output(
        "swift", "symbolgraph-extract", "-module-name", module, "-target", target, "-I", MODULES, *options,
        "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", folder,
    )  # fmt: skip
    return folder


def uncommented(folder: Path) -> list[str]:
    """The public symbols without a comment, with their places."""
    found = []
    for path in sorted(folder.glob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            if symbol.get("docComment", {}).get("lines"):
                continue
            place = symbol.get("location", {})
            file = place.get("uri", "").removeprefix(f"file://{REPOSITORY}/")
            line = place.get("position", {}).get("line", -1) + 1
            found.append(f"{file}:{line}: {'.'.join(symbol['pathComponents'])} has no comment")
    return found


def main() -> int:
    if not MODULES.is_dir():
        sys.exit("Nothing has been built yet; run make build first.")
    target = json.loads(output("swift", "-print-target-info"))["target"]["triple"]
    folders = {module: extract(module, target) for module in sorted({*COMMENTED, *CATALOGUES})}
    missing = [symbol for module in COMMENTED for symbol in uncommented(folders[module])]
    if missing:
        sys.exit("\n".join(missing))
    for module in CATALOGUES:
        result = BUILD / "documentation" / module
        result.parent.mkdir(parents=True, exist_ok=True)
        converted = subprocess.run(
            [
                "docc", "convert", REPOSITORY / "Sources" / module / f"{module}.docc",
                "--additional-symbol-graph-dir", folders[module], "--fallback-display-name", module,
                "--output-path", result, "--warnings-as-errors",
            ]
        )  # fmt: skip
        if converted.returncode:
            return converted.returncode
        print(f"The documentation of {module} is {result.relative_to(REPOSITORY)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
