"""What operators see of the way out: log lines and metrics, from values the rounds have."""

from collections import Counter

import structlog

from postledger.deliveries.entries import Entry, Kind, Outcome, Settled
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.dispatch.rounds.compose import Draft, Mail
from postledger.dispatch.rounds.in_flight import Part
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


def drafted(stream: StreamFacts, draft: Draft) -> None:
    if draft.mails:
        metrics.STATE_TRANSITIONS.add(len(draft.mails), state="VALIDATED")
        metrics.STATE_TRANSITIONS.add(len(draft.mails), state="SENT_ATTEMPT")
    for entry in draft.verdicts:
        name = _name(entry)
        metrics.STATE_TRANSITIONS.add(1, state=name)
        metrics.FINAL_STATES.add(1, state=name)
        if entry.outcome is Outcome.INVALID:
            metrics.VALIDATION_FAILURES.add(1, code=entry.code or "")
        _log.info(
            "mail not sent",
            outbox_id=DeliveryId(stream.id, entry.position).text(),
            workspace_id=stream.workspace_id,
            state=entry.state,
            code=entry.code,
        )


def not_composed(stream: StreamFacts, position: int | None, error: Exception) -> None:
    _log.error(
        "composing a mail failed",
        exc_info=error,
        outbox_id=None if position is None else DeliveryId(stream.id, position).text(),
        stream_id=stream.id,
        workspace_id=stream.workspace_id,
    )


def answered(stream: StreamFacts, mail: Mail, entry: Entry) -> None:
    """One line for each mail that somebody waits for or that was not taken."""
    if stream.kind is Kind.CAMPAIGN and entry.state is State.ACCEPTED:
        return
    level = _log.info if entry.state is State.ACCEPTED else _log.warning
    level(
        "mail handed over" if entry.state is State.ACCEPTED else "mail not taken",
        request_id=mail.request_id,
        outbox_id=DeliveryId(stream.id, mail.position).text(),
        workspace_id=stream.workspace_id,
        recipient=mail.message.recipient,
        attempt=mail.attempts + 1,
        state=entry.state,
        outcome=entry.outcome,
        code=entry.code,
        detail=entry.detail,
        duration_ms=entry.duration_ms,
        provider_message_id=entry.message_id,
    )


def settled(stream: StreamFacts, part: Part, result: Settled) -> None:
    durations = Counter(
        (entry.duration_ms, _name(entry)) for entry in part.results if entry.duration_ms is not None
    )
    for (duration_ms, name), count in durations.items():
        metrics.PROCESSING_DURATION.observe(duration_ms / 1000, count=count, state=name)
    metrics.NEW_DOUBTS.add(result.counts.get(State.IN_DOUBT, 0), cause="no_answer")
    for state, count in result.counts.items():
        name = _NAMES.get(state, state.value.upper())
        metrics.STATE_TRANSITIONS.add(count, state=name)
        metrics.FINAL_STATES.add(count, state=name)
    if result.retried:
        metrics.STATE_TRANSITIONS.add(result.retried, state="RETRY_SCHEDULED")
        reasons = Counter(entry.reason for entry in part.results if entry.reason)
        for reason, count in reasons.items():
            metrics.RETRIES.add(count, reason=reason.value)
    _log.debug("window settled", stream_id=stream.id, mails=len(part.results))
    if result.lost:
        _log.warning(
            "lease lost before settling; its answers were recorded as evidence",
            stream_id=stream.id,
            workspace_id=stream.workspace_id,
            windows=len(result.lost),
        )


def settle_failed(stream: StreamFacts, part: Part, error: Exception, *, is_last: bool) -> None:
    level = _log.critical if is_last else _log.error
    level(
        "answers could not be booked; they become doubts"
        if is_last
        else "answers could not be booked together; each is booked by itself",
        exc_info=error,
        stream_id=stream.id,
        workspace_id=stream.workspace_id,
        mails=len(part.results),
    )


def provider_raised(stream: StreamFacts, error: BaseException) -> None:
    _log.error(
        "the provider raised an error; its senders are held",
        exc_info=error,
        stream_id=stream.id,
        workspace_id=stream.workspace_id,
    )


def overdue(stream: StreamFacts) -> None:
    _log.error(
        "the provider kept no deadline; its call is ended",
        stream_id=stream.id,
        workspace_id=stream.workspace_id,
    )


def repeated(stream: StreamFacts, error: Exception, pause: float) -> None:
    _log.warning(
        "the database did not take what has to be written; trying again",
        stream_id=stream.id,
        workspace_id=stream.workspace_id,
        error=type(error).__name__,
        pause=pause,
    )


def _name(entry: Entry) -> str:
    if entry.outcome is Outcome.INVALID:
        return "VALIDATION_FAILED"
    return _NAMES.get(entry.state, entry.state.value.upper())
