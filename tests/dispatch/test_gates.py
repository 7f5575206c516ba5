"""Which mails must not go, and which reason is given when there are several."""

import pytest

from postledger.contacts.queries import Standings
from postledger.deliveries.entries import Outcome, Recipient
from postledger.deliveries.states import State
from postledger.dispatch import gates
from postledger.lib import ids

AT = 3
NOBODY = Standings(suppressed={}, contacts={})
ALICE = Standings(suppressed={}, contacts={7: "alice@example.com"})
BOUNCED = Standings(suppressed={"alice@example.com": "bounced"}, contacts={7: "alice@example.com"})
GONE_AND_BOUNCED = Standings(suppressed={"alice@example.com": "bounced"}, contacts={})


def recipient(address: str = "alice@example.com", contact_id: int | None = None) -> Recipient:
    return Recipient(AT, address, contact_id, None, 0)


@pytest.mark.parametrize(
    ("who", "standings", "try_number"),
    [
        (recipient(), NOBODY, 1),
        (recipient(), NOBODY, ids.MOST_TRIES),
        (recipient(contact_id=7), ALICE, 1),
        (recipient("Alice@Example.com", 7), ALICE, 1),
        (recipient("bob@example.com"), BOUNCED, 1),
    ],
)
def test_a_mail_that_nothing_speaks_against_goes(
    who: Recipient, standings: Standings, try_number: int
) -> None:
    assert gates.verdict(who, standings, try_number=try_number) is None


@pytest.mark.parametrize(
    ("who", "standings", "try_number", "outcome", "code"),
    [
        (recipient(), BOUNCED, 1, Outcome.SUPPRESSED, "bounced"),
        (recipient("ALICE@example.com"), BOUNCED, 1, Outcome.SUPPRESSED, "bounced"),
        (recipient(contact_id=7), BOUNCED, 1, Outcome.SUPPRESSED, "bounced"),
        (recipient(contact_id=7), NOBODY, 1, Outcome.INVALID, gates.RECIPIENT_NOT_FOUND),
        (recipient("a@other.example", 7), ALICE, 1, Outcome.INVALID, gates.RECIPIENT_NOT_FOUND),
        (recipient("not an address"), NOBODY, 1, Outcome.INVALID, gates.INVALID_EMAIL),
        (recipient("a@b.c\r\nBcc: d@e.f"), NOBODY, 1, Outcome.INVALID, gates.INVALID_EMAIL),
        (recipient(), NOBODY, ids.MOST_TRIES + 1, Outcome.INVALID, gates.TOO_MANY_TRIES),
        # Of several reasons, the first in this order: tries, address, contact, suppression.
        (recipient("x"), BOUNCED, ids.MOST_TRIES + 1, Outcome.INVALID, gates.TOO_MANY_TRIES),
        (recipient("x", 7), NOBODY, 1, Outcome.INVALID, gates.INVALID_EMAIL),
        (recipient(contact_id=7), GONE_AND_BOUNCED, 1, Outcome.INVALID, gates.RECIPIENT_NOT_FOUND),
    ],
)
def test_a_mail_that_must_not_go_gets_its_reason(
    who: Recipient, standings: Standings, try_number: int, outcome: Outcome, code: str
) -> None:
    found = gates.verdict(who, standings, try_number=try_number)

    assert found is not None
    assert (found.position, found.outcome, found.code) == (AT, outcome, code)
    assert found.state is (State.SUPPRESSED if outcome is Outcome.SUPPRESSED else State.FAILED)
