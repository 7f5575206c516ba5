"""Why mail waits or did not go: each cause with its time, its end, and what a person can do.

The first cause is the one that ends last: mail goes on when all have ended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from postledger.deliveries import causes
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.explanations import remedies
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.queries import (
    DeliveryFacts,
    StreamFacts,
    WaitSummary,
    WorkFacts,
)
from postledger.deliveries.reasons import LIMIT_REASONS, Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Cause:
    """Its texts are in the language that is spoken when it is found."""

    code: str  # a reason of waits and holds, a state, or one of the codes in docs/reference/api.md
    sentence: str
    since: datetime | None
    until: datetime | None  # None: not known, or a person ends it
    resumed_by: str  # empty: nothing; it is over
    advice: str
    actor: str = ""  # of a cancellation: who did it, as in the audit trail
    scope: HoldScope | None = None  # of a hold: what is held


_DONE = gettext_noop("Nothing: it is done.")
_HELD = {
    HoldScope.ACCOUNT: gettext_noop("The account of its sender is held because %(why)s%(detail)s."),
    HoldScope.SENDER: gettext_noop("The sender is held because %(why)s%(detail)s."),
    HoldScope.STREAM: gettext_noop("It is held because %(why)s%(detail)s."),
}
_PAUSED = gettext_noop("A person paused it%(detail)s.")
_RESULTS: dict[State, tuple[str, str]] = {
    State.ACCEPTED: (gettext_noop("The provider took it"), _DONE),
    State.FAILED: (
        gettext_noop("It failed"),
        gettext_noop("Mend the cause, then send it again: postledger requeue %(id)s."),
    ),
    State.SKIPPED: (gettext_noop("The recipient's settings say no"), _DONE),
    State.SUPPRESSED: (gettext_noop("The address must not be mailed"), _DONE),
    State.EXPIRED: (
        gettext_noop("Its time to live had ended"),
        gettext_noop("Send a new mail if it is still of use."),
    ),
    State.CANCELLED: (gettext_noop("It was cancelled"), _DONE),
    State.IN_DOUBT: (
        gettext_noop("Nobody knows whether the provider took it"),
        gettext_noop("Look at the provider, then decide: postledger resolve %(id)s."),
    ),
}


def list_delivery_causes(
    delivery: DeliveryFacts, stream: StreamFacts, *, now: datetime
) -> list[Cause]:
    """Why a mail waits; of a mail with a result, why it has that result."""
    if delivery.state is not State.WAITING:
        return [_explain_result(delivery, stream)]
    stops = list(list_stops(stream, now=now))
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
    stops = list(list_stops(stream, now=now)) if waits or stream.cancelled_at else []
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
    explanation = explain_reason(hold.reason, scope=hold.scope)
    detail = f" ({hold.detail.rstrip('.')})" if hold.detail else ""
    is_paused = hold.reason is Reason.PAUSED and hold.scope is HoldScope.STREAM
    return Cause(
        hold.reason,
        gettext(_PAUSED if is_paused else _HELD[hold.scope])
        % {"why": explanation.why, "detail": detail},
        hold.since,
        hold.until,
        explanation.moved_by,
        explanation.advice,
        scope=hold.scope,
    )


def leave_out_commands(cause: Cause) -> Cause:
    """The same for a reader who has buttons and no shell."""
    if cause.code not in set(Reason):
        return cause
    explanation = explain_reason(Reason(cause.code), scope=cause.scope, names_commands=False)
    return replace(cause, resumed_by=explanation.moved_by, advice=explanation.advice)


def describe_cause(cause: Cause) -> Iterator[str]:
    """A cause in lines for a person at the command line."""
    since = f" since {format_time(cause.since)}" if cause.since else ""
    until = f" until {format_time(cause.until)}" if cause.until else ""
    yield f"{cause.code}{since}{until}: {cause.sentence}"
    if cause.resumed_by:
        yield f"  What will move it: {cause.resumed_by}."
    yield f"  What you can do: {cause.advice}"


def list_stops(stream: StreamFacts, *, now: datetime) -> Iterator[Cause]:
    """What keeps back every mail of a stream, also one that is not planned yet."""
    if stream.cancelled_at is not None:
        sentence = gettext("Its stream was cancelled by %(actor)s.") % {
            "actor": stream.cancelled_by
        }
        done = gettext("Nothing: what was not sent is not sent any more.")
        actor = stream.cancelled_by or ""
        yield Cause("cancelled", sentence, stream.cancelled_at, None, "", done, actor)
        return
    if stream.fenced_since is not None:
        yield Cause(
            "fenced",
            gettext("Sending is blocked because this database was restored, promoted or copied."),
            stream.fenced_since,
            None,
            gettext("a person lifts the fence"),
            gettext("Look at what was lost, then lift the fence: postledger fence."),
        )
    yield from map(explain_hold, causes.sort_in_force(stream.holds, now=now))


def _explain_wait(reason: Reason, since: datetime, due_at: datetime, now: datetime) -> Cause:
    explanation = explain_reason(reason)
    until = due_at if due_at > now else None
    sentence = gettext("It waits because %(why)s.") % {"why": explanation.why}
    return Cause(reason, sentence, since, until, explanation.moved_by, explanation.advice)


def _explain_lease(work: WorkFacts) -> Cause:
    if work.is_armed:
        sentence = gettext("It is with a provider now, in try %(number)s.")
        resumed_by = gettext("its result comes")
    else:
        sentence = gettext("It is with a worker now, in try %(number)s.")
        resumed_by = gettext("the worker sends it")
    return Cause(
        "with_provider" if work.is_armed else "with_worker",
        sentence % {"number": work.try_number},
        None,
        work.lease_until,
        resumed_by,
        gettext("Nothing: it goes on by itself."),
    )


def _explain_result(delivery: DeliveryFacts, stream: StreamFacts) -> Cause:
    sentence, _advice = _RESULTS[delivery.state]
    is_doubt = delivery.state is State.IN_DOUBT
    code = f" ({delivery.code})" if delivery.code else ""
    return Cause(
        delivery.state,
        f"{gettext(sentence)}{code}.",
        delivery.settled_at,
        None,
        gettext("evidence of the provider, or a person's decision") if is_doubt else "",
        _advise(delivery, stream),
    )


def _advise(delivery: DeliveryFacts, stream: StreamFacts) -> str:
    """As the page of the mail does, with the command in place of its buttons."""
    failure = remedies.find_failure(delivery)
    if failure is not None and remedies.is_hopeless(failure.outcome, failure.code or ""):
        return str(remedies.advise(failure.outcome, failure.code or ""))
    if delivery.state is State.FAILED and stream.cancelled_at is not None:
        return gettext("Nothing: what was not sent is not sent any more.")
    _sentence, advice = _RESULTS[delivery.state]
    return gettext(advice) % {"id": DeliveryId(stream.id, delivery.position).uuid()}


def _sort(stops: list[Cause]) -> list[Cause]:
    """What ends last comes first, before it what has no end; others keep their order."""
    endless = [cause for cause in stops if cause.until is None]
    ending = [(cause.until, cause) for cause in stops if cause.until is not None]
    return [*endless, *(cause for _, cause in sorted(ending, key=lambda one: one[0], reverse=True))]
