"""What a provider's answer means: for the mail's line in the books, and for its sender."""

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


def cleaned(outcome: Outcome) -> Outcome:
    """The outcome as it may be stored: PostgreSQL takes no NUL and no unpaired surrogate, and a
    wait without an end would never be over.
    """
    match outcome:
        case Accepted(id=message_id):
            clean = _clean_text(message_id)
            return outcome if clean is message_id else Accepted(clean)
        case Refused(code=code, detail=detail) | SenderBlocked(code=code, detail=detail):
            return replace(outcome, code=_clean_text(code), detail=_clean_text(detail))
        case TryLater(code=code, detail=detail, retry_after=wait):
            return replace(
                outcome,
                code=_clean_text(code),
                detail=_clean_text(detail),
                retry_after=_bounded(wait, LONGEST_WAIT),
            )
        case Throttled(detail=detail, retry_after=wait, is_quota=is_quota):
            longest = LONGEST_QUOTA_WAIT if is_quota else LONGEST_WAIT
            return replace(outcome, detail=_clean_text(detail), retry_after=_bounded(wait, longest))
        case InDoubt(detail=detail) | NotSent(detail=detail):
            return replace(outcome, detail=_clean_text(detail))
        case _:
            assert_never(outcome)


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


def entry(answer: Answer, *, policy: Policy, chance: float) -> Entry:  # noqa: PLR0911  one for each
    position = answer.position
    match answer.outcome:
        case Accepted(id=message_id):
            return entries.accepted(position, message_id=message_id, duration_ms=answer.duration_ms)
        case Refused(code=code, detail=detail):
            return entries.refused(position, code=code, detail=detail)
        case NotSent(detail=detail) | TryLater(is_outage=True, detail=detail):
            # In an outage the sender is held meanwhile; it uses up nobody's attempts.
            return entries.not_sent(position, detail=detail)
        case TryLater() as later:
            return _later(answer, later, policy, chance)
        case Throttled(detail=detail, retry_after=retry_after):
            return entries.throttled(position, delay=retry_after or timedelta(), detail=detail)
        case SenderBlocked(code=code, detail=detail):
            return entries.sender_blocked(position, code=code, detail=detail)
        case InDoubt(detail=detail):
            return entries.in_doubt(position, detail=detail)
        case _:
            assert_never(answer.outcome)


def _later(answer: Answer, later: TryLater, policy: Policy, chance: float) -> Entry:
    delay = retry.delay(
        policy, attempts=answer.attempts + 1, retry_after=later.retry_after, chance=chance
    )
    if delay is None:
        return entries.exhausted(answer.position, code=later.code, detail=later.detail)
    return entries.try_later(answer.position, delay=delay, code=later.code, detail=later.detail)


@dataclass(frozen=True, slots=True)
class CallReport:
    """What one call of a provider came to, as a whole."""

    outcomes: Sequence[Outcome]
    unanswered: int = 0  # mails it said nothing about
    error: str = ""  # what it raised

    @property
    def has_acceptance(self) -> bool:
        return any(isinstance(outcome, Accepted) for outcome in self.outcomes)

    @property
    def leaves_only_doubt(self) -> bool:
        has_doubt = self.unanswered or any(isinstance(one, InDoubt) for one in self.outcomes)
        return bool(has_doubt) and not self.has_acceptance


type Trouble = SenderBlocked | Throttled | TryLater


def trouble(outcomes: Sequence[Outcome]) -> Trouble | None:
    """What the outcomes of one call say of the sender as a whole, the gravest first."""
    found: Trouble | None = None
    for outcome in outcomes:
        if isinstance(outcome, SenderBlocked):
            return outcome
        if isinstance(outcome, Throttled) and not isinstance(found, Throttled):
            found = outcome
        if isinstance(outcome, TryLater) and outcome.is_outage and found is None:
            found = outcome
    return found
