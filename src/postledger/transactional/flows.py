"""Which stream carries a sender's mail this month; each is opened when the first mail needs it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import connection, transaction

from postledger.accounts.models import Sender
from postledger.deliveries import ledger, partitions, queries
from postledger.deliveries.entries import Kind
from postledger.lib.errors import RefusedError
from postledger.providers import addresses
from postledger.transactional import models

# How long a process relies on what it read. Nothing can go wrong meanwhile: a stream that was
# cancelled refuses the mail and is looked for anew, the first seconds of a month may use the
# stream of the last one, and a sender that has a stream cannot be removed. Only a request that
# names no sender is understood for this long as before, when a workspace has just got its second
# one.
KEPT_FOR = timedelta(seconds=5)
_MOST_KEPT = 10_000


class UnknownSenderError(RefusedError):
    code: ClassVar[str] = "sender_unknown"


class SenderRequiredError(RefusedError):
    code: ClassVar[str] = "sender_required"


@dataclass(frozen=True, slots=True)
class Flow:
    """A sender, and the stream that carries its mail."""

    sender_id: int
    address: str
    stream_id: int


type _Key = tuple[int, str | None, bool]
_kept: dict[_Key, tuple[datetime, Flow]] = {}


def find(workspace_id: int, *, sender: str | None, is_test: bool, now: datetime) -> Flow:
    """The flow for a mail that is asked for now; `sender` may be left out where there is one.

    At most one statement, except for the first mail of a month, which opens the stream.
    """
    key = (workspace_id, sender and sender.lower(), is_test)
    read_at, flow = _kept.get(key, (now, None))
    if flow is None or not now - KEPT_FOR < read_at <= now:
        flow = _read(workspace_id, sender=sender, is_test=is_test)
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[key] = (now, flow)
    return flow


def reopened(workspace_id: int, flow: Flow, *, is_test: bool) -> Flow:
    """The flow with a stream that takes mail, after one of a request's streams took none."""
    _kept.clear()
    stream = queries.stream(flow.stream_id)
    if stream is not None and stream.cancelled_at is None:
        return flow
    return _opened(workspace_id, flow, is_test=is_test)


_SENDERS = """
SELECT s.id, s.address, f.stream_id
FROM accounts_sender s
LEFT JOIN transactional_flow f
  ON f.sender_id = s.id AND f.is_test = %(is_test)s
  AND f.month = deliveries_month(clock_timestamp())
WHERE s.workspace_id = %(workspace)s
  AND (%(address)s IS NULL OR lower(s.address) = lower(%(address)s))
ORDER BY s.id
LIMIT 2
"""
_NO_STREAM = 0


def _read(workspace_id: int, *, sender: str | None, is_test: bool) -> Flow:
    params = {
        "workspace": workspace_id,
        "address": None if sender is None else _canonical(sender),
        "is_test": is_test,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SENDERS, params)
        found = [Flow(id_, address, stream or _NO_STREAM) for id_, address, stream in cursor]
    match found, sender:
        case [flow], _:
            is_open = flow.stream_id != _NO_STREAM
            return flow if is_open else _opened(workspace_id, flow, is_test=is_test)
        case [], None:
            raise UnknownSenderError("This workspace has no sender yet. Add one, then send again.")
        case [], _:
            raise _unknown(sender)
        case _:
            raise SenderRequiredError(
                "This workspace has several senders, and the request names none."
                " Say in sender which address the mail comes from."
            )


def _canonical(sender: str) -> str:
    try:
        return addresses.canonical(sender)
    except addresses.InvalidAddressError:
        raise _unknown(sender) from None


def _unknown(sender: str | None) -> UnknownSenderError:
    return UnknownSenderError(
        f"{(sender or '')[:254]!r} is not a sender of this workspace."
        " Use the address of one, or add it as a sender first."
    )


def _opened(workspace_id: int, flow: Flow, *, is_test: bool) -> Flow:
    """Opens a stream unless somebody else just did: of many at once, one finds the old one."""
    with transaction.atomic():
        # Whoever opens a stream of this sender waits here for the one before.
        list(Sender.objects.select_for_update(no_key=True).order_by("pk").filter(pk=flow.sender_id))
        month = partitions.this_month()
        place = models.Flow.objects.filter(sender_id=flow.sender_id, month=month, is_test=is_test)
        stored = place.values_list("stream_id", flat=True).first()
        if stored is not None and stored != flow.stream_id:
            return replace(flow, stream_id=stored)
        stream_id = ledger.open_stream(
            workspace_id,
            sender_id=flow.sender_id,
            kind=Kind.TRANSACTIONAL,
            title=f"Mail from {flow.address}{', test' if is_test else ''}",
            is_test=is_test,
            month=month,
        )
        if not place.update(stream_id=stream_id):
            models.Flow.objects.create(
                sender_id=flow.sender_id,
                month=month,
                is_test=is_test,
                stream_id=stream_id,
            )
    return replace(flow, stream_id=stream_id)
