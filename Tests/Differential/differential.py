#!/usr/bin/env python3
"""Evaluates generated expressions with this package (`cel-eval`, a process of its own) and with two packages of PyPI,
`cel-python` (module `celpy`) and `common-expression-language` (module `cel`), and tells where they differ.

    swift build -c release --product cel-eval
    python3 -m venv peers && peers/bin/pip install cel-python common-expression-language
    peers/bin/python Tests/Differential/differential.py .build/release/cel-eval --count 100000 --seed 1

A difference counts as explained where a rule below names the fault or the choice of the peer. The exit status is 1
where one is left, or where checked and unchecked evaluation of this package differ.
"""

import argparse
import collections
import datetime
import json
import logging
import math
import re
import subprocess
import sys

import celpy
from celpy import celtypes
from celpy.evaluation import CELEvalError

from generator import Generator

try:
    import cel as rust
except ImportError:
    rust = None

logging.disable(logging.CRITICAL)

# Values in one form: pairs of type and content, as cel-eval writes them.

def canonical(value):
    """The form of cel-eval with the entries of maps sorted and numbers in one spelling."""
    kind = value[0]
    if kind == "double":
        number = float(value[1])
        return ("double", "nan" if math.isnan(number) else repr(number))
    if kind == "list":
        return ("list", tuple(canonical(item) for item in value[1]))
    if kind == "map":
        return ("map", tuple(sorted((canonical(k), canonical(v)) for k, v in value[1])))
    if kind == "bytes":
        return ("bytes", tuple(value[1]))
    if kind == "timestamp":
        return ("timestamp", str(timestamp_seconds(value[1])))
    if kind == "duration":
        return ("duration", repr(float(value[1][:-1])))
    return tuple(value)


def timestamp_seconds(text):
    moment = re.fullmatch(r"(.{19})(\.\d+)?Z", text)
    base = datetime.datetime.fromisoformat(moment[1]).replace(tzinfo=datetime.timezone.utc)
    return int(base.timestamp()) * 10**9 + int(float(moment[2] or 0) * 10**9)


def to_celpy(value):
    kind = value[0]
    make = {
        "int": lambda: celtypes.IntType(int(value[1])), "uint": lambda: celtypes.UintType(int(value[1])),
        "double": lambda: celtypes.DoubleType(float(value[1])), "string": lambda: celtypes.StringType(value[1]),
        "bool": lambda: celtypes.BoolType(value[1]), "list": lambda: celtypes.ListType([to_celpy(v) for v in value[1]]),
        "map": lambda: celtypes.MapType({to_celpy(k): to_celpy(v) for k, v in value[1]}),
        "timestamp": lambda: celtypes.TimestampType(value[1]), "duration": lambda: celtypes.DurationType(value[1]),
    }
    return make[kind]()


def from_celpy(value):
    if value is None:
        return ("null",)
    if isinstance(value, celtypes.BoolType):
        return ("bool", bool(value))
    if isinstance(value, celtypes.UintType):
        return ("uint", str(int(value)))
    if isinstance(value, celtypes.IntType):
        return ("int", str(int(value)))
    if isinstance(value, celtypes.DoubleType):
        return canonical(["double", repr(float(value))])
    if isinstance(value, celtypes.StringType):
        return ("string", str(value))
    if isinstance(value, celtypes.BytesType):
        return ("bytes", tuple(value))
    if isinstance(value, celtypes.ListType):
        return ("list", tuple(from_celpy(item) for item in value))
    if isinstance(value, celtypes.MapType):
        return ("map", tuple(sorted((from_celpy(k), from_celpy(v)) for k, v in value.items())))
    if isinstance(value, celtypes.TimestampType):
        moment = value.astimezone(datetime.timezone.utc)
        return ("timestamp", str(int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000))
    # Some operations give values of Python itself.
    return from_python(value)


def to_rust(value):
    kind = value[0]
    if kind == "int":
        return int(value[1])
    if kind == "double":
        return float(value[1])
    if kind in ("string", "bool"):
        return value[1]
    if kind == "list":
        return [to_rust(item) for item in value[1]]
    if kind == "map":
        return {to_rust(k): to_rust(v) for k, v in value[1]}
    if kind == "timestamp":
        return datetime.datetime.fromtimestamp(timestamp_seconds(value[1]) / 10**9, datetime.timezone.utc)
    if kind == "duration":
        return datetime.timedelta(seconds=float(value[1][:-1]))
    raise ValueError(kind)


def from_python(value):
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int):
        return ("int", str(value))
    if isinstance(value, float):
        return canonical(["double", repr(value)])
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, bytes):
        return ("bytes", tuple(value))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(item_from_python(item) for item in value))
    if isinstance(value, dict):
        return ("map", tuple(sorted((item_from_python(k), item_from_python(v)) for k, v in value.items())))
    if isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.timezone.utc)
        return ("timestamp", str(int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000))
    if isinstance(value, datetime.timedelta):
        return ("duration", repr(value.total_seconds()))
    return ("other", repr(value))


def item_from_python(value):
    known = value.__class__.__module__.startswith("celpy")
    return from_celpy(value) if known else from_python(value)


def without_unsigned(value):
    """The peer in Rust gives integers of both types as Python's `int`."""
    if value[0] == "uint":
        return ("int", value[1])
    if value[0] == "list":
        return ("list", tuple(without_unsigned(item) for item in value[1]))
    if value[0] == "map":
        return ("map", tuple(sorted((without_unsigned(k), without_unsigned(v)) for k, v in value[1])))
    return value


class Celpy:
    name = "cel-python"

    def __init__(self):
        self.environment = celpy.Environment()

    def evaluate(self, source, bindings):
        try:
            program = self.environment.program(self.environment.compile(source))
            return from_celpy(program.evaluate({name: to_celpy(value) for name, value in bindings.items()}))
        except (CELEvalError, celpy.CELParseError):
            return ("error",)
        except Exception as error:  # The peer lets errors of Python through.
            return ("error", type(error).__name__)

    def same(self, ours, theirs):
        return ours == theirs


class Rust:
    name = "common-expression-language"

    def evaluate(self, source, bindings):
        # Unsigned numbers cannot be given to it.
        try:
            return from_python(rust.evaluate(source, {name: to_rust(value) for name, value in bindings.items() if name != "u"}))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return ("error", type(error).__name__)

    def same(self, ours, theirs):
        return without_unsigned(ours) == without_unsigned(theirs)


class Subject:
    """cel-eval, as a process."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, source, bindings, explain=False):
        request = {"expr": source, "bindings": bindings, "explain": explain}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def outcome(answer):
    """A value in canonical form, or `("error", code)`."""
    if "value" in answer:
        return canonical(answer["value"])
    return ("error", answer.get("error") or answer.get("problem"))


def agree(peer, ours, theirs):
    return (ours[0] == "error" and theirs[0] == "error") or peer.same(ours, theirs)


def reduce(subject, peer, source, bindings):
    """The smallest subexpression that differs, with its operands replaced by their values where it differs still."""
    answer = subject.ask(source, bindings, explain=True)
    best = (source, outcome(answer["unchecked"]), peer.evaluate(source, bindings))
    for part in sorted(answer.get("parts", []), key=lambda part: len(part["text"])):
        text = part["text"]
        if len(text) >= len(best[0]):
            break
        ours, theirs = outcome(subject.ask(text, bindings)["unchecked"]), peer.evaluate(text, bindings)
        if not agree(peer, ours, theirs):
            best = (text, ours, theirs)
            break
    text = best[0].encode()
    parts = subject.ask(best[0], bindings, explain=True).get("parts", [])
    for part in sorted((p for p in parts if p["depth"] == 1), key=lambda part: -part["start"]):
        if part.get("value") is not None:
            text = text[: part["start"]] + f"({part['value']})".encode() + text[part["end"] :]
    plain = text.decode()
    ours, theirs = outcome(subject.ask(plain, bindings)["unchecked"]), peer.evaluate(plain, bindings)
    return (plain, ours, theirs) if not agree(peer, ours, theirs) else best


def explained(peer, text, ours, theirs):
    """The reason for a reduced difference, or None."""
    for rule, reason in RULES[peer.name]:
        if rule(text, ours, theirs):
            return reason
    return None


def fails(value):
    return value[0] == "error"


def only_ours(*codes):
    """Only this package fails, with one of the codes."""
    return lambda text, ours, theirs: fails(ours) and not fails(theirs) and ours[1] in codes


def matching(pattern, which=None):
    """The reduced expression matches; `which` fails: "ours", "theirs", "none", or any side."""
    sides = {"ours": (True, False), "theirs": (False, True), "none": (False, False)}

    def rule(text, ours, theirs):
        return (which is None or sides[which] == (fails(ours), fails(theirs))) and re.search(pattern, text, re.DOTALL)

    return rule


def holds_error(text, ours, theirs):
    return fails(ours) and "CELEvalError" in repr(theirs)


def zero_divided(text, ours, theirs):
    return "/" in text and re.search(r"'-?(inf|nan)'", repr((ours, theirs))) is not None


# What a reduced difference looks like, and why. Each reason is a fault or a choice of the peer, seen against the
# specification and its conformance suite.
RULES = {
    "cel-python": [
        (holds_error, "an error becomes an element of a list or map, or the result"),
        (zero_divided, "doubles: division by zero is an error, or infinity without regard to signs"),
        (matching(r"\bstring\("), "string(): Python's spelling of bool and double, fractions of seconds dropped, offsets kept"),
        (matching(r"getMilliseconds", "none"), "getMilliseconds() of a duration is the whole of it, not the part below a second"),
        (matching(r"\bint\(", "none"), "int() rounds timestamps before 1970 towards 1970, not towards the past"),
        (matching(r"\bhas\(", "theirs"), "has() of a number cannot be read, even where it is not evaluated"),
        (matching(r"\[\(?-?\d+\.\d+\)?\]", "theirs"), "a double is no position, even a whole one"),
        (matching(r"\.(contains|startsWith|endsWith|get\w+|matches|filter|map|all|exists|exists_one)\(", "theirs"),
         "a result of + or - is a plain value of Python, on which functions fail"),
        (matching(r"(==|!=|<|>|<=|>=| in )", "theirs"), "values of different types are not compared; bytes have no order"),
        (only_ours("duplicateKey"), "a key given twice in a map is accepted"),
        (matching(r"\bhas\(", "ours"), "has() absorbs errors of its operand, and takes values without fields"),
        (matching(r"\[", "ours"), "negative positions, and positions in strings and bytes, are accepted"),
        (only_ours("noSuchOverload", "unknownVariable"), "operands of different types, or of no type that fits, are accepted"),
        (only_ours("overflow"), "out of range: negative fractions to uint, and other conversions, are accepted"),
        (matching(r"true|false", "none"), "a bool is a number"),
        (only_ours("noSuchKey", "divisionByZero", "indexOutOfRange", "invalidConversion"),
         "an error within an operand is dropped, or a conversion takes what Python's takes"),
        (matching(r"getFullYear|getMonth|getDate|getDay|getHours|getMinutes|getSeconds", "none"),
         "parts of timestamps before 1970 or with fractions"),
    ],
    "common-expression-language": [
        (only_ours("duplicateKey"), "a key given twice in a map is accepted"),
        (matching(r"\.get\w+\('", "theirs"), "functions of timestamps take no time zone"),
        (matching(r"getMilliseconds", "none"), "getMilliseconds() of a duration is the whole of it, not the part below a second"),
        (matching(r"\.get\w+\(", "none"), "functions of timestamps give the parts at the offset they were written with, not in UTC"),
        (only_ours("overflow"), "the negation of the least int is itself"),
        (matching(r"\bstring\(", "theirs"), "string() takes no bool"),
        (matching(r"\bstring\("), "string(): Go's spelling of durations (wrong below zero), +00:00 for Z, bytes that are not UTF-8"),
        (matching(r"\bint\(", "theirs"), "int() takes no timestamp"),
        (matching(r"\bsize\("), "size() of a string counts bytes"),
        (only_ours("noSuchOverload", "unknownVariable", "noSuchField"), "operands of types that no function takes are accepted"),
        (matching(r"\[\(?-?\d+\.\d+\)?\]", "theirs"), "a double is no position, even a whole one"),
        (matching(r" in ", "theirs"), "in: not all types are looked for"),
        (matching(r"(==|!=|<|>|<=|>=)", None), "comparison of values of different types, or of bytes"),
    ],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=15)
    parser.add_argument("--peer", choices=["celpy", "rust", "both"], default="both")
    arguments = parser.parse_args()
    peers = []
    if arguments.peer in ("celpy", "both"):
        peers.append(Celpy())
    if arguments.peer in ("rust", "both") and rust:
        peers.append(Rust())
    generator = Generator(arguments.seed)
    subject = Subject(arguments.program)
    counts = {peer.name: collections.Counter() for peer in peers}
    own = collections.Counter()
    shown = collections.Counter()
    unexplained = 0
    for _ in range(arguments.count):
        source, bindings = generator.expression(), generator.bindings()
        answer = subject.ask(source, bindings)
        ours, typed = outcome(answer["unchecked"]), outcome(answer["checked"])
        own["evaluates" if ours[0] != "error" else "error"] += 1
        if "problem" in answer["unchecked"]:
            unexplained += 1
            print("rejected:", source, answer["unchecked"]["message"])
        if "problem" in answer["checked"]:
            own["rejected by the checker"] += 1
        elif ours != typed:
            own["checked and unchecked differ"] += 1
            unexplained += 1
            print("checked and unchecked differ:", source, json.dumps(bindings), ours, typed)
        for peer in peers:
            if peer.name.startswith("common") and re.search(r"\bu\b", source):
                counts[peer.name]["left out: reads an unsigned variable"] += 1
                continue
            theirs = peer.evaluate(source, bindings)
            if agree(peer, ours, theirs):
                counts[peer.name]["agree"] += 1
                continue
            text, ours_reduced, theirs_reduced = reduce(subject, peer, source, bindings)
            reason = explained(peer, text, ours_reduced, theirs_reduced)
            counts[peer.name]["differ: " + reason if reason else "DIFFER, UNEXPLAINED"] += 1
            if not reason:
                unexplained += 1
                shown[peer.name] += 1
                if shown[peer.name] <= arguments.show:
                    used = {name: value for name, value in bindings.items() if re.search(rf"\b{name}\b", text)}
                    print(f"{peer.name}: {text}  {json.dumps(used, ensure_ascii=False)}\n    ours {ours_reduced} theirs {theirs_reduced}")
    subject.close()
    print(dict(own))
    for name, counter in counts.items():
        print(name)
        for reason, count in counter.most_common():
            print(f"    {count:7} {reason}")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
