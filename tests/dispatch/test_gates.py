"""Which mails must not go, and which reason is given when there are several."""

from dataclasses import replace
from itertools import product

from postledger.contacts.standings import Standings
from postledger.contacts.states import ContactState, Purpose, SubscriptionState, SuppressionReason
from postledger.deliveries.entries import RECIPIENT_NOT_FOUND, AttemptOutcome, Recipient
from postledger.deliveries.states import State
from postledger.mailing import gates

AT = 3
NOBODY = Standings(suppressed={}, contacts={})
ALICE = Standings(suppressed={}, contacts={7: "alice@example.com"})
BOUNCED = Standings(suppressed={"alice@example.com": "bounced"}, contacts={7: "alice@example.com"})
GONE_AND_BOUNCED = Standings(suppressed={"alice@example.com": "bounced"}, contacts={})
ERASED = Standings(suppressed={"alice@example.com": "unsubscribed"}, contacts={})


def recipient(address: str = "alice@example.com", contact_id: int | None = None) -> Recipient:
    return Recipient(AT, address, contact_id, None, 0)


def test_a_mail_that_nothing_speaks_against_goes() -> None:
    for who, standings in (
        (recipient(), NOBODY),
        (recipient(contact_id=7), ALICE),
        (recipient("Alice@Example.com", 7), ALICE),
        (recipient("bob@example.com"), BOUNCED),
    ):
        assert gates.find_verdict(who, standings) is None, who


def test_a_mail_that_must_not_go_gets_its_reason() -> None:
    suppressed, invalid = AttemptOutcome.SUPPRESSED, AttemptOutcome.INVALID
    for who, standings, outcome, code in (
        (recipient(), BOUNCED, suppressed, "bounced"),
        (recipient("ALICE@example.com"), BOUNCED, suppressed, "bounced"),
        (recipient(contact_id=7), BOUNCED, suppressed, "bounced"),
        (recipient(contact_id=7), NOBODY, invalid, RECIPIENT_NOT_FOUND),
        (recipient("a@other.example", 7), ALICE, invalid, RECIPIENT_NOT_FOUND),
        (recipient("not an address"), NOBODY, invalid, gates.INVALID_EMAIL),
        (recipient("a@b.c\r\nBcc: d@e.f"), NOBODY, invalid, gates.INVALID_EMAIL),
        # Of several reasons, the first in this order: address, suppression, contact.
        (recipient("x", 7), NOBODY, invalid, gates.INVALID_EMAIL),
        (recipient(contact_id=7), GONE_AND_BOUNCED, suppressed, "bounced"),
        (recipient(contact_id=7), ERASED, suppressed, "unsubscribed"),
        (recipient("erased"), NOBODY, suppressed, "erased"),
    ):
        verdict = gates.find_verdict(who, standings)
        assert verdict is not None, who
        assert (verdict.position, verdict.outcome, verdict.code) == (AT, outcome, code), who
        assert verdict.state is (State.SUPPRESSED if outcome is suppressed else State.FAILED), who


def test_a_mail_that_one_person_needs_does_not_go_to_a_contact_who_was_erased() -> None:
    standings = replace(ERASED, purpose=Purpose.SERVICE)

    verdict = gates.find_verdict(recipient(contact_id=7), standings)

    assert verdict is not None
    assert (verdict.state, verdict.code) == (State.FAILED, RECIPIENT_NOT_FOUND)


def test_mail_to_many_obeys_every_no_and_service_mail_all_but_a_leaving() -> None:
    """Who left the newsletter still gets a way back into the account."""
    for purpose, reason in product(Purpose, SuppressionReason):
        standings = Standings({"alice@example.com": reason.value}, {}, purpose=purpose)
        verdict = gates.find_verdict(recipient(), standings)
        if purpose is Purpose.SERVICE and reason is SuppressionReason.UNSUBSCRIBED:
            assert verdict is None
        else:
            assert verdict is not None, (purpose, reason)
            assert (verdict.outcome, verdict.code) == (AttemptOutcome.SUPPRESSED, reason.value)


def test_a_contacts_state_counts_even_where_its_address_is_not_suppressed() -> None:
    for state, purpose, code in (
        (ContactState.UNSUBSCRIBED, Purpose.NEWS, "unsubscribed"),
        (ContactState.UNSUBSCRIBED, Purpose.SERVICE, None),
        (ContactState.BOUNCED, Purpose.NEWS, "bounced"),
        (ContactState.BOUNCED, Purpose.SERVICE, "bounced"),
    ):
        standings = replace(ALICE, states={7: state}, purpose=purpose)
        verdict = gates.find_verdict(recipient(contact_id=7), standings)
        assert (verdict and verdict.code) == code, (state, purpose)
        assert gates.find_verdict(recipient(), standings) is None


def test_mail_of_a_list_goes_to_its_active_subscribers() -> None:
    for state, outcome, code in (
        (SubscriptionState.UNSUBSCRIBED, AttemptOutcome.SUPPRESSED, "list_unsubscribed"),
        (SubscriptionState.SUPPRESSED, AttemptOutcome.SUPPRESSED, "list_suppressed"),
        (SubscriptionState.PENDING, AttemptOutcome.SKIPPED, "list_pending"),
        (SubscriptionState.PAUSED, AttemptOutcome.SKIPPED, "list_paused"),
        (SubscriptionState.ACTIVE, None, None),
    ):
        standings = replace(ALICE, subscriptions={7: state})
        verdict = gates.find_verdict(recipient(contact_id=7), standings)
        assert (verdict and verdict.outcome, verdict and verdict.code) == (outcome, code), state
        service = replace(standings, purpose=Purpose.SERVICE)
        assert gates.find_verdict(recipient(contact_id=7), service) is None, state


def test_mail_to_all_contacts_does_not_go_to_whom_it_does_not_reach() -> None:
    for code, outcome in (
        ("left_every_list", AttemptOutcome.SUPPRESSED),
        ("on_break", AttemptOutcome.SKIPPED),
    ):
        verdict = gates.find_verdict(recipient(contact_id=7), replace(ALICE, unreached={7: code}))
        assert verdict is not None
        assert (verdict.outcome, verdict.code) == (outcome, code)


def test_an_address_that_left_the_list_gets_none_of_its_mail_without_a_contact_either() -> None:
    for reason, code in {
        SuppressionReason.UNSUBSCRIBED: "list_unsubscribed",
        SuppressionReason.BY_HAND: "list_suppressed",
        SuppressionReason.COMPLAINED: "list_suppressed",
    }.items():
        standings = replace(NOBODY, left={"alice@example.com": reason.value})
        verdict = gates.find_verdict(recipient("Alice@example.com"), standings)
        assert verdict is not None, reason
        assert (verdict.state, verdict.code) == (State.SUPPRESSED, code)


def test_of_several_reasons_the_widest_is_given() -> None:
    everything = replace(
        BOUNCED,
        states={7: ContactState.UNSUBSCRIBED},
        left={"alice@example.com": "unsubscribed"},
        subscriptions={7: SubscriptionState.PAUSED},
    )
    of_contact = replace(everything, suppressed={})
    of_list = replace(of_contact, states={})
    of_subscription = replace(of_list, left={})

    codes = [
        verdict.code
        for standings in (everything, of_contact, of_list, of_subscription)
        if (verdict := gates.find_verdict(recipient(contact_id=7), standings))
    ]

    assert codes == ["bounced", "unsubscribed", "list_unsubscribed", "list_paused"]
