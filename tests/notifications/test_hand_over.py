"""Claims about the mail of a notification: its links, its footer, its tags, and its last moment."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.contacts import unsubscribe_links
from postledger.deliveries import audit, queries
from postledger.deliveries.entries import Window
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.rounds import round_input
from postledger.dispatch.rounds.compose import ComposedMail, Composer
from postledger.notifications.models import Event
from postledger.providers.base import Form, Mailbox, Parts
from tests import cast as ledger_cast
from tests.dispatch import office
from tests.dispatch.test_last_moment import stopping_arms, wait_for_reader
from tests.notifications import mail_room
from tests.notifications.mail_room import MailRoom, stream_of
from tests.providers.messages import NOON

pytestmark = pytest.mark.django_db(transaction=True)


def compose(event: Event, form: Form = Form.MIME) -> ComposedMail:
    stream = queries.find_stream(stream_of(event))
    assert stream is not None
    claim = ledger_cast.claim(stream.id)
    windows = [Window(batch, batch.hi) for batch in claim.batches]
    read = round_input.read(stream, windows, {})
    composer = Composer(stream, Mailbox("news@acme.example", "Acme"), NOON, sign=str, form=form)
    [mail] = composer.compose(windows, read).mails
    return mail


def parse(mail: ComposedMail) -> EmailMessage:
    assert isinstance(mail.message.content, bytes)
    parsed = BytesParser(policy=policy.SMTP.clone(raise_on_defect=True)).parsebytes(
        mail.message.content
    )
    assert isinstance(parsed, EmailMessage)
    return parsed


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def test_a_notification_has_manage_and_unsubscribe_links_of_its_reader_and_the_footer(
    settings: Settings, tmp_path: Path
) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example/"
    room = MailRoom(settings, tmp_path, ["ann"])
    links = unsubscribe_links.workspace_links(room.topic.workspace_id)
    leave = links.url("ann@example.com", list_key="open-seats")
    manage = links.urls("ann@example.com", list_key="open-seats")[1]

    message = parse(compose(room.tell()))
    text = text_of(message)

    assert manage.startswith("https://mail.acme.example/preferences?token=")
    assert manage in text
    assert f"\n--\nAcme — 1 Main St\nUnsubscribe: {leave}" in text.replace("\r\n", "\n")
    assert message["List-Unsubscribe"] == f"<{leave}>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    owner = unsubscribe_links.read_link(manage.partition("token=")[2])
    assert owner is not None
    assert (owner.address, owner.request.list_key) == ("ann@example.com", "open-seats")


def test_a_provider_that_takes_parts_gets_the_same_headers(room: MailRoom) -> None:
    parts = compose(room.tell(trace_id="trace-1"), Form.PARTS).message.content

    assert isinstance(parts, Parts)
    assert parts.headers["X-Trace-Id"] == "trace-1"
    assert parts.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_dedupe_key_trace_id_and_metadata_go_with_the_mail_to_every_provider(
    room: MailRoom,
) -> None:
    event = room.tell(trace_id="trace-1", dedupe_key="seat/1")
    subscription = room.subscriptions["ann"]

    mail = compose(event)

    assert mail.request_id == "trace-1"
    assert mail.message.tags == {
        "dedupeKey": "seat/1",
        "traceId": "trace-1",
        "subscriptionId": str(subscription.pk),
        "openEventId": str(event.pk),
        "term": "92026",
        "campus": "NB",
    }
    message = parse(mail)
    assert (message["X-Dedupe-Key"], message["X-Trace-Id"]) == ("seat/1", "trace-1")
    assert message["X-Subscription-Id"] == str(subscription.pk)
    assert message["X-Open-Event-Id"] == str(event.pk)
    assert (message["X-Term"], message["X-Campus"]) == ("92026", "NB")


def test_where_nobody_could_leave_a_topic_its_sender_is_held_and_nobody_fails(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann"])
    event = room.tell()
    settings.UNSUBSCRIBE_SECRET = ""

    def is_held() -> bool:
        stream = queries.find_stream(stream_of(event))
        return stream is not None and ledger_cast.sender_hold(stream) is not None

    with office.dispatching() as dispatcher:
        office.until(is_held, dispatcher)

    assert mail_room.states(event) == {"ann": State.WAITING}
    assert room.taken() == []


def test_who_snoozes_or_leaves_after_the_mail_was_made_is_not_told(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob", "cyd"])
    event = room.tell()
    ann, bob = room.subscriptions["ann"], room.subscriptions["bob"]

    with ExitStack() as gate:
        gate.enter_context(stopping_arms(stream_of(event)))
        with office.dispatching() as dispatcher:
            wait_for_reader(dispatcher)
            ann.snooze_until = datetime.now(UTC) + timedelta(hours=1)
            ann.save()
            bob.state = "unsubscribed"
            bob.save()
            gate.close()
            office.until(lambda: mail_room.states(event)["bob"] is State.SKIPPED, dispatcher)
            office.until(lambda: mail_room.states(event)["cyd"] is State.ACCEPTED, dispatcher)
            office.until(
                lambda: mail_room.waits(event) == {"ann": (Reason.SCHEDULED, True)}, dispatcher
            )

    assert room.taken() == ["cyd"]
    assert mail_room.mails(event)["ann"] == (State.WAITING, "", 0)
    assert audit.audit(stream_of(event)).discrepancies == []
