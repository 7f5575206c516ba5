"""What a provider's answer means: for the mail's entry in the books, and for its sender."""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from postledger.deliveries import entries
from postledger.deliveries.entries import Entry
from postledger.dispatch import retry
from postledger.dispatch.retry import Policy
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)

# A provider that asks for more is misunderstood, or wants to get rid of us.
LONGEST_WAIT = timedelta(days=1)
# A known reset of a quota may be far away: the longest quotas are monthly.
LONGEST_QUOTA_WAIT = timedelta(days=40)
LONGEST_TEXT = 500


def clean_outcome(outcome: Outcome) -> Outcome:
    """The outcome as it may be stored: PostgreSQL takes no NUL and no unpaired surrogate, and a
    wait without an end would never be over.
    """
    if isinstance(outcome, Accepted):
        clean = _clean_text(outcome.id)
        return outcome if clean is outcome.id else replace(outcome, id=clean)
    outcome = replace(
        outcome,
        code=_clean_text(outcome.code),
        detail=_clean_text(outcome.detail),
        original_code=_clean_text(outcome.original_code),
    )
    if isinstance(outcome, TryLater):
        return replace(outcome, retry_after=_bounded(outcome.retry_after, LONGEST_WAIT))
    if isinstance(outcome, Throttled):
        longest = LONGEST_QUOTA_WAIT if outcome.is_quota else LONGEST_WAIT
        return replace(outcome, retry_after=_bounded(outcome.retry_after, longest))
    return outcome


def _clean_text(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1] + "…"
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _bounded(wait: timedelta | None, longest: timedelta) -> timedelta | None:
    return None if wait is None else min(max(wait, timedelta()), longest)


@dataclass(frozen=True, slots=True)
class Answer:
    """One outcome, with what decides its entry."""

    position: int
    attempts: int  # counted before this one
    outcome: Outcome
    duration_ms: int
    uncounted: int = 0  # earlier tries that were no attempts


def book_answer(answer: Answer, *, policy: Policy, chance: float) -> Entry:
    """The entry of an answer; a failure keeps its category and the provider's own code."""
    entry = _entry(answer, policy, chance)
    outcome = answer.outcome
    if isinstance(outcome, Accepted):
        return entry
    return replace(
        entry,
        duration_ms=answer.duration_ms,
        category=outcome.category,
        original_code=outcome.original_code or None,
    )


def _entry(answer: Answer, policy: Policy, chance: float) -> Entry:  # noqa: PLR0911  one for each
    position = answer.position
    match answer.outcome:
        case Accepted(id=message_id):
            return entries.accepted(position, message_id=message_id, duration_ms=answer.duration_ms)
        case Refused(code=code, detail=detail, bounce_code=bounce_code):
            return entries.refused(position, code=code, detail=detail, bounce_code=bounce_code)
        case NotSent(code=code, detail=detail) | TryLater(is_outage=True, code=code, detail=detail):
            # In an outage the sender is held meanwhile; it uses up nobody's attempts.
            return entries.not_sent(position, code=code, detail=detail)
        case TryLater(code=code, detail=detail, retry_after=retry_after):
            delay = retry.delay(
                policy, attempts=answer.attempts + 1, retry_after=retry_after, chance=chance
            )
            if delay is None:
                return entries.exhausted(position, code=code, detail=detail)
            return entries.try_later(position, delay=delay, code=code, detail=detail)
        case Throttled(is_lone=True) as lone if (
            lone.retry_after or answer.uncounted >= MOST_LONE_THROTTLES
        ):
            later = TryLater(lone.code, lone.detail, lone.retry_after)
            return _entry(replace(answer, outcome=later), policy, chance)
        case Throttled(
            code=code, detail=detail, retry_after=retry_after, is_quota=is_quota, is_lone=is_lone
        ):
            # What concerns this mail alone waits by itself; else the sender's rate is lowered.
            pause = retry.backoff(answer.uncounted + 1) if is_lone else timedelta()
            delay = retry_after or pause
            return entries.throttled(
                position, delay=delay, code=code, detail=detail, is_quota=is_quota
            )
        case SenderBlocked(code=code, detail=detail):
            return entries.sender_blocked(position, code=code, detail=detail)
        case InDoubt(code=code, detail=detail):
            return entries.in_doubt(position, code=code, detail=detail)
        case _:
            assert_never(answer.outcome)


# A mail that is throttled again and again, and others are not, has a recipient who takes none:
# from then on its tries are attempts.
MOST_LONE_THROTTLES = 10

# So many recipients must have got an answer that may be quoted before it holds their sender.
FEWEST_WITNESSES = 3
_MOST_REMEMBERED = 20
_DIGIT = re.compile(r"\d")


class RecentAnswers:
    """The last answers about the recipients of one sender, one for each recipient.

    They tell a provider's own words from those of a recipient's server, which a relay may repeat:
    the provider's own reach several recipients, and no fewer than get another answer.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[str, str] = OrderedDict()

    def judge(self, recipient: str, outcome: Outcome) -> Outcome:
        """The outcome as it is believed. What may be quoted and has too few witnesses concerns its
        own mail alone, which is tried again: a refusal by its policy, a throttle uncounted.
        """
        if isinstance(outcome, InDoubt | NotSent) or getattr(outcome, "is_outage", False):
            return outcome  # nobody answered
        self._remember(recipient, outcome)
        if not isinstance(outcome, Throttled | SenderBlocked) or not outcome.may_be_quoted:
            return outcome
        witnesses = list(self._answers.values()).count(_same_answer(recipient, outcome))
        if isinstance(outcome, Throttled):
            # A provider at its limit still takes most mails, so few witnesses are enough.
            return replace(outcome, is_lone=witnesses < FEWEST_WITNESSES)
        if witnesses >= FEWEST_WITNESSES and 2 * witnesses >= len(self._answers):
            return outcome
        return TryLater(
            outcome.code,
            outcome.detail,
            original_code=outcome.original_code,
            duration=outcome.duration,
        )

    def _remember(self, recipient: str, outcome: Outcome) -> None:
        self._answers[recipient.lower()] = _same_answer(recipient, outcome)
        self._answers.move_to_end(recipient.lower())
        if len(self._answers) > _MOST_REMEMBERED:
            self._answers.popitem(last=False)


def _same_answer(recipient: str, outcome: Outcome) -> str:
    """Equal for answers that differ only in the recipient, in numbers and in ids."""
    if isinstance(outcome, Accepted):
        return ""
    address, _, domain = recipient.lower().partition("@")
    words = outcome.detail.lower().replace(f"{address}@{domain}", "").split()
    return " ".join([outcome.code, *(word for word in words if not _DIGIT.search(word))])


@dataclass(frozen=True, slots=True)
class CallReport:
    """The outcomes of one call of a provider."""

    outcomes: Sequence[Outcome]
    unanswered: int = 0  # mails without an outcome
    error: str = ""  # what it raised
    is_probe: bool = False  # one mail, to a provider that did not answer before

    @property
    def has_acceptance(self) -> bool:
        return self.accepted_count > 0

    @property
    def accepted_count(self) -> int:
        return sum(isinstance(outcome, Accepted) for outcome in self.outcomes)

    @property
    def has_answer(self) -> bool:
        """Whether the provider said anything about a mail, be it no."""
        return any(
            not isinstance(outcome, InDoubt | NotSent)
            and not (isinstance(outcome, TryLater) and outcome.is_outage)
            for outcome in self.outcomes
        )

    @property
    def is_out_of_quota(self) -> bool:
        return any(isinstance(outcome, Throttled) and outcome.is_quota for outcome in self.outcomes)

    @property
    def leaves_only_doubt(self) -> bool:
        has_doubt = self.unanswered or any(isinstance(item, InDoubt) for item in self.outcomes)
        return bool(has_doubt) and not self.has_acceptance


type Trouble = SenderBlocked | Throttled | TryLater


def find_trouble(outcomes: Sequence[Outcome]) -> Trouble | None:
    """The gravest outcome of one call that concerns the whole sender."""
    trouble: Trouble | None = None
    for outcome in outcomes:
        if isinstance(outcome, SenderBlocked):
            return outcome
        if (
            isinstance(outcome, Throttled)
            and not outcome.is_lone
            and (not isinstance(trouble, Throttled) or outcome.is_quota > trouble.is_quota)
        ):
            trouble = outcome
        if isinstance(outcome, TryLater) and outcome.is_outage and trouble is None:
            trouble = outcome
    return trouble


def is_mere_throttle(trouble: Trouble) -> bool:
    """Whether a lower rate is all that it asks for."""
    if not isinstance(trouble, Throttled):
        return False
    return not trouble.is_quota and trouble.retry_after is None


def count_throttles(outcomes: Sequence[Outcome]) -> int:
    """How many answers say that mail comes too fast."""
    return sum(
        isinstance(item, Throttled) and not item.is_quota and not item.is_lone for item in outcomes
    )
