"""The JSON Schema for editors, held against configurations by a validator that is not ours."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from conftest import REPOSITORY
from daemon import Binaries
from pages import DOCUMENTATION, blocks, section, side_effects
from waiting import WAIT

CORPUS = REPOSITORY / "Tests" / "Corpus"

# Kinds of mistakes that need no names, types or expressions to be seen.
SHAPES = {"wrong-shape", "unknown-key", "missing-key", "empty", "invalid-name", "reserved-name", "link-form"}
SHAPES |= {"conflicting-keys", "unknown-choice", "unknown-effect", "unknown-parameter", "unknown-outcome"}
SHAPES |= {"unknown-type", "out-of-range", "missing-parameter"}

# Broken configurations in which only the compiler sees what is wrong, though the kind of mistake is one of those above.
UNSEEN = {
    "feedback-every-too-short", "feedback-onstate-any-among-others", "feedback-timeout-zero", "link-loop-limit-no-time",
    "link-loop-limit-zero", "system-field-type-too-deep", "system-initial-any",
    "watchdog-too-short", "handling-retry-delays-crossed", "handling-throttle-zero", "handling-timeout-zero", "handling-maxwait-too-short",
    "handling-maxwait-zero", "handling-maxwait-too-long",
    "supervision-delay-too-long", "supervision-idle-delay", "supervision-idle-limit", "supervision-delays-crossed", "supervision-limit-too-many", "system-ready-any", "transition-set-huge", "transition-stay-with-set", "transition-target-any",
    # Sizes are texts with a unit.
    "limits-of-states-beyond-numbers", "limits-of-states-too-small", "limits-of-value-too-large", "limits-of-value-too-small",
    # Names that may be those of states and events.
    "slip-events-within-states", "slip-line-of-events-missing", "transition-on-written-out", "events-missing",
    "always-first", "always-for-negative", "always-stay-with-for", "always-without-state",
    # What names mean among the states.
    "compound-final-at-the-top-with-rules", "compound-final-compound", "compound-final-with-rules", "compound-final-with-several-rules", "compound-initial-of-a-leaf", "compound-history-initial-of-a-leaf",
    "compound-list-with-any", "compound-name-of-history", "was-compound-state",
    # What a name is beside others.
    "was-field-that-exists", "was-field-of-a-state-inside", "was-state-that-exists", "was-system-that-exists",
    "was-of-a-template-without-at",
    # What depends on the other parts.
    "input-maybe-without-value", "input-without-bus-value", "input-without-default",
    # Keys that depend on how the part is named.
    "bus-without-for", "parameters-without-template",
}


@pytest.fixture(scope="module")
def validator(binaries: Binaries) -> Draft202012Validator:
    text = subprocess.run([binaries.mediatorctl, "schema"], capture_output=True, text=True, timeout=WAIT, check=True).stdout
    assert text == (DOCUMENTATION / "configuration.schema.json").read_text()
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(scope="module")
def drop_in(binaries: Binaries) -> Draft202012Validator:
    command = [binaries.mediatorctl, "schema", "--drop-in"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=True).stdout
    assert text == (DOCUMENTATION / "drop-in.schema.json").read_text()
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def documents(text: str) -> list[object]:
    """The documents of a file, read by YAML 1.2's core schema."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor("!replace", lambda loader, node: loader.construct_mapping(node, deep=True))
    # What a value from elsewhere will be is not known here: it is as an expression is.
    for tag in ("!env", "!credential"):
        yaml.constructor.add_constructor(tag, lambda loader, node: "${elsewhere}")
    # A list of states that stands where a key does is one text for a schema.
    lists = re.sub(r"^( +)(\[[A-Za-z0-9_., ]+\]):", r'\1"\2":', text, flags=re.MULTILINE)
    return list(yaml.load_all(lists))


def errors(validator: Draft202012Validator, text: str) -> list[str]:
    return [error.message for document in documents(text) for error in validator.iter_errors(document)]


@pytest.mark.parametrize("path", sorted((REPOSITORY / "Config").glob("*.yaml")), ids=lambda path: path.name)
def test_the_shipped_configuration_fits(validator: Draft202012Validator, path: Path) -> None:
    assert errors(validator, path.read_text()) == []


def bare(text: str) -> str:
    """What a text says, without Markdown, quotes, and how it begins and ends."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`'\"]", "", text).strip(". ").lower()


def told(page: str, title: str) -> tuple[dict[str, str], dict[str, str]]:
    """What the guide says of the parameters of a side effect, and of when it has which outcome."""
    text = section(page, title)
    parameters: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]
        for row in rows:
            names = re.findall(r"`(\w+)`", row[0])
            if "thresholds" in "".join(row[1:]).lower() or "threshold]" in row[1]:
                own = told(page, "Thresholds")
                parameters |= {name: own[0][name] for name in names if name in own[0]}
                outcomes |= {name: own[1][name] for name in names if name in own[1]}
            elif head[0] == "parameter":
                parameters |= {name: bare(row[-1]) for name in names}
            elif head[0] == "outcome":
                outcomes |= {name: bare(row[1]) for name in names}
    return parameters, outcomes


def test_editors_are_told_of_side_effects_what_the_guide_tells(validator: Draft202012Validator) -> None:
    guide = side_effects()
    definitions = validator.schema["$defs"]
    list_of_all = dict(re.findall(r"^\| \[`(\w+)`\]\(SideEffects/\w+\.md#\w+\) \| (.*) \|$", guide, re.MULTILINE))
    assert len(list_of_all) > 15
    assert set(list_of_all) == {name.removeprefix("effect-") for name in definitions if name.startswith("effect-")} | {"emit"}
    checked = 0
    for name, summary in list_of_all.items():
        if name == "emit":
            continue
        schema = definitions[f"effect-{name}"]
        assert bare(schema["description"]) == bare(summary), name
        whole = schema["anyOf"][-1] if "anyOf" in schema else schema
        parameters, outcomes = told(guide, name)
        said = {key: bare(child["description"].partition(" By default ")[0]) for key, child in whole["properties"].items()}
        assert said == parameters, name
        beside = definitions["feedback"]["dependentSchemas"].get(name, {}).get("properties", {})
        for key, child in beside.items():
            if child is False:
                continue
            when, result = re.fullmatch(r"(?:When )?(.*?)\. In 'result': (.*)\.", child["description"]).groups()
            assert bare(when) == {"anything else": "in any other case"}.get(outcomes[key], outcomes[key]), (name, key)
            assert re.search(r"\w+ \(", result), (name, key)
            checked += 1
        assert {key for key, child in beside.items() if child} == set(outcomes), name
    assert checked > 40


# The pages of the reference that describe each part of a configuration.
PARTS = {
    "system": ("Systems", "Supervision"), "rule": ("Systems",), "feedback": ("Feedbacks", "Schedules"), "emission": ("Feedbacks",),
    "bus": ("BusesAndLinks",), "link": ("BusesAndLinks",), "loop": ("BusesAndLinks",), "wiring": ("Configuration", "Access"),
    "supervision": ("Supervision",), "group": ("Supervision",), "parameter": ("Templates",), "grant": ("Access",),
    "injectGrant": ("Access",), "alwaysRule": ("Systems",),
}


def nodes(schema: dict, node: object, follow: bool = True) -> Iterator[dict]:
    """The parts of a node of the schema; of those that it refers to, only what takes its place."""
    if isinstance(node, dict):
        if "$ref" in node and follow:
            yield from nodes(schema, schema["$defs"][node["$ref"].rpartition("/")[2]], False)
        yield node
        for child in node.values():
            yield from nodes(schema, child, False)
    elif isinstance(node, list):
        for child in node:
            yield from nodes(schema, child, False)


@pytest.mark.parametrize("part", PARTS)
def test_the_reference_has_every_key_and_choice(validator: Draft202012Validator, part: str) -> None:
    schema = validator.schema
    page = "".join((DOCUMENTATION / "Reference" / f"{name}.md").read_text() for name in PARTS[part])
    heads = set(re.findall(r"`(\w+)(?::[^`]*)?`", " ".join(re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE))))
    effects = {name.removeprefix("effect-") for name in schema["$defs"] if name.startswith("effect-")} | {"emit"}
    found = 0
    for node in nodes(schema, {"$ref": f"#/$defs/{part}"}):
        keys = set(node.get("properties", {}))
        if part == "feedback":
            # Side effects and their outcomes have pages of their own.
            keys = {key for key in keys - effects if not key.startswith("on")}
        assert keys <= heads, keys - heads
        words = {word for word in node.get("enum", []) if isinstance(word, str)}
        assert all(re.search(rf"`({re.escape(word)}|[^`]*\b{re.escape(word)})`", page) for word in words), words
        found += len(keys)
    assert found


# The page about a daemon of one's own uses kinds and side effects that only that daemon has; test_own_daemon.py checks it.
EXAMPLES = {
    page.relative_to(DOCUMENTATION).as_posix(): page.read_text()
    for page in sorted(DOCUMENTATION.rglob("*.md")) if page.name != "OwnDaemon.md"
}
EXAMPLES = {page: text for page, text in EXAMPLES.items() if blocks(text, "yaml")}


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_valid_examples_of_the_documentation_fit(validator: Draft202012Validator, page: str) -> None:
    parts = [part for part in EXAMPLES[page].split("\n## ") if not re.match(r"`[a-z-]+`\n\nError", part)]
    for example in blocks("\n## ".join(parts), "yaml"):
        # A drop-in need not say what its file says, and may remove it.
        if is_drop_in(example):
            continue
        assert errors(validator, example) == [], example


def is_drop_in(example: str) -> bool:
    return "the drop-in" in example.split("\n", 1)[0] or ".d/" in example.split("\n", 1)[0]


def test_what_fits_a_file_and_each_drop_in_of_the_documentation_fit_a_drop_in(drop_in: Draft202012Validator) -> None:
    for path in sorted((REPOSITORY / "Config").glob("*.yaml")):
        assert errors(drop_in, path.read_text()) == [], path
    found = 0
    for text in EXAMPLES.values():
        for example in blocks(text, "yaml"):
            if is_drop_in(example):
                found += 1
                assert errors(drop_in, example) == [], example
    assert found > 0


@pytest.mark.parametrize(
    "text",
    [
        "system: a\nstates: null",
        "system: a\nfeedbacks: { f: null, g: { run: { timeout: 1h, directory: null } } }",
        "system: a\nfeedbacks: { f: { every: null, after: 5s, tcp: { port: 22 } } }",
        "links: { l: { when: null }, m: { to: other } }\nbuses: { b: { initial: null, limit: 3 } }",
        "groups: { g: { strategy: rest } }",
        "store: null\nbuses: { b: { persist: null } }",
    ],
)
def test_a_part_is_enough_for_a_drop_in(drop_in: Draft202012Validator, validator: Draft202012Validator, text: str) -> None:
    assert errors(drop_in, text) == []
    assert errors(validator, text) != []


@pytest.mark.parametrize(
    "text",
    [
        "system: a\nfeedback: {}",
        "system: a\nfeedbacks: { f: { every: 5x } }",
        "system: a\nfeedbacks: { f: { onSucess: E } }",
        "links: { l: { strategy: one } }",
        "groups: { g: { strategy: some } }",
        "buses: { b: { kind: current } }",
        "buses: { b: { persist: state } }",
        "system: a\npersist: true",
        "store: { default: bus }",
    ],
)
def test_what_no_file_may_say_no_drop_in_may(drop_in: Draft202012Validator, text: str) -> None:
    assert errors(drop_in, text) != []


def shape_mistakes() -> list[str]:
    names = []
    for path in sorted(CORPUS.glob("*.txt")):
        codes = re.findall(r"^\S+: (?:error|warning): .* \[([a-z-]+)\]$", path.read_text(), re.MULTILINE)
        name = path.stem
        if name.split("-")[0] in ("yaml", "bytes", "files", "whole", "several") or name in UNSEEN:
            continue
        if codes and set(codes) <= SHAPES:
            names.append(name)
    assert len(names) >= 80
    return names


@pytest.mark.parametrize("name", shape_mistakes())
def test_mistakes_of_shape_are_seen(validator: Draft202012Validator, name: str) -> None:
    assert errors(validator, (CORPUS / f"{name}.yaml").read_text()) != []


def test_what_is_only_a_warning_is_accepted(validator: Draft202012Validator) -> None:
    for path in sorted(CORPUS.glob("*.txt")):
        text = path.read_text()
        file = CORPUS / f"{path.stem}.yaml"
        if ": error: " in text or not file.exists():
            continue
        try:
            assert errors(validator, file.read_text()) == [], path.stem
        except YAMLError:
            pass
