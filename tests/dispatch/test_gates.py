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


type Judged = tuple[AttemptOutcome, str | None] | None
SUPPRESSED, SKIPPED = AttemptOutcome.SUPPRESSED, AttemptOutcome.SKIPPED
INVALID = AttemptOutcome.INVALID
FROM_CONTACT = recipient(contact_id=7)


def judge(who: Recipient, standings: Standings) -> Judged:
    """The outcome and the code of the verdict; None where the mail goes."""
    verdict = gates.find_verdict(who, standings)
    if verdict is None:
        return None
    assert verdict.position == AT
    return verdict.outcome, verdict.code


def for_service(standings: Standings) -> Standings:
    return replace(standings, purpose=Purpose.SERVICE)


def test_a_mail_that_nothing_speaks_against_goes() -> None:
    for who, standings in (
        (recipient(), NOBODY),
        (FROM_CONTACT, ALICE),
        (recipient("Alice@Example.com", 7), ALICE),
        (recipient("bob@example.com"), BOUNCED),
    ):
        assert judge(who, standings) is None, who


def test_a_mail_that_must_not_go_gets_its_reason() -> None:
    for who, standings, expected in (
        (recipient(), BOUNCED, (SUPPRESSED, "bounced")),
        (recipient("ALICE@example.com"), BOUNCED, (SUPPRESSED, "bounced")),
        (FROM_CONTACT, BOUNCED, (SUPPRESSED, "bounced")),
        (FROM_CONTACT, NOBODY, (INVALID, RECIPIENT_NOT_FOUND)),
        (recipient("a@other.example", 7), ALICE, (INVALID, RECIPIENT_NOT_FOUND)),
        (recipient("not an address"), NOBODY, (INVALID, gates.INVALID_EMAIL)),
        (recipient("a@b.c\r\nBcc: d@e.f"), NOBODY, (INVALID, gates.INVALID_EMAIL)),
        # Of several reasons, the first in this order: address, suppression, contact.
        (recipient("x", 7), NOBODY, (INVALID, gates.INVALID_EMAIL)),
        (FROM_CONTACT, GONE_AND_BOUNCED, (SUPPRESSED, "bounced")),
        (FROM_CONTACT, ERASED, (SUPPRESSED, "unsubscribed")),
        (recipient("erased"), NOBODY, (SUPPRESSED, "erased")),
    ):
        verdict = gates.find_verdict(who, standings)

        assert judge(who, standings) == expected, who
        assert verdict is not None
        assert verdict.state is (State.SUPPRESSED if expected[0] is SUPPRESSED else State.FAILED)


def test_a_mail_that_one_person_needs_does_not_go_to_a_contact_who_was_erased() -> None:
    assert judge(FROM_CONTACT, for_service(ERASED)) == (INVALID, RECIPIENT_NOT_FOUND)


def test_mail_to_many_obeys_every_no_and_service_mail_all_but_a_leaving() -> None:
    """Who left the newsletter still gets a way back into the account."""
    for purpose, reason in product(Purpose, SuppressionReason):
        standings = Standings({"alice@example.com": reason.value}, {}, purpose=purpose)
        goes = (purpose, reason) == (Purpose.SERVICE, SuppressionReason.UNSUBSCRIBED)

        expected = None if goes else (SUPPRESSED, reason.value)
        assert judge(recipient(), standings) == expected, (purpose, reason)


def test_a_contacts_state_counts_even_where_its_address_is_not_suppressed() -> None:
    left = replace(ALICE, states={7: ContactState.UNSUBSCRIBED})
    bounced = replace(ALICE, states={7: ContactState.BOUNCED})

    assert judge(FROM_CONTACT, left) == (SUPPRESSED, "unsubscribed")
    assert judge(FROM_CONTACT, for_service(left)) is None
    assert judge(FROM_CONTACT, bounced) == (SUPPRESSED, "bounced")
    assert judge(FROM_CONTACT, for_service(bounced)) == (SUPPRESSED, "bounced")
    for standings in (left, for_service(left), bounced, for_service(bounced)):
        assert judge(recipient(), standings) is None


def test_mail_of_a_list_goes_to_its_active_subscribers() -> None:
    for state, expected in (
        (SubscriptionState.UNSUBSCRIBED, (SUPPRESSED, "list_unsubscribed")),
        (SubscriptionState.SUPPRESSED, (SUPPRESSED, "list_suppressed")),
        (SubscriptionState.PENDING, (SKIPPED, "list_pending")),
        (SubscriptionState.PAUSED, (SKIPPED, "list_paused")),
        (SubscriptionState.ACTIVE, None),
    ):
        standings = replace(ALICE, subscriptions={7: state})

        assert judge(FROM_CONTACT, standings) == expected, state
        assert judge(FROM_CONTACT, for_service(standings)) is None, state


def test_mail_to_all_contacts_does_not_go_to_whom_it_does_not_reach() -> None:
    for outcome, code in ((SUPPRESSED, "left_every_list"), (SKIPPED, "on_break")):
        assert judge(FROM_CONTACT, replace(ALICE, unreached={7: code})) == (outcome, code)


def test_an_address_that_left_the_list_gets_none_of_its_mail_without_a_contact_either() -> None:
    for reason, code in (
        (SuppressionReason.UNSUBSCRIBED, "list_unsubscribed"),
        (SuppressionReason.BY_HAND, "list_suppressed"),
        (SuppressionReason.COMPLAINED, "list_suppressed"),
    ):
        standings = replace(NOBODY, left={"alice@example.com": reason.value})

        assert judge(recipient("Alice@example.com"), standings) == (SUPPRESSED, code)


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

    assert judge(FROM_CONTACT, everything) == (SUPPRESSED, "bounced")
    assert judge(FROM_CONTACT, of_contact) == (SUPPRESSED, "unsubscribed")
    assert judge(FROM_CONTACT, of_list) == (SUPPRESSED, "list_unsubscribed")
    assert judge(FROM_CONTACT, of_subscription) == (SKIPPED, "list_paused")
