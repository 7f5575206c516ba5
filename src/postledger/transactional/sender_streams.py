"""The stream that carries a sender's mail this month; the first mail of a month opens it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.deliveries import ledger, partitions, queries
from postledger.deliveries.entries import StreamKind
from postledger.transactional.models import Flow

# Nothing can go wrong while a process relies on this cache: a cancelled stream refuses the mail
# and is looked up again, the first seconds of a month may use the stream of the last one, and a
# sender is never removed. For up to five seconds after another sender became the default, or a
# sender was archived, requests still use the former one: it sends what it was given.
CACHED_FOR = timedelta(seconds=5)
_MAX_CACHED = 10_000


@dataclass(frozen=True, slots=True)
class SenderStream:
    sender_id: int
    address: str
    stream_id: int


type _CacheKey = tuple[int, str | None, bool]
_cache: dict[_CacheKey, tuple[datetime, SenderStream]] = {}


def find_stream(
    workspace_id: int, *, sender: str | None, is_test: bool, now: datetime
) -> SenderStream:
    """The open stream for a mail of now; `sender` is None for the default sender.

    Three statements at most, except for the first mail of a month, which opens the stream.
    """
    key = (workspace_id, sender and sender.lower(), is_test)
    cached_at, stream = _cache.get(key, (now, None))
    if stream is None or not now - CACHED_FOR < cached_at <= now:
        stream = _load(workspace_id, sender=sender, is_test=is_test)
        if len(_cache) >= _MAX_CACHED:
            _cache.clear()
        _cache[key] = (now, stream)
    return stream


def find_stream_of_month(sender_id: int, *, is_test: bool) -> int | None:
    """The stream of a sender's mail of this month; None before its first mail. Opens none."""
    flow = _find_flow(sender_id, partitions.this_month(), is_test=is_test)
    return None if flow is None else flow.stream_id


def replace_if_cancelled(workspace_id: int, stream: SenderStream, *, is_test: bool) -> SenderStream:
    """A stream that takes mail, after one of a request's streams refused it."""
    _cache.clear()
    facts = queries.find_stream(stream.stream_id)
    if facts is not None and facts.cancelled_at is None:
        return stream
    return _open(
        workspace_id, stream.sender_id, stream.address, is_test=is_test, instead_of=stream.stream_id
    )


def _load(workspace_id: int, *, sender: str | None, is_test: bool) -> SenderStream:
    facts = accounts.select_sender(workspace_id, address=sender)
    flow = _find_flow(facts.id, partitions.this_month(), is_test=is_test)
    if flow is None:
        return _open(workspace_id, facts.id, facts.address, is_test=is_test)
    return SenderStream(facts.id, facts.address, flow.stream_id)


def _find_flow(sender_id: int, month: int, *, is_test: bool) -> Flow | None:
    return Flow.objects.filter(sender_id=sender_id, month=month, is_test=is_test).first()


def _open(
    workspace_id: int, sender_id: int, address: str, *, is_test: bool, instead_of: int | None = None
) -> SenderStream:
    """Opens a stream unless a concurrent caller just did: then both get the same one."""
    with transaction.atomic():
        # The lock serializes the callers that open a stream of this sender.
        Sender.objects.select_for_update(no_key=True).get(pk=sender_id)
        month = partitions.this_month()
        flow = _find_flow(sender_id, month, is_test=is_test)
        if flow is not None and flow.stream_id != instead_of:
            return SenderStream(sender_id, address, flow.stream_id)
        stream_id = ledger.open_stream(
            workspace_id,
            sender_id=sender_id,
            kind=StreamKind.TRANSACTIONAL,
            title=f"Mail from {address}{', test' if is_test else ''}",
            is_test=is_test,
            month=month,
        )
        flow = flow or Flow(sender_id=sender_id, month=month, is_test=is_test)
        flow.stream_id = stream_id
        flow.save()
    return SenderStream(sender_id, address, stream_id)
