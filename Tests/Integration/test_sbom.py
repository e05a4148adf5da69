"""The bill of materials, the versions of what is built in, and how the programs are linked."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import package
from conftest import BUILD, REPOSITORY
from waiting import WAIT


@pytest.fixture(scope="module")
def text() -> str:
    made = subprocess.run(
        [REPOSITORY / ".ci" / "sbom", BUILD / "debug", BUILD / "debug"], capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture(scope="module")
def components(text: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(text)["components"]}


@pytest.mark.nightly
def test_it_is_as_its_format_asks(text: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


@pytest.mark.nightly
def test_each_component_has_a_license_and_a_url_and_is_depended_on(text: str) -> None:
    bill = json.loads(text)
    for one in bill["components"]:
        assert one["licenses"] and one["purl"].startswith("pkg:"), one
    references = {one["bom-ref"] for one in bill["components"]}
    reached: set[str] = set()
    edges = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    left = [bill["metadata"]["component"]["bom-ref"]]
    while left:
        for reference in edges[left.pop()]:
            if reference not in reached:
                reached.add(reference)
                left.append(reference)
    assert reached == references


@pytest.mark.nightly
def test_it_has_each_package_of_the_manifest_that_is_linked(components: dict[str, dict[str, Any]]) -> None:
    manifest = (REPOSITORY / "Package.swift").read_text()
    packages = re.findall(r'\.package\(url: "https://github\.com/([^"]+)", exact: "([^"]+)"\)', manifest)
    # Every version is exact: of the same tag the same is built again.
    assert len(packages) == manifest.count(".package(url:") > 5
    for repository, version in packages:
        name = repository.rpartition("/")[2].lower()
        if name == "opencombine":
            # Of the libraries only, not of the programs.
            assert name not in components
            continue
        assert components[name]["version"] == version
        assert components[name]["purl"] == f"pkg:swift/github.com/{repository}@{version}"


@pytest.mark.nightly
def test_it_has_the_copies_that_updates_of_debian_do_not_reach(components: dict[str, dict[str, Any]]) -> None:
    objects = (BUILD / "debug" / "mediatord.product" / "Objects.LinkFileList").read_text()
    copies = {"CNIOLLHTTP": "llhttp"}
    for module, name in copies.items():
        assert (f"/{module}.build/" in objects) == (name in components), name
        if name in components:
            assert components[name]["cpe"].startswith("cpe:2.3:a:"), name
    assert components["swift-runtime"]["version"]


@pytest.mark.nightly
def test_it_has_the_debian_packages_of_the_libraries_that_are_loaded(components: dict[str, dict[str, Any]]) -> None:
    for name in ("libc6", "libcurl4", "libsqlite3-0", "libsystemd0", "libstdc++6", "libyaml-0-2"):
        shown = subprocess.run(
            ["dpkg-query", "--show", "--showformat", "${Version}", name], check=True, capture_output=True, text=True
        ).stdout
        assert components[name]["version"] == shown
        assert components[name]["purl"].startswith(f"pkg:deb/debian/{name}@")


def test_the_packages_are_those_of_the_committed_list() -> None:
    check = subprocess.run(
        [REPOSITORY / ".ci" / "check-dependencies"], capture_output=True, text=True, timeout=300
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.nightly
def test_the_programs_are_linked_so_that_nothing_can_redirect_their_calls() -> None:
    folder = package.programs()
    for name in package.PROGRAMS:
        def shown(option: str) -> str:
            return subprocess.run(
                ["readelf", "--wide", option, folder / name], check=True, capture_output=True, text=True, timeout=WAIT
            ).stdout

        # All calls into libraries are resolved at the start, and what they lead through cannot be written after (full RELRO).
        assert "GNU_RELRO" in shown("--program-headers"), name
        assert re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", shown("--dynamic")), name
        # Its own code has no fixed address, and its stack runs no code.
        assert re.search(r"FLAGS_1.*\bPIE\b", shown("--dynamic")), name
        assert re.search(r"GNU_STACK\s.*\bRW\s", shown("--program-headers")), name


@pytest.mark.nightly
def test_a_stripped_program_keeps_the_names_of_its_functions(tmp_path: Path) -> None:
    program = package.programs() / "mediatorctl"
    stripped, names = tmp_path / "mediatorctl", tmp_path / "names.xz"
    subprocess.run([REPOSITORY / ".ci" / "strip", program, stripped], check=True, timeout=WAIT)
    assert stripped.stat().st_size < program.stat().st_size
    subprocess.run([stripped, "version", "--client"], check=True, capture_output=True, timeout=WAIT)
    # gdb and systemd-coredump read this section.
    section = ["--dump-section", f".gnu_debugdata={names}"]
    subprocess.run(["objcopy", *section, stripped, tmp_path / "other"], check=True, timeout=WAIT)
    subprocess.run(["xz", "--decompress", names], check=True, timeout=WAIT)
    shown = subprocess.run(["nm", tmp_path / "names"], check=True, capture_output=True, text=True, timeout=WAIT).stdout
    assert " t $s16MediatorCommands" in shown or " T $s16MediatorCommands" in shown
