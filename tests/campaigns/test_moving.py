"""A contact gets one mail of a campaign, also when its address changes in between."""

from collections.abc import Callable

import pytest

from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.contacts.details import Changes
from postledger.contacts.models import Contact
from tests import cast
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

ALICE, BOB, ZOE = "alice@example.com", "bob@example.com", "Zoe@example.com"


def begin_run(acme: int) -> tuple[Run, int]:
    """A run to alice and bob of which alice's mail is planned; and alice."""
    alice, _ = people.contact(acme, ALICE), people.contact(acme, BOB)
    run_id = press.launch(acme, press.campaign(acme))
    planning.plan_next_chunk(run_id, size=1)
    run = Run.objects.get(pk=run_id)
    assert press.addresses(run) == [ALICE]
    return run, alice


@pytest.mark.parametrize(
    "book", [lambda stream_id: cast.book(stream_id, press.taken), cast.lose, cast.armed]
)
def test_who_moves_after_a_mail_and_ahead_of_planning_gets_no_second_one(
    acme: int, book: Callable[[int], object]
) -> None:
    run, alice = begin_run(acme)
    book(run.stream_id)
    people.change(acme, alice, Changes(address=ZOE))

    planned = press.planned(run.pk)

    assert press.addresses(planned) == [ALICE, BOB]
    assert planned.excluded == {"already_mailed": 1}


def test_who_moves_twice_is_known_by_every_address_they_had(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, press.taken)
    for address in ("carol@example.com", "alice@Example.com", "dave@example.com", ZOE):
        people.change(acme, alice, Changes(address=address))

    assert press.addresses(press.planned(run.pk)) == [ALICE, BOB]
    assert Contact.objects.get(pk=alice).former_addresses == [
        "carol@example.com",
        ALICE,
        "dave@example.com",
    ]


def test_a_rest_leaves_out_who_was_mailed_under_an_earlier_address(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, press.taken)
    people.change(acme, alice, Changes(address=ZOE))

    press.cancel(run)
    planning.plan_run(run.pk)

    rest = press.rest(run)

    assert press.addresses(rest) == [BOB]
    assert rest.excluded == {"already_mailed": 1}


def test_mail_that_failed_at_the_old_address_goes_to_the_new_one(acme: int) -> None:
    run, alice = begin_run(acme)
    cast.book(run.stream_id, press.refused)
    people.change(acme, alice, Changes(address=ZOE))

    assert press.addresses(press.planned(run.pk)) == [ALICE, BOB, ZOE]


def test_mail_that_was_cancelled_at_the_old_address_goes_to_the_new_one_in_the_rest(
    acme: int,
) -> None:
    run, alice = begin_run(acme)
    people.change(acme, alice, Changes(address=ZOE))

    press.cancel(run)
    planning.plan_run(run.pk)

    assert press.addresses(press.rest(run)) == [BOB, ZOE]


def test_mail_to_who_has_the_old_address_now_says_nothing_of_who_had_it(acme: int) -> None:
    alice = people.contact(acme, ALICE)
    people.change(acme, alice, Changes(address=ZOE))
    people.contact(acme, ALICE)

    run = press.launched(acme, press.campaign(acme))

    assert press.addresses(run) == [ALICE, ZOE]
