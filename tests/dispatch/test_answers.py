"""What each answer of a provider means for the books, and for the sender."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import get_args

from postledger.deliveries import entries
from postledger.deliveries.entries import AttemptOutcome, Entry
from postledger.dispatch import answers
from postledger.dispatch.answers import Answer, RecentAnswers
from postledger.dispatch.retry import Policy
from postledger.providers import base
from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
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

LATE = replace(entries.not_sent(AT, code="not_sent", detail="late"), category=Category.TIMEOUT)
DOWN_ENTRY = replace(entries.not_sent(AT, code="c", detail="down"), category=Category.TRANSIENT)


def throttled(delay: timedelta, *, is_quota: bool = False) -> Entry:
    return entries.throttled(AT, delay=delay, code="throttled", detail="fast", is_quota=is_quota)


# counted attempts before, outcome, entry
MEANINGS: list[tuple[int, Outcome, Entry]] = [
    (0, Accepted("m1"), entries.accepted(AT, message_id="m1")),
    (2, Accepted("m1"), entries.accepted(AT, message_id="m1")),
    (0, Refused("550", "no"), entries.refused(AT, code="550", detail="no")),
    (0, NotSent("late"), LATE),
    (2, NotSent("late"), LATE),
    (0, InDoubt("gone"), entries.in_doubt(AT, code="no_answer", detail="gone")),
    (0, SenderBlocked("535", "key"), entries.sender_blocked(AT, code="535", detail="key")),
    (2, SenderBlocked("535", "key"), entries.sender_blocked(AT, code="535", detail="key")),
    (0, Throttled("fast"), throttled(timedelta())),
    (2, Throttled("fast", LONG), throttled(LONG)),
    (0, Throttled("fast", is_quota=True), throttled(timedelta(), is_quota=True)),
    (0, Throttled("fast", LONG, is_quota=True), throttled(LONG, is_quota=True)),
    (0, TryLater("451", "x"), entries.try_later(AT, delay=SOON, code="451", detail="x")),
    (1, TryLater("451", "x"), entries.try_later(AT, delay=2 * SOON, code="451", detail="x")),
    (1, TryLater("451", "x", LONG), entries.try_later(AT, delay=LONG, code="451", detail="x")),
    (2, TryLater("451", "x"), entries.exhausted(AT, code="451", detail="x")),
    (2, TryLater("451", "x", LONG), entries.exhausted(AT, code="451", detail="x")),
    # Nothing reached the provider: that is nobody's attempt, not even the last one's.
    (0, TryLater("c", "down", is_outage=True), DOWN_ENTRY),
    (2, TryLater("c", "down", is_outage=True), DOWN_ENTRY),
]


def test_an_answer_becomes_exactly_its_entry() -> None:
    for attempts, outcome, entry in MEANINGS:
        answer = Answer(AT, attempts, outcome, duration_ms=33)

        booked = answers.book_answer(answer, policy=POLICY, chance=0.5)

        assert booked == replace(entry, duration_ms=33), (attempts, outcome)


def test_every_failure_keeps_its_code_its_category_and_the_providers_own_name() -> None:
    failures: list[Failure] = [
        Refused("550", "no"),
        TryLater("451", "x"),
        TryLater("c", "down", is_outage=True),
        Throttled("fast", code="454"),
        SenderBlocked("535", "key"),
        InDoubt("gone", code="reset"),
        NotSent("late"),
    ]
    for failure in failures:
        outcome = replace(failure, original_code="TheirName", category=Category.CONFIGURATION)
        answer = Answer(AT, 0, outcome, duration_ms=33)

        entry = answers.book_answer(answer, policy=POLICY, chance=0.5)

        assert (entry.code, entry.category) == (outcome.code, Category.CONFIGURATION)
        assert (entry.original_code, entry.duration_ms) == ("TheirName", 33), failure


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

    for chance, seconds in ((0.0, 5), (1.0, 15)):
        entry = answers.book_answer(answer, policy=POLICY, chance=chance)
        assert entry.delay == timedelta(seconds=seconds)


BLOCKED, SLOWER = SenderBlocked("535", "key"), Throttled("fast")
USED_UP = Throttled("quota", is_quota=True)
DOWN = TryLater("connect", "refused", is_outage=True)
FINE: list[Outcome] = [
    Accepted("m"),
    Refused("550", ""),
    TryLater("451", ""),
    NotSent(""),
    InDoubt(""),
]


def test_the_sender_suffers_the_gravest_trouble() -> None:
    troubles: list[tuple[list[Outcome], Outcome | None]] = [
        ([], None),
        (FINE, None),
        ([*FINE, DOWN], DOWN),
        ([DOWN, *FINE], DOWN),
        ([SLOWER, DOWN], SLOWER),
        ([DOWN, SLOWER], SLOWER),
        ([DOWN, SLOWER, BLOCKED], BLOCKED),
        ([BLOCKED, SLOWER, DOWN], BLOCKED),
        ([SLOWER, Throttled("again")], SLOWER),
        ([SLOWER, USED_UP, Throttled("again")], USED_UP),
        ([DOWN, TryLater("dns", "", is_outage=True)], DOWN),
    ]
    for outcomes, trouble in troubles:
        assert answers.find_trouble(outcomes) == trouble, outcomes


def quoted(recipient: str, words: str = "relay access denied") -> SenderBlocked:
    return SenderBlocked("550", f"RCPT: 550 <{recipient}>: {words}", may_be_quoted=True)


def judged(recent: RecentAnswers, recipients: Sequence[str]) -> list[type[Outcome]]:
    return [type(recent.judge(name, quoted(name))) for name in recipients]


def test_an_answer_that_may_be_quoted_is_believed_after_three_recipients_and_not_after_one() -> (
    None
):
    recipients = [f"r{number}@example.com" for number in range(4)]

    assert judged(RecentAnswers(), recipients) == [TryLater, TryLater, *[SenderBlocked] * 2]
    # However often, and in whatever capitals.
    assert set(judged(RecentAnswers(), ["r1@example.com", "R1@example.com"] * 9)) == {TryLater}


def test_answers_in_other_words_are_no_witnesses_of_one_another() -> None:
    recent = RecentAnswers()

    outcomes = [
        recent.judge(
            f"r{number}@example.com", quoted("x", f"host {name} said: relay access denied")
        )
        for number, name in enumerate(["mx.a", "mx.b", "mx.c", "mx.d"])
    ]

    assert {type(outcome) for outcome in outcomes} == {TryLater}


def test_a_provider_that_answers_most_recipients_otherwise_is_not_blocked() -> None:
    others: list[Outcome] = [Accepted("m"), Refused("550 5.1.1", "no such user")]
    for other in others:
        recent = RecentAnswers()
        for number in range(6):
            recent.judge(f"fine{number}@example.com", other)

        assert set(judged(recent, [f"r{number}@evil.example" for number in range(5)])) == {TryLater}


def test_many_refused_recipients_outweigh_the_answers_before_them() -> None:
    recent = RecentAnswers()
    for number in range(100):
        recent.judge(f"fine{number}@example.com", Accepted("m"))

    outcomes = judged(recent, [f"r{number}@example.com" for number in range(10)])

    assert outcomes == [*[TryLater] * 9, SenderBlocked]


QUOTED = Throttled("slow", code="450", may_be_quoted=True)


def test_a_quoted_throttle_is_its_own_mails_until_three_recipients_got_it() -> None:
    recent = RecentAnswers()
    for number in range(17):
        recent.judge(f"fine{number}@example.com", Accepted("m"))

    outcomes = [recent.judge(f"r{number}@example.com", QUOTED) for number in range(3)]

    assert outcomes == [replace(QUOTED, is_lone=True)] * 2 + [QUOTED]
    assert [answers.find_trouble([outcome]) for outcome in outcomes] == [None, None, QUOTED]


def test_a_lone_throttle_uses_no_attempt_until_it_came_ten_times() -> None:
    lone = replace(QUOTED, is_lone=True)
    booked = [
        answers.book_answer(Answer(0, 0, lone, 5, uncounted), policy=POLICY, chance=0.5)
        for uncounted in (0, 3, 10)
    ]

    assert [entry.outcome for entry in booked] == [
        AttemptOutcome.THROTTLED,
        AttemptOutcome.THROTTLED,
        AttemptOutcome.TRY_LATER,
    ]
    assert [entry.delay for entry in booked[:2]] == [timedelta(seconds=1), timedelta(seconds=8)]


def test_what_nobody_quotes_is_believed_at_once() -> None:
    for outcome in (*FINE, BLOCKED, SLOWER, DOWN):
        assert RecentAnswers().judge("r1@example.com", outcome) is outcome


def test_what_a_provider_says_can_be_stored_and_its_waits_end() -> None:
    day = timedelta(days=1)
    cleaned: list[tuple[Outcome, Outcome]] = [
        (Accepted("m1"), Accepted("m1")),
        (Accepted("m\x00"), Accepted("m\ufffd")),
        (Refused("4\x00", "a \ud800"), Refused("4\ufffd", "a \ufffd")),
        (InDoubt("a\nb"), InDoubt("a\ufffdb")),
        (NotSent("x" * 600), NotSent("x" * 499 + "…")),
        (TryLater("451", "x", 4000 * day), TryLater("451", "x", day)),
        (TryLater("451", "x", -day), TryLater("451", "x", timedelta())),
        (Throttled("x", 2 * day), Throttled("x", day)),
        (Throttled("x", 20 * day, is_quota=True), Throttled("x", 20 * day, is_quota=True)),
        (Throttled("x", 999_999 * day, is_quota=True), Throttled("x", 40 * day, is_quota=True)),
        (
            SenderBlocked("5\x7f", "x", is_account=True),
            SenderBlocked("5\ufffd", "x", is_account=True),
        ),
    ]
    for outcome, clean in cleaned:
        assert answers.clean_outcome(outcome) == clean
