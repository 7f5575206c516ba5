"""The log lines and metrics of the dispatcher, from values that the rounds have.

Every line about one mail has the same fields: the ids of its request, its workspace and itself, the
attempt, the state it came to, the milliseconds that took, and of an error its code, its category
and the provider's own code.
The ledger itself counts the results that it stores.
"""

from collections import Counter
from collections.abc import Sequence

import structlog

from postledger.deliveries import ledger
from postledger.deliveries.entries import AttemptOutcome, Entry, Settled, StreamKind, Window
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.dispatch.rounds.compose import ComposedMail, ComposedRound
from postledger.dispatch.rounds.in_flight import SettleRequest
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib.ids import DeliveryId
from postledger.observability import metrics

_log = structlog.get_logger(__name__)

# The states as the metrics and the views name them.
_NAMES = {
    State.ACCEPTED: "SENT",
    State.WAITING: "RETRY_SCHEDULED",
}


def received(count: int) -> None:
    metrics.STATE_TRANSITIONS.add(count, state="RECEIVED")


def composed_round(stream: StreamFacts, read: RoundInput, composed: ComposedRound) -> None:
    if composed.mails:
        metrics.STATE_TRANSITIONS.add(len(composed.mails), state="VALIDATED")
        metrics.STATE_TRANSITIONS.add(len(composed.mails), state="SENT_ATTEMPT")
    _observe_durations(composed.verdicts)
    for entry in composed.verdicts:
        if entry.outcome is AttemptOutcome.INVALID:
            metrics.VALIDATION_FAILURES.add(1, code=entry.code or "")
        _log.info("mail not sent", **_verdict_fields(stream, read, entry))


def compose_error(stream: StreamFacts, read: RoundInput, entry: Entry, error: Exception) -> None:
    fields = _verdict_fields(stream, read, entry)
    _log.error("composing a mail failed", exc_info=error, stream_id=stream.id, **fields)


def broken_content(stream: StreamFacts, error: Exception) -> None:
    _log.error("no mail of the stream can be composed", exc_info=error, **_ids(stream))


def answer(stream: StreamFacts, mail: ComposedMail, entry: Entry) -> None:
    """One log line for each single mail, and for each mail that was not accepted."""
    is_accepted = entry.outcome is AttemptOutcome.ACCEPTED
    if stream.kind is not StreamKind.TRANSACTIONAL and is_accepted:
        return
    level = _log.info if is_accepted else _log.warning
    level(
        "mail handed over" if is_accepted else "mail not taken",
        **_composed_fields(stream, mail, entry),
        provider_message_id=entry.message_id,
    )


def not_handed_over(stream: StreamFacts, mail: ComposedMail, entry: Entry) -> None:
    _log.warning("mail not handed over", **_composed_fields(stream, mail, entry))


def settled(stream: StreamFacts, request: SettleRequest, result: Settled) -> None:
    results = request.results
    _observe_durations(results)
    if result.retried:
        metrics.STATE_TRANSITIONS.add(result.retried, state="RETRY_SCHEDULED")
        for category, count in _count_retries(results, result.lost).items():
            metrics.RETRIES.add(count, category=category)
    _log.debug("window settled", stream_id=stream.id, mails=len(results))
    if result.lost:
        text = "lease lost before settling; its answers were recorded as evidence"
        _log.warning(text, windows=len(result.lost), **_ids(stream))


def _count_retries(results: Sequence[Entry], lost: Sequence[Window]) -> Counter[str]:
    """The mails that wait again, by category; what is evidence only makes no retry here."""
    return Counter(
        entry.category or metrics.OTHER
        for entry in results
        if entry.reason
        and not any(window.batch.lo <= entry.position < window.to for window in lost)
    )


def settle_error(
    stream: StreamFacts, request: SettleRequest, error: Exception, *, is_last: bool
) -> None:
    level = _log.critical if is_last else _log.error
    text = "answers could not be booked together; each is booked by itself"
    if is_last:
        text = "answers could not be booked; they become doubts"
    level(text, exc_info=error, mails=len(request.results), **_ids(stream))


def provider_error(stream: StreamFacts, error: BaseException) -> None:
    text = "the provider raised an error; its senders are held"
    _log.error(text, exc_info=error, **_ids(stream))


def overdue_call(stream: StreamFacts) -> None:
    _log.error("the provider missed its deadline; its call is ended", **_ids(stream))


def _ids(stream: StreamFacts) -> dict[str, int]:
    return {"stream_id": stream.id, "workspace_id": stream.workspace_id}


def _verdict_fields(stream: StreamFacts, read: RoundInput, entry: Entry) -> dict[str, object]:
    [recipient] = [item for item in read.recipients if item.position == entry.position]
    body = read.bodies.get(entry.position)
    body = body or read.bodies.get(ledger.shared_position(recipient.letter))
    request_id = body.request_id if body else ""
    return _mail_fields(stream, entry, request_id=request_id, attempts=recipient.attempts)


def _composed_fields(stream: StreamFacts, mail: ComposedMail, entry: Entry) -> dict[str, object]:
    fields = _mail_fields(stream, entry, request_id=mail.request_id, attempts=mail.attempts)
    return {**fields, "recipient": mail.message.recipient, "detail": entry.detail}


def _mail_fields(
    stream: StreamFacts, entry: Entry, *, request_id: str, attempts: int
) -> dict[str, object]:
    return {
        "request_id": request_id,
        "outbox_id": DeliveryId(stream.id, entry.position).text(),
        "workspace_id": stream.workspace_id,
        "attempt": attempts + 1,
        "state": entry.state,
        "outcome": entry.outcome,
        "code": entry.code,
        "category": entry.category,
        "original_code": entry.original_code,
        "duration_ms": entry.duration_ms,
    }


def _observe_durations(results: Sequence[Entry]) -> None:
    durations = Counter(
        (entry.duration_ms, _name(entry)) for entry in results if entry.duration_ms is not None
    )
    for (duration_ms, name), count in durations.items():
        metrics.PROCESSING_DURATION.observe(duration_ms / 1000, count=count, state=name)


def _name(entry: Entry) -> str:
    if entry.outcome is AttemptOutcome.INVALID:
        return "VALIDATION_FAILED"
    return _NAMES.get(entry.state, entry.state.value.upper())
