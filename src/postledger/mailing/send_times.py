"""When mails are due: at once, at one moment, or at one local time, and within a delivery window.

A stream is planned in waves: recipients of one wave are due at the same moment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence, say
from postledger.pacing import hours
from postledger.pacing.hours import WorkingHours

MAX_DISTANCE = timedelta(days=366)
_MOST_AHEAD = timedelta(hours=14)  # of UTC: the clocks of Kiribati


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
    is_outside_hours: bool = False  # due later than it was meant, when the delivery window opens


def check(send_time: SendTime, *, now: datetime) -> None:
    """Refuses moments that are more than a year away, or past: probably a typing error."""
    moment = send_time.at
    if send_time.local_time is not None:
        moment = send_time.local_time.replace(tzinfo=UTC)
    if moment is not None and abs(moment - now) > MAX_DISTANCE:
        raise InvalidTimingError(_say_far(moment, now))


def is_ahead(send_time: SendTime, *, zone: str, now: datetime) -> bool:
    """Whether there is a time that is still to come; a local one by the clocks of this zone."""
    moment = send_time.at
    if send_time.local_time is not None:
        moment = send_time.local_time.replace(tzinfo=ZoneInfo(zone))
    return moment is not None and moment > now


def find_late_zones(send_time: SendTime, *, zones: Iterable[str], now: datetime) -> tuple[str, ...]:
    """The zones whose clocks show a later time already."""
    local_time = send_time.local_time
    if local_time is None:
        return ()
    return tuple(zone for zone in sorted(zones) if moment_in(zone, local_time) <= now)


def may_be_late(send_time: SendTime, *, now: datetime) -> bool:
    """Whether its local time is past somewhere, and not so long that it is refused."""
    if send_time.local_time is None:
        return False
    moment = send_time.local_time.replace(tzinfo=UTC)
    return now - MAX_DISTANCE <= moment <= now + _MOST_AHEAD


def _say_far(moment: datetime, now: datetime) -> Sentence:
    day = f"{moment:%Y-%m-%d}"
    if moment < now:
        return say("%(day)s is in the past. Choose a moment within the coming year.", day=day)
    return say(
        "%(day)s is more than %(days)s days away. Choose a moment within the coming year.",
        day=day,
        days=MAX_DISTANCE.days,
    )


def split_waves(
    send_time: SendTime,
    *,
    window: WorkingHours | None = None,
    zones: Iterable[str] = (),
    default_zone: str = "UTC",
    now: datetime,
) -> list[Wave]:
    """The waves, the earliest first; a moment in the past means at once.

    With a delivery window, whose hours are those of each zone, a wave is due when it opens. Zones
    share a wave if their clocks show the same time then: it closes for all of them at once, too.
    """
    if send_time.local_time is None and window is None:
        return [Wave(send_time.at if send_time.at and send_time.at > now else None)]
    turns: dict[_Turn, list[str]] = {}
    for zone in sorted({*zones, default_zone}):
        turns.setdefault(_find_turn(send_time, window, zone, now), []).append(zone)
    waves = [
        Wave(
            turn.due_at if turn.due_at > now else None,
            tuple(names),
            default_zone,
            is_outside_hours=turn.is_outside_hours,
        )
        for turn, names in sorted(turns.items())
    ]
    return [*waves, replace(waves[-1], zones=None, default_zone="UTC", is_last_look=True)]


@dataclass(frozen=True, slots=True, order=True)
class _Turn:
    """What zones of one wave have in common."""

    due_at: datetime
    is_outside_hours: bool = False
    offset: timedelta = timedelta()  # of its clocks from UTC, where there is a delivery window


def _find_turn(send_time: SendTime, window: WorkingHours | None, zone: str, now: datetime) -> _Turn:
    meant = send_time.at or now
    if send_time.local_time is not None:
        meant = moment_in(zone, send_time.local_time)
    meant = max(meant, now)
    if window is None:
        return _Turn(meant)
    opening = hours.find_next_opening([replace(window, zone=zone)], meant) or meant + hours.HORIZON
    offset = opening.astimezone(ZoneInfo(zone)).utcoffset() or timedelta()
    return _Turn(opening, opening > meant, offset)


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
