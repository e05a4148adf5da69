"""Measures the peers of PyPI with the expressions of this benchmark: name, nanoseconds for one evaluation."""

import timeit

import cel as rust
import celpy
from celpy import celtypes

CASES = [
    ("guard", 'state.failures < 3 && event.reason != "maintenance"'),
    ("arithmetic", "(x + 3) * y - x / 2 + y % 7"),
    ("concatenation", 'state.name + ": " + event.reason + " after " + string(state.failures)'),
    ("comprehension of 100", "numbers.filter(n, n % 2 == 0).map(n, n * n).exists(n, n == 9604)"),
]
VALUES = {
    "state": {"failures": 2, "name": "uplink"}, "event": {"reason": "timed out", "tags": ["a"]},
    "x": 42, "y": 7, "numbers": list(range(100)),
}


def best(name, function, number):
    seconds = min(timeit.repeat(function, number=number, repeat=5)) / number
    print(f"{name}\t{seconds * 1e9:.0f}")


environment = celpy.Environment()
typed = {name: celpy.json_to_cel(value) for name, value in VALUES.items()}
context = rust.Context(VALUES)
for name, source in CASES:
    number = 20 if name.startswith("compre") else 500
    best(f"{name}, compiled, cel-python", lambda: environment.program(environment.compile(source)), 100)
    program = environment.program(environment.compile(source))
    best(f"{name}, evaluated, cel-python", lambda: program.evaluate(typed), number)
    compiled = rust.compile(source)
    best(f"{name}, compiled, common-expression-language", lambda: rust.compile(source), 2000)
    best(f"{name}, evaluated, common-expression-language", lambda: compiled.execute(context), number * 10)
