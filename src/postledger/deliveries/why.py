"""Why mail waits or did not go: each cause with its time, its end, and what a person can do. Pure.

The first cause is the one that ends last: mail goes on when all have ended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.deliveries import causes
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.explain import format_time
from postledger.deliveries.queries import (
    DeliveryFacts,
    StreamFacts,
    WaitSummary,
    WorkFacts,
)
from postledger.deliveries.reasons import EXPLANATIONS, LIMIT_REASONS, Reason
from postledger.deliveries.states import State


@dataclass(frozen=True, slots=True)
class Cause:
    code: str  # a reason of waits and holds, a state, or one of the codes in docs/reference/api.md
    sentence: str
    since: datetime | None
    until: datetime | None  # None: not known, or a person ends it
    resumed_by: str  # empty: nothing; it is over
    advice: str


_NOTHING = "Nothing: it goes on by itself."
_RELEASE_STREAM = "release it: postledger stream release, or resume the run"
ADVICE: dict[Reason, str] = {
    Reason.READY: "Nothing. If it lasts, look whether workers run: postledger doctor.",
    Reason.SCHEDULED: "Cancel it if it is not to go at that time.",
    Reason.RETRY: "Nothing, unless the provider's answer names what to mend.",
    Reason.THROTTLED: "Nothing. A rate for the sender or the account avoids it.",
    Reason.NOT_SENT: _NOTHING,
    Reason.HANDED_BACK: _NOTHING,
    Reason.LEASE_LOST: "Nothing. If it happens often, look at the log of the workers.",
    Reason.REQUEUED: _NOTHING,
    Reason.SENT_AGAIN: _NOTHING,
    Reason.DISPROVED: _NOTHING,
    Reason.RATE_PER_SECOND: "Raise the rate of the sender or the account, if the provider"
    " allows more.",
    Reason.RATE_PER_HOUR: "Raise the sender's limit per hour, or wait.",
    Reason.DAILY_LIMIT: "Raise the daily limit of the sender or of the member who launched it, or"
    " wait.",
    Reason.QUOTA_EXHAUSTED: "Ask the provider for a larger quota, or wait.",
    Reason.OUTSIDE_HOURS: "Wait, or change the working hours of the workspace or the sender. A run"
    " keeps the delivery window that its campaign had at the launch.",
    Reason.LIMITS_UNKNOWN: "Look whether Redis runs: postledger doctor.",
    Reason.PROVIDER_DOWN: "Look whether the provider can be reached: postledger doctor.",
    Reason.NO_MEMORY: "Give the workers more memory, or send smaller attachments.",
    Reason.WORK_FAILED: "Look for the error in the log of the workers, and report it.",
    Reason.CONTENT_BROKEN: f"Mend the content, then {_RELEASE_STREAM}.",
    Reason.PROVIDER_BROKEN: "Check the account (postledger doctor), then release the sender:"
    " postledger sender release.",
    Reason.PAUSED: f"To send, {_RELEASE_STREAM}; a sender: postledger sender release.",
    Reason.SENDER_BLOCKED: "Mend what the provider names, then release the sender:"
    " postledger sender release.",
    Reason.BOUNCE_RATE: f"Remove the addresses that do not work, then {_RELEASE_STREAM}.",
    Reason.COMPLAINT_RATE: f"Remove the contacts that did not ask for it, then {_RELEASE_STREAM}.",
    Reason.AUDIENCE_SYNCING: "If it lasts, check the connection to Supabase: postledger doctor.",
}
_SUBJECTS = {
    HoldScope.ACCOUNT: "The account of its sender is held",
    HoldScope.SENDER: "The sender is held",
    HoldScope.STREAM: "It is held",
}
_RESULTS: dict[State, tuple[str, str]] = {
    State.ACCEPTED: ("The provider took it", "Nothing: it is done."),
    State.FAILED: ("It failed", "Mend the cause, then send it again: postledger requeue."),
    State.SKIPPED: ("The recipient's settings say no", "Nothing: it is done."),
    State.SUPPRESSED: ("The address must not be mailed", "Nothing: it is done."),
    State.EXPIRED: ("Its time to live had ended", "Send a new mail if it is still of use."),
    State.CANCELLED: ("It was cancelled", "Nothing: it is done."),
    State.IN_DOUBT: (
        "Nobody knows whether the provider took it",
        "Look at the provider, then decide: postledger resolve.",
    ),
}


def list_delivery_causes(
    delivery: DeliveryFacts, stream: StreamFacts, *, now: datetime
) -> list[Cause]:
    """Why a mail waits; of a mail with a result, why it has that result."""
    if delivery.state is not State.WAITING:
        return [_explain_result(delivery)]
    stops = list(_list_stops(stream, now))
    if stream.cancelled_at is not None or delivery.work is None:
        return stops
    work = delivery.work
    if work.holder is not None:
        return [_explain_lease(work)]
    if work.due_at > now or not stops:
        stops.append(_explain_wait(work.reason, work.since, work.due_at, now))
    return _sort(stops)


def list_stream_causes(
    stream: StreamFacts, waits: Sequence[WaitSummary], *, now: datetime
) -> list[Cause]:
    """What keeps back the next mail of a stream; nothing if none of its mails waits."""
    stops = list(_list_stops(stream, now)) if waits or stream.cancelled_at else []
    if stream.cancelled_at is not None or not waits:
        return stops
    first = min(waits, key=lambda wait: wait.next_due_at)
    if first.next_due_at > now or not stops:
        stops.append(_explain_wait(first.reason, first.since, first.next_due_at, now))
    return _sort(stops)


def list_sender_causes(
    holds: Iterable[Hold], streams: Iterable[StreamFacts], *, now: datetime
) -> list[Cause]:
    """What holds a sender: its own causes, and the limits that hold its streams."""
    limits: dict[Reason, Hold] = {}
    for hold in (hold for stream in streams for hold in stream.holds):
        if hold.reason in LIMIT_REASONS:
            limits[hold.reason] = causes.sort_causes([hold, limits.get(hold.reason, hold)])[0]
    own = [hold for hold in holds if hold.reason not in limits]
    return [explain_hold(hold) for hold in causes.sort_in_force([*own, *limits.values()], now=now)]


def explain_hold(hold: Hold) -> Cause:
    explanation = EXPLANATIONS[hold.reason]
    detail = f" ({hold.detail.rstrip('.')})" if hold.detail else ""
    return Cause(
        hold.reason,
        f"{_SUBJECTS[hold.scope]} because {explanation.why}{detail}.",
        hold.since,
        hold.until,
        explanation.moved_by,
        ADVICE[hold.reason],
    )


def describe_cause(cause: Cause) -> Iterator[str]:
    """A cause in lines for a person."""
    since = f" since {format_time(cause.since)}" if cause.since else ""
    until = f" until {format_time(cause.until)}" if cause.until else ""
    yield f"{cause.code}{since}{until}: {cause.sentence}"
    if cause.resumed_by:
        yield f"  What will move it: {cause.resumed_by}."
    yield f"  What you can do: {cause.advice}"


def _list_stops(stream: StreamFacts, now: datetime) -> Iterator[Cause]:
    if stream.cancelled_at is not None:
        sentence = f"Its stream was cancelled by {stream.cancelled_by}."
        done = "Nothing: what was not sent is not sent any more."
        yield Cause("cancelled", sentence, stream.cancelled_at, None, "", done)
        return
    if stream.fenced_since is not None:
        yield Cause(
            "fenced",
            "Sending is blocked because this database was restored, promoted or copied.",
            stream.fenced_since,
            None,
            "a person lifts the fence",
            "Look at what was lost, then lift the fence: postledger fence.",
        )
    yield from map(explain_hold, causes.sort_in_force(stream.holds, now=now))


def _explain_wait(reason: Reason, since: datetime, due_at: datetime, now: datetime) -> Cause:
    explanation = EXPLANATIONS[reason]
    until = due_at if due_at > now else None
    sentence = f"It waits because {explanation.why}."
    return Cause(reason, sentence, since, until, explanation.moved_by, ADVICE[reason])


def _explain_lease(work: WorkFacts) -> Cause:
    where = "provider" if work.is_armed else "worker"
    return Cause(
        f"with_{where}",
        f"It is with a {where} now, in try {work.try_number}.",
        None,
        work.lease_until,
        "its result comes" if work.is_armed else "the worker sends it",
        _NOTHING,
    )


def _explain_result(delivery: DeliveryFacts) -> Cause:
    sentence, advice = _RESULTS[delivery.state]
    is_doubt = delivery.state is State.IN_DOUBT
    code = f" ({delivery.code})" if delivery.code else ""
    return Cause(
        delivery.state,
        f"{sentence}{code}.",
        delivery.settled_at,
        None,
        "evidence of the provider, or a person's decision" if is_doubt else "",
        advice,
    )


def _sort(stops: list[Cause]) -> list[Cause]:
    """What ends last comes first, before it what has no end; others keep their order."""
    endless = [cause for cause in stops if cause.until is None]
    ending = [(cause.until, cause) for cause in stops if cause.until is not None]
    return [*endless, *(cause for _, cause in sorted(ending, key=lambda one: one[0], reverse=True))]
