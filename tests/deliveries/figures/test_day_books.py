"""The books of a day add up at every moment, and count what belongs to the day."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import Workspace
from postledger.deliveries import entries, ledger, queries, undecided
from postledger.deliveries.entries import Decision, SeenDelivery, StreamKind
from postledger.deliveries.figures import day_books
from postledger.deliveries.figures.day_books import DayBooks
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)

type Result = Callable[[int], entries.Entry]

RESULTS: list[Result] = [
    lambda position: entries.accepted(position, message_id="m"),
    lambda position: entries.refused(position, code="550"),
    lambda position: entries.in_doubt(position, code="cut"),
    lambda position: entries.try_later(position, delay=timedelta(hours=1), code="450"),
]


def read(workspace: str = "acme", *, days: int = 0) -> DayBooks:
    workspace_id = cast.sender(workspace).workspace_id
    return day_books.read_day_books(workspace_id, now=datetime.now(UTC) + timedelta(days=days))


def test_a_day_is_that_of_the_zone_and_has_as_many_hours_as_its_clock() -> None:
    new_year = datetime(2026, 12, 31, 20, tzinfo=UTC)

    assert day_books.find_day("Asia/Kolkata", new_year) == (
        datetime(2026, 12, 31, 18, 30, tzinfo=UTC),
        datetime(2027, 1, 1, 18, 30, tzinfo=UTC),
    )
    spring = day_books.find_day("Europe/Berlin", datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert spring[1] - spring[0] == timedelta(hours=23)

    cast.stream(mails=1)
    Workspace.objects.update(time_zone="Pacific/Kiritimati")
    books = read()
    assert books.zone == "Pacific/Kiritimati"
    assert books.starts_at <= datetime.now(UTC) < books.ends_at
    assert books.starts_at.hour == 10


def test_the_books_add_up_after_every_step_of_a_run_and_say_what_its_own_books_say() -> None:
    stream = cast.stream(mails=60)
    steps: list[Callable[[], object]] = [
        *(lambda result=result: cast.book(stream, result) for result in RESULTS),
        lambda: cast.judge(stream, lambda position: entries.suppressed(position, code="bounced")),
        ledger.fold,
        lambda: ledger.cancel(stream, actor="alice"),
        lambda: ledger.drain(stream),
        ledger.fold,
    ]

    for step in steps:
        step()
        books = read()
        assert books.planned == 60
        assert books.states == queries.read_books([stream])[stream].states
        assert sum(books.states.values()) == books.planned


def test_results_belong_to_the_day_they_came_and_what_is_left_to_every_day_until_it_ends() -> None:
    stream = cast.stream(mails=40)
    for result in RESULTS[:3]:
        cast.book(stream, result)
    ledger.fold()

    tomorrow = read(days=1)

    assert tomorrow.states[State.ACCEPTED] == tomorrow.states[State.FAILED] == 0
    assert tomorrow.states[State.IN_DOUBT] == tomorrow.waiting == 10
    assert tomorrow.planned == 20


def test_what_a_person_decides_today_of_yesterday_is_of_today_and_makes_nothing_negative() -> None:
    stream, doubtful = cast.stream(mails=10), cast.stream(mails=10, workspace="globex")
    cast.book(stream, RESULTS[1])
    cast.book(doubtful, RESULTS[2])
    ledger.fold()
    sql.rows("UPDATE deliveries_streampace SET slot = slot - interval '2 days'", {})
    [failed, *_] = undecided.find_undecided(stream, State.FAILED)
    doubts = undecided.find_undecided(doubtful, State.IN_DOUBT)

    ledger.requeue(stream, [SeenDelivery(failed.position, failed.last_try)], actor="alice")
    ledger.resolve(
        doubtful,
        [SeenDelivery(doubt.position, doubt.last_try) for doubt in doubts[:4]],
        decision=Decision.COUNT_AS_SENT,
        actor="alice",
    )

    books = read()
    assert books.states[State.FAILED] == 0
    assert books.waiting == books.planned == 1
    books = read("globex")
    assert (books.states[State.ACCEPTED], books.states[State.IN_DOUBT]) == (4, 6)
    assert books.planned == 10


def test_mail_for_a_later_day_is_not_in_the_books_of_today() -> None:
    stream = cast.stream()
    cast.plan(stream, range(5), due_at=datetime.now(UTC))
    cast.plan(stream, range(5, 12), due_at=datetime.now(UTC) + timedelta(days=2))

    books = read()

    assert (books.waiting, books.later) == (5, 7)
    assert (read(days=2).waiting, read(days=2).later) == (12, 0)


def test_a_workspace_sees_its_own_mail_alone_and_none_of_its_test_keys() -> None:
    cast.stream(mails=5, workspace="globex")
    cast.stream(StreamKind.TRANSACTIONAL, mails=3, is_test=True)
    cast.stream(mails=2)

    assert (read().planned, read("globex").planned) == (2, 5)
