"""How a list grew: who joined and left on each day, told from the history of consents.

A contact that is deleted leaves its lists on that day. Its subscriptions stay as they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import LiteralString
from zoneinfo import ZoneInfo

from postledger.contacts import audience, sql


@dataclass(frozen=True, slots=True)
class DayOfList:
    """One day, in the workspace's time zone."""

    day: date
    joined: int
    left: int
    subscribers: int  # at its end


# Served by contacts_subscription_of_list, and for each contact by contacts_consent_newest.
_MOVES: LiteralString = """
SELECT (event.at AT TIME ZONE %(zone)s)::date,
       count(*) FILTER (
           WHERE event.after IN ('active', 'paused')
             AND coalesce(event.before, '') NOT IN ('active', 'paused')
       ),
       count(*) FILTER (
           WHERE event.before IN ('active', 'paused')
             AND coalesce(event.after, '') NOT IN ('active', 'paused')
       )
FROM contacts_subscription AS subscription
JOIN contacts_consentevent AS event
  ON event.contact_id = subscription.contact_id AND event.list_id = subscription.list_id
WHERE subscription.list_id = %(list)s AND event.at >= %(since)s
GROUP BY 1
"""
# Served by contacts_subscription_of_list.
_SUBSCRIPTIONS: LiteralString = """
SELECT count(*) FROM contacts_subscription
WHERE list_id = %(list)s AND state IN ('active', 'paused')
"""
# Served by contacts_contact_deleted and contacts_subscription_once: few contacts are deleted.
_DELETED: LiteralString = """
SELECT (contact.deleted_at AT TIME ZONE %(zone)s)::date, count(*)
FROM contacts_contact AS contact
JOIN contacts_subscription AS subscription ON subscription.contact_id = contact.id
WHERE contact.workspace_id = (SELECT workspace_id FROM contacts_list WHERE id = %(list)s)
  AND contact.deleted_at IS NOT NULL
  AND subscription.list_id = %(list)s AND subscription.state IN ('active', 'paused')
GROUP BY 1
"""


def read_growth(list_id: int, *, days: int, zone: str, now: datetime) -> Sequence[DayOfList]:
    """The last days until today; refused where it would take too long, as of a very large list."""
    today = now.astimezone(ZoneInfo(zone)).date()
    first = today - timedelta(days=days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=ZoneInfo(zone))
    params = {"list": list_id, "zone": zone, "since": since}
    with audience.limited_time():
        moves = {day: (joined, left) for day, joined, left in sql.rows(_MOVES, params)}
        deleted: dict[date, int] = dict(sql.rows(_DELETED, params))
        [(subscriptions,)] = sql.rows(_SUBSCRIPTIONS, params)
    for day, number in deleted.items():
        joined, left = moves.get(day, (0, 0))
        moves[day] = (joined, left + number)
    subscribers = subscriptions - sum(deleted.values())
    return count_back(moves, first=first, last=today, subscribers=subscribers)


def count_back(
    moves: Mapping[date, tuple[int, int]], *, first: date, last: date, subscribers: int
) -> list[DayOfList]:
    """The days in order; their numbers are counted back from those of the last day. Pure."""
    days = []
    for number in range((last - first).days + 1):
        day = last - timedelta(days=number)
        joined, left = moves.get(day, (0, 0))
        days.append(DayOfList(day, joined, left, max(0, subscribers)))
        subscribers -= joined - left
    return days[::-1]
