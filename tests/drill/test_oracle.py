"""Each rule of the oracle is broken by its own kind of account, and by no honest one."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postledger.deliveries import entries
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast
from tools.drill import oracle, reading
from tools.drill.oracle import Rule
from tools.drill.records import Booked, Exchange, Fault, Note, Records, Taken, Wire

NOW = datetime(2026, 11, 15, tzinfo=UTC)
ONE, TWO, THREE = (DeliveryId(7, n).text() for n in range(3))
LOST = Note("lease_lost", 1)
# The second one's worker was killed at second 100, before its answer came; nobody wanted the third.
AT_THE_KILL = Exchange("a2@x.example", 99.9, 100.1, 250, TWO, 1)
HONEST = Records(
    journal=[Taken(ONE, 1, "a1@x.example"), Taken(TWO, 1, "a2@x.example")],
    ledger={
        ONE: Booked("a1@x.example", State.ACCEPTED, NOW),
        TWO: Booked("a2@x.example", State.IN_DOUBT, NOW, notes=[LOST]),
        THREE: Booked("a3@x.example", State.FAILED, NOW, notes=[Note("refused", 1)]),
    },
    promised=[ONE, TWO],
    wire=Wire(exchanges=[AT_THE_KILL], faults=[Fault(100.0, 100.0, most_armed=0)]),
    refused=["a3@x.example"],
    attempts={"campaign": 3},
)


def broken(records: Records) -> set[Rule]:
    return {violation.rule for violation in oracle.violations(records)}


def booked(mail: str, line: Booked) -> Records:
    return replace(HONEST, ledger={**HONEST.ledger, mail: line})


def third(state: State, *names: str, **more: object) -> Records:
    notes = [Note(name, number) for number, name in enumerate(names, start=1)]
    return booked(THREE, Booked("a3@x.example", state, NOW, notes=notes, **more))  # type: ignore[arg-type]


def taken(*more: Taken) -> Records:
    return replace(HONEST, journal=[*HONEST.journal, *more])


def on_the_wire(*exchanges: Exchange, **more: object) -> Records:
    return replace(HONEST, wire=replace(HONEST.wire, exchanges=exchanges, **more))  # type: ignore[arg-type]


def test_an_honest_account_breaks_no_rule() -> None:
    assert broken(HONEST) == set()


def test_each_rule_is_broken_by_its_own_fault() -> None:
    denied = Booked("a1@x.example", State.FAILED, NOW, notes=[Note("invalid", 1)])
    for rule, records in (
        (Rule.BALANCED, replace(HONEST, findings=["2 planned, 3 lines"])),
        (Rule.ONCE, taken(Taken(ONE, 2, "a1@x.example"))),
        (Rule.NO_DENIAL, booked(ONE, denied)),
        (Rule.PROMISE_KEPT, replace(HONEST, promised=[DeliveryId(7, 9).text()])),
        (Rule.EXPLAINED, booked(TWO, Booked("a2@x.example", State.IN_DOUBT, None, notes=[LOST]))),
        (Rule.EXPLAINED, booked(TWO, Booked("a2@x.example", State.IN_DOUBT, NOW))),
        (Rule.DOUBTED, on_the_wire(AT_THE_KILL, unanswered=[(ONE, 1)])),
        (Rule.NOTHING_WAITS, third(State.WAITING)),
        (Rule.MASKED, replace(HONEST, leaks=["worker-1.log:7"])),
    ):
        assert broken(records) == {rule}


def test_a_mail_that_ended_untried_and_unjudged_has_no_cause() -> None:
    ends = (State.FAILED, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.SUPPRESSED)
    for records in map(third, ends):
        assert broken(records) == {Rule.END_HAS_CAUSE}
        assert oracle.figures(records).without_cause == 1


def test_a_cause_that_does_not_lead_there_is_none() -> None:
    for records in (
        third(State.FAILED, "poison"),
        third(State.FAILED, "try_later", "try_later"),  # too early
        third(State.FAILED, "try_later", "try_later", "try_later", "requeued", "try_later"),
        third(State.FAILED, "not_sent", "throttled", "not_sent"),
        third(State.EXPIRED, "suppressed"),
        replace(third(State.FAILED, "refused"), refused=[]),
    ):
        assert broken(records) == {Rule.END_HAS_CAUSE}, records.ledger[THREE]


def test_a_mail_that_ended_for_a_cause_breaks_no_rule() -> None:
    for records in (
        replace(third(State.FAILED, "poison"), poisoned=["a3@x.example"]),
        third(State.FAILED, "try_later", "try_later", "try_later"),
        third(State.FAILED, "throttled", "try_later", "not_sent", "try_later", "try_later"),
        third(State.FAILED, "invalid"),
        third(State.EXPIRED, "expired"),
        third(State.SUPPRESSED, "try_later", "suppressed"),
        third(State.CANCELLED, is_cancelled=True),
    ):
        assert broken(records) == set(), records.ledger[THREE]


def test_a_doubt_that_a_person_ended_needs_no_further_cause() -> None:
    notes = [LOST, Note("count_as_not_sent", 1)]
    unsent = booked(TWO, Booked("a2@x.example", State.FAILED, NOW, notes=notes))
    notes = [LOST, Note("count_as_sent", 1)]
    sent = booked(TWO, Booked("a2@x.example", State.ACCEPTED, NOW, notes=notes))

    assert broken(unsent) == set()
    assert broken(replace(sent, journal=HONEST.journal[:1])) == set()


def test_an_acceptance_of_a_try_that_nobody_took_is_a_lost_mail() -> None:
    _, second = HONEST.journal
    for journal in ([second], [Taken(ONE, 2, "a1@x.example"), second]):
        records = replace(HONEST, journal=journal)

        assert broken(records) == {Rule.NO_PHANTOM}
        assert oracle.figures(records).lost == 1


def test_a_try_that_evidence_proved_is_the_one_that_has_to_be_taken() -> None:
    notes = [LOST, Note("send_again", 1), Note("proved_accepted", 1), Note("not_sent", 2)]
    line = Booked("a1@x.example", State.ACCEPTED, NOW, last_try=2, notes=notes)

    assert broken(booked(ONE, line)) == set()
    line = replace(line, notes=[Note("try_later", 1), Note("accepted", 3)])
    assert broken(booked(ONE, line)) == {Rule.NO_PHANTOM}


def test_two_mails_that_were_swapped_are_found() -> None:
    ledger = {**HONEST.ledger, TWO: Booked("a2@x.example", State.ACCEPTED, NOW)}
    swapped = [Taken(ONE, 1, "a2@x.example"), Taken(TWO, 1, "a1@x.example")]
    records = replace(HONEST, ledger=ledger, journal=swapped)

    assert broken(records) == {Rule.RIGHT_RECIPIENT, Rule.NO_PHANTOM}
    assert oracle.figures(records).swapped == 2


def test_bytes_that_name_somebody_else_are_found() -> None:
    mine, other = ("a1@x.example",), ("a1@x.example", "a2@x.example")
    second = HONEST.journal[1]

    right = replace(HONEST, journal=[replace(HONEST.journal[0], inside=mine), second])
    wrong = replace(HONEST, journal=[replace(HONEST.journal[0], inside=other), second])

    assert broken(right) == set()
    assert broken(wrong) == {Rule.RIGHT_RECIPIENT}


def test_two_mails_for_one_request_are_a_duplicate_too() -> None:
    twice = replace(
        booked(THREE, Booked("a1@x.example", State.ACCEPTED, NOW)),
        journal=[*HONEST.journal, Taken(THREE, 1, "a1@x.example")],
    )

    assert broken(twice) == {Rule.ONCE}
    assert oracle.figures(twice).duplicates == 1


def test_a_mail_that_a_person_chose_to_send_again_is_no_duplicate_and_is_counted_apart() -> None:
    notes = [LOST, Note("send_again", 1), Note("accepted", 2)]
    again = replace(
        booked(TWO, Booked("a2@x.example", State.ACCEPTED, NOW, last_try=2, notes=notes)),
        journal=[*HONEST.journal, Taken(TWO, 2, "a2@x.example")],
    )
    by_itself = booked(TWO, replace(again.ledger[TWO], notes=[LOST, Note("accepted", 2)]))

    assert broken(again) == set()
    assert (oracle.figures(again).duplicates, oracle.figures(again).resent) == (0, 1)
    assert broken(replace(by_itself, journal=again.journal)) == {Rule.ONCE}


ANSWERED_LONG_BEFORE = replace(AT_THE_KILL, began_at=79.9, ended_at=80.0)


LOST_TIME = booked(TWO, Booked("a2@x.example", State.IN_DOUBT, NOW, notes=[Note("lost_time", 1)]))


def test_a_doubt_that_nothing_seen_explains_is_found() -> None:
    for what, records, rule in (
        ("heard before the fault", on_the_wire(ANSWERED_LONG_BEFORE), Rule.ANSWER_BOOKED),
        ("no fault", on_the_wire(AT_THE_KILL, faults=[]), Rule.ANSWER_BOOKED),
        ("armed by nobody", on_the_wire(), Rule.FEW_DOUBTS),
        ("no fence", LOST_TIME, Rule.ANSWER_BOOKED),
    ):
        assert broken(records) == {rule}, what


ARMED_ONE = [Fault(100.0, 100.0, most_armed=1)]


def test_a_doubt_that_was_seen_to_come_about_breaks_no_rule() -> None:
    nameless = replace(AT_THE_KILL, mail=None, try_number=None, code=None)
    seen = {
        "open at a fault": on_the_wire(AT_THE_KILL),
        "left before its bytes arrived": on_the_wire(nameless),
        "the database was away": on_the_wire(ANSWERED_LONG_BEFORE, outages=[(80.5, 99.0)]),
        "armed and not begun": on_the_wire(faults=ARMED_ONE),
        "cut": on_the_wire(AT_THE_KILL, faults=[], cut={"a2@x.example"}),
        "late": on_the_wire(replace(AT_THE_KILL, began_at=90.0), faults=[]),
        "another try": on_the_wire(replace(AT_THE_KILL, try_number=2), faults=ARMED_ONE),
        "fenced": replace(LOST_TIME, fenced=[TWO]),
        "armed where the state ends": replace(on_the_wire(ANSWERED_LONG_BEFORE), fenced=[TWO]),
    }
    for what, records in seen.items():
        assert broken(records) == set(), what


def test_a_lost_process_explains_no_more_doubts_than_it_may_arm() -> None:
    lines = {
        DeliveryId(8, n).text(): Booked(f"b{n}@x.example", State.IN_DOUBT, NOW, notes=[LOST])
        for n in range(41)
    }
    faults = [Fault(100.0, 100.0, most_armed=40)]
    records = Records(journal=[], ledger=lines, wire=Wire(faults=faults))
    lines.popitem()
    fewer = replace(records, ledger=dict(lines))

    assert broken(fewer) == set()
    lines[DeliveryId(8, 40).text()] = Booked("b40@x.example", State.IN_DOUBT, NOW, notes=[LOST])
    assert broken(replace(records, ledger=lines)) == {Rule.FEW_DOUBTS}


def test_what_a_lost_time_took_away_is_counted_apart() -> None:
    gone = DeliveryId(7, 9).text()
    lost = replace(taken(Taken(gone, 1, "a9@x.example")), promised=[ONE, TWO, gone])

    assert broken(lost) == {Rule.PROMISE_KEPT, Rule.NO_DENIAL}
    assert broken(replace(lost, in_gap=[gone])) == set()
    assert oracle.figures(replace(lost, in_gap=[gone])).lost_in_gap == 1


def test_a_window_of_an_earlier_epoch_that_is_settled_is_found() -> None:
    """Its answer closes the new try unsent, or lets the next one go beside it."""
    closed = booked(ONE, Booked("a1@x.example", State.ACCEPTED, NOW, last_try=4097))
    beside = replace(closed, journal=[*HONEST.journal, Taken(ONE, 4097, "a1@x.example")])

    assert broken(closed) == {Rule.NO_PHANTOM}
    assert broken(beside) == {Rule.ONCE}


def test_the_figures_count_what_is_lost_once() -> None:
    lost = replace(third(State.WAITING), promised=[THREE])

    figures = oracle.figures(lost)

    assert (figures.mails, figures.taken, figures.lost, figures.in_doubt) == (3, 2, 1, 1)


def test_a_half_written_line_of_the_journal_counts_as_nothing() -> None:
    try_ = DeliveryId(7, 0, 2).text()

    hand_overs = reading.journal([f"{try_} a1@x.example 12.5\n", "nonsense x 1\n", f"{try_} a1@x"])

    assert hand_overs == [Taken(ONE, 2, "a1@x.example", datetime.fromtimestamp(12.5, UTC))]


def test_a_line_of_the_server_says_who_is_named_inside_and_what_was_answered() -> None:
    reference = f"{DeliveryId(7, 0, 2).text()}_3_abcdefghijklmnop"
    lines = [
        f"{reference} a1@x.example 12.5 12.25 250 a1@x.example,a2@x.example\n",
        "- a2@x.example 13.5 13.25 550\n",
        "- a3@x.example 14.5 14.25 -\n",
    ]

    [one] = reading.journal(lines)
    seen = reading.exchanges(lines)

    assert (one.mail, one.try_number) == (ONE, 2)
    assert one.inside == ["a1@x.example", "a2@x.example"]
    assert seen == [
        Exchange("a1@x.example", 12.25, 12.5, 250, ONE, 2),
        Exchange("a2@x.example", 13.25, 13.5, 550),
        Exchange("a3@x.example", 14.25, 14.5, None),
    ]
    assert reading.refused(seen) == {"a2@x.example"}


def test_a_secret_or_a_whole_address_in_a_log_is_found_and_not_repeated(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("r***@x.example\nto r12@x.example\npassword hunter2\n")

    leaks = reading.leaks([log], secrets=["hunter2", ""], domain="x.example")

    assert leaks == [f"worker.log:{n} has a secret or a full address" for n in (2, 3)]


@pytest.mark.django_db
def test_the_ledger_is_read_with_every_mails_history() -> None:
    stream_id = cast.stream(mails=2)
    cast.book(stream_id, lambda position: entries.refused(position, code="550"))

    lines = reading.ledger(cast.sender().workspace_id)

    assert [line.state for line in lines.values()] == ["failed", "failed"]
    assert all(line.notes == [Note("refused", 1)] for line in lines.values())
    assert {line.kind for line in lines.values()} == {"campaign"}


@pytest.mark.django_db
def test_a_found_violation_tells_the_story_of_the_mail() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="<1@smtp>"))
    mail = DeliveryId(stream_id, 0).text()
    records = Records(
        journal=[Taken(mail, 1, "r0@example.com", NOW), Taken(mail, 1, "r0@example.com", NOW)],
        ledger={mail: Booked("r0@example.com", State.ACCEPTED, NOW)},
    )

    [violation] = oracle.violations(records)
    story = reading.describe(violation, records.journal, now=datetime.now(UTC))

    assert story[0].startswith("VIOLATED: ")
    assert "twice" in story[0] or "2 times" in story[0]
    assert any("accepted" in line for line in story[1:-2])
    assert [line.strip() for line in story[-2:]] == [
        "journal: try 1 taken for r0@example.com at 2026-11-15 00:00:00+00:00"
    ] * 2


def test_an_event_may_prove_a_try_before_anybody_doubts_it() -> None:
    proved = Booked("a1@x.example", State.ACCEPTED, NOW, notes=[Note("proved_accepted", 1)])
    records = replace(
        on_the_wire(AT_THE_KILL, unanswered=[(ONE, 1)]), ledger={**HONEST.ledger, ONE: proved}
    )

    assert broken(records) == set()
