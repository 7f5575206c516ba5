"""What a provider's answer means for the books."""

from collections.abc import Iterable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Told:
    """One answer, with what is needed to weigh it."""

    position: int
    attempts: int  # counted before this one
    outcome: Outcome
    duration_ms: int


def entry(told: Told, *, policy: Policy, chance: float) -> Entry:  # noqa: PLR0911  one for each
    position = told.position
    match told.outcome:
        case Accepted(id=message_id):
            return entries.accepted(position, message_id=message_id, duration_ms=told.duration_ms)
        case Refused(code=code, detail=detail):
            return entries.refused(position, code=code, detail=detail)
        case NotSent(detail=detail) | TryLater(is_outage=True, detail=detail):
            # In an outage the sender is held meanwhile; it uses up nobody's attempts.
            return entries.not_sent(position, detail=detail)
        case TryLater() as later:
            return _later(told, later, policy, chance)
        case Throttled(detail=detail, retry_after=retry_after):
            return entries.throttled(position, delay=retry_after or timedelta(), detail=detail)
        case SenderBlocked(code=code, detail=detail):
            return entries.sender_blocked(position, code=code, detail=detail)
        case InDoubt(detail=detail):
            return entries.in_doubt(position, detail=detail)
        case _:
            assert_never(told.outcome)


def _later(told: Told, later: TryLater, policy: Policy, chance: float) -> Entry:
    delay = retry.delay(
        policy, attempts=told.attempts + 1, retry_after=later.retry_after, chance=chance
    )
    if delay is None:
        return entries.exhausted(told.position, code=later.code, detail=later.detail)
    return entries.try_later(told.position, delay=delay, code=later.code, detail=later.detail)


type Trouble = SenderBlocked | Throttled | TryLater


def trouble(outcomes: Iterable[Outcome]) -> Trouble | None:
    """What concerns the sender as a whole, not one mail; the gravest of it."""
    found: Trouble | None = None
    for outcome in outcomes:
        if isinstance(outcome, SenderBlocked):
            return outcome
        if isinstance(outcome, Throttled) and not isinstance(found, Throttled):
            found = outcome
        if isinstance(outcome, TryLater) and outcome.is_outage and found is None:
            found = outcome
    return found
