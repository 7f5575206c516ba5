"""The story of one mail: every try, answer, wait, decision and report, in the order of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from postledger.deliveries.attention.sentences import NOT_HANDED_OVER
from postledger.deliveries.entries import DOUBTFUL, UNCOUNTED, AttemptOutcome, StreamKind
from postledger.deliveries.queries import (
    AttemptFacts,
    DeliveryFacts,
    EventFacts,
    ReportFacts,
    StreamFacts,
)
from postledger.deliveries.states import State

type _Words = Promise | str
type _Fact = AttemptFacts | EventFacts | ReportFacts

# A shorter wait before the first try is no part of the story.
_SHORTEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the story; one without a moment is a wait, with its length."""

    icon: str
    text: _Words
    at: datetime | None = None
    length: timedelta | None = None
    note: _Words = ""
    answer: str = ""  # the provider's own words
    tone: str = ""
    starts_day: bool = False


_OUTCOMES: Mapping[AttemptOutcome, tuple[str, _Words]] = {
    AttemptOutcome.ACCEPTED: ("check", _("The provider took it.")),
    AttemptOutcome.REFUSED: ("x", _("The provider refused it for good.")),
    AttemptOutcome.TRY_LATER: ("send", _("The provider asked to try later.")),
    AttemptOutcome.THROTTLED: ("send", _("The provider said that we were too fast.")),
    AttemptOutcome.SENDER_BLOCKED: ("x", _("The provider refused the sender, not the email.")),
    AttemptOutcome.NOT_SENT: ("send", _("It was not handed over.")),
    AttemptOutcome.IN_DOUBT: (
        "doubt",
        _("It was handed over, then the connection broke before the answer."),
    ),
    AttemptOutcome.LOST_TIME: (
        "doubt",
        _("It was due in a time that a restore of the database has lost."),
    ),
    AttemptOutcome.LEASE_LOST: (
        "doubt",
        _("Its worker was lost while the email was with the provider."),
    ),
    AttemptOutcome.INVALID: ("x", _("No email could be made of it.")),
    AttemptOutcome.SKIPPED: ("skip", _("Skipped: the recipient's settings say no.")),
    AttemptOutcome.SUPPRESSED: ("ban", _("Suppressed: the address must not be mailed.")),
    AttemptOutcome.EXPIRED: ("hourglass", _("Expired: its time to live had ended.")),
    AttemptOutcome.POISON: ("x", _("Given up: workers died of it again and again.")),
    AttemptOutcome.GIVEN_UP: (
        "x",
        _("Given up: its sender stayed blocked. It was not handed over."),
    ),
}
# Before these nothing was tried.
_VERDICTS = frozenset(
    {
        AttemptOutcome.INVALID,
        AttemptOutcome.SKIPPED,
        AttemptOutcome.SUPPRESSED,
        AttemptOutcome.EXPIRED,
        AttemptOutcome.POISON,
        AttemptOutcome.GIVEN_UP,
    }
)
_EVENTS: Mapping[str, tuple[str, _Words]] = {
    "proved_accepted": ("check", _("Evidence came that the provider took it.")),
    "proved_not_accepted": ("x", _("Evidence came that the provider did not take it.")),
    "count_as_sent": ("person", _("%(actor)s counted it as sent.")),
    "count_as_not_sent": ("person", _("%(actor)s counted it as not sent.")),
    "send_again": ("again", _("%(actor)s chose to send it again.")),
    "requeued": ("again", _("%(actor)s had it tried again.")),
    "discarded": ("person", _("%(actor)s discarded it: it asks nobody any more.")),
    "cancelled": ("stop", _("%(actor)s cancelled it.")),
    "superseded": (
        "again",
        _("%(actor)s launched a later run that sends to this recipient again."),
    ),
}
_REPORTS: Mapping[str, tuple[str, _Words]] = {
    "accepted": ("mail", _("The provider reported that it took it.")),
    "delivered": ("mail", _("Delivered: the recipient's server took it.")),
    "deferred": (
        "clock",
        _("The recipient's server said not now; the provider goes on trying."),
    ),
    "bounced": ("x", _("It bounced for good.")),
    "soft_bounced": ("x", _("It bounced; the address stays in use.")),
    "on_suppression_list": (
        "ban",
        _("The provider kept it back: the address is on the account's own suppression list."),
    ),
    "dropped": ("x", _("The provider took it and then did not send it.")),
    "complained": ("alert", _("The recipient reported it as spam.")),
    "not_spam": ("check", _("The recipient said that it is no spam.")),
    "unsubscribed": ("ban", _("The recipient unsubscribed at the provider.")),
    "opened": ("eye", _("Opened, by a person or a machine.")),
    "clicked": ("link", _("A link in it was followed, by a person or a machine.")),
    "refused": ("x", _("The provider could not make the email and did not send it.")),
}
_RESULTS: Mapping[State, tuple[str, _Words]] = {
    State.ACCEPTED: ("check", _("Accepted: the provider took it.")),
    State.FAILED: ("x", _("It failed.")),
    State.SKIPPED: _OUTCOMES[AttemptOutcome.SKIPPED],
    State.SUPPRESSED: _OUTCOMES[AttemptOutcome.SUPPRESSED],
    State.EXPIRED: _OUTCOMES[AttemptOutcome.EXPIRED],
    State.CANCELLED: ("stop", _("It was cancelled.")),
}
_WAITS: Mapping[AttemptOutcome, _Words] = {
    AttemptOutcome.TRY_LATER: _("Waited, because the provider asked to try later."),
    AttemptOutcome.THROTTLED: _("Waited, because the provider limits our rate."),
    AttemptOutcome.SENDER_BLOCKED: _("Waited, because the provider refused the sender."),
    AttemptOutcome.NOT_SENT: _("Waited for another try."),
}
_ENDS_DOUBT = {
    "proved_accepted",
    "proved_not_accepted",
    "count_as_sent",
    "count_as_not_sent",
    "send_again",
}
_GIVES_STATE: Mapping[str, State] = {
    "proved_accepted": State.ACCEPTED,
    "count_as_sent": State.ACCEPTED,
    "count_as_not_sent": State.FAILED,
    "proved_not_accepted": State.FAILED,
    "cancelled": State.CANCELLED,
    "superseded": State.CANCELLED,
}


def tell_story(
    facts: DeliveryFacts, stream: StreamFacts, names: Mapping[str, str], *, now: datetime
) -> list[Step]:
    """A pure function of its values and the active zone; `names` are those of actors."""
    steps = [_tell_start(facts, stream)]
    history = _sort([*facts.history, *_list_unwritten(facts)])
    steps += _tell_first_wait(facts, history)
    for number, fact in enumerate(history):
        steps.append(_tell(fact, names))
        if isinstance(fact, AttemptFacts):
            steps += _tell_wait(fact, history[number + 1 :], now=now)
    steps += _tell_result(facts, stream, names)
    return list(_mark_days(steps))


def _sort(history: Sequence[_Fact]) -> list[_Fact]:
    """By time; what is about a try never before it, though a report may overtake the answer."""
    tried_at = {fact.try_number: fact.at for fact in history if isinstance(fact, AttemptFacts)}

    def find_place(fact: _Fact) -> tuple[datetime, bool, datetime]:
        if isinstance(fact, ReportFacts):
            return max(fact.at, tried_at.get(fact.try_number, fact.at)), True, fact.at
        return fact.at, False, fact.at

    return sorted(history, key=find_place)


def _tell_start(facts: DeliveryFacts, stream: StreamFacts) -> Step:
    if stream.kind is StreamKind.TRANSACTIONAL:
        return Step("code", gettext("Received and written into the books."), facts.planned_at)
    return Step("send", gettext("Planned and written into the books."), facts.planned_at)


def _list_unwritten(facts: DeliveryFacts) -> Iterator[AttemptFacts]:
    """A first try that was accepted has no line of its own: it is on its delivery."""
    is_written = any(isinstance(fact, AttemptFacts | EventFacts) for fact in facts.history)
    if facts.state is State.ACCEPTED and facts.settled_at and not is_written:
        yield AttemptFacts(
            facts.last_try, facts.settled_at, AttemptOutcome.ACCEPTED, State.ACCEPTED, None, None
        )


def _tell_first_wait(facts: DeliveryFacts, history: Sequence[object]) -> Iterator[Step]:
    first = next((fact for fact in history if isinstance(fact, AttemptFacts)), None)
    if first is not None and first.at - facts.planned_at >= _SHORTEST_WAIT:
        text = gettext("Waited for its time and its turn.")
        yield Step("clock", text, length=first.at - facts.planned_at, tone="wait")


def _tell(fact: AttemptFacts | EventFacts | ReportFacts, names: Mapping[str, str]) -> Step:
    match fact:
        case AttemptFacts():
            return _tell_attempt(fact)
        case EventFacts():
            icon, words = _EVENTS.get(fact.kind, ("person", _("%(actor)s noted something.")))
            text = str(words) % {"actor": names.get(fact.actor, fact.actor)}
            tone = "good" if _GIVES_STATE.get(fact.kind) is State.ACCEPTED else ""
            return Step(icon, text, fact.at, note=_name_try(fact.try_number), tone=tone)
        case ReportFacts():
            icon, words = _REPORTS.get(fact.report, ("mail", _("The provider reported on it.")))
            answer = " ".join(part for part in (fact.code, fact.detail) if part)
            return Step(icon, words, fact.at, note=_name_try(fact.try_number), answer=answer)
        case _:
            assert_never(fact)


def _tell_attempt(fact: AttemptFacts) -> Step:
    icon, text = _OUTCOMES[fact.outcome]
    if fact.outcome is AttemptOutcome.REFUSED and fact.code in NOT_HANDED_OVER:
        text = gettext("It was not handed over: the provider cannot take it.")
    if fact.outcome not in _VERDICTS:
        text = gettext("Try %(number)s: %(outcome)s") % {"number": fact.try_number, "outcome": text}
    return Step(
        icon,
        text,
        fact.at,
        note=_describe_consequence(fact),
        answer=" ".join(part for part in (fact.code, fact.detail) if part),
        tone="good" if fact.state is State.ACCEPTED else "",
    )


def _describe_consequence(fact: AttemptFacts) -> str:
    if fact.outcome in UNCOUNTED:
        return gettext("This used up no attempt.")
    if fact.state is State.IN_DOUBT and fact.outcome not in DOUBTFUL:
        return gettext("An earlier try is in doubt, so it stays in doubt.")
    if fact.state is State.FAILED and fact.outcome is AttemptOutcome.TRY_LATER:
        return gettext("That was the last attempt.")
    return ""


def _name_try(number: int) -> str:
    return gettext("About try %(number)s.") % {"number": number} if number else ""


def _tell_wait(
    fact: AttemptFacts, later: Sequence[AttemptFacts | EventFacts | ReportFacts], *, now: datetime
) -> Iterator[Step]:
    """What lies between a try and what came of it; a wait that lasts is told elsewhere."""
    if fact.state is State.IN_DOUBT:
        yield _tell_doubt(fact, later, now=now)
        return
    again = next((step for step in later if isinstance(step, AttemptFacts)), None)
    if fact.state is State.WAITING and again is not None:
        text = _WAITS.get(fact.outcome, _("Waited for another try."))
        yield Step("clock", text, length=again.at - fact.at, tone="wait")


def _tell_doubt(
    fact: AttemptFacts, later: Sequence[AttemptFacts | EventFacts | ReportFacts], *, now: datetime
) -> Step:
    end = next(
        (
            step
            for step in later
            if isinstance(step, AttemptFacts)
            or (isinstance(step, EventFacts) and step.kind in _ENDS_DOUBT)
        ),
        None,
    )
    if end is None:
        return Step(
            "doubt",
            gettext("In doubt: nobody knows whether the provider took it."),
            length=now - fact.at,
            note=gettext("It is not sent again, so that nobody gets it twice."),
            tone="person",
        )
    return Step(
        "doubt",
        gettext("In doubt: nobody knew whether the provider had taken it."),
        length=end.at - fact.at,
        note=gettext("Meanwhile it was not sent again, so that nobody got it twice."),
        tone="wait",
    )


def _tell_result(
    facts: DeliveryFacts, stream: StreamFacts, names: Mapping[str, str]
) -> Iterator[Step]:
    """The result, where nothing in the history gave it: its stream ended, or it was kept back."""
    if facts.state not in _RESULTS or _is_told(facts):
        return
    icon, text = _RESULTS[facts.state]
    if facts.state is State.CANCELLED and stream.cancelled_at is not None:
        actor = stream.cancelled_by or ""
        text = gettext("Cancelled with all that waited, by %(actor)s.") % {
            "actor": names.get(actor, actor)
        }
    tone = "good" if facts.state is State.ACCEPTED else ""
    yield Step(icon, text, facts.settled_at, answer=facts.code or "", tone=tone)


def _is_told(facts: DeliveryFacts) -> bool:
    if facts.state is State.ACCEPTED and not any(
        isinstance(fact, AttemptFacts | EventFacts) for fact in facts.history
    ):
        return True  # by `_list_unwritten`
    return any(
        (isinstance(fact, AttemptFacts) and fact.state is facts.state)
        or (isinstance(fact, EventFacts) and _GIVES_STATE.get(fact.kind) is facts.state)
        for fact in facts.history
    )


def _mark_days(steps: Sequence[Step]) -> Iterator[Step]:
    day = None
    for step in steps:
        if step.at is None:
            yield step
            continue
        previous, day = day, timezone.localtime(step.at).date()
        yield replace(step, starts_day=day != previous)
