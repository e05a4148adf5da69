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
import random
import re
import subprocess
import sys

import celpy
from celpy import celtypes
from celpy.evaluation import CELEvalError

try:
    import cel as rust
except ImportError:
    rust = None

logging.disable(logging.CRITICAL)

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Generator:
    """Random expressions, most of them well typed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.locals = []

    def pick(self, *options):
        return self.random.choice(options)

    def bindings(self):
        r = self.random
        number = lambda: r.choice([0, 1, 2, 3, -1, -7, 10, 100, r.randint(-1000, 1000), INT_MAX, INT_MIN, r.randint(INT_MIN, INT_MAX)])
        text = lambda: r.choice(["", "a", "b", "ab", "abc", "é", "😀x", "A b", "a,b,c", "12", "-3", "1.5", "true", r.choice("xyz") * r.randint(1, 5)])
        return {
            "i": ["int", str(number())],
            "j": ["int", str(r.randint(-5, 5))],
            "u": ["uint", str(r.choice([0, 1, 2, 7, UINT_MAX, r.randint(0, 100)]))],
            "d": ["double", repr(float(r.choice([0.0, 1.0, -1.5, 0.1, 2.5, 1e10, -1e-5, r.uniform(-100, 100)])))],
            "s": ["string", text()],
            "b": ["bool", r.random() < 0.5],
            "l": ["list", [["int", str(r.randint(-3, 5))] for _ in range(r.randint(0, 4))]],
            "ls": ["list", [["string", text()] for _ in range(r.randint(0, 3))]],
            "m": ["map", [[["string", k], ["int", str(r.randint(-3, 5))]] for k in r.sample(["a", "b", "c", "ab"], r.randint(0, 3))]],
            "t": ["timestamp", r.choice(["2009-02-13T23:31:30Z", "2024-02-29T00:00:00Z", "1999-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z"])],
            "p": ["duration", r.choice(["0s", "1s", "90s", "-5s", "1.5s", "86400s"])],
        }

    def expression(self, depth=4):
        self.locals = []
        return self.make(self.pick("int", "uint", "double", "string", "bool", "bool", "bool", "list", "strings", "map", "timestamp", "duration"), depth)

    def make(self, kind, depth):
        r = self.random
        if r.random() < 0.03:
            kind = self.pick("int", "uint", "double", "string", "bool", "list", "map", "null", "bytes")
        if depth <= 0 or r.random() < 0.12:
            return self.atom(kind)
        return getattr(self, "make_" + kind, self.atom_of(kind))(depth - 1)

    def atom_of(self, kind):
        return lambda depth: self.atom(kind)

    def atom(self, kind):
        r = self.random
        named = [name for name, known in self.locals if known == kind]
        if named and r.random() < 0.6:
            return r.choice(named)
        if kind == "int":
            return self.pick("i", "j", "j", "0", "1", "2", "3", "-1", "-4", "7", "10", "9223372036854775807", "0x1F", str(r.randint(-50, 50)))
        if kind == "uint":
            return self.pick("u", "0u", "1u", "5u", "18446744073709551615u", "0xFu")
        if kind == "double":
            return self.pick("d", "0.0", "1.0", "2.5", "-0.5", "1e3", "3.25", "0.1")
        if kind == "string":
            return self.pick("s", "s", "''", "'a'", "'abc'", "\"b\"", "'é'", "'12'", "r'a\\n'", "'a\\tb'", "'\\u00e9'", "'2.5'", "'true'")
        if kind == "bool":
            return self.pick("b", "true", "false", "b")
        if kind == "list":
            return self.pick("l", "l", "[]", "[1]", "[1, 2, 3]", "[j, i]")
        if kind == "strings":
            return self.pick("ls", "['a', 'b']", "[]", "[s]")
        if kind == "map":
            return self.pick("m", "m", "{}", "{'a': 1}", "{'a': j, 'b': 2}")
        if kind == "timestamp":
            return self.pick("t", "timestamp('2020-06-15T12:30:45Z')", "timestamp('2020-06-15T12:30:45+02:00')")
        if kind == "duration":
            return self.pick("p", "duration('1h30m')", "duration('250ms')", "duration('-10s')")
        if kind == "bytes":
            return self.pick("b'abc'", "b''", "b'\\xff'", "bytes(s)")
        return "null"

    def of(self, kind, depth):
        text = self.make(kind, depth)
        return f"({text})" if re.search(r"[^\w'\".]", text) and not re.fullmatch(r"\w+\([^()]*\)|\[[^\[\]]*\]", text) else text

    def make_int(self, depth):
        choice = self.random.randint(0, 13)
        if choice < 5:
            return f"{self.of('int', depth)} {self.pick('+', '-', '*', '/', '%')} {self.of('int', depth)}"
        if choice == 5:
            return f"size({self.make(self.pick('string', 'list', 'map', 'strings', 'bytes'), depth)})"
        if choice == 6:
            return f"int({self.make(self.pick('double', 'uint', 'string', 'int', 'timestamp'), depth)})"
        if choice == 7:
            return f"{self.of('list', depth)}[{self.make('int', depth)}]"
        if choice == 8:
            return f"{self.of('map', depth)}[{self.make('string', depth)}]"
        if choice == 9:
            return f"{self.of('map', depth)}.{self.pick('a', 'b', 'c')}"
        if choice == 10:
            return self.conditional("int", depth)
        if choice == 11:
            return f"-{self.of('int', depth)}"
        if choice == 12:
            part = self.pick("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds")
            zone = self.pick("", "", "'UTC'", "'+02:30'", "'America/New_York'", "'Asia/Kathmandu'")
            return f"{self.of('timestamp', depth)}.{part}({zone})"
        return f"{self.of('duration', depth)}.{self.pick('getHours', 'getMinutes', 'getSeconds', 'getMilliseconds')}()"

    def make_uint(self, depth):
        choice = self.random.randint(0, 4)
        if choice < 3:
            return f"{self.of('uint', depth)} {self.pick('+', '-', '*', '/', '%')} {self.of('uint', depth)}"
        if choice == 3:
            return f"uint({self.make(self.pick('int', 'double', 'string'), depth)})"
        return self.conditional("uint", depth)

    def make_double(self, depth):
        choice = self.random.randint(0, 5)
        if choice < 3:
            return f"{self.of('double', depth)} {self.pick('+', '-', '*', '/')} {self.of('double', depth)}"
        if choice == 3:
            return f"double({self.make(self.pick('int', 'uint', 'string', 'double'), depth)})"
        if choice == 4:
            return f"-{self.of('double', depth)}"
        return self.conditional("double", depth)

    def make_string(self, depth):
        choice = self.random.randint(0, 4)
        if choice < 2:
            return f"{self.of('string', depth)} + {self.of('string', depth)}"
        if choice == 2:
            return f"string({self.make(self.pick('int', 'uint', 'bool', 'string', 'double', 'timestamp', 'duration', 'bytes'), depth)})"
        if choice == 3:
            return f"{self.of('strings', depth)}[{self.pick('0', '1', 'j')}]"
        return self.conditional("string", depth)

    def make_bool(self, depth):
        choice = self.random.randint(0, 14)
        if choice < 3:
            return f"{self.of('bool', depth)} {self.pick('&&', '||')} {self.of('bool', depth)}"
        if choice == 3:
            return f"!{self.of('bool', depth)}"
        if choice < 7:
            kind = self.pick("int", "uint", "double", "string", "timestamp", "duration", "bool", "bytes")
            return f"{self.of(kind, depth)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.of(kind, depth)}"
        if choice == 7:
            kind = self.pick("list", "map", "strings")
            return f"{self.of(kind, depth)} {self.pick('==', '!=')} {self.of(kind, depth)}"
        if choice == 8:
            return self.pick(
                lambda: f"{self.of('int', depth)} in {self.of('list', depth)}",
                lambda: f"{self.of('string', depth)} in {self.of('strings', depth)}",
                lambda: f"{self.of('string', depth)} in {self.of('map', depth)}",
            )()
        if choice == 9:
            return f"{self.of('string', depth)}.{self.pick('startsWith', 'endsWith', 'contains')}({self.make('string', depth)})"
        if choice == 10:
            return f"has({self.of('map', depth)}.{self.pick('a', 'b', 'z')})"
        if choice == 11:
            return self.macro(self.pick("all", "exists", "exists_one"), "bool", depth)
        if choice == 12:
            return self.conditional("bool", depth)
        if choice == 13:
            pattern = self.pick("'a+'", "'^[a-z]*$'", "'b|c'", "'.'", "'^$'", "'\\\\d+'")
            return f"{self.of('string', depth)}.matches({pattern})"
        numbers = ("int", "uint", "double")
        return f"dyn({self.make(self.pick(*numbers), depth)}) {self.pick('==', '<', '>', '!=')} dyn({self.make(self.pick(*numbers), depth)})"

    def make_list(self, depth):
        choice = self.random.randint(0, 4)
        if choice == 0:
            return f"{self.of('list', depth)} + {self.of('list', depth)}"
        if choice == 1:
            return f"[{', '.join(self.make('int', depth) for _ in range(self.random.randint(0, 3)))}]"
        if choice == 2:
            return self.macro("filter", "bool", depth)
        if choice == 3:
            return self.macro("map", "int", depth)
        return self.conditional("list", depth)

    def make_strings(self, depth):
        if self.random.random() < 0.5:
            return f"[{', '.join(self.make('string', depth) for _ in range(self.random.randint(0, 3)))}]"
        return self.conditional("strings", depth)

    def make_map(self, depth):
        if self.random.random() < 0.5:
            entries = (f"{self.pick(repr('a'), repr('b'), repr('c'), 's')}: {self.make('int', depth)}" for _ in range(self.random.randint(0, 3)))
            return "{" + ", ".join(entries) + "}"
        return self.conditional("map", depth)

    def make_timestamp(self, depth):
        if self.random.random() < 0.7:
            return f"{self.of('timestamp', depth)} {self.pick('+', '-')} {self.of('duration', depth)}"
        return self.conditional("timestamp", depth)

    def make_duration(self, depth):
        choice = self.random.randint(0, 3)
        if choice == 0:
            return f"{self.of('timestamp', depth)} - {self.of('timestamp', depth)}"
        if choice < 3:
            return f"{self.of('duration', depth)} {self.pick('+', '-')} {self.of('duration', depth)}"
        return self.conditional("duration", depth)

    def conditional(self, kind, depth):
        return f"{self.of('bool', depth)} ? {self.of(kind, depth)} : {self.of(kind, depth)}"

    def macro(self, name, body, depth):
        variable = self.pick("x", "y", "z")
        source = self.of("list", depth)
        self.locals.append((variable, "int"))
        text = f"{source}.{name}({variable}, {self.make(body, depth)})"
        self.locals.pop()
        return text


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
