"""What a person may ask for: everything that is known, or to be erased; and what time ends."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from postledger.accounts import workspaces
from postledger.contacts import suppressions
from postledger.contacts.actions import contacts as contact_actions
from postledger.contacts.actions import suppression
from postledger.contacts.consent import Origin
from postledger.contacts.details import Details
from postledger.contacts.models import Contact
from postledger.contacts.states import SuppressionReason
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.deliveries import audit, entries, ledger, partitions
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.privacy import erasure, export, retention
from tests import cast

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ALICE = "alice@example.com"
BODY = Body(subject="Your secret", html="<p>hunter2</p>", text="hunter2", tags=("receipt",))


def contact(workspace_id: int, address: str = ALICE) -> int:
    return contact_actions.create_contact(
        workspace_id,
        address=address,
        external_id="crm-7",
        details=Details(name="Alice Liddell", attributes={"plan": "gold"}),
        actor="bob",
    )


def enqueue_mails(workspace: str, *addresses: str) -> int:
    """A stream with mails to these addresses, which wait."""
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, workspace=workspace)
    ledger.enqueue(stream_id, [NewDelivery(address, body=BODY) for address in addresses])
    return stream_id


def everything() -> str:
    """All that the tables hold, as text: a person who was erased is in none of them.

    Bytes are shown in hexadecimal capitals.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET xmlbinary TO hex")
        cursor.execute(
            "SELECT string_agg("
            "query_to_xml('SELECT * FROM ' || oid::regclass, true, false, '')::text, '')"
            " FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        )
        [(text,)] = cursor.fetchall()
    return str(text)


def test_an_export_holds_the_contact_its_consents_and_its_mails() -> None:
    acme = cast.sender("acme").workspace_id
    contact(acme)
    suppression.unsubscribe(
        acme, request=UnsubscribeRequest(ALICE), origin=Origin("page", "recipient"), now=NOW
    )
    stream = enqueue_mails("acme", ALICE, "bob@example.com")
    cast.book(stream, lambda at: entries.accepted(at, message_id="<1>"))

    document = json.loads(export.export(acme, address="Alice@Example.com".lower(), now=NOW))

    [person] = document["contacts"]
    assert (person["name"], person["state"]) == ("Alice Liddell", "unsubscribed")
    assert [event["action"] for event in person["history"]] == ["unsubscribed"]
    assert [(mail["subject"], mail["state"]) for mail in document["mails"]] == [
        ("Your secret", "accepted")
    ]
    assert "bob@example.com" not in json.dumps(document)


@pytest.mark.django_db(transaction=True)  # an audit is a transaction of its own
def test_who_was_erased_is_nowhere_and_is_not_mailed_again() -> None:
    acme = cast.sender("acme").workspace_id
    globex = workspaces.create_workspace("globex", actor="charlie")
    contact(acme)
    theirs = contact(globex)
    stream = enqueue_mails("acme", ALICE, "bob@example.com")
    cast.book(stream, lambda at: entries.accepted(at, message_id="<1>"))

    done, again = (erasure.erase(acme, address=ALICE, actor="bob", now=NOW) for _ in range(2))

    assert (done.contacts, done.mails, done.waiting) == (1, 1, 0)
    assert again.contacts == 0
    kept = suppressions.find_status(acme, address=ALICE)
    assert (kept.reason, kept.has_left) == (SuppressionReason.UNSUBSCRIBED, True)
    assert audit.audit(stream).discrepancies == []
    # Another workspace keeps what it knows.
    assert Contact.objects.get(pk=theirs).address == ALICE
    assert suppressions.find_status(globex, address=ALICE).reason is None
    assert json.loads(export.export(acme, address=ALICE, now=NOW))["contacts"] == []
    erasure.erase(globex, address=ALICE, actor="bob", now=NOW)
    left = everything()
    assert [word for word in (ALICE, "Alice Liddell", "crm-7") if word in left] == []
    assert left.count("hunter2") == 2  # bob's mail, as HTML and as text


def test_mail_that_waits_is_told_and_goes_with_the_next_time() -> None:
    acme = cast.sender("acme").workspace_id
    stream = enqueue_mails("acme", ALICE)

    before = erasure.erase(acme, address=ALICE, actor="bob", now=NOW)
    cast.book(stream, lambda at: entries.accepted(at, message_id="<1>"))
    after = erasure.erase(acme, address=ALICE, actor="bob", now=NOW)

    assert (before.mails, before.waiting) == (0, 1)
    assert (after.mails, after.waiting) == (1, 0)
    assert set(cast.states(stream).values()) == {State.ACCEPTED}
    assert ALICE not in everything()


def test_months_that_are_over_go_and_others_say_why_they_stay() -> None:
    now = datetime.now(UTC)
    old, live = (now - timedelta(days=days) for days in (210, 170))
    for moment in (old, live):
        partitions.create(ids.month_of(moment))
    gone = cast.stream(mails=2, now=old)
    cast.book(gone, lambda at: entries.accepted(at, message_id="<1>"))
    cast.stream(mails=3, now=live)

    listed = list(retention.list_due(months=3))
    done = list(retention.drop_due(months=3))

    assert [(due.mail_count, bool(due.obstacle)) for due in listed] == [(2, False), (3, True)]
    assert [(due.mail_count, bool(due.obstacle)) for due in done] == [(2, False), (3, True)]
    assert not partitions.exists(ids.month_of(old))
    assert partitions.exists(ids.month_of(live))


def run(*words: str) -> list[str]:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().splitlines()


def test_the_command_exports_and_erases(tmp_path: Path) -> None:
    contact(cast.sender("acme").workspace_id)
    file = tmp_path / "alice.json"

    exported = run("privacy", "export", "acme", ALICE, "--to", str(file))
    erased = run("privacy", "erase", "acme", ALICE)

    assert exported == [f"Wrote {file}."]
    assert json.loads(file.read_text())["contacts"][0]["name"] == "Alice Liddell"
    assert erased == ["Erased contacts: 1, consents: 1, mails: 0."]
    assert run("privacy", "retention", "--months", "3", "--dry-run") == [
        "Nothing is older than 3 months."
    ]
    with pytest.raises(CommandError, match="at least 1 month"):
        run("privacy", "retention", "--months", "0")
