"""The log lines and metrics of the dispatcher, from values that the rounds have.

The ledger itself counts the results that it stores.
"""

from collections import Counter

import structlog

from postledger.deliveries.entries import AttemptOutcome, Entry, Settled, StreamKind
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.dispatch.rounds.compose import ComposedMail, ComposedRound
from postledger.dispatch.rounds.in_flight import SettleRequest
from postledger.lib.ids import DeliveryId
from postledger.observability import metrics
from postledger.providers import base

_log = structlog.get_logger(__name__)

# The states as the metrics and the views name them.
_NAMES = {
    State.ACCEPTED: "SENT",
    State.WAITING: "RETRY_SCHEDULED",
}


def received(count: int) -> None:
    metrics.STATE_TRANSITIONS.add(count, state="RECEIVED")


def composed_round(stream: StreamFacts, composed: ComposedRound) -> None:
    if composed.mails:
        metrics.STATE_TRANSITIONS.add(len(composed.mails), state="VALIDATED")
        metrics.STATE_TRANSITIONS.add(len(composed.mails), state="SENT_ATTEMPT")
    for entry in composed.verdicts:
        if entry.outcome is AttemptOutcome.INVALID:
            metrics.VALIDATION_FAILURES.add(1, code=entry.code or "")
        _log.info(
            "mail not sent",
            outbox_id=DeliveryId(stream.id, entry.position).text(),
            workspace_id=stream.workspace_id,
            state=entry.state,
            code=entry.code,
        )


def compose_error(stream: StreamFacts, position: int | None, error: Exception) -> None:
    outbox_id = None if position is None else DeliveryId(stream.id, position).text()
    _log.error("composing a mail failed", exc_info=error, outbox_id=outbox_id, **_ids(stream))


def answer(stream: StreamFacts, mail: ComposedMail, entry: Entry, outcome: base.Outcome) -> None:
    """One log line for each single mail, and for each mail that was not accepted."""
    is_accepted = isinstance(outcome, base.Accepted)
    if stream.kind is StreamKind.CAMPAIGN and is_accepted:
        return
    level = _log.info if is_accepted else _log.warning
    level(
        "mail handed over" if is_accepted else "mail not taken",
        request_id=mail.request_id,
        outbox_id=DeliveryId(stream.id, mail.position).text(),
        workspace_id=stream.workspace_id,
        recipient=mail.message.recipient,
        attempt=mail.attempts + 1,
        state=entry.state,
        outcome=entry.outcome,
        code=None if isinstance(outcome, base.Accepted) else outcome.code,
        category=None if isinstance(outcome, base.Accepted) else outcome.category,
        original_code=outcome.original_code or None,
        detail=entry.detail,
        duration_ms=entry.duration_ms,
        provider_message_id=entry.message_id,
    )


def settled(stream: StreamFacts, request: SettleRequest, result: Settled) -> None:
    results = request.results
    durations = Counter(
        (entry.duration_ms, _name(entry)) for entry in results if entry.duration_ms is not None
    )
    for (duration_ms, name), count in durations.items():
        metrics.PROCESSING_DURATION.observe(duration_ms / 1000, count=count, state=name)
    if result.retried:
        metrics.STATE_TRANSITIONS.add(result.retried, state="RETRY_SCHEDULED")
        for reason, count in Counter(entry.reason for entry in results if entry.reason).items():
            metrics.RETRIES.add(count, reason=reason.value)
    _log.debug("window settled", stream_id=stream.id, mails=len(results))
    if result.lost:
        text = "lease lost before settling; its answers were recorded as evidence"
        _log.warning(text, windows=len(result.lost), **_ids(stream))


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


def _name(entry: Entry) -> str:
    if entry.outcome is AttemptOutcome.INVALID:
        return "VALIDATION_FAILED"
    return _NAMES.get(entry.state, entry.state.value.upper())
