"""Working hours as people write them and as they are stored. Pure.

`pacing.stored` reads the stored form: `{"weekdays": [0, 1], "spans": [["09:00", "18:00"]]}`, with
`zone` where the hours have one of their own. Monday is 0.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from typing import Any

from postledger.lib import zones
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

MOST_SPANS = 24
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = tuple(range(7))

_TIME = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_SPAN = re.compile(rf"({_TIME})-({_TIME}|24:00)")
_SHORTEST_RUN = 3  # of days that are written as mon-wed

type Span = tuple[time, time]


class InvalidHoursError(RefusedError):
    code = "invalid_hours"


class InvalidTimeZoneError(RefusedError):
    code = "invalid_time_zone"


@dataclass(frozen=True, slots=True)
class Hours:
    """Spans from one local time to another, which start on some weekdays.

    A span that does not end later than it opens ends on the next day; with equal times it has 24
    hours. Without a zone it is that of the workspace.
    """

    spans: tuple[Span, ...]
    weekdays: tuple[int, ...] = EVERY_DAY
    zone: str | None = None


def parse_hours(spans: Sequence[str], *, days: str | None = None, zone: str | None = None) -> Hours:
    """Reads hours as a person writes them: 09:00-12:30 13:30-18:00, mon-fri, Europe/Berlin."""
    if not 1 <= len(spans) <= MOST_SPANS:
        raise InvalidHoursError(
            say("Use 1 to %(most)s times of the form 09:00-18:00.", most=MOST_SPANS)
        )
    if zone is not None:
        check_zone(zone)
    return Hours(
        tuple(sorted({_parse_span(text) for text in spans})),
        EVERY_DAY if days is None else parse_days(days),
        zone,
    )


def parse_days(text: str) -> tuple[int, ...]:
    """Reads mon-fri, or sat,sun; fri-mon goes over the end of the week."""
    days: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = part.strip().partition("-")
        ends = [first, last or first]
        if not set(ends) <= set(WEEKDAYS) or part.strip().endswith("-"):
            raise InvalidHoursError(
                say(
                    "'%(text)s' are no weekdays: use mon, tue, wed, thu, fri, sat and sun, as in"
                    " mon-fri or sat,sun.",
                    text=text[:64],
                )
            )
        start, end = map(WEEKDAYS.index, ends)
        days |= {day % 7 for day in range(start, start + (end - start) % 7 + 1)}
    return tuple(sorted(days))


def check_zone(zone: str) -> None:
    if zone not in zones.list_zones():
        raise InvalidTimeZoneError(
            say(
                "'%(zone)s' is not a time zone: use an IANA name such as Europe/Lisbon.",
                zone=zone[:64],
            )
        )


def to_json(hours: Hours) -> dict[str, Any]:
    stored: dict[str, Any] = {
        "weekdays": list(hours.weekdays),
        "spans": [[f"{opens:%H:%M}", f"{closes:%H:%M}"] for opens, closes in hours.spans],
    }
    return stored if hours.zone is None else {**stored, "zone": hours.zone}


def from_json(stored: Mapping[str, Any]) -> Hours:
    return Hours(
        tuple((_parse_time(opens), _parse_time(closes)) for opens, closes in stored["spans"]),
        tuple(stored.get("weekdays", EVERY_DAY)),
        stored.get("zone"),
    )


def describe(stored: Mapping[str, Any], *, zone: str) -> str:
    """Stored hours in words; `zone` is that of the workspace."""
    spans = ", ".join(f"{opens}-{closes}" for opens, closes in stored["spans"])
    days = _describe_days(stored.get("weekdays", EVERY_DAY))
    return f"{days} {spans} {stored.get('zone') or zone}"


def _parse_span(text: str) -> Span:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise InvalidHoursError(
            say(
                "'%(text)s' is no time of the day: use the form 09:00-18:00. 22:00-06:00 ends on"
                " the next day, and 00:00-24:00 is the whole day.",
                text=text[:64],
            )
        )
    opens, closes = match.groups()
    return _parse_time(opens), _parse_time(closes.replace("24:00", "00:00"))


def _parse_time(text: str) -> time:
    hour, minute = map(int, text.split(":"))
    return time(hour, minute)


def _describe_days(weekdays: Sequence[int]) -> str:
    if tuple(weekdays) == EVERY_DAY:
        return "every day"
    return ",".join(map(_describe_run, _split_runs(weekdays)))


def _split_runs(weekdays: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for day in weekdays:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return runs


def _describe_run(days: Sequence[int]) -> str:
    names = [WEEKDAYS[day] for day in days]
    return f"{names[0]}-{names[-1]}" if len(days) >= _SHORTEST_RUN else ",".join(names)
