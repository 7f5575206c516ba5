"""When the mails of a run are due: at once, at one moment, or at the same time of everybody's day.

A run is planned in waves, each with its moment: recipients of one wave are due together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from postledger.lib.errors import RefusedError

FARTHEST = timedelta(days=366)


class InvalidTimingError(RefusedError):
    code: ClassVar[str] = "invalid_timing"


@dataclass(frozen=True, slots=True)
class AtOnce:
    pass


@dataclass(frozen=True, slots=True)
class At:
    """One moment for everybody."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class Local:
    """The same time on everybody's own clock; `time` has no zone."""

    time: datetime


type When = AtOnce | At | Local


@dataclass(frozen=True, slots=True)
class Wave:
    """Recipients that are due together: those of some zones, or all (None)."""

    due_at: datetime | None  # None: at once
    zones: tuple[str, ...] | None = None


def check(when: When, *, now: datetime) -> None:
    """Refuses moments that are so far away that nobody can have meant them."""
    match when:
        case AtOnce():
            return
        case At(moment):
            _check_moment(moment, now)
        case Local(time):
            _check_moment(time.replace(tzinfo=UTC), now)


def _check_moment(meant: datetime, now: datetime) -> None:
    if abs(meant - now) > FARTHEST:
        raise InvalidTimingError(
            f"{meant:%Y-%m-%d} is more than {FARTHEST.days} days away."
            " Name a moment of the coming year."
        )


def waves(when: When, *, zones: Iterable[str], now: datetime) -> list[Wave]:
    """The waves of a run, the earliest first; a moment that has passed is at once."""
    match when:
        case AtOnce():
            return [Wave(None)]
        case At(moment):
            return [Wave(moment if moment > now else None)]
        case Local(time):
            return _local(time, zones, now)


def _local(time: datetime, zones: Iterable[str], now: datetime) -> list[Wave]:
    due: dict[datetime | None, list[str]] = {}
    for zone in sorted(zones):
        moment = moment_in(zone, time)
        due.setdefault(moment if moment > now else None, []).append(zone)
    in_order = sorted(due.items(), key=lambda pair: pair[0] or now)
    return [Wave(moment, tuple(names)) for moment, names in in_order]


def moment_in(zone: str, time: datetime) -> datetime:
    """When a clock in the zone shows the time; one that is skipped there comes an hour later."""
    return time.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def written(when: When) -> dict[str, str]:
    match when:
        case AtOnce():
            return {}
        case At(moment):
            return {"at": moment.isoformat()}
        case Local(time):
            return {"local_time": time.isoformat()}


def read(stored: Mapping[str, str]) -> When:
    if "at" in stored:
        return At(datetime.fromisoformat(stored["at"]))
    if "local_time" in stored:
        return Local(datetime.fromisoformat(stored["local_time"]))
    return AtOnce()
