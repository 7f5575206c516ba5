"""Who is deleted in Supabase is mailed no more, unless it looks like a mistake; and may return."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.accounts.models import AuditEntry
from postledger.contacts import audience, sql
from postledger.contacts.actions import contacts
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.details import Changes
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import Contact, Subscription
from postledger.privacy import erasure
from postledger.supabase import errors, syncing
from postledger.supabase.models import Subscriber, Sync, SyncProblem
from tests.contacts import people
from tests.fakes.postgrest import FakePostgrest, Fault, Seen

R1, R2 = people.R1, "r2@example.com"


def sync(*, accepts_missing: bool = False) -> Sync:
    return syncing.sync_all(accepts_missing=accepts_missing)


def list_recipients(workspace_id: int) -> list[str]:
    """Whom a mailout without a list goes to."""
    last = Contact.objects.latest("created_at").created_at
    chunk = audience.compile_chunk(
        workspace_id, FrozenAudience(EVERYBODY, None, last), after="", limit=10_000
    )
    return [address for _, address, *_, kept in sql.rows(chunk.sql, chunk.params) if kept is None]


def contact(address: str = R1) -> Contact:
    return Contact.objects.filter(address=address).latest("pk")


def test_who_is_deleted_there_is_mailed_no_more(acme: int, fake: FakePostgrest) -> None:
    people.contact(acme, "ours@example.com")
    for email in (R1, R2, "ours@example.com"):
        fake.add(email)
    sync()

    fake.remove(R1)
    fake.remove("ours@example.com")
    done = sync()

    # The first was a contact before it was there.
    assert list_recipients(acme) == ["ours@example.com", R2]
    assert contact().deleted_at is not None
    assert (done.gone_count, done.trouble) == (1, None)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor) == ("contact.deleted", "supabase sync")
    assert entry.subject == f"contact {contact().pk}"
    assert sync().gone_count == 0


def test_a_row_whose_email_changed_is_the_new_address_alone_and_one_that_cannot_be_taken_stays(
    acme: int, fake: FakePostgrest
) -> None:
    for email in (R1, "odd@example.com", "other@example.com"):
        fake.add(email)
    sync()

    fake.remove(R1)
    fake.add(R2)
    fake.set("odd@example.com", status="maybe")
    sync()

    assert list_recipients(acme) == ["odd@example.com", "other@example.com", R2]


def test_a_row_that_comes_back_brings_its_contact_back_as_it_was(
    acme: int, fake: FakePostgrest
) -> None:
    people.news(acme)
    for email in (R1, R2):
        fake.add(email)
    sync()
    born = contact()
    people.change(acme, born.pk, Changes(name="Ann"))
    people.subscribe(acme, born.pk)
    fake.remove(R1)
    sync()
    fake.add(R1.upper())

    done = sync()

    assert (contact().pk, contact().name, contact().state) == (born.pk, "Ann", "active")
    assert list_recipients(acme) == [R1, R2]
    assert people.subscription(born.pk) == "active"
    assert (done.returned_count, done.created_count) == (1, 0)
    fake.remove(R1.upper())
    sync()
    assert list_recipients(acme) == [R2]


def test_a_return_raises_no_consent_that_ended_before_or_meanwhile(
    acme: int, fake: FakePostgrest
) -> None:
    people.news(acme)
    people.news(acme, "offers")
    addresses = [f"{name}@example.com" for name in ("before", "meanwhile", "list", "there", "dead")]
    for address in [*addresses, R2]:
        fake.add(address)
    sync()
    for address in addresses:
        people.subscribe(acme, contact(address).pk)
        people.subscribe(acme, contact(address).pk, "offers")
    people.leave(acme, "before@example.com")
    for address in addresses:
        fake.remove(address)
    sync()
    people.leave(acme, "meanwhile@example.com")
    people.leave(acme, "list@example.com", "news")
    people.bounce(acme, "dead@example.com")
    for address in addresses:
        fake.add(address, "unsubscribed" if address.startswith("there") else "active")

    sync()

    by_name = {address.partition("@")[0]: contact(address) for address in addresses}
    assert {name: person.state for name, person in by_name.items()} == {
        "before": "unsubscribed",
        "meanwhile": "unsubscribed",
        "list": "active",
        "there": "unsubscribed",
        "dead": "bounced",
    }
    assert people.subscription(by_name["list"].pk) == "unsubscribed"
    assert people.subscription(by_name["list"].pk, "offers") == "active"
    assert not Contact.objects.exclude(deleted_at=None).exists()


def test_whom_a_person_deleted_or_had_erased_does_not_come_back(
    acme: int, fake: FakePostgrest
) -> None:
    for email in (R1, R2, "r3@example.com", "r4@example.com"):
        fake.add(email)
    sync()
    for email in (R1, R2):
        fake.remove(email)
    sync()
    erasure.erase(acme, address=R1, actor="alice", now=people.NOW)
    again = people.contact(acme, R2)
    for contact_id in (again, contact("r3@example.com").pk):
        contacts.delete_contact(acme, contact_id=contact_id, actor="alice", now=datetime.now(UTC))
    for email in (R1, R2):
        fake.add(email)

    sync()

    assert list_recipients(acme) == ["r4@example.com"]
    assert SyncProblem.objects.count() == 3
    assert not Subscriber.objects.filter(contact__address__startswith="erased").exists()


def test_a_contact_with_another_address_is_no_longer_that_of_the_row(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add(R1)
    sync()
    moved = Changes(address="moved@example.com")
    people.change(acme, contact().pk, moved)

    fake.remove(R1)
    done = sync()

    assert list_recipients(acme) == ["moved@example.com"]
    assert done.trouble is None


@pytest.mark.parametrize(("removed", "left"), [(101, 150), (100, 50)])
def test_nobody_is_deleted_when_so_many_are_missing_that_it_looks_like_a_mistake(
    acme: int, fake: FakePostgrest, removed: int, left: int
) -> None:
    fake.add_many(150)
    sync()
    fake.remove_many(removed)

    with suppress(errors.SupabaseRowsMissingError):
        sync()

    assert Contact.objects.filter(deleted_at=None).count() == left


def test_what_looks_like_a_mistake_is_told_until_it_is_accepted_or_mended(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add_many(3)
    sync()
    fake.remove_many(3)

    for _ in range(2):
        with pytest.raises(errors.SupabaseRowsMissingError, match="3 of 3"):
            sync()

    row = Sync.objects.get()
    [problem] = SyncProblem.objects.all()
    assert (row.started_at, row.cursor) == (None, "")
    assert row.finished_at is not None
    assert "--accept-missing" in (row.trouble or "")
    assert (problem.failure, "3 of 3" in problem.problem) == ("not_found", True)

    fake.add_many(3)
    assert sync().trouble is None
    assert not SyncProblem.objects.exists()
    fake.remove_many(3)
    done = sync(accepts_missing=True)
    assert (done.trouble, done.gone_count) == (None, 3)
    assert list_recipients(acme) == []
    assert not SyncProblem.objects.exists()


def test_a_pass_that_did_not_get_to_its_end_deletes_nobody(acme: int, fake: FakePostgrest) -> None:
    fake.max_rows = 10
    fake.add_many(40)
    sync()
    everybody = list_recipients(acme)
    fake.remove("s0@example.com")
    asked = len(fake.requests)

    def fail(_: Seen) -> None:
        if len(fake.requests) == asked + 3:
            fake.faults.extend([Fault(500, retry_after="0")] * 4)

    fake.before_answer = fail
    with pytest.raises(errors.SupabaseUnreachableError):
        sync()
    fake.faults.clear()
    interrupted = Contact.objects.exclude(deleted_at=None).count()
    done = sync()

    assert interrupted == 0
    assert (done.read_count, done.gone_count) == (39, 1)
    assert list_recipients(acme) == everybody  # who was removed had left before


def test_a_pass_that_began_before_it_was_known_who_is_seen_deletes_nobody(
    acme: int, fake: FakePostgrest
) -> None:
    fake.max_rows = 1
    for email in (R1, R2, "r3@example.com"):
        fake.add(email)
    sync()
    Subscriber.objects.update(seen_in=0)
    Sync.objects.update(pass_count=0, started_at=people.NOW, cursor=R2)

    sync()

    assert list_recipients(acme) == [R1, R2, "r3@example.com"]


def test_who_is_active_there_is_mailed_though_a_form_named_them_first(
    acme: int, fake: FakePostgrest
) -> None:
    active, left = people.unconfirmed(acme), people.unconfirmed(acme, R2)
    fake.add(R1)
    fake.add(R2, "unsubscribed")

    sync()

    assert (people.is_unconfirmed(active), people.is_unconfirmed(left)) == (False, True)
    assert list_recipients(acme) == [R1]
    assert not Subscription.objects.exists()


def test_the_end_of_a_pass_writes_nothing_but_that_it_ended(acme: int, fake: FakePostgrest) -> None:
    fake.add(R1)

    with CaptureQueriesContext(connection) as captured:
        sync()

    ends = [
        query["sql"]
        for query in captured
        if "UPDATE" in query["sql"] and '"finished_at" = ' in query["sql"]
    ]
    assert len(ends) == 1
    assert "_count" not in ends[0].partition("WHERE")[0]
