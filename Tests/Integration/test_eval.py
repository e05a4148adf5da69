"""`mediatorctl eval`, which needs no daemon."""

from __future__ import annotations

import json
import subprocess

import pytest

from daemon import Binaries
from waiting import WAIT


def evaluate(binaries: Binaries, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binaries.mediatorctl, "eval", *arguments], capture_output=True, text=True, timeout=WAIT)


@pytest.mark.parametrize(
    ("expression", "given", "result"),
    [
        ("now > timestamp(\"2026-01-01T00:00:00Z\") && now < timestamp(\"2100-01-01T00:00:00Z\")", [], "true"),
        ("now + 1", ["now=2"], "3"),
        ("1 + 2 * 3", [], "7"),
        ("state.failures < 3", ["state={\"failures\": 2}"], "true"),
        ("name.size()", ["name=not json"], "8"),
        ("[1, 2, 3].exists(x, x > limit)", ["limit=2"], "true"),
        ("\"a b\".matches(\"a.b\")", [], "true"),
        ("duration(\"90m\") > duration(\"1h\")", [], "true"),
        ("{\"a\": 1}[?\"b\"].orValue(0)", [], "0"),
    ],
)
def test_values(binaries: Binaries, expression: str, given: list[str], result: str) -> None:
    done = evaluate(binaries, expression, *(word for text in given for word in ("--with", text)))
    assert (done.returncode, done.stdout, done.stderr) == (0, result + "\n", "")


def test_json_and_explanation(binaries: Binaries) -> None:
    done = evaluate(binaries, "a.b < 3 && true", "--with", "a={\"b\": 5}", "--json", "--explain")
    answer = json.loads(done.stdout)
    assert (answer["value"], answer["type"]) == (False, "bool")
    assert {"text": "a.b", "depth": 2, "value": 5} in answer["parts"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["1 +"], 1, "1:4: error"),
        (["a.failurs", "--with", "a={\"failures\": 1}"], 1, "did you mean 'failures'"),
        (["1 / 0"], 1, "division by zero"),
        (["a", "--with", "a"], 2, "NAME=JSON"),
        (["a", "--with", "a=1", "--with", "a=2"], 2, "twice"),
        ([], 2, "expression"),
        (["a"], 1, "[unknown-variable]\n  a\n  ^\nA variable is given its value with --with NAME=JSON.\n"),
        (["a.x", "--with", "a={x: 2}"], 2, "--with a= is no JSON: "),
        (["a[0]", "--with", "a=[1,"], 2, "--with a= is no JSON: "),
        (["a.b", "--with", "a={\"c\": 1}"], 1, "[unknown-field]"),
        (["1 + \"a\""], 1, "[wrong-type]"),
    ],
)
def test_mistakes(binaries: Binaries, arguments: list[str], code: int, message: str) -> None:
    done = evaluate(binaries, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_problems_have_the_codes_of_a_configuration(binaries: Binaries) -> None:
    done = evaluate(binaries, "nowhere + 1 && state.x", "--with", "state={\"y\": 1}", "--json")
    error = json.loads(done.stderr)["error"]
    assert [problem["code"] for problem in error["problems"]] == ["unknown-variable", "unknown-field"], error
    assert error["hint"] == "A variable is given its value with --with NAME=JSON."
