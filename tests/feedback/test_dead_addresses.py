"""Addresses that an SMTP server refuses as dead are suppressed like hard bounces."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import transaction

from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import ContactState, SuppressionReason
from postledger.deliveries import entries, ledger
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.feedback import dead_addresses
from tests import cast
from tests.contacts import people
from tests.dispatch import office
from tests.dispatch.test_provider_pool import open_smtp, smtp_server
from tests.providers.fake_smtp import FakeSmtp, Phase

pytestmark = pytest.mark.django_db(transaction=True)

DEAD = "refuse@example.com"


def note(stream_id: int, position: int = 0, code: str = "5.1.1") -> None:
    refusal = entries.refused(position, code=f"550 {code}", bounce_code=code)
    ledger.note_dead_addresses(stream_id, [refusal])


def list_suppressed() -> list[tuple[str | None, str]]:
    return list(Suppression.objects.values_list("address", "reason").order_by("address"))


def test_a_dead_address_is_suppressed_and_its_contact_bounced(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    with smtp_server(FakeSmtp()) as server:
        acme = open_smtp(tmp_path, server.port)
        contact_id = people.contact(acme.workspace_id, DEAD)
        stream = office.stream(acme, [DEAD, "ann@example.com", "stranger+1@example.com"])
        office.send_all(stream)

    taken = dead_addresses.apply_refusals()

    contact = Contact.objects.get(pk=contact_id)
    assert taken == 1
    assert office.states(stream)[DEAD] is State.FAILED
    assert contact.state == ContactState.BOUNCED
    assert (contact.bounce_type, contact.bounce_subtype) == ("Permanent", "5.1.1")
    assert contact.state_changed_at is not None
    assert before <= contact.state_changed_at <= datetime.now(UTC)
    assert list_suppressed() == [(DEAD, SuppressionReason.BOUNCED)]
    assert dead_addresses.apply_refusals() == 0


def test_another_refusal_suppresses_nobody(tmp_path: Path) -> None:
    refusing = FakeSmtp(faults={Phase.RCPT: "550 5.7.1 Your message looks like spam"})
    with smtp_server(refusing) as server:
        acme = open_smtp(tmp_path, server.port)
        contact_id = people.contact(acme.workspace_id, "ann@example.com")
        stream = office.stream(acme, ["ann@example.com"])
        office.send_all(stream)

    assert dead_addresses.apply_refusals() == 0
    assert office.counts(stream) == {State.FAILED: 1}
    assert Contact.objects.get(pk=contact_id).state == ContactState.ACTIVE
    assert list_suppressed() == []


def test_test_mail_and_the_sandbox_suppress_nobody(tmp_path: Path) -> None:
    with smtp_server(FakeSmtp()) as server:
        acme = open_smtp(tmp_path, server.port)
        globex = office.open_office(tmp_path, "globex")
        test = office.stream(acme, [DEAD], is_test=True)
        pretended = office.stream(globex, [DEAD])
        office.send_all(test, pretended)

    assert dead_addresses.apply_refusals() == 0
    assert office.counts(test) == office.counts(pretended) == {State.FAILED: 1}


def test_a_refusal_is_noted_once_before_it_is_booked_and_applied_until_that_succeeds() -> None:
    stream = cast.stream(mails=1)
    note(stream)
    note(stream)
    assert sql.rows("SELECT count(*) FROM deliveries_deadaddress", {}) == [(1,)]

    with transaction.atomic():
        dead_addresses.apply_refusals()
        transaction.set_rollback(True)

    assert list_suppressed() == []
    assert dead_addresses.apply_refusals() == 1
    assert list_suppressed() == [("r0@example.com", SuppressionReason.BOUNCED)]


def test_each_workspace_suppresses_its_own_addresses_and_an_erased_one_is_passed_over() -> None:
    mine, theirs = cast.stream(mails=1), cast.stream(mails=2, workspace="globex")
    for stream, position in ((mine, 0), (theirs, 0), (theirs, 1)):
        note(stream, position)
    ledger.erase(cast.sender("globex").workspace_id, address="r1@example.com")

    assert dead_addresses.apply_refusals() == 3

    workspaces = Suppression.objects.values_list("workspace__name", "address")
    assert sorted(workspaces) == [("acme", "r0@example.com"), ("globex", "r0@example.com")]
