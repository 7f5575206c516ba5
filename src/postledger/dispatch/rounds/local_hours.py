"""Which windows of a round may go now, by the local day of each recipient. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from postledger.deliveries.entries import Batch, Recipient, Window
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.pacing import hours, stored


@dataclass(frozen=True, slots=True)
class DeliveryWindow:
    """The hours of a stream's mail, which are those of each recipient's own day."""

    hours: Mapping[str, Any]  # as they are stored
    default_zone: str  # of recipients without one

    def find_opening(self, zone: str, now: datetime) -> datetime:
        """The next moment at which mail may go in this zone: now, if it may."""
        local = stored.read_hours(self.hours, zone=zone)
        return hours.find_next_opening([local], now) or now + hours.HORIZON


def sort_windows(
    windows: Sequence[Window], read: RoundInput, delivery: DeliveryWindow, now: datetime
) -> tuple[list[Window], dict[datetime, list[Batch]]]:
    """The windows that may go, and by the moment at which they go on the batches that wait.

    A window goes up to the first recipient for whom it is too early or too late, and a batch waits
    for its first recipient: nobody gets a mail at the wrong time, also where recipients of several
    zones are beside one another.
    """
    openings = _find_openings(read, delivery, now)
    may_go: list[Window] = []
    later: defaultdict[datetime, list[Batch]] = defaultdict(list)
    for window in windows:
        recipients = [one for one in read.recipients if window.batch.lo <= one.position < window.to]
        closed = [one for one in recipients if openings[one.position] > now]
        if not closed:
            may_go.append(window)
        elif closed[0] is recipients[0]:
            later[openings[closed[0].position]].append(window.batch)
        else:
            may_go.append(replace(window, to=closed[0].position))
    return may_go, later


def _find_openings(
    read: RoundInput, delivery: DeliveryWindow, now: datetime
) -> dict[int, datetime]:
    """The next opening for each recipient, by position; each zone is looked up once."""

    def find_zone(recipient: Recipient) -> str:
        return read.time_zones.get(recipient.contact_id or 0, delivery.default_zone)

    zones = {find_zone(recipient) for recipient in read.recipients}
    openings = {zone: delivery.find_opening(zone, now) for zone in zones}
    return {one.position: openings[find_zone(one)] for one in read.recipients}
