"""The rules of consent as values: what outranks what, and what is left after each word."""

from postledger.contacts import states
from postledger.contacts.states import (
    NOT_SUPPRESSED,
    ContactState,
    SubscriptionState,
    SuppressionReason,
    SuppressionStatus,
)

LEFT = SuppressionStatus(SuppressionReason.UNSUBSCRIBED, has_left=True)
BOUNCED = SuppressionStatus(SuppressionReason.BOUNCED)
BOUNCED_AND_LEFT = SuppressionStatus(SuppressionReason.BOUNCED, has_left=True)
COMPLAINED = SuppressionStatus(SuppressionReason.COMPLAINED)
BY_HAND = SuppressionStatus(SuppressionReason.BY_HAND)
BY_HAND_AND_LEFT = SuppressionStatus(SuppressionReason.BY_HAND, has_left=True)


def test_a_bounce_outranks_a_leaving_and_a_leaving_being_active() -> None:
    ranked = sorted(ContactState, key=lambda state: state.priority)

    assert ranked == [ContactState.ACTIVE, ContactState.UNSUBSCRIBED, ContactState.BOUNCED]


def test_a_contact_stands_as_its_address_is_kept_back() -> None:
    cases: list[tuple[SuppressionStatus, ContactState]] = [
        (NOT_SUPPRESSED, ContactState.ACTIVE),
        (LEFT, ContactState.UNSUBSCRIBED),
        (COMPLAINED, ContactState.UNSUBSCRIBED),
        (BOUNCED, ContactState.BOUNCED),
        (BOUNCED_AND_LEFT, ContactState.BOUNCED),
        (BY_HAND, ContactState.ACTIVE),
        (BY_HAND_AND_LEFT, ContactState.UNSUBSCRIBED),
    ]
    for kept, state in cases:
        assert states.implied_state(kept) is state, kept


def test_a_recipient_takes_back_a_leaving_and_an_operator_everything_else() -> None:
    cases: list[tuple[SuppressionStatus, SuppressionStatus, SuppressionStatus]] = [
        (NOT_SUPPRESSED, NOT_SUPPRESSED, NOT_SUPPRESSED),
        (LEFT, NOT_SUPPRESSED, NOT_SUPPRESSED),
        (BOUNCED, BOUNCED, NOT_SUPPRESSED),
        (BOUNCED_AND_LEFT, BOUNCED, LEFT),
        (COMPLAINED, COMPLAINED, NOT_SUPPRESSED),
        (BY_HAND_AND_LEFT, BY_HAND, LEFT),
    ]
    for kept, undone, restored in cases:
        assert states.after_undo(kept) == undone
        assert states.after_restore(kept) == restored, kept


def test_only_a_leaving_lets_service_mail_pass() -> None:
    cases: list[SuppressionStatus] = [BOUNCED, COMPLAINED, BY_HAND, LEFT]
    for kept in cases:
        assert (kept.reason in states.STOPS_EVERYTHING) is (kept is not LEFT), kept


PENDING, ACTIVE, PAUSED, UNSUBSCRIBED, SUPPRESSED = SubscriptionState


def test_asking_for_a_list_makes_no_consent_that_was_ended() -> None:
    cases: list[
        tuple[
            SubscriptionState | None,
            SuppressionStatus,
            SubscriptionState | None,
            SubscriptionState | None,
        ]
    ] = [
        (None, NOT_SUPPRESSED, PENDING, ACTIVE),
        (PENDING, NOT_SUPPRESSED, PENDING, ACTIVE),
        (ACTIVE, NOT_SUPPRESSED, ACTIVE, ACTIVE),
        (PAUSED, NOT_SUPPRESSED, PAUSED, PAUSED),
        # Who left confirms in person, whatever a form or a program says.
        (UNSUBSCRIBED, NOT_SUPPRESSED, PENDING, PENDING),
        (UNSUBSCRIBED, LEFT, PENDING, PENDING),
        (None, LEFT, PENDING, PENDING),
        (SUPPRESSED, NOT_SUPPRESSED, None, None),
        (None, COMPLAINED, None, None),
        (None, BY_HAND_AND_LEFT, None, None),
    ]
    for current, kept, unconfirmed, confirmed in cases:
        assert states.requested_state(current, kept, is_confirmed=False) is unconfirmed
        assert states.requested_state(current, kept, is_confirmed=True) is confirmed, current
