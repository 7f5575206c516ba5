"""A contact gets one mail of a campaign, also when its address changes in between."""

from collections.abc import Callable

import pytest
from pytest_django import Settings

from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import Contact
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Entry
from tests import cast
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

ALICE, BOB, ZOE = "alice@example.com", "bob@example.com", "Zoe@example.com"


@pytest.fixture
def acme(settings: Settings) -> int:
    return press.set_up_workspace(settings)


def taken(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="MAILBOX_UNAVAILABLE")


def move(acme: int, contact_id: int, address: str) -> None:
    changes = Changes(address=address)
    contacts.update_contact(
        acme, contact_id=contact_id, changes=changes, actor="bob", now=press.NOW
    )


def begin_run(acme: int) -> tuple[Run, int]:
    """A run to alice and bob of which alice's mail is planned; and alice."""
    alice, _ = people.contact(acme, ALICE), people.contact(acme, BOB)
    run_id = launching.launch_campaign(acme, press.campaign(acme), actor="alice", now=press.NOW)
    planning.plan_next_chunk(run_id, size=1)
    run = Run.objects.get(pk=run_id)
    assert press.addresses(run) == [ALICE]
    return run, alice


def rest_of(acme: int, run: Run) -> Run:
    """What a rest mails, after all that waited of the run was cancelled."""
    run_control.cancel_run(acme, run.pk, actor="alice")
    while ledger.drain(run.stream_id):
        pass
    planning.plan_run(run.pk)
    return press.planned(launching.launch_remaining(acme, run.pk, actor="alice", now=press.NOW))


def test_who_moves_after_a_mail_and_ahead_of_planning_gets_no_second_one(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, taken)
    move(acme, alice, ZOE)

    planned = press.planned(run.pk)

    assert press.addresses(planned) == [ALICE, BOB]
    assert planned.excluded == {"already_mailed": 1}


@pytest.mark.parametrize("book", [cast.lose, cast.armed])
def test_nor_does_who_moves_while_it_is_not_known_what_became_of_the_mail(
    acme: int, book: Callable[[int], object]
) -> None:
    run, alice = begin_run(acme)
    book(run.stream_id)
    move(acme, alice, ZOE)

    assert press.addresses(press.planned(run.pk)) == [ALICE, BOB]


def test_who_moves_twice_is_known_by_every_address_they_had(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, taken)
    for address in ("carol@example.com", "alice@Example.com", "dave@example.com", ZOE):
        move(acme, alice, address)

    assert press.addresses(press.planned(run.pk)) == [ALICE, BOB]
    assert Contact.objects.get(pk=alice).former_addresses == [
        "carol@example.com",
        ALICE,
        "dave@example.com",
    ]


def test_a_rest_leaves_out_who_was_mailed_under_an_earlier_address(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, taken)
    move(acme, alice, ZOE)

    rest = rest_of(acme, run)

    assert press.addresses(rest) == [BOB]
    assert rest.excluded == {"already_mailed": 1}


def test_mail_that_failed_at_the_old_address_goes_to_the_new_one(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, refused)
    move(acme, alice, ZOE)

    assert press.addresses(press.planned(run.pk)) == [ALICE, BOB, ZOE]


def test_mail_that_was_cancelled_at_the_old_address_goes_to_the_new_one_in_the_rest(
    acme: int,
) -> None:
    run, alice = begin_run(acme)
    move(acme, alice, ZOE)

    assert press.addresses(rest_of(acme, run)) == [BOB, ZOE]


def test_mail_to_who_has_the_old_address_now_says_nothing_of_who_had_it(acme: int) -> None:
    alice = people.contact(acme, ALICE)
    move(acme, alice, ZOE)
    people.contact(acme, ALICE)

    run = press.launched(acme, press.campaign(acme))

    assert press.addresses(run) == [ALICE, ZOE]
