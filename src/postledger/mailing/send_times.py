"""When mails are due: at once, at one moment, or at one local time.

A stream is planned in waves: recipients of one wave are due at the same moment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter

from postledger.lib.errors import RefusedError

MAX_DISTANCE = timedelta(days=366)


class InvalidTimingError(RefusedError):
    code = "invalid_timing"


@dataclass(frozen=True, slots=True)
class SendTime:
    """At once, unless one of the two is given."""

    at: datetime | None = None  # one moment for everybody
    local_time: datetime | None = None  # without a zone: in each recipient's own


@dataclass(frozen=True, slots=True)
class Wave:
    """Recipients that are due at the same moment: those of some zones, or all (None)."""

    due_at: datetime | None  # None: at once
    zones: tuple[str, ...] | None = None
    default_zone: str = "UTC"  # of contacts without a zone
    is_last_look: bool = False  # finds contacts whose zone changed while the others were planned


def check(send_time: SendTime, *, now: datetime) -> None:
    """Refuses moments that are more than a year away: probably a typing error."""
    moment = send_time.at
    if send_time.local_time is not None:
        moment = send_time.local_time.replace(tzinfo=UTC)
    if moment is not None and abs(moment - now) > MAX_DISTANCE:
        raise InvalidTimingError(
            f"{moment:%Y-%m-%d} is more than {MAX_DISTANCE.days} days away."
            " Choose a moment within the coming year."
        )


def split_waves(
    send_time: SendTime, *, zones: Iterable[str] = (), default_zone: str = "UTC", now: datetime
) -> list[Wave]:
    """The waves, the earliest first; a moment in the past means at once."""
    if send_time.local_time is None:
        return [Wave(send_time.at if send_time.at and send_time.at > now else None)]
    due: dict[datetime | None, list[str]] = {}
    for zone in sorted({*zones, default_zone}):
        moment = moment_in(zone, send_time.local_time)
        due.setdefault(moment if moment > now else None, []).append(zone)
    by_time = sorted(due.items(), key=lambda wave: wave[0] or now)
    waves = [Wave(moment, tuple(names), default_zone) for moment, names in by_time]
    return [*waves, Wave(waves[-1].due_at, is_last_look=True)]


def moment_in(zone: str, time: datetime) -> datetime:
    """The moment of a local time in a zone; a time that the zone skips comes an hour later."""
    return time.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


_SEND_TIME = TypeAdapter(SendTime)
_WAVE = TypeAdapter(Wave)


def to_json(send_time: SendTime) -> dict[str, str]:
    stored: dict[str, str] = _SEND_TIME.dump_python(send_time, mode="json", exclude_none=True)
    return stored


def from_json(stored: Mapping[str, str]) -> SendTime:
    return _SEND_TIME.validate_python(stored)


def wave_to_json(wave: Wave) -> dict[str, Any]:
    stored: dict[str, Any] = _WAVE.dump_python(wave, mode="json")
    return stored


def wave_from_json(stored: Mapping[str, Any]) -> Wave:
    return _WAVE.validate_python(stored)
