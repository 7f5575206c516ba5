"""Taking requests: everything is written or nothing, and once for each key."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from postledger.accounts import senders
from postledger.accounts.models import Sender
from postledger.contacts.models import Contact
from postledger.deliveries import ledger, partitions, queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.lib import ids, wake
from postledger.lib.ids import DeliveryId
from postledger.observability import metrics
from postledger.providers.base import Attachment
from postledger.transactional import actions, sender_streams
from postledger.transactional.idempotency import KeyReusedError
from postledger.transactional.models import Flow
from postledger.transactional.requests import (
    ContactReference,
    InvalidMailError,
    MailRequest,
    Receipt,
    Validation,
)
from tests import cast, round_trips
from tests.transactional.mails import mail

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


def accept(
    *mails: MailRequest,
    key: str | None = None,
    now: datetime = NOW,
    is_test: bool = False,
    workspace: str = "acme",
    request_id: str = "r-1",
) -> Receipt:
    return actions.accept(
        cast.sender(workspace).workspace_id,
        mails=mails or [mail()],
        idempotency_key=key,
        request_id=request_id,
        is_test=is_test,
        now=now,
    )


@contextmanager
def refused(code: Validation) -> Iterator[pytest.ExceptionInfo[InvalidMailError]]:
    with pytest.raises(InvalidMailError) as refusal:
        yield refusal
    assert refusal.value.code == code


def end_month() -> None:
    """Makes what is this month's flow the last month's, and what is older older still.

    One row after the other, the oldest first: the unique index is asked row by row, so a
    single UPDATE that takes the newer row first would meet the older one.
    """
    for flow in Flow.objects.order_by("month"):
        Flow.objects.filter(pk=flow.pk).update(month=flow.month - 1)


def parse_id(id_: str) -> DeliveryId:
    delivery_id = DeliveryId.parse(id_)
    assert delivery_id
    return delivery_id


def mail_count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_delivery")
        return int(cursor.fetchone()[0])


def test_every_part_of_a_mail_is_kept() -> None:
    asked = mail(
        to="Alice@EXAMPLE.com",
        to_name="Alice",
        text="Thank you.",
        reply_to="help@Example.com",
        headers={"X-Order": "5"},
        tags=("receipt", "receipt", "may"),
        attachments=(Attachment("a.pdf", "application/pdf", b"\x00\x01"),),
    )

    id_ = parse_id(accept(asked, request_id="r-9").ids[0])

    body = queries.read_bodies(id_.stream_id, [id_.position])[id_.position]
    line = queries.find_delivery(id_.stream_id, id_.position)
    assert line
    assert line.address == "Alice@example.com"
    assert (body.subject, body.html, body.text) == (asked.subject, asked.html, asked.text)
    assert (body.to_name, body.reply_to) == ("Alice", "help@example.com")
    assert (body.headers, tuple(body.tags)) == ({"X-Order": "5"}, ("receipt", "may"))
    assert body.attachments == asked.attachments
    assert body.request_id == "r-9"


def test_one_wrong_mail_stores_nothing_and_every_wrong_one_is_named() -> None:
    before = mail_count()

    with pytest.raises(InvalidMailError) as refusal:
        accept(mail(), mail(subject=""), mail(to="x"), mail(), mail(tags=("a b",)), key="k")

    assert mail_count() == before
    issues = [(issue.index, issue.code.value) for issue in refusal.value.issues]
    assert issues == [(1, "INVALID_TEMPLATE"), (2, "INVALID_EMAIL"), (4, "INVALID_PAYLOAD")]
    assert refusal.value.code == "INVALID_TEMPLATE"


def test_integrity_comes_before_the_recipient_and_the_template() -> None:
    wrong = mail(to="x", subject="", tags=("a b",))

    with refused(Validation.INVALID_PAYLOAD):
        accept(wrong)


def test_a_repeated_key_gets_the_first_answer_and_with_another_body_is_refused() -> None:
    with refused(Validation.INVALID_TEMPLATE):
        accept(mail(subject=""), key="order-5")
    first = accept(key="order-5", request_id="r-1")
    before = mail_count()

    again = accept(key="order-5", request_id="r-2")
    with pytest.raises(KeyReusedError) as refusal:
        accept(mail(subject="Other"), key="order-5")

    assert again == first
    assert again.request_id == "r-1"
    assert refusal.value.code == "idempotency_key_reused"
    assert mail_count() == before


def test_keys_of_two_workspaces_and_of_tests_and_live_mail_do_not_meet() -> None:
    live = accept(key="order-5")

    assert accept(key="order-5", is_test=True) != live
    assert accept(key="order-5", workspace="globex") != live


def test_a_key_stays_taken_across_a_months_end() -> None:
    this, last = partitions.this_month(), NOW.replace(day=1) - timedelta(days=1)
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, now=last)
    Flow.objects.create(sender=cast.sender(), month=this, is_test=False, stream_id=stream_id)
    first = accept(key="order-5")
    end_month()

    again, other = (
        accept(key=key, now=NOW + sender_streams.CACHED_FOR) for key in ("order-5", "order-6")
    )

    assert again == first
    months = [ids.month_of_stream(parse_id(receipt.ids[0]).stream_id) for receipt in (first, other)]
    assert months == [this - 1, this]


def test_a_repeat_is_answered_even_when_it_would_be_refused_today() -> None:
    contact = Contact.objects.create(
        workspace=cast.sender().workspace, address="alice@example.com", external_id="a-5"
    )
    asked = mail(recipient=ContactReference("alice@example.com", id=contact.pk))
    first = accept(asked, key="order-5")
    Contact.objects.filter(pk=contact.pk).update(deleted_at=NOW)

    assert accept(asked, key="order-5") == first
    with refused(Validation.RECIPIENT_NOT_FOUND):
        accept(asked, key="order-6")


def test_a_named_contact_is_kept_with_its_mail() -> None:
    contact = Contact.objects.create(
        workspace=cast.sender().workspace, address="alice@example.com", external_id="a-5"
    )
    for id_, external_id in ((contact.pk, None), (None, "a-5"), (contact.pk, "a-5")):
        reference = ContactReference("alice@example.com", id=id_, external_id=external_id)

        kept = parse_id(accept(mail(recipient=reference)).ids[0])

        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT contact_id FROM deliveries_delivery WHERE stream_id = %s AND position = %s",
                [kept.stream_id, kept.position],
            )
            assert cursor.fetchone() == (contact.pk,), (id_, external_id)


def test_an_absent_contact_is_not_found() -> None:
    for trouble in ("unknown", "deleted", "elsewhere", "address", "ids disagree"):
        workspace = cast.sender("globex" if trouble == "elsewhere" else "acme").workspace
        contact = Contact.objects.create(
            workspace=workspace,
            address="bob@example.com" if trouble == "address" else "alice@example.com",
            external_id="a-5",
            deleted_at=NOW if trouble == "deleted" else None,
        )
        reference = ContactReference(
            "alice@example.com",
            id=contact.pk + (trouble == "unknown"),
            external_id="b-6" if trouble == "ids disagree" else None,
        )

        with refused(Validation.RECIPIENT_NOT_FOUND):
            accept(mail(recipient=reference))
        contact.delete()


def test_the_contacts_of_a_batch_are_found_in_one_statement() -> None:
    workspace = cast.sender().workspace
    contacts = [
        Contact.objects.create(workspace=workspace, address=f"r{n}@example.com") for n in range(5)
    ]
    mails = [mail(to=c.address, recipient=ContactReference(c.address, id=c.pk)) for c in contacts]
    accept()

    with round_trips.counted() as count:
        actions.accept(workspace.pk, mails=mails, request_id="r-1", now=NOW)

    assert count() == 2  # the contacts, the mails


def test_a_later_mail_waits_for_its_time_and_a_past_one_is_due_now() -> None:
    later = NOW + timedelta(days=3)
    receipt = accept(mail(send_at=later), mail(send_at=NOW - timedelta(days=3)), mail())

    lines = [
        queries.find_delivery(id_.stream_id, id_.position) for id_ in map(parse_id, receipt.ids)
    ]
    works = [line.work for line in lines if line and line.work]
    assert [work.reason for work in works] == [Reason.SCHEDULED, Reason.READY, Reason.READY]
    assert works[0].due_at == later
    # By the database's clock, which is the one that claims look at.
    assert works[1].due_at == works[1].since
    assert works[2].due_at == works[2].since


@pytest.fixture
def rung() -> Iterator[list[int]]:
    heard: list[int] = []
    before = wake._notify
    wake.install(heard.append)
    yield heard
    wake.install(before)


@pytest.mark.django_db(transaction=True)
def test_new_work_wakes_its_stream_once_and_later_work_does_not(rung: list[int]) -> None:
    receipt = accept(mail(), mail(), key="k")
    accept(mail(), mail(), key="k")
    accept(mail(send_at=datetime.now(UTC) + timedelta(hours=1)))

    assert rung == [parse_id(receipt.ids[0]).stream_id]


@pytest.mark.django_db(transaction=True)
def test_a_failed_wake_up_does_not_refuse_the_mail() -> None:
    def broken(_: int) -> None:
        raise ConnectionError

    before = wake._notify
    wake.install(broken)
    try:
        assert accept().ids
    finally:
        wake.install(before)


def test_a_month_and_a_test_have_streams_of_their_own() -> None:
    streams: list[int] = []
    for now in (NOW, NOW + sender_streams.CACHED_FOR):
        receipts = [accept(now=now, is_test=is_test) for is_test in (False, True, False)]
        streams += [parse_id(receipt.ids[0]).stream_id for receipt in receipts]
        end_month()

    assert len(set(streams)) == 4
    assert streams[0] == streams[2]
    assert streams[3] == streams[5]


@pytest.mark.parametrize("wrong", [timedelta(days=-100), timedelta(days=100)])
def test_a_process_with_a_wrong_clock_writes_into_the_month_of_the_database(
    wrong: timedelta,
) -> None:
    streams = {parse_id(accept(now=now).ids[0]).stream_id for now in (NOW, NOW + wrong)}

    assert [ids.month_of_stream(stream_id) for stream_id in streams] == [partitions.this_month()]


def test_only_the_cancelled_one_of_two_streams_is_replaced() -> None:
    Sender.objects.create(workspace=cast.sender().workspace, address="help@acme.example")
    asked = [mail(sender="news@acme.example"), mail(sender="help@acme.example")]
    before = [parse_id(id_).stream_id for id_ in accept(*asked).ids]
    ledger.cancel(before[1], actor="alice")

    after, again = (
        [parse_id(id_).stream_id for id_ in accept(*asked, key=key).ids] for key in ("k", None)
    )

    assert after == again
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_an_unknown_sender_or_one_of_another_workspace_is_refused() -> None:
    cast.sender("globex")
    accept()  # what is kept of it must not answer for another name

    for sender in ("other@acme.example", "news@globex.example", "nobody", ""):
        with refused(Validation.INVALID_PAYLOAD) as refusal:
            accept(mail(sender=sender))
        assert [issue.field for issue in refusal.value.issues] == ["sender"], sender
    assert accept(mail(sender="NEWS@Acme.Example")).ids


def sender_of(receipt: Receipt) -> int:
    stream = queries.find_stream(parse_id(receipt.ids[0]).stream_id)
    assert stream
    return stream.sender_id


def test_a_second_sender_changes_nothing_for_mail_that_names_none() -> None:
    first = cast.sender()
    help_ = senders.create_sender(first.workspace_id, address="help@acme.example", actor="alice")

    receipts = [accept(now=NOW + sender_streams.CACHED_FOR * n) for n in range(2)]
    senders.set_default(first.workspace_id, sender_id=help_, actor="alice")
    later = [accept(now=NOW + sender_streams.CACHED_FOR * n) for n in (1.9, 2)]

    assert [sender_of(receipt) for receipt in receipts] == [first.pk, first.pk]
    # A process relies for five seconds on what it has read.
    assert [sender_of(receipt) for receipt in later] == [first.pk, help_]


def test_an_archived_sender_takes_no_mail_once_the_process_has_noticed() -> None:
    workspace_id = cast.sender().workspace_id
    help_ = senders.create_sender(workspace_id, address="help@acme.example", actor="alice")
    named = mail(sender="help@acme.example")
    accept(named)
    senders.archive_sender(workspace_id, sender_id=help_, actor="alice")

    unnoticed = accept(named, now=NOW + sender_streams.CACHED_FOR * 0.9)
    with refused(Validation.INVALID_PAYLOAD) as refusal:
        accept(named, now=NOW + sender_streams.CACHED_FOR)

    assert sender_of(unnoticed) == help_
    assert [issue.field for issue in refusal.value.issues] == ["sender"]


def test_a_senders_stream_is_cached_for_some_seconds() -> None:
    workspace_id = cast.sender().workspace_id
    find = partial(sender_streams.find_stream, workspace_id, sender=None, is_test=False)
    stream = find(now=NOW)

    with round_trips.counted() as count:
        for seconds in (0, 1, 4, 6):
            assert find(now=NOW + timedelta(seconds=seconds)) == stream

    assert count() == 3  # the sender, the month, the stream


def test_a_mail_that_is_refused_is_counted_by_its_code() -> None:
    metrics.PENDING.forget()

    with pytest.raises(InvalidMailError):
        accept(mail(), mail(subject="", html=""), mail(to="x"))

    name = metrics.VALIDATION_FAILURES.name
    assert metrics.PENDING.take() == {
        (name, ("INVALID_TEMPLATE",)): 1,
        (name, ("INVALID_EMAIL",)): 1,
    }
