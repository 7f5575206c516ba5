"""The rules of consent as values: what outranks what, and what is left after each word."""

import pytest

from postledger.contacts import states
from postledger.contacts.states import (
    NOTHING,
    ContactState,
    Kept,
    SubscriptionState,
    SuppressionReason,
)

LEFT = Kept(SuppressionReason.UNSUBSCRIBED, has_left=True)
BOUNCED = Kept(SuppressionReason.BOUNCED)
BOUNCED_AND_LEFT = Kept(SuppressionReason.BOUNCED, has_left=True)
COMPLAINED = Kept(SuppressionReason.COMPLAINED)
BY_HAND = Kept(SuppressionReason.BY_HAND)
BY_HAND_AND_LEFT = Kept(SuppressionReason.BY_HAND, has_left=True)


def test_a_bounce_outranks_a_leaving_and_a_leaving_being_active() -> None:
    ranked = sorted(ContactState, key=lambda state: state.priority)

    assert ranked == [ContactState.ACTIVE, ContactState.UNSUBSCRIBED, ContactState.BOUNCED]


@pytest.mark.parametrize(
    ("kept", "state"),
    [
        (NOTHING, ContactState.ACTIVE),
        (LEFT, ContactState.UNSUBSCRIBED),
        (COMPLAINED, ContactState.UNSUBSCRIBED),
        (BOUNCED, ContactState.BOUNCED),
        (BOUNCED_AND_LEFT, ContactState.BOUNCED),
        (BY_HAND, ContactState.ACTIVE),
        (BY_HAND_AND_LEFT, ContactState.UNSUBSCRIBED),
    ],
)
def test_a_contact_stands_as_its_address_is_kept_back(kept: Kept, state: ContactState) -> None:
    assert states.state_under(kept) is state


@pytest.mark.parametrize(
    ("kept", "undone", "restored"),
    [
        (NOTHING, NOTHING, NOTHING),
        (LEFT, NOTHING, NOTHING),
        (BOUNCED, BOUNCED, NOTHING),
        (BOUNCED_AND_LEFT, BOUNCED, LEFT),
        (COMPLAINED, COMPLAINED, NOTHING),
        (BY_HAND_AND_LEFT, BY_HAND, LEFT),
    ],
)
def test_a_recipient_takes_back_a_leaving_and_an_operator_everything_else(
    kept: Kept, undone: Kept, restored: Kept
) -> None:
    assert states.undone(kept) == undone
    assert states.restored(kept) == restored


@pytest.mark.parametrize("kept", [BOUNCED, COMPLAINED, BY_HAND, LEFT])
def test_only_a_leaving_lets_service_mail_pass(kept: Kept) -> None:
    assert (kept.reason in states.STOPS_EVERYTHING) is (kept is not LEFT)


PENDING, ACTIVE, PAUSED, UNSUBSCRIBED, SUPPRESSED = SubscriptionState


@pytest.mark.parametrize(
    ("current", "kept", "unconfirmed", "confirmed"),
    [
        (None, NOTHING, PENDING, ACTIVE),
        (PENDING, NOTHING, PENDING, ACTIVE),
        (ACTIVE, NOTHING, ACTIVE, ACTIVE),
        (PAUSED, NOTHING, PAUSED, PAUSED),
        # Who left confirms in person, whatever a form or a program says.
        (UNSUBSCRIBED, NOTHING, PENDING, PENDING),
        (UNSUBSCRIBED, LEFT, PENDING, PENDING),
        (None, LEFT, PENDING, PENDING),
        (SUPPRESSED, NOTHING, None, None),
        (None, COMPLAINED, None, None),
        (None, BY_HAND_AND_LEFT, None, None),
    ],
)
def test_asking_for_a_list_makes_no_consent_that_was_ended(
    current: SubscriptionState | None,
    kept: Kept,
    unconfirmed: SubscriptionState | None,
    confirmed: SubscriptionState | None,
) -> None:
    assert states.asked(current, kept, is_confirmed=False) is unconfirmed
    assert states.asked(current, kept, is_confirmed=True) is confirmed
