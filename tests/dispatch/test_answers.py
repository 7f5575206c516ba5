"""What each answer of a provider means for the books, and for the sender."""

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from postledger.deliveries import entries
from postledger.deliveries.entries import Entry
from postledger.dispatch import answers
from postledger.dispatch.answers import Answer
from postledger.dispatch.retry import Policy
from postledger.providers import base
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

POLICY = Policy(attempts=3, delays=(10, 20), jitter=0.5)
AT = 17
SOON = timedelta(seconds=10)
LONG = timedelta(minutes=5)

# counted attempts before, outcome, entry
MEANINGS: list[tuple[int, Outcome, Entry]] = [
    (0, Accepted("m1"), entries.accepted(AT, message_id="m1")),
    (2, Accepted("m1"), entries.accepted(AT, message_id="m1")),
    (0, Refused("550", "no"), entries.refused(AT, code="550", detail="no")),
    (0, NotSent("late"), entries.not_sent(AT, detail="late")),
    (2, NotSent("late"), entries.not_sent(AT, detail="late")),
    (0, InDoubt("gone"), entries.in_doubt(AT, detail="gone")),
    (0, SenderBlocked("535", "key"), entries.sender_blocked(AT, code="535", detail="key")),
    (2, SenderBlocked("535", "key"), entries.sender_blocked(AT, code="535", detail="key")),
    (0, Throttled("fast"), entries.throttled(AT, delay=timedelta(), detail="fast")),
    (2, Throttled("fast", LONG), entries.throttled(AT, delay=LONG, detail="fast")),
    (0, TryLater("451", "x"), entries.try_later(AT, delay=SOON, code="451", detail="x")),
    (1, TryLater("451", "x"), entries.try_later(AT, delay=2 * SOON, code="451", detail="x")),
    (1, TryLater("451", "x", LONG), entries.try_later(AT, delay=LONG, code="451", detail="x")),
    (2, TryLater("451", "x"), entries.exhausted(AT, code="451", detail="x")),
    (2, TryLater("451", "x", LONG), entries.exhausted(AT, code="451", detail="x")),
    # Nothing reached the provider: that is nobody's attempt, not even the last one's.
    (0, TryLater("c", "down", is_outage=True), entries.not_sent(AT, detail="down")),
    (2, TryLater("c", "down", is_outage=True), entries.not_sent(AT, detail="down")),
]


@pytest.mark.parametrize(("attempts", "outcome", "entry"), MEANINGS)
def test_an_answer_becomes_exactly_its_entry(attempts: int, outcome: Outcome, entry: Entry) -> None:
    answer = Answer(AT, attempts, outcome, duration_ms=33)

    booked = answers.book_answer(answer, policy=POLICY, chance=0.5)

    assert booked == replace(entry, duration_ms=33)


def test_every_outcome_has_a_meaning_above() -> None:
    possible = {base.Accepted, *get_args(base.Failure.__value__)}

    assert {type(outcome) for _, outcome, _ in MEANINGS} == possible


def test_only_completed_exchanges_count_as_attempts() -> None:
    counted = {type(outcome) for _, outcome, entry in MEANINGS if entry.counts}
    free = {type(outcome) for _, outcome, entry in MEANINGS if not entry.counts}

    assert counted == {Accepted, Refused, TryLater, InDoubt}
    assert free == {NotSent, SenderBlocked, Throttled, TryLater}


def test_the_delay_has_the_policys_jitter() -> None:
    answer = Answer(AT, 0, TryLater("451", "x"), duration_ms=1)

    delays = [
        answers.book_answer(answer, policy=POLICY, chance=chance).delay for chance in (0.0, 1.0)
    ]

    assert delays == [timedelta(seconds=5), timedelta(seconds=15)]


BLOCKED, SLOWER = SenderBlocked("535", "key"), Throttled("fast")
DOWN = TryLater("connect", "refused", is_outage=True)
FINE: list[Outcome] = [
    Accepted("m"),
    Refused("550", ""),
    TryLater("451", ""),
    NotSent(""),
    InDoubt(""),
]


@pytest.mark.parametrize(
    ("outcomes", "trouble"),
    [
        ([], None),
        (FINE, None),
        ([*FINE, DOWN], DOWN),
        ([DOWN, *FINE], DOWN),
        ([SLOWER, DOWN], SLOWER),
        ([DOWN, SLOWER], SLOWER),
        ([DOWN, SLOWER, BLOCKED], BLOCKED),
        ([BLOCKED, SLOWER, DOWN], BLOCKED),
        ([SLOWER, Throttled("again")], SLOWER),
        ([DOWN, TryLater("dns", "", is_outage=True)], DOWN),
    ],
)
def test_the_sender_suffers_the_gravest_trouble(
    outcomes: list[Outcome], trouble: Outcome | None
) -> None:
    assert answers.find_trouble(outcomes) == trouble


@pytest.mark.parametrize(
    ("outcome", "clean"),
    [
        (Accepted("m1"), Accepted("m1")),
        (Accepted("m\x00"), Accepted("m\ufffd")),
        (Refused("4\x00", "a \ud800"), Refused("4\ufffd", "a \ufffd")),
        (InDoubt("a\nb"), InDoubt("a\ufffdb")),
        (NotSent("x" * 600), NotSent("x" * 499 + "…")),
        (
            TryLater("451", "x", timedelta(days=4000)),
            TryLater("451", "x", timedelta(days=1)),
        ),
        (TryLater("451", "x", timedelta(-1)), TryLater("451", "x", timedelta())),
        (Throttled("x", timedelta(days=2)), Throttled("x", timedelta(days=1))),
        (
            Throttled("x", timedelta(days=20), is_quota=True),
            Throttled("x", timedelta(days=20), is_quota=True),
        ),
        (
            Throttled("x", timedelta(days=999_999), is_quota=True),
            Throttled("x", timedelta(days=40), is_quota=True),
        ),
        (
            SenderBlocked("5\x7f", "x", is_account=True),
            SenderBlocked("5\ufffd", "x", is_account=True),
        ),
    ],
)
def test_what_a_provider_says_can_be_stored_and_its_waits_end(
    outcome: Outcome, clean: Outcome
) -> None:
    assert answers.clean_outcome(outcome) == clean
