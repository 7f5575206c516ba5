"""The waves of a campaign: those that a launch stores are those that were counted before it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from postledger.accounts import queries as accounts
from postledger.contacts import audience
from postledger.mailing import send_times
from postledger.mailing.send_times import SendTime, Wave
from postledger.pacing.stored import read_hours


def split_waves(
    workspace_id: int,
    send_time: SendTime,
    stored_window: Mapping[str, Any] | None,
    *,
    now: datetime,
) -> list[Wave]:
    """As `send_times.split_waves`, for the time zones that contacts of a workspace have."""
    default_zone = accounts.time_zone(workspace_id)
    zones: set[str] = set()
    if send_time.local_time is not None or stored_window is not None:
        zones = audience.list_time_zones(workspace_id)  # reads every contact
    window = None if stored_window is None else read_hours(stored_window, zone=default_zone)
    return send_times.split_waves(
        send_time, window=window, zones=zones, default_zone=default_zone, now=now
    )
