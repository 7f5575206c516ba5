"""Explains a delivery or a stream in plain sentences, and why a decision changed nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import assert_never

from postledger.deliveries import causes
from postledger.deliveries.entries import DOUBTFUL, AttemptOutcome, Hold
from postledger.deliveries.queries import (
    AttemptFacts,
    Books,
    DeliveryFacts,
    EventFacts,
    ReportCounts,
    ReportFacts,
    StreamFacts,
    WaitSummary,
    WorkFacts,
)
from postledger.deliveries.reasons import EXPLANATIONS
from postledger.deliveries.states import State
from postledger.deliveries.undecided import UnchangedDelivery

_OUTCOMES: dict[AttemptOutcome, str] = {
    AttemptOutcome.ACCEPTED: "the provider took it",
    AttemptOutcome.REFUSED: "the provider refused it for good",
    AttemptOutcome.TRY_LATER: "the provider asked to try later",
    AttemptOutcome.THROTTLED: "the provider limited our rate; not counted",
    AttemptOutcome.SENDER_BLOCKED: "the provider refused the sender, not the mail; not counted",
    AttemptOutcome.NOT_SENT: "it was not handed over; not counted",
    AttemptOutcome.IN_DOUBT: "the connection broke after hand-over",
    AttemptOutcome.LOST_TIME: "it was due in a time that a restore of the database has lost",
    AttemptOutcome.LEASE_LOST: "its worker was lost while the mail was with the provider",
    AttemptOutcome.INVALID: "it did not pass validation",
    AttemptOutcome.SKIPPED: "the recipient's settings say no",
    AttemptOutcome.SUPPRESSED: "the address must not be mailed",
    AttemptOutcome.EXPIRED: "its time to live had ended",
    AttemptOutcome.POISON: "workers died of it again and again; it was given up",
    AttemptOutcome.GIVEN_UP: "its sender stayed blocked; it was given up and not handed over",
}

_EVENTS: dict[str, str] = {
    "proved_accepted": "evidence came that the provider took it ({actor})",
    "proved_not_accepted": "evidence came that the provider did not take it ({actor})",
    "count_as_sent": "{actor} counted it as sent",
    "count_as_not_sent": "{actor} counted it as not sent",
    "send_again": "{actor} chose to send it again",
    "requeued": "{actor} requeued it",
    "cancelled": "{actor} cancelled it",
    "superseded": "{actor} launched a later run that sends to this recipient again",
}

_REPORTS: dict[str, str] = {
    "accepted": "the provider reported that it took it",
    "delivered": "the recipient's server took it",
    "deferred": "the recipient's server said not now; the provider goes on trying",
    "bounced": "it bounced for good",
    "soft_bounced": "it bounced; the address stays in use",
    "on_suppression_list": "the provider kept it back: the address is on the account's own"
    " suppression list",
    "dropped": "the provider took it and then did not send it",
    "complained": "the recipient reported it as spam",
    "not_spam": "the recipient said that it is no spam",
    "unsubscribed": "the recipient unsubscribed at the provider",
    "opened": "it was opened, by a person or a machine",
    "clicked": "a link in it was followed, by a person or a machine",
    "refused": "the provider could not make the mail and did not send it",
}

_STATES: dict[State, str] = {
    State.WAITING: "waits to be sent",
    State.ACCEPTED: "was accepted",
    State.FAILED: "failed",
    State.SKIPPED: "was skipped",
    State.SUPPRESSED: "was suppressed",
    State.EXPIRED: "expired",
    State.CANCELLED: "was cancelled",
    State.IN_DOUBT: "is in doubt",
}


def explain_delivery(facts: DeliveryFacts, stream: StreamFacts, *, now: datetime) -> list[str]:
    return [
        f"To {facts.address}, delivery {facts.position} of {stream.kind} “{stream.title}”.",
        f"Planned {format_time(facts.planned_at)}.",
        *(_past(fact) for fact in facts.history),
        *_present(facts, stream, now),
    ]


def explain_stream(  # noqa: PLR0913  the facts of a stream, each by its name
    facts: StreamFacts,
    books: Books,
    waits: Sequence[WaitSummary],
    *,
    planning: Sequence[str] = (),
    reports: ReportCounts | None = None,
    now: datetime,
) -> list[str]:
    """`planning` says why more mail is to come, if it is."""
    states = {state: state.value.replace("_", " ") for state in books.counts}
    parts = [f"{count} {states[state]}" for state, count in books.counts.items() if count]
    parts.append(f"{books.waiting} waiting")
    return [
        f"{facts.kind.capitalize()} “{facts.title}”, opened {format_time(facts.created_at)}.",
        f"Planned {books.planned} = {' + '.join(parts)}.",
        *([explain_reports(reports)] if reports and reports.reported else []),
        *_stops(facts, now),
        *(_waits(wait, facts, now) for wait in waits),
        *planning,
        *([] if waits or planning else ["No work is left."]),
        *_doubts(books.counts.get(State.IN_DOUBT, 0)),
    ]


def explain_reports(reports: ReportCounts) -> str:
    """What providers reported of the accepted mail; beside the books, and no part of their sum."""
    counts = {name: count for name, count in asdict(reports).items() if count}
    of_any = counts.pop("reported", 0)
    parts = [f"{count} {name.replace('_', ' ')}" for name, count in counts.items()]
    return f"Reported of {_count(of_any, 'mail')}: {', '.join(parts) or 'accepted'}."


def _past(fact: AttemptFacts | EventFacts | ReportFacts) -> str:
    when = format_time(fact.at) + (f", try {fact.try_number}" if fact.try_number else "")
    match fact:
        case AttemptFacts():
            return f"{when}: {_OUTCOMES[fact.outcome]}{_details(fact)}{_consequence(fact)}."
        case EventFacts():
            sentence = _EVENTS.get(fact.kind, f"{{actor}} reported “{fact.kind}”")
            return f"{when}: {sentence.replace('{actor}', fact.actor)}."
        case ReportFacts():
            sentence = _REPORTS.get(fact.report, f"the provider reported “{fact.name}”")
            details = ": ".join(part for part in (fact.code, fact.detail.rstrip(".")) if part)
            return f"{when}: {sentence}{f' ({details})' if details else ''}."
        case _:
            assert_never(fact)


def _details(fact: AttemptFacts) -> str:
    """The code and the detail, unless they repeat the outcome."""
    detail = (fact.detail or "").rstrip(".")
    if detail.casefold() == _OUTCOMES[fact.outcome]:
        detail = ""
    details = ": ".join(part for part in (fact.code, detail) if part)
    return f" ({details})" if details else ""


def _consequence(fact: AttemptFacts) -> str:
    """What an outcome led to, where that does not follow from the outcome."""
    if fact.state is State.IN_DOUBT and fact.outcome not in DOUBTFUL:  # then it is an older doubt
        return "; an earlier try is in doubt, so it stays in doubt"
    if fact.state is State.FAILED and fact.outcome is AttemptOutcome.TRY_LATER:
        return "; that was the last attempt"
    return ""


def _present(facts: DeliveryFacts, stream: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.state is State.WAITING:
        yield from _stops(stream, now)
        yield _waiting(facts.work, stream, now)
        if facts.doubts:
            yield f"Whether the provider took try {_join(facts.doubts)} is not known."
    elif facts.state is State.IN_DOUBT:
        yield from _in_doubt(facts, now)
    else:
        message_id = f" as {facts.message_id}" if facts.message_id else ""
        code = f" ({facts.code})" if facts.code else ""
        when = f" at {format_time(facts.settled_at)}" if facts.settled_at else ""
        after = _count(facts.attempts, "attempt")
        yield f"It {_STATES[facts.state]}{message_id}{code}{when}, after {after}."


def _in_doubt(facts: DeliveryFacts, now: datetime) -> Iterator[str]:
    since = f" since {format_time(facts.settled_at)}" if facts.settled_at else ""
    tries = _join(facts.doubts)
    yield f"It has been in doubt{since}: nobody knows whether the provider took try {tries}."
    yield (
        "Evidence of the provider ends the doubt, or a person: postledger resolve, with --sent,"
        " --not-sent or --send-again."
    )
    if facts.resend_after and facts.resend_after > now:
        yield (
            f"Sending it again is refused before {format_time(facts.resend_after)}:"
            " until then the doubtful try may still leave."
        )


def _waiting(work: WorkFacts | None, stream: StreamFacts, now: datetime) -> str:
    if work is None:
        return "It waits and no live batch covers it: the books are wrong. Run postledger audit."
    if work.holder and work.lease_until:
        where = "with the provider" if work.is_armed else "with a worker"
        after = "becomes in doubt" if work.is_armed else "goes back to the queue"
        return (
            f"It is {where} now (try {work.try_number}, {work.holder});"
            f" without news by {format_time(work.lease_until)} it {after}."
        )
    explanation = EXPLANATIONS[work.reason]
    when = "now" if work.due_at <= now else f"at {format_time(work.due_at)}"
    moved_by = _overruled(stream, now) or f"{explanation.moved_by}, {when}"
    return f"It has waited since {format_time(work.since)} because {explanation.why}; {moved_by}."


def _overruled(stream: StreamFacts, now: datetime) -> str:
    """What will move the stream's work while something wide stops it; empty when nothing does."""
    if stream.cancelled_at:
        state = f"failed ({stream.block_code})" if stream.block_code else "cancelled"
        return f"it will be booked as {state}"
    if stream.fenced_since:
        return "it goes on when the fence is lifted"
    match len(causes.sort_in_force(stream.holds, now=now)):
        case 0:
            return ""
        case 1:
            return "it goes on when the hold ends"
        case _:
            return "it goes on when all holds have ended"


def _stops(facts: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.cancelled_at:
        while_blocked = ", while the provider refused its sender" if facts.block_code else ""
        yield (
            f"The stream was cancelled {format_time(facts.cancelled_at)} by"
            f" {facts.cancelled_by}{while_blocked}."
        )
        return
    if facts.fenced_since:
        yield (
            f"Sending has been blocked since {format_time(facts.fenced_since)}: this database was"
            " restored, promoted or copied. A person lifts the fence (postledger fence)."
        )
    yield from _holds(facts, now)


def _holds(facts: StreamFacts, now: datetime) -> Iterator[str]:
    """The causes in force, the one that ends last first."""
    for held in causes.sort_in_force(facts.holds, now=now):
        yield _hold(held)
        if held.fails_at:
            yield f"{explain_block(held, now=now)}."


def explain_block(held: Hold, *, now: datetime) -> str:
    """What becomes of the mail of a blocked sender if nobody acts; empty without a block."""
    if held.fails_at is None:
        return ""
    if held.fails_at <= now:
        return f"Nobody acted in time: mail of it fails with {held.code} when it is due"
    return (
        f"If nobody releases it, or holds or releases one of its streams, before"
        f" {format_time(held.fails_at)}, its mail that is due then fails with {held.code}"
    )


def _hold(held: Hold) -> str:
    explanation = EXPLANATIONS[held.reason]
    then = f"; then {explanation.then}" if explanation.then else ""
    end = f"{format_time(held.until)}{then}" if held.until else explanation.moved_by
    detail = f" ({held.detail.rstrip('.')})" if held.detail else ""
    return (
        f"The {held.scope} has been held since {format_time(held.since)} by {held.actor}"
        f" because {explanation.why}{detail}, until {end}."
    )


def _waits(wait: WaitSummary, stream: StreamFacts, now: datetime) -> str:
    explanation = EXPLANATIONS[wait.reason]
    parts = [_count(wait.batch_count, "batch", "batches"), _count(wait.position_count, "position")]
    if wait.leased_count:
        parts.append(f"{_count(wait.leased_count, 'batch', 'batches')} with a worker now")
    when = "now" if wait.next_due_at <= now else f"from {format_time(wait.next_due_at)}"
    moved_by = _overruled(stream, now) or f"{explanation.moved_by}, {when}"
    return (
        f"Work has waited since {format_time(wait.since)} because {explanation.why}"
        f" ({', '.join(parts)}); {moved_by}."
    )


def _doubts(count: int) -> Iterator[str]:
    if count:
        verb = "is" if count == 1 else "are"
        yield (
            f"{_count(count, 'delivery', 'deliveries')} {verb} in doubt:"
            " evidence of the provider or a person's decision ends that."
        )


def explain_unchanged(
    delivery: UnchangedDelivery, stream: StreamFacts, *, before: State, makes_wait: bool
) -> str:
    """Why a decision about a delivery in `before` did not apply, as part of a sentence."""
    if delivery.state is not before:
        when = f" at {format_time(delivery.settled_at)}" if delivery.settled_at else ""
        return f"meanwhile it {_STATES[delivery.state]}{when}"
    if makes_wait and stream.cancelled_at:
        return (
            f"its stream was cancelled {format_time(stream.cancelled_at)} by"
            f" {stream.cancelled_by}, so nothing of it is sent any more"
        )
    if makes_wait and delivery.is_leaving and delivery.resend_after:
        return (
            f"its doubtful try may still arrive until {format_time(delivery.resend_after)};"
            " send it again after that"
        )
    if makes_wait and delivery.is_covered:
        return "mails beside it are with the provider just now; try again in some minutes"
    return "it changed while it was shown; read it again"


def _count(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular}" if count == 1 else f"{count} {plural or singular + 's'}"


def _join(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


def format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}"
