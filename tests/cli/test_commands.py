"""The operator's commands: what they print when all is well, and what they advise when not."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from postledger.deliveries import entries, ledger, partitions
from postledger.deliveries.entries import Decision, Entry, SeenDelivery
from postledger.deliveries.reasons import Reason
from postledger.lib import ids
from postledger.lib.ids import DeliveryId
from tests import cast

pytestmark = pytest.mark.django_db

PAST = datetime(2019, 5, 17, tzinfo=UTC)


def run(*arguments: str) -> list[str]:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue().splitlines()


def sent(position: int) -> Entry:
    return entries.accepted(position, message_id=f"ses-{position}")


def busy(position: int) -> Entry:
    return entries.try_later(position, delay=timedelta(hours=1), code="BUSY")


def execute(statement: str, *params: int | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


@pytest.mark.django_db(transaction=True)
def test_audit_shows_every_streams_sum_and_the_total() -> None:
    first, second = cast.stream(mails=3), cast.stream(mails=2, workspace="globex")
    cast.book(first, sent, size=2)

    output = run("audit")

    assert output == [
        f"stream {first}: 3 planned = 2 accepted + 1 waiting",
        f"stream {second}: 2 planned = 2 waiting",
        "The books balance; streams: 2. 5 planned = 2 accepted + 3 waiting",
    ]
    assert run("audit", str(second))[0] == f"stream {second}: 2 planned = 2 waiting"
    assert len(run("audit", str(second))) == 2
    with pytest.raises(CommandError, match="There is no stream 17"):
        run("audit", "17")


@pytest.mark.django_db(transaction=True)
def test_audit_of_spoiled_books_fails_and_names_the_first_line() -> None:
    stream_id = cast.stream(mails=3)
    execute("UPDATE deliveries_batch SET hi = 1 WHERE stream_id = %s", stream_id)

    with pytest.raises(CommandError) as refusal:
        run("audit")

    assert "The books do not balance; discrepancies: 1." in str(refusal.value)
    assert str(DeliveryId(stream_id, 1).uuid()) in str(refusal.value)
    assert "it waits, but no live batch covers it" in str(refusal.value)


def test_audit_of_a_database_without_its_constraints_says_what_to_run() -> None:
    execute("ALTER TABLE deliveries_batch DROP CONSTRAINT deliveries_batch_no_overlap")

    with pytest.raises(CommandError, match="lacks deliveries_batch_no_overlap: run postledger mig"):
        run("audit")


def test_why_tells_a_delivery_by_its_id_or_the_providers() -> None:
    stream_id = cast.stream(mails=2)
    cast.book(stream_id, busy, size=1)
    cast.book(stream_id, sent, size=1)

    output = run("why", str(DeliveryId(stream_id, 0).uuid()))

    assert run("why", str(DeliveryId(stream_id, 0, 1).uuid())) == output
    assert output[0] == "To r0@example.com, delivery 0 of campaign “News”."
    assert output[1].startswith("Planned 20")
    assert output[2].endswith("UTC, try 1: the provider asked to try later (BUSY).")
    assert "because the provider asked to try later; the next attempt is made, at 20" in output[3]
    assert output[4].startswith("retry since 20")
    assert output[5:] == [
        "  What will move it: the next attempt is made.",
        "  What you can do: Nothing, unless the provider's answer names what to mend.",
    ]
    accepted = run("why", "ses-1")[-1]
    assert accepted.startswith("It was accepted as ses-1 at 20")
    assert accepted.endswith("UTC, after 1 attempt.")


def test_why_tells_a_stream_by_its_number() -> None:
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, sent, size=1)
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob")

    output = run("why", str(stream_id))

    assert output[1] == "Planned 3 = 1 accepted + 2 waiting."
    assert "by bob because a person paused it, until a person releases it." in output[2]
    assert output[3].endswith("(1 batch, 2 positions); it goes on when the hold ends.")


def test_why_of_something_unknown_says_what_to_give() -> None:
    never_planned = str(DeliveryId(cast.stream(mails=1), 1).uuid())
    no_id = "9f1c2a34-5b6d-4e8f-a012-3456789abcde"

    for unknown in ("17", "no-such-message", no_id, "ses-0", never_planned):
        with pytest.raises(
            CommandError, match=f"There is no delivery, stream, run or sender {unknown}."
        ):
            run("why", unknown)
    with pytest.raises(CommandError, match="Search by address under Emails"):
        run("why", "refuse@example.com")


def test_partitions_makes_the_coming_months_and_lists_all() -> None:
    ahead = partitions.MONTHS_AHEAD + 1
    newest = ids.month_name(ids.month_of(datetime.now(UTC)) + ahead)

    output = run("partitions", "--ahead", str(ahead))

    assert output[0] == f"Created partitions for {newest}."
    assert output[-1].startswith(newest)
    assert output[-1].endswith("MB  0 live batches  0 in doubt")
    again = run("partitions", "--ahead", str(ahead))
    assert not [line for line in again if line.startswith("Created")]


def test_partitions_refuses_to_drop_live_batches_and_doubts_until_they_are_resolved() -> None:
    stream_id = cast.stream(mails=1, now=PAST)
    with pytest.raises(CommandError, match=r"2019-05 stays.*cancel their streams"):
        run("partitions", "--drop", "2019-05")
    cast.lose(stream_id)
    with pytest.raises(CommandError, match=r"2019-05 stays.*resolve the doubts"):
        run("partitions", "--drop", "2019-05")
    assert partitions.exists(ids.month_of(PAST))

    ledger.resolve(stream_id, [SeenDelivery(0, 1)], decision=Decision.COUNT_AS_SENT, actor="bob")

    output = run("partitions", "--drop", "2019-05")
    assert output[0] == "Dropped partitions for 2019-05."
    assert not [line for line in output[1:] if line.startswith("2019-05")]


def test_partitions_refuses_what_is_no_month_or_not_there() -> None:
    for month in ("2019-13", "May", "2019-05-01", ""):
        with pytest.raises(CommandError, match="is not a month: use the form 2026-11"):
            run("partitions", "--drop", month)
    with pytest.raises(CommandError, match="There are no partitions for 2018-01"):
        run("partitions", "--drop", "2018-01")
