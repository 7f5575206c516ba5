"""Hours of the real clock, for tests whose limits go by it."""

import time
from datetime import UTC, datetime, timedelta

_SOON = timedelta(minutes=3)


def next_hour(now: datetime | None = None) -> datetime:
    """When the next hour of the clock begins."""
    now = now or datetime.now(UTC)
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def stay_clear_of_the_hours_end() -> None:
    """Waits for the next hour where a slow test could see this one end."""
    left = next_hour() - datetime.now(UTC)
    if left < _SOON:
        time.sleep(left.total_seconds() + 1)


def find_noon_zone() -> str:
    """A zone whose clocks show an hour that begins with 12: no test sees its day end."""
    hour = datetime.now(UTC).hour
    return f"Etc/GMT{hour - 12:+d}" if hour != 12 else "Etc/GMT"
