"""Calendar times: against systemd's own, by `mediatorctl calendar`; and as a daemon keeps them."""

from __future__ import annotations

import datetime
import json
import os
import random
import re
import shutil
import subprocess
import zoneinfo
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from container import Container
from daemon import Binaries, Daemon
from waiting import WAIT

UTC = datetime.timezone.utc
ZONES = (
    "Etc/UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca",
    "Asia/Kathmandu", "America/Havana", "Pacific/Apia", "Antarctica/Troll",
)
# For a system without a time zone database.
RULES = (
    "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "monday", "Tuesday", "wednesday", "THURSDAY", "friday")
ITERATIONS = 5


class Expressions:
    """Random calendar times, whose steps end before their place does: behind it systemd looks a place too far at times."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, value: int, decimals: bool) -> str:
        text = f"{value:02}" if self.random.random() < 0.3 else f"{value}"
        return f"{text}.{self.random.randint(0, 9_999_999)}" if decimals and self.random.random() < 0.1 else text

    def chain(self, low: int, high: int, any_value: float, decimals: bool = False) -> str:
        if self.random.random() < any_value:
            return "*"
        parts = []
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            first = self.random.randint(low, high - 1)
            part = self.number(first, decimals)
            if self.random.random() < 0.4:
                last = self.random.randint(first + 1, high)
                part = f"{first}..{last}"
                if self.random.random() < 0.5:
                    part += f"/{self.random.randint(1, last - first)}"
            parts.append(part)
        return ",".join(parts)

    def days(self) -> str:
        parts = []
        for _ in range(self.random.choice((1, 1, 2, 3))):
            first = self.random.randrange(7)
            if self.random.random() < 0.4:
                parts.append(f"{DAYS[first]}..{DAYS[self.random.randrange(first, 7)]}")
            else:
                parts.append(DAYS[self.random.choice([day for day in range(len(DAYS)) if day % 7 == first])])
        return ",".join(parts)

    def one(self, zones: Sequence[str]) -> str:
        chance = self.random.random
        if chance() < 0.05:
            return self.random.choice(("minutely", "hourly", "Daily", "weekly", "monthly", "quarterly", "semiannually", "yearly"))
        words = [self.days()] if chance() < 0.3 else []
        if chance() < 0.6:
            year = f"{self.chain(2025, 2030, 0.8)}-" if chance() < 0.5 else "*-" if chance() < 0.5 else ""
            fixed = f"~{self.random.randint(1, 28)}" if chance() < 0.25 else f"-{self.chain(1, 31, 0.5)}"
            words.append(f"{year}{self.chain(1, 12, 0.6)}{fixed}")
        if chance() < 0.85 or not words:
            seconds = f":{self.chain(0, 59, 0.2, decimals=True)}" if chance() < 0.4 else ""
            words.append(f"{self.chain(0, 23, 0.5)}:{self.chain(0, 59, 0.3)}{seconds}")
        if chance() < 0.15:
            words.append(self.random.choice(("UTC", "utc", *zones)))
        text = " ".join(words)
        if chance() < 0.05:
            place = self.random.randrange(len(text))
            text = text[:place] + self.random.choice("*/-~:,.x9") + text[place + 1 :]
        return text


def changes(zone: str) -> list[datetime.datetime]:
    """When the clock is changed in a zone."""
    place = zoneinfo.ZoneInfo(zone)
    hour = datetime.timedelta(hours=1)
    time = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    found = [datetime.datetime(2028, 2, 28, 12, tzinfo=UTC)]
    while time.year < 2028:
        if time.astimezone(place).utcoffset() != (time + hour).astimezone(place).utcoffset():
            found.append(time + hour)
        time += hour
    return found


Ask = Callable[[str, str, datetime.datetime, int], "tuple[str, list[datetime.datetime]] | None"]


def parsed(output: str, errors: str) -> tuple[str, list[datetime.datetime]] | None:
    """What systemd-analyze prints; nothing if it refuses. Newer ones write "Iteration" where older have "Iter."."""
    if "Failed to parse" in output + errors:
        return None
    normal = ""
    times: list[str] = []
    for line in output.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Normalized form":
            normal = value
        elif (key == "Next elapse" or key.startswith("Iter")) and value != "never":
            times.append(value)
        elif key == "(in UTC)":
            times[-1] = value
    return normal, [
        datetime.datetime.strptime(time.split(" ", 1)[1][:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) for time in times
    ]


def ours(binaries: Binaries, zone: str, text: str, base: datetime.datetime) -> tuple[str, list[datetime.datetime]] | None:
    done = subprocess.run(
        [
            *(binaries.mediatorctl, "calendar", "--json", "--iterations", str(ITERATIONS)),
            *("--base-time", base.strftime("%Y-%m-%dT%H:%M:%SZ"), "--", text),
        ],
        env={**os.environ, "TZ": zone}, capture_output=True, text=True, timeout=WAIT,
    )
    if json.loads(done.stdout or done.stderr).get("error"):
        return None
    (calendar,) = json.loads(done.stdout)["calendars"]
    times = [datetime.datetime.fromisoformat(next["time"].replace("Z", "+00:00")) for next in calendar["next"]]
    return calendar["normalForm"], [time.replace(microsecond=0) for time in times]


def compare(binaries: Binaries, ask: Ask, zones: Sequence[str], names: Sequence[str], seed: int, count: int) -> tuple[int, int]:
    """Compares as many random times; how many systemd accepts, and how many times of ours it leaves out, unless it is
    asked right before them.

    That it does where it meets a change of the clock in the midst of its search. Whatever it does give, we must.
    """
    expressions = Expressions(seed)
    valid = left_out = 0
    base_zones = {zone: changes(zone) if zone in zoneinfo.available_timezones() else changes("Europe/Berlin") for zone in zones}
    for _ in range(count):
        zone = expressions.random.choice(zones)
        shift = expressions.random.choice(((-7_200, 7_200), (-172_800, 86_400), (-17_000_000, 2_600_000)))
        base = expressions.random.choice(base_zones[zone]) + datetime.timedelta(seconds=expressions.random.randint(*shift))
        text = expressions.one(names)
        theirs = ask(zone, text, base, ITERATIONS)
        mine = ours(binaries, zone, text, base)
        place = f"{text!r} in {zone} after {base}: systemd {theirs}, mediatorctl {mine}"
        if theirs is None:
            # Lists of days from the end of the month, and the like, systemd refuses where they have a meaning.
            assert mine is None or "~" in text or ".." in text, place
            continue
        valid += 1
        assert mine is not None and mine[0] == theirs[0], place
        if mine[1] == theirs[1]:
            continue
        last = mine[1][-1] if len(mine[1]) == ITERATIONS else datetime.datetime.max.replace(tzinfo=UTC)
        assert all(time in mine[1] for time in theirs[1] if time <= last), place
        for time in mine[1]:
            if time not in theirs[1]:
                again = ask(zone, text, time - datetime.timedelta(seconds=1), 1)
                assert again is not None and again[1][:1] == [time], place
        left_out += 1
    return valid, left_out


def test_times_are_those_of_the_systemd_here(binaries: Binaries) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze")

    def ask(zone: str, text: str, base: datetime.datetime, count: int) -> tuple[str, list[datetime.datetime]] | None:
        done = subprocess.run(
            [program, "calendar", f"--iterations={count}", f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC", "--", text],
            env={**os.environ, "TZ": zone, "LC_ALL": "C"}, capture_output=True, text=True, timeout=WAIT,
        )
        return parsed(done.stdout, done.stderr)

    valid, left_out = compare(binaries, ask, ZONES, ZONES[1:], seed=1, count=500)
    assert valid > 400 and left_out <= 10, (valid, left_out)


@pytest.mark.depends_on_systemd
def test_times_are_those_of_each_systemd(binaries: Binaries, container: Container) -> None:
    """Within the systems there is no time zone database: local time is by a rule."""

    def ask(zone: str, text: str, base: datetime.datetime, count: int) -> tuple[str, list[datetime.datetime]] | None:
        done = container.run(
            "env", f"TZ={zone}", "LC_ALL=C", "systemd-analyze", "calendar", f"--iterations={count}",
            f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC", "--", text, check=False,
        )
        return parsed(done.stdout, done.stderr)

    valid, left_out = compare(binaries, ask, RULES, (), seed=2, count=200)
    assert valid > 160 and left_out <= 6, (valid, left_out)


EVERY_SECOND = """\
system: bell
states: { Quiet: { rings: list(timestamp) } }
events: { Ring: {} }
initialState: { Quiet: { rings: [] } }
feedbacks:
  ring: { onState: Quiet, at: "*-*-* *:*:*", emit: Ring }
  yearly: { onState: Quiet, at: yearly, log: a new year }
  hourly: { onState: any, every: 1h, strategy: continueOnNewState, log: an hour }
transitions:
  Quiet: { Ring: { to: Quiet, set: { rings: "${state.rings + [now]}" } } }
"""


def test_a_daemon_keeps_time_by_the_calendar(daemon: Callable[..., Daemon]) -> None:
    one = daemon({"bell.yaml": EVERY_SECOND}, environment={"TZ": "America/New_York"})
    # The fourth state is the third ring.
    taps = one.ctl("tap", "bell", "--count", "4", "--json").stdout.splitlines()
    system = json.loads(one.ctl("show", "bell", "--json").stdout)["system"]
    rings = [datetime.datetime.fromisoformat(ring[:26].rstrip("Z") + "+00:00") for ring in system["summary"]["state"]["data"]["rings"]]
    assert len(taps) == 4 and len(rings) >= 3
    for ring in rings:
        assert ring.microsecond < 500_000, rings
    assert all(after.replace(microsecond=0) - before.replace(microsecond=0) == datetime.timedelta(seconds=1) for before, after in zip(rings, rings[1:]))
    (yearly,) = [feedback for feedback in system["feedbacks"] if feedback["name"] == "yearly"]
    assert re.fullmatch(r"\d{4}-01-01T05:00:00Z", yearly["next"])
    # One timer of the kernel for both, by the calendar's clock, which tells when that is set.
    texts = [path.read_text() for path in Path(f"/proc/{one.pid}/fdinfo").iterdir()]
    timers = [text for text in texts if "settime flags: 03" in text]
    assert len(timers) == 1 and "clockid: 0" in timers[0]
    # What `every` and `after` wait by goes on while the machine sleeps: CLOCK_BOOTTIME.
    assert any("clockid: 7" in text and "it_value: (0, 0)" not in text for text in texts), texts
