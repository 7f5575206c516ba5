"""Polls sources that have a URL: leases what is due, asks without a transaction, takes the answer.

The lease is the row's own next time, moved forward before the host is asked: another process polls
the source only after this one is done, or has died. What went wrong is the source's trouble, which
says why and since when, and is over with the next snapshot. Times are those of the database: the
clocks of workers may differ, and a snapshot must not look older than the one before it.
"""

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, QuerySet
from django.db.models.functions import Coalesce, Now

from postledger.contacts import sql
from postledger.lib import database_outage
from postledger.lib.errors import RefusedError
from postledger.notifications.models import Source
from postledger.notifications.sources import sources
from postledger.notifications.sources.sources import SnapshotOutdatedError
from postledger.providers import public_addresses, url_reading
from postledger.providers.public_addresses import ForbiddenAddressError
from postledger.providers.url_reading import UrlUnreadError

MOST_AT_ONCE = 20
MOST_BYTES = 8 * 1024 * 1024
MOST_SECONDS = 10.0  # for an answer; and no source takes longer than its interval
MOST_VALUES = 1_000_000  # in the JSON of an answer; parsed, each takes some 100 bytes
_SPARE = timedelta(seconds=2)  # to take the answer; longer does no harm: snapshots wait in line
_LONGEST_RETRY = timedelta(minutes=1)
_LONGEST_TROUBLE = 500
_BROKEN = (
    "The snapshot cannot be taken, because of a defect. The log of the server says more; it is"
    " tried again."
)

# The next second's task finds this one at work.
_busy = threading.Lock()
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a source gave no snapshot."""

    text: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to poll one source now."""

    source: Source  # as it was when it was leased
    leased_at: datetime
    until: datetime


def poll_due() -> int:
    """Polls the sources whose time has come, and returns how many this process leased."""
    if not _busy.acquire(blocking=False):
        return 0
    try:
        leases = _lease_due()
        if leases:
            for lease, answer in zip(leases, asyncio.run(_fetch_all(leases)), strict=True):
                _apply_alone(lease, answer)
        return len(leases)
    finally:
        _busy.release()


def find_timeout(source: Source) -> float:
    return min(MOST_SECONDS, float(source.interval_seconds))


def read_items(body: bytes, path: str) -> Sequence[object] | Trouble:
    """The array at a path of dotted names in a JSON text."""
    # Before it is parsed: small texts can make millions of values.
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        return Trouble(
            f"The answer of the source has more than {MOST_VALUES:,} values: divide it into several"
            " sources, or have it leave out what is not needed."
        )
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Trouble("The source did not answer with JSON.")
    for step in path.split(".") if path else ():
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, list):
        return value
    place = f"at {path}" if path else "as its whole: name the place in items_path"
    return Trouble(f"The answer of the source has no array {place}.")


# The first due source of every workspace, then the second of each: none waits for the many of
# another. Of sources that another process has locked, somewhat fewer are leased.
_DUE: LiteralString = """
SELECT id FROM (
    SELECT id, next_poll_at,
           row_number() OVER (PARTITION BY workspace_id ORDER BY next_poll_at, id) AS number
    FROM notifications_source
    WHERE archived_at IS NULL AND url <> '' AND next_poll_at <= statement_timestamp()
) AS due
ORDER BY number, next_poll_at, id LIMIT %(most)s
"""


def _lease_due() -> list[Lease]:
    due_ids = [id_ for (id_,) in sql.rows(_DUE, {"most": MOST_AT_ONCE})]
    if not due_ids:
        return []
    with transaction.atomic():
        due = Source.objects.filter(pk__in=due_ids, archived_at=None, next_poll_at__lte=Now())
        locked = due.select_for_update(no_key=True, skip_locked=True, of=("self",))
        due_sources = locked.select_related("topic__list").annotate(leased_at=Now())
        leases = [_make_lease(row) for row in due_sources]
        for lease in leases:
            Source.objects.filter(pk=lease.source.pk).update(next_poll_at=lease.until)
    return leases


def _make_lease(source: Source) -> Lease:
    leased_at: datetime = getattr(source, "leased_at")  # noqa: B009  annotated
    duration = timedelta(seconds=find_timeout(source)) + _SPARE
    return Lease(source, leased_at, leased_at + duration)


async def _fetch_all(leases: Sequence[Lease]) -> list[bytes | Trouble]:
    return await asyncio.gather(*(_fetch(lease.source) for lease in leases))


async def _fetch(source: Source) -> bytes | Trouble:
    is_inside = sources.is_inside(source.url, settings.SOURCE_HOSTS)
    try:
        sources.check_url(source.url, settings.SOURCE_HOSTS)
        return await url_reading.read_url(
            url_reading.split_url(source.url),
            find_addresses=(
                public_addresses.find_any_addresses
                if is_inside
                else public_addresses.find_public_addresses
            ),
            seconds=find_timeout(source),
            most_bytes=MOST_BYTES,
        )
    except UrlUnreadError as error:
        return Trouble(f"The host of the source {error}.")
    except ForbiddenAddressError:
        return Trouble(
            "The host of the source is inside a network, and only public addresses are asked:"
            " the operator of the installation adds it to SOURCE_HOSTS."
        )
    except RefusedError as refused:
        return Trouble(str(refused))
    # Any other is a bug; its words may quote what was read, and other sources still have to be.
    except Exception as error:  # noqa: BLE001
        return Trouble(f"The source cannot be read ({type(error).__name__}).")


def _apply_alone(lease: Lease, answer: bytes | Trouble) -> None:
    """Takes the snapshot of one source; what goes wrong with it stops none of the others.

    An unreachable database fails every source and is raised.
    """
    try:
        _apply(lease, answer)
    except Exception as error:
        if database_outage.is_away(error):
            raise
        _log.exception("snapshot_not_taken", source_id=lease.source.pk)
        _note_trouble(lease, Trouble(_BROKEN))


def _apply(lease: Lease, answer: bytes | Trouble) -> None:
    """Takes the snapshot, as of the moment at which its poll began."""
    source, now = lease.source, lease.leased_at
    items = read_items(answer, source.items_path) if isinstance(answer, bytes) else answer
    if isinstance(items, Trouble):
        _note_trouble(lease, items)
        return
    try:
        sources.take_snapshot(source, items, taken_at=now, now=now)
    except SnapshotOutdatedError:
        pass  # a later one is there, or the source is another one now
    except RefusedError as refused:
        _note_trouble(lease, Trouble(str(refused)))
        return
    interval = timedelta(seconds=source.interval_seconds)
    _still_leased(lease).update(next_poll_at=Now() + interval)


def _note_trouble(lease: Lease, trouble: Trouble) -> None:
    source = lease.source
    wait = min(timedelta(seconds=source.interval_seconds), _LONGEST_RETRY)
    _still_leased(lease).update(
        next_poll_at=Now() + wait,
        trouble=trouble.text[:_LONGEST_TROUBLE],
        trouble_since=Coalesce("trouble_since", lease.leased_at, output_field=DateTimeField()),
    )
    _log.warning("source_not_read", source_id=source.pk, workspace_id=source.workspace_id)


def _still_leased(lease: Lease) -> QuerySet[Source]:
    """Nothing is written over a change of the source, or over the lease of another process."""
    return Source.objects.filter(pk=lease.source.pk, next_poll_at=lease.until)
