"""Tells one delivery's or stream's story in plain sentences."""

from collections.abc import Iterator
from datetime import datetime
from typing import assert_never

from postledger.deliveries.entries import Held, Outcome
from postledger.deliveries.queries import (
    AttemptFacts,
    Books,
    DeliveryFacts,
    EventFacts,
    StreamFacts,
    Waits,
    WorkFacts,
)
from postledger.deliveries.reasons import EXPLANATIONS
from postledger.deliveries.states import State

_OUTCOMES: dict[Outcome, str] = {
    Outcome.ACCEPTED: "the provider took it",
    Outcome.REFUSED: "the provider refused it for good",
    Outcome.TRY_LATER: "the provider asked to try later",
    Outcome.THROTTLED: "the provider said it was too fast; not counted",
    Outcome.SENDER_BLOCKED: "the provider refused the sender, not the mail; not counted",
    Outcome.NOT_SENT: "it was not handed over; not counted",
    Outcome.IN_DOUBT: "the line broke after hand-over",
    Outcome.LEASE_LOST: "its worker was lost while the mail was with the provider",
    Outcome.INVALID: "it did not pass validation",
    Outcome.SKIPPED: "the recipient's settings say no",
    Outcome.SUPPRESSED: "the address must not be mailed",
    Outcome.EXPIRED: "its time to live had ended",
    Outcome.POISON: "workers died of it again and again; it was given up",
}

_EVENTS: dict[str, str] = {
    "proved_accepted": "evidence came that the provider took it",
    "proved_not_accepted": "evidence came that the provider did not take it",
    "count_as_sent": "it was counted as sent",
    "count_as_not_sent": "it was counted as not sent",
    "send_again": "it was sent again",
    "requeued": "it was requeued",
}


def of_delivery(facts: DeliveryFacts, stream: StreamFacts, *, now: datetime) -> list[str]:
    return [
        f"To {facts.address}, line {facts.position} of {stream.kind} “{stream.title}”.",
        f"Planned {_time(facts.planned_at)}.",
        *(_happened(fact) for fact in facts.history),
        *_stands(facts, stream, now),
    ]


def of_stream(facts: StreamFacts, books: Books, waits: list[Waits], *, now: datetime) -> list[str]:
    parts = [f"{count} {_word(state)}" for state, count in books.counts.items() if count]
    parts.append(f"{books.waiting} waiting")
    return [
        f"{facts.kind.capitalize()} “{facts.title}”, opened {_time(facts.created_at)}.",
        f"Planned {books.planned} = {' + '.join(parts)}.",
        *_wide_holds(facts, now),
        *(_waits(wait, now) for wait in waits),
        *([] if waits else ["No work is left."]),
    ]


def _happened(fact: AttemptFacts | EventFacts) -> str:
    match fact:
        case AttemptFacts():
            said = ": ".join(part for part in (fact.code, fact.detail) if part)
            tail = f" ({said})" if said else ""
            return f"{_time(fact.at)}, try {fact.try_number}: {_OUTCOMES[fact.outcome]}{tail}."
        case EventFacts():
            told = _EVENTS.get(fact.kind, f"the provider reported “{fact.kind}”")
            return f"{_time(fact.at)}, try {fact.try_number}: {told}, says {fact.actor}."
        case _:
            assert_never(fact)


def _stands(facts: DeliveryFacts, stream: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.state is State.WAITING:
        yield from _wide_holds(stream, now)
        yield _waiting(facts.work, now)
    elif facts.state is State.IN_DOUBT:
        yield from _in_doubt(facts)
    else:
        code = f" ({facts.code})" if facts.code else ""
        known = f" as {facts.message_id}" if facts.message_id else ""
        when = f" since {_time(facts.settled_at)}" if facts.settled_at else ""
        yield f"It is {_word(facts.state)}{known}{code}{when}, after {facts.attempts} attempts."


def _in_doubt(facts: DeliveryFacts) -> Iterator[str]:
    tries = ", ".join(str(number) for number in facts.doubts)
    since = _time(facts.settled_at) if facts.settled_at else "an unknown time"
    yield f"It is in doubt since {since}: nobody knows whether the provider took try {tries}."
    yield "An event from the provider ends the doubt, or a person: count as sent, not sent, again."
    if facts.resend_after:
        yield f"Sending again is refused before {_time(facts.resend_after)}: bytes may still leave."


def _waiting(work: WorkFacts | None, now: datetime) -> str:
    if work is None:
        return "It waits and no live batch covers it: the books are wrong. Run postledger audit."
    if work.holder and work.lease_until:
        where = "with the provider now" if work.is_armed else "with a worker"
        after = "becomes in doubt" if work.is_armed else "goes back"
        return (
            f"It is {where} (try {work.try_number}, {work.holder});"
            f" without news by {_time(work.lease_until)} it {after}."
        )
    explanation = EXPLANATIONS[work.reason]
    when = "now" if work.due_at <= now else f"at {_time(work.due_at)}"
    return (
        f"It waits since {_time(work.since)} because {explanation.why};"
        f" {explanation.moved_by}, {when}."
    )


def _wide_holds(facts: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.cancelled_at:
        yield f"The stream was cancelled {_time(facts.cancelled_at)} by {facts.cancelled_by}."
    if facts.sender_hold:
        yield _hold("sender", facts.sender_hold)
    if facts.stream_hold and (facts.stream_hold.until is None or facts.stream_hold.until > now):
        yield _hold("stream", facts.stream_hold)


def _hold(scope: str, held: Held) -> str:
    explanation = EXPLANATIONS[held.reason]
    end = f"until {_time(held.until)}" if held.until else f"until {explanation.moved_by}"
    detail = f" ({held.detail})" if held.detail else ""
    return (
        f"The {scope} is held since {_time(held.since)} by {held.actor}"
        f" because {explanation.why}{detail}, {end}."
    )


def _waits(wait: Waits, now: datetime) -> str:
    explanation = EXPLANATIONS[wait.reason]
    when = "now" if wait.next_due_at <= now else f"from {_time(wait.next_due_at)}"
    leased = f", {wait.leased_count} of them with workers" if wait.leased_count else ""
    return (
        f"{wait.batch_count} batches ({wait.position_count} positions{leased}) wait since"
        f" {_time(wait.since)} because {explanation.why}; {explanation.moved_by}, {when}."
    )


def _word(state: State) -> str:
    return state.value.replace("_", " ")


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}"
