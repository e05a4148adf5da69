"""Random expressions of the Common Expression Language, and values for the variables in them."""

import random
import re

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
