"""Explains a delivery or a stream in plain sentences, and why a decision changed nothing.

All of it in the language that is spoken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from django.utils.translation import gettext, gettext_noop, ngettext, pgettext

from postledger.deliveries import causes
from postledger.deliveries.entries import Hold, HoldScope, StreamKind
from postledger.deliveries.explanations.history_texts import describe_fact
from postledger.deliveries.explanations.reason_texts import explain_reason
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
from postledger.deliveries.states import State
from postledger.deliveries.undecided import UnchangedDelivery

_KINDS: dict[StreamKind, str] = {
    StreamKind.CAMPAIGN: gettext_noop("campaign"),
    StreamKind.TOPIC: gettext_noop("topic"),
    StreamKind.TRANSACTIONAL: gettext_noop("transactional"),
}
_STATES: dict[State, str] = {
    State.WAITING: gettext_noop("it waits to be sent"),
    State.ACCEPTED: gettext_noop("it was accepted"),
    State.FAILED: gettext_noop("it failed"),
    State.SKIPPED: gettext_noop("it was skipped"),
    State.SUPPRESSED: gettext_noop("it was suppressed"),
    State.EXPIRED: gettext_noop("it expired"),
    State.CANCELLED: gettext_noop("it was cancelled"),
    State.IN_DOUBT: gettext_noop("it is in doubt"),
}
_COUNTS: dict[State, str] = {
    State.WAITING: gettext_noop("%(count)s waiting"),
    State.ACCEPTED: gettext_noop("%(count)s accepted"),
    State.FAILED: gettext_noop("%(count)s failed"),
    State.SKIPPED: gettext_noop("%(count)s skipped"),
    State.SUPPRESSED: gettext_noop("%(count)s suppressed"),
    State.EXPIRED: gettext_noop("%(count)s expired"),
    State.CANCELLED: gettext_noop("%(count)s cancelled"),
    State.IN_DOUBT: gettext_noop("%(count)s in doubt"),
}
_REPORTED: dict[str, str] = {
    "delivered": gettext_noop("%(count)s delivered"),
    "bounced": gettext_noop("%(count)s bounced"),
    "soft_bounced": gettext_noop("%(count)s soft bounced"),
    "on_suppression_list": gettext_noop("%(count)s on suppression list"),
    "complained": gettext_noop("%(count)s complained"),
    "dropped": gettext_noop("%(count)s dropped"),
    "opened": gettext_noop("%(count)s opened"),
    "clicked": gettext_noop("%(count)s clicked"),
}
_HELD: dict[HoldScope, str] = {
    HoldScope.ACCOUNT: gettext_noop(
        "The account has been held since %(since)s by %(actor)s because %(why)s%(detail)s"
    ),
    HoldScope.SENDER: gettext_noop(
        "The sender has been held since %(since)s by %(actor)s because %(why)s%(detail)s"
    ),
    HoldScope.STREAM: gettext_noop(
        "The stream has been held since %(since)s by %(actor)s because %(why)s%(detail)s"
    ),
}


def explain_delivery(facts: DeliveryFacts, stream: StreamFacts, *, now: datetime) -> list[str]:
    return [
        gettext("To %(address)s, delivery %(position)s of %(kind)s “%(title)s”.")
        % {
            "address": facts.address,
            "position": facts.position,
            "kind": gettext(_KINDS[stream.kind]),
            "title": stream.title,
        },
        gettext("Planned %(time)s.") % {"time": format_time(facts.planned_at)},
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
    counts = {state: count for state, count in books.counts.items() if count}
    counts[State.WAITING] = books.waiting
    parts = [gettext(_COUNTS[state]) % {"count": count} for state, count in counts.items()]
    return [
        gettext("%(kind)s “%(title)s”, opened %(time)s.")
        % {
            "kind": _begin(gettext(_KINDS[facts.kind])),
            "title": facts.title,
            "time": format_time(facts.created_at),
        },
        gettext("Planned %(count)s = %(parts)s.")
        % {"count": books.planned, "parts": " + ".join(parts)},
        *([explain_reports(reports)] if reports and reports.reported else []),
        *_stops(facts, now),
        *(_waits(wait, facts, now) for wait in waits),
        *planning,
        *([] if waits or planning else [gettext("No work is left.")]),
        *_doubts(books.counts.get(State.IN_DOUBT, 0)),
    ]


def explain_reports(reports: ReportCounts) -> str:
    """What providers reported of the accepted mail; beside the books, and no part of their sum."""
    counts = {name: count for name, count in asdict(reports).items() if count}
    of_any = counts.pop("reported", 0)
    parts = [gettext(_REPORTED[name]) % {"count": count} for name, count in counts.items()]
    return ngettext(
        "Reported of %(count)s mail: %(parts)s.", "Reported of %(count)s mails: %(parts)s.", of_any
    ) % {"count": of_any, "parts": ", ".join(parts) or pgettext("mails", "accepted")}


def _past(fact: AttemptFacts | EventFacts | ReportFacts) -> str:
    when = format_time(fact.at)
    if fact.try_number:
        when = gettext("%(time)s, try %(number)s") % {"time": when, "number": fact.try_number}
    return f"{when}: {describe_fact(fact)}."


def _present(facts: DeliveryFacts, stream: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.state is State.WAITING:
        yield from _stops(stream, now)
        yield _waiting(facts.work, stream, now)
        if facts.doubts:
            yield gettext("Whether the provider took try %(tries)s is not known.") % {
                "tries": _join(facts.doubts)
            }
    elif facts.state is State.IN_DOUBT:
        yield from _in_doubt(facts, now)
    else:
        yield _ended(facts)


def _ended(facts: DeliveryFacts) -> str:
    message_id = gettext(" as %(id)s") % {"id": facts.message_id} if facts.message_id else ""
    code = f" ({facts.code})" if facts.code else ""
    after = ngettext(", after %(count)s attempt", ", after %(count)s attempts", facts.attempts) % {
        "count": facts.attempts
    }
    sentence = _begin(gettext(_STATES[facts.state]))
    return f"{sentence}{message_id}{code}{_at(facts.settled_at)}{after}."


def _at(moment: datetime | None) -> str:
    return gettext(" at %(time)s") % {"time": format_time(moment)} if moment else ""


def _in_doubt(facts: DeliveryFacts, now: datetime) -> Iterator[str]:
    since = ""
    if facts.settled_at:
        since = gettext(" since %(time)s") % {"time": format_time(facts.settled_at)}
    yield gettext(
        "It has been in doubt%(since)s: nobody knows whether the provider took try %(tries)s."
    ) % {"since": since, "tries": _join(facts.doubts)}
    yield gettext(
        "Evidence of the provider ends the doubt, or a person: postledger resolve, with --sent,"
        " --not-sent or --send-again."
    )
    if facts.resend_after and facts.resend_after > now:
        yield gettext(
            "Sending it again is refused before %(time)s: until then the doubtful try may still"
            " leave."
        ) % {"time": format_time(facts.resend_after)}


def _waiting(work: WorkFacts | None, stream: StreamFacts, now: datetime) -> str:
    if work is None:
        return gettext(
            "It waits and no live batch covers it: the books are wrong. Run postledger audit."
        )
    if work.holder and work.lease_until:
        return _leased(work, work.lease_until)
    explanation = explain_reason(work.reason)
    when = _when(work.due_at, now, later=gettext("at %(time)s"))
    return gettext("It has waited since %(time)s because %(why)s; %(moved_by)s.") % {
        "time": format_time(work.since),
        "why": explanation.why,
        "moved_by": _overruled(stream, now) or f"{explanation.moved_by}, {when}",
    }


def _leased(work: WorkFacts, until: datetime) -> str:
    if work.is_armed:
        sentence = gettext(
            "It is with the provider now (try %(number)s, %(holder)s); without news by %(time)s it"
            " becomes in doubt."
        )
    else:
        sentence = gettext(
            "It is with a worker now (try %(number)s, %(holder)s); without news by %(time)s it"
            " goes back to the queue."
        )
    return sentence % {
        "number": work.try_number,
        "holder": work.holder,
        "time": format_time(until),
    }


def _when(due_at: datetime, now: datetime, *, later: str) -> str:
    return gettext("now") if due_at <= now else later % {"time": format_time(due_at)}


def _overruled(stream: StreamFacts, now: datetime) -> str:
    """What will move the stream's work while something wide stops it; empty when nothing does."""
    if stream.cancelled_at and stream.block_code:
        return gettext("it will be booked as failed (%(code)s)") % {"code": stream.block_code}
    if stream.cancelled_at:
        return gettext("it will be booked as cancelled")
    if stream.fenced_since:
        return gettext("it goes on when the fence is lifted")
    match len(causes.sort_in_force(stream.holds, now=now)):
        case 0:
            return ""
        case 1:
            return gettext("it goes on when the hold ends")
        case _:
            return gettext("it goes on when all holds have ended")


def _stops(facts: StreamFacts, now: datetime) -> Iterator[str]:
    if facts.cancelled_at:
        sentence = (
            gettext(
                "The stream was cancelled %(time)s by %(actor)s, while the provider refused its"
                " sender."
            )
            if facts.block_code
            else gettext("The stream was cancelled %(time)s by %(actor)s.")
        )
        yield sentence % {"time": format_time(facts.cancelled_at), "actor": facts.cancelled_by}
        return
    if facts.fenced_since:
        yield gettext(
            "Sending has been blocked since %(time)s: this database was restored, promoted or"
            " copied. A person lifts the fence (postledger fence)."
        ) % {"time": format_time(facts.fenced_since)}
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
    values = {"time": format_time(held.fails_at), "code": held.code}
    if held.fails_at <= now:
        return (
            gettext("Nobody acted in time: mail of it fails with %(code)s when it is due") % values
        )
    return (
        gettext(
            "If nobody releases it, or holds or releases one of its streams, before %(time)s, its"
            " mail that is due then fails with %(code)s"
        )
        % values
    )


def _hold(held: Hold) -> str:
    explanation = explain_reason(held.reason, scope=held.scope)
    held_because = gettext(_HELD[held.scope]) % {
        "since": format_time(held.since),
        "actor": held.actor,
        "why": explanation.why,
        "detail": f" ({held.detail.rstrip('.')})" if held.detail else "",
    }
    if held.until is None:
        end = gettext(", until %(moved_by)s.") % {"moved_by": explanation.moved_by}
    elif explanation.then:
        values = {"time": format_time(held.until), "then": explanation.then}
        end = gettext(", until %(time)s; then %(then)s.") % values
    else:
        end = gettext(", until %(time)s.") % {"time": format_time(held.until)}
    return held_because + end


def _waits(wait: WaitSummary, stream: StreamFacts, now: datetime) -> str:
    explanation = explain_reason(wait.reason)
    batches, positions, leased = wait.batch_count, wait.position_count, wait.leased_count
    parts = [
        ngettext("%(count)s batch", "%(count)s batches", batches) % {"count": batches},
        ngettext("%(count)s position", "%(count)s positions", positions) % {"count": positions},
    ]
    if leased:
        parts.append(
            ngettext(
                "%(count)s batch with a worker now", "%(count)s batches with a worker now", leased
            )
            % {"count": leased}
        )
    when = _when(wait.next_due_at, now, later=gettext("from %(time)s"))
    return gettext("Work has waited since %(time)s because %(why)s (%(parts)s); %(moved_by)s.") % {
        "time": format_time(wait.since),
        "why": explanation.why,
        "parts": ", ".join(parts),
        "moved_by": _overruled(stream, now) or f"{explanation.moved_by}, {when}",
    }


def _doubts(count: int) -> Iterator[str]:
    if count:
        yield ngettext(
            "%(count)s delivery is in doubt: evidence of the provider or a person's decision ends"
            " that.",
            "%(count)s deliveries are in doubt: evidence of the provider or a person's decision"
            " ends that.",
            count,
        ) % {"count": count}


def explain_unchanged(
    delivery: UnchangedDelivery, stream: StreamFacts, *, before: State, makes_wait: bool
) -> str:
    """Why a decision about a delivery in `before` did not apply, as part of a sentence."""
    if delivery.state is not before:
        state = f"{gettext(_STATES[delivery.state])}{_at(delivery.settled_at)}"
        return gettext("meanwhile %(state)s") % {"state": state}
    if makes_wait and stream.cancelled_at:
        return gettext(
            "its stream was cancelled %(time)s by %(actor)s, so nothing of it is sent any more"
        ) % {"time": format_time(stream.cancelled_at), "actor": stream.cancelled_by}
    if makes_wait and delivery.is_leaving and delivery.resend_after:
        return gettext(
            "its doubtful try may still arrive until %(time)s; send it again after that"
        ) % {"time": format_time(delivery.resend_after)}
    if makes_wait and delivery.is_covered:
        return gettext("mails beside it are with the provider just now; try again in some minutes")
    if not makes_wait and delivery.is_discarded:
        return gettext("it was discarded before")
    return gettext("it changed while it was shown; read it again")


def _begin(clause: str) -> str:
    """A clause as the beginning of a sentence."""
    return clause[:1].upper() + clause[1:]


def _join(numbers: Sequence[int]) -> str:
    return gettext(" and ").join(map(str, numbers))


def format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}"
