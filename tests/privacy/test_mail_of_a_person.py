"""A person's mail is theirs under every address they had, and with the words it had."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.contacts import unsubscribe_links
from postledger.contacts.details import Changes
from postledger.content.rendering.source import Format
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.states import State
from postledger.mailing.content_source import InlineSource
from postledger.privacy import erasure, export
from postledger.transactional import actions as transactional
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.privacy.test_privacy import ALICE, NOW, contact, everything
from tests.transactional.mails import mail

pytestmark = pytest.mark.django_db

OLD = "alice@old.example"
RECEIPT = Body(subject="Your receipt", text="hunter2", tags=("receipt",))


def taken(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"<{position}>")


def send_mail(kind: StreamKind, address: str, contact_id: int) -> None:
    stream = cast.stream(kind)
    body = RECEIPT if kind is StreamKind.TRANSACTIONAL else None
    line = NewDelivery(
        address, contact_id=contact_id, variables={"name": "Alice Liddell"}, body=body
    )
    ledger.enqueue(stream, [line])
    cast.book(stream, taken)


def move_contact() -> int:
    """The workspace of a contact who got a receipt and a newsletter before she moved."""
    workspace_id = cast.sender().workspace_id
    alice = contact(workspace_id, OLD)
    send_mail(StreamKind.TRANSACTIONAL, OLD, alice)
    send_mail(StreamKind.CAMPAIGN, OLD, alice)
    people.change(workspace_id, alice, Changes(address=ALICE))
    send_mail(StreamKind.CAMPAIGN, ALICE, alice)
    return workspace_id


def mails(workspace_id: int, address: str = ALICE) -> list[dict[str, Any]]:
    document = json.loads(export.export(workspace_id, address=address, now=NOW))
    exported: list[dict[str, Any]] = document["mails"]
    return exported


def test_mail_to_an_earlier_address_is_exported_and_erased() -> None:
    workspace_id = move_contact()
    assert [mail["address"] for mail in mails(workspace_id)] == [OLD, OLD, ALICE]
    send_mail(StreamKind.TRANSACTIONAL, OLD, contact_id=0)  # somebody else, who has the address now

    done = erasure.erase(workspace_id, address=ALICE, actor="bob", now=NOW)

    assert (done.mails, done.waiting) == (3, 0)
    left = everything()
    assert left.count(f"<address>{OLD}</address>") == left.count("<text>hunter2</text>") == 1
    assert left.count("Alice Liddell") == 1
    assert ALICE not in left


def test_an_address_that_a_contact_had_before_is_exported_and_erased_by_itself() -> None:
    workspace_id = move_contact()

    def former() -> object:
        document = json.loads(export.export(workspace_id, address=ALICE, now=NOW))
        return [person["former_addresses"] for person in document["contacts"]]

    assert former() == [[OLD]]
    erasure.erase(workspace_id, address=OLD.upper(), actor="bob", now=NOW)

    assert former() == [None]
    assert OLD not in everything()


def test_the_values_of_a_person_are_erased_from_tests_that_went_to_others(
    settings: Settings,
) -> None:
    acme = press.set_up_workspace(settings)
    alice = contact(acme)
    campaign_id = press.campaign(acme)
    runs = [
        launching.send_test(
            acme, campaign_id, addresses="bob@acme.example", contact_id=alice, actor="bob", now=NOW
        )
        for _ in range(2)
    ]
    sent, waiting = (Run.objects.get(pk=run_id).stream_id for run_id in runs)
    cast.book(sent, taken)
    before = everything()

    erasure.erase(acme, address=ALICE, actor="bob", now=NOW)
    ledger.drain(waiting)

    assert before.count("Alice Liddell") > 1
    assert "Alice Liddell" not in everything()
    assert list(cast.states(sent).values()) == [State.ACCEPTED]
    assert list(cast.states(waiting).values()) == [State.CANCELLED]


def test_a_test_that_was_stored_while_its_person_was_erased_is_ended_later(
    settings: Settings,
) -> None:
    acme = press.set_up_workspace(settings)
    alice, campaign_id = contact(acme), press.campaign(acme)
    run_id = launching.send_test(
        acme, campaign_id, addresses="bob@acme.example", actor="bob", now=NOW
    )
    erasure.erase(acme, address=ALICE, actor="bob", now=NOW)
    Run.objects.filter(pk=run_id).update(test_contact_id=alice)
    stream_id = Run.objects.get(pk=run_id).stream_id

    assert erasure.retry_pending(datetime.now(UTC) + timedelta(hours=1)) == 1
    ledger.drain(stream_id)

    assert list(cast.states(stream_id).values()) == [State.CANCELLED]
    with connection.cursor() as cursor:
        cursor.execute("SELECT variables FROM deliveries_delivery")
        assert cursor.fetchall() == [(None,)]


def test_an_export_tells_what_a_campaign_said_to_this_person(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    press.people(acme, 2)
    words = InlineSource("News for {{ name }}", "Hello, {{ name }}.", Format.MARKDOWN)
    run = press.launched(acme, press.campaign(acme, content=words))
    cast.book(run.stream_id, taken)

    [told] = mails(acme, "r1@example.com")

    assert told["subject"] == "News for Reader 1"
    assert told["text"].startswith("Hello, Reader 1.")
    assert "https://acme.example/unsubscribe" in told["text"]
    assert "token" not in told["text"]
    assert told["about"] == "News"
    assert not {"letter", "list_key"} & told.keys()


def test_an_export_holds_no_token_that_a_stored_text_has(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    link = unsubscribe_links.workspace_links(acme).url(ALICE, list_key="news")
    page = link.partition("=")[0]
    signs = ("=", "%3D")
    for sign in signs:
        text = f"Receipt. Leave: {link.replace('=', sign)}\nBye."
        transactional.accept(acme, mails=[mail(to=ALICE, text=text)], request_id="", now=NOW)

    assert {shown["text"] for shown in mails(acme)} == {
        f"Receipt. Leave: {page}{sign}\nBye." for sign in signs
    }


def test_a_campaign_mail_that_could_not_be_made_is_told_by_its_subject(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    press.people(acme, 1)
    words = InlineSource("News", "You have {{ points }}.", Format.MARKDOWN, required=("points",))
    press.launched(acme, press.campaign(acme, content=words))

    [told] = mails(acme, "R0@example.com")

    assert (told["subject"], told["text"]) == ("News", "")
