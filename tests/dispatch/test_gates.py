"""Which mails must not go, and which reason is given when there are several."""

from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(
    ("who", "standings"),
    [
        (recipient(), NOBODY),
        (recipient(contact_id=7), ALICE),
        (recipient("Alice@Example.com", 7), ALICE),
        (recipient("bob@example.com"), BOUNCED),
    ],
)
def test_a_mail_that_nothing_speaks_against_goes(who: Recipient, standings: Standings) -> None:
    assert gates.find_verdict(who, standings) is None


@pytest.mark.parametrize(
    ("who", "standings", "outcome", "code"),
    [
        (recipient(), BOUNCED, AttemptOutcome.SUPPRESSED, "bounced"),
        (recipient("ALICE@example.com"), BOUNCED, AttemptOutcome.SUPPRESSED, "bounced"),
        (recipient(contact_id=7), BOUNCED, AttemptOutcome.SUPPRESSED, "bounced"),
        (recipient(contact_id=7), NOBODY, AttemptOutcome.INVALID, RECIPIENT_NOT_FOUND),
        (recipient("a@other.example", 7), ALICE, AttemptOutcome.INVALID, RECIPIENT_NOT_FOUND),
        (recipient("not an address"), NOBODY, AttemptOutcome.INVALID, gates.INVALID_EMAIL),
        (recipient("a@b.c\r\nBcc: d@e.f"), NOBODY, AttemptOutcome.INVALID, gates.INVALID_EMAIL),
        # Of several reasons, the first in this order: address, suppression, contact.
        (recipient("x", 7), NOBODY, AttemptOutcome.INVALID, gates.INVALID_EMAIL),
        (recipient(contact_id=7), GONE_AND_BOUNCED, AttemptOutcome.SUPPRESSED, "bounced"),
        (recipient(contact_id=7), ERASED, AttemptOutcome.SUPPRESSED, "unsubscribed"),
        (recipient("erased"), NOBODY, AttemptOutcome.SUPPRESSED, "erased"),
    ],
)
def test_a_mail_that_must_not_go_gets_its_reason(
    who: Recipient, standings: Standings, outcome: AttemptOutcome, code: str
) -> None:
    verdict = gates.find_verdict(who, standings)

    assert verdict is not None
    assert (verdict.position, verdict.outcome, verdict.code) == (AT, outcome, code)
    assert verdict.state is (
        State.SUPPRESSED if outcome is AttemptOutcome.SUPPRESSED else State.FAILED
    )


def test_a_mail_that_one_person_needs_does_not_go_to_a_contact_who_was_erased() -> None:
    standings = replace(ERASED, purpose=Purpose.SERVICE)

    verdict = gates.find_verdict(recipient(contact_id=7), standings)

    assert verdict is not None
    assert (verdict.state, verdict.code) == (State.FAILED, RECIPIENT_NOT_FOUND)


@pytest.mark.parametrize("reason", list(SuppressionReason))
@pytest.mark.parametrize("purpose", list(Purpose))
def test_mail_to_many_obeys_every_no_and_service_mail_all_but_a_leaving(
    purpose: Purpose, reason: SuppressionReason
) -> None:
    """Who left the newsletter still gets a way back into the account."""
    standings = Standings({"alice@example.com": reason.value}, {}, purpose=purpose)

    verdict = gates.find_verdict(recipient(), standings)

    is_for_service = purpose is Purpose.SERVICE
    if is_for_service and reason is SuppressionReason.UNSUBSCRIBED:
        assert verdict is None
    else:
        assert verdict is not None
        assert (verdict.outcome, verdict.code) == (AttemptOutcome.SUPPRESSED, reason.value)


@pytest.mark.parametrize(
    ("state", "of_news", "of_service"),
    [
        (ContactState.UNSUBSCRIBED, "unsubscribed", None),
        (ContactState.BOUNCED, "bounced", "bounced"),
    ],
)
def test_a_contacts_state_counts_even_where_its_address_is_not_suppressed(
    state: ContactState, of_news: str | None, of_service: str | None
) -> None:
    news = replace(ALICE, states={7: state})

    for standings, code in (
        (news, of_news),
        (replace(news, purpose=Purpose.SERVICE), of_service),
    ):
        verdict = gates.find_verdict(recipient(contact_id=7), standings)
        assert (verdict and verdict.code) == code
        assert gates.find_verdict(recipient(), standings) is None


@pytest.mark.parametrize(
    ("state", "outcome", "code"),
    [
        (SubscriptionState.UNSUBSCRIBED, AttemptOutcome.SUPPRESSED, "list_unsubscribed"),
        (SubscriptionState.SUPPRESSED, AttemptOutcome.SUPPRESSED, "list_suppressed"),
        (SubscriptionState.PENDING, AttemptOutcome.SKIPPED, "list_pending"),
        (SubscriptionState.PAUSED, AttemptOutcome.SKIPPED, "list_paused"),
        (SubscriptionState.ACTIVE, None, None),
    ],
)
def test_mail_of_a_list_goes_to_its_active_subscribers(
    state: SubscriptionState, outcome: AttemptOutcome | None, code: str | None
) -> None:
    standings = replace(ALICE, subscriptions={7: state})

    verdict = gates.find_verdict(recipient(contact_id=7), standings)

    assert (verdict and verdict.outcome, verdict and verdict.code) == (outcome, code)
    service = replace(standings, purpose=Purpose.SERVICE)
    assert gates.find_verdict(recipient(contact_id=7), service) is None


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("left_every_list", AttemptOutcome.SUPPRESSED),
        ("on_break", AttemptOutcome.SKIPPED),
    ],
)
def test_mail_to_all_contacts_does_not_go_to_whom_it_does_not_reach(
    code: str, outcome: AttemptOutcome
) -> None:
    verdict = gates.find_verdict(recipient(contact_id=7), replace(ALICE, unreached={7: code}))

    assert verdict is not None
    assert (verdict.outcome, verdict.code) == (outcome, code)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (SuppressionReason.UNSUBSCRIBED, "list_unsubscribed"),
        (SuppressionReason.BY_HAND, "list_suppressed"),
        (SuppressionReason.COMPLAINED, "list_suppressed"),
    ],
)
def test_an_address_that_left_the_list_gets_none_of_its_mail_without_a_contact_either(
    reason: SuppressionReason, code: str
) -> None:
    standings = replace(NOBODY, left={"alice@example.com": reason.value})

    verdict = gates.find_verdict(recipient("Alice@example.com"), standings)

    assert verdict is not None
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
