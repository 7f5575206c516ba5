"""Each rule of the oracle is broken by its own kind of account, and by no sound one."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from postledger.workers.drill import evidence, oracle
from postledger.workers.drill.oracle import Accounts, Booked, Rule, Taken
from tests import cast

NOW = datetime(2026, 11, 15, tzinfo=UTC)
ONE, TWO, THREE = (DeliveryId(7, n).text() for n in range(3))
SOUND = Accounts(
    journal=[Taken(ONE, 1, "a1@x.example"), Taken(TWO, 1, "a2@x.example")],
    ledger={
        ONE: Booked("a1@x.example", "accepted", NOW),
        TWO: Booked("a2@x.example", "in_doubt", NOW, ["lease_lost"]),
        THREE: Booked("a3@x.example", "failed", NOW),
    },
    promised=[ONE, TWO],
    most_in_doubt=1,
)


def broken(accounts: Accounts) -> set[Rule]:
    return {violation.rule for violation in oracle.violations(accounts)}


def booked(mail: str, line: Booked) -> Accounts:
    return replace(SOUND, ledger={**SOUND.ledger, mail: line})


def test_a_sound_account_breaks_no_rule() -> None:
    assert broken(SOUND) == set()


@pytest.mark.parametrize(
    ("accounts", "rule"),
    [
        (replace(SOUND, findings=["2 planned, 3 lines"]), Rule.BALANCED),
        (replace(SOUND, journal=[*SOUND.journal, Taken(ONE, 2, "a1@x.example")]), Rule.ONCE),
        (booked(THREE, Booked("a3@x.example", "accepted", NOW)), Rule.NO_PHANTOM),
        (booked(ONE, Booked("a1@x.example", "failed", NOW)), Rule.NO_DENIAL),
        (
            replace(SOUND, journal=[*SOUND.journal, Taken(THREE, 1, "a3@x.example")]),
            Rule.NO_DENIAL,
        ),
        (replace(SOUND, promised=[DeliveryId(7, 9).text()]), Rule.KEPT),
        (replace(SOUND, most_in_doubt=0), Rule.FEW_DOUBTS),
        (booked(TWO, Booked("a2@x.example", "in_doubt", NOW)), Rule.EXPLAINED),
        (booked(TWO, Booked("a2@x.example", "in_doubt", None, ["x"])), Rule.EXPLAINED),
        (booked(THREE, Booked("a3@x.example", "waiting")), Rule.OVER),
        (replace(SOUND, leaks=["worker-1.log:7"]), Rule.MASKED),
    ],
)
def test_each_rule_is_broken_by_its_own_fault(accounts: Accounts, rule: Rule) -> None:
    assert broken(accounts) == {rule}


def test_two_mails_for_one_request_are_a_duplicate_too() -> None:
    twice = replace(
        booked(THREE, Booked("a1@x.example", "accepted", NOW)),
        journal=[*SOUND.journal, Taken(THREE, 1, "a1@x.example")],
    )

    assert broken(twice) == {Rule.ONCE}
    assert oracle.figures(twice).duplicates == 1


def test_the_figures_count_what_is_lost_once() -> None:
    lost = replace(booked(THREE, Booked("a3@x.example", "waiting")), promised=[THREE])

    figures = oracle.figures(lost)

    assert (figures.mails, figures.taken, figures.lost, figures.in_doubt) == (3, 2, 1, 1)


def test_a_half_written_line_of_the_journal_counts_as_nothing() -> None:
    try_ = DeliveryId(7, 0, 2).text()

    taken = evidence.journal([f"{try_} a1@x.example 12.5\n", "nonsense x 1\n", f"{try_} a1@x"])

    assert taken == [Taken(ONE, 2, "a1@x.example", datetime.fromtimestamp(12.5, UTC))]


def test_a_secret_or_a_whole_address_in_a_log_is_found_and_not_repeated(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("r***@x.example\nto r12@x.example\npassword hunter2\n")

    found = evidence.leaks([log], secrets=["hunter2", ""], domain="x.example")

    assert found == [f"worker.log:{n} has a secret or a full address" for n in (2, 3)]


@pytest.mark.django_db
def test_a_found_violation_tells_the_story_of_the_mail() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="<1@smtp>"))
    mail = DeliveryId(stream_id, 0).text()
    accounts = Accounts(
        journal=[Taken(mail, 1, "r0@example.com", NOW), Taken(mail, 1, "r0@example.com", NOW)],
        ledger={mail: Booked("r0@example.com", "accepted", NOW)},
    )

    [violation] = oracle.violations(accounts)
    told = evidence.told(violation, accounts.journal, now=datetime.now(UTC))

    assert told[0].startswith("VIOLATED: ")
    assert "twice" in told[0] or "2 times" in told[0]
    assert any("accepted" in line for line in told[1:-2])
    assert [line.strip() for line in told[-2:]] == [
        "journal: try 1 taken for r0@example.com at 2026-11-15 00:00:00+00:00"
    ] * 2
