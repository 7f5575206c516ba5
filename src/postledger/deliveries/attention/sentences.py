"""What a person is told before they decide: what happened to mails, and what to do about it."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from postledger.deliveries.entries import RECIPIENT_NOT_FOUND, AttemptOutcome

DOUBTS: Mapping[AttemptOutcome, Promise | str] = {
    AttemptOutcome.IN_DOUBT: _(
        "The connection to the provider broke after the mail was handed over, before the answer"
        " came."
    ),
    AttemptOutcome.LEASE_LOST: _(
        "The worker was lost while the mail was with the provider. It may have died before the"
        " first byte left."
    ),
    AttemptOutcome.LOST_TIME: _(
        "The database was restored from a copy, and the mail was due in the time that the copy"
        " does not have."
    ),
}

FAILURES: Mapping[AttemptOutcome, Promise | str] = {
    AttemptOutcome.REFUSED: _("The provider refused it for good"),
    AttemptOutcome.TRY_LATER: _("The provider put it off until no attempt was left"),
    AttemptOutcome.INVALID: _("No mail could be made of it"),
    AttemptOutcome.POISON: _("Workers died of it"),
    AttemptOutcome.GIVEN_UP: _("The provider refused the sender, and nobody acted in time"),
}

REMEDIES: Mapping[AttemptOutcome, Promise | str] = {
    AttemptOutcome.REFUSED: _(
        "Mend what the example names, then requeue; discard those whose address does not exist."
    ),
    AttemptOutcome.TRY_LATER: _("Requeue when the provider takes mail again."),
    AttemptOutcome.INVALID: _(
        "Mend the contacts or the content that the example names, then requeue."
    ),
    AttemptOutcome.POISON: _("Find the reason in the workers' log before you requeue."),
    AttemptOutcome.GIVEN_UP: _("Mend the sender and release it, then requeue."),
}


def describe_doubt(outcome: AttemptOutcome) -> str:
    return str(DOUBTS[outcome])


# Our own client saw that the provider cannot take it, and did not hand it over.
NOT_HANDED_OVER = frozenset({"utf8_unsupported", "8bit_unsupported", "too_big"})


_NO_MAILBOX = "5.1.1"  # of RFC 3463
_NO_VALUE = "template_missing_variable"


def describe_failure(outcome: AttemptOutcome, code: str) -> str:
    """A doubt that a person counted as not sent is a failure too."""
    if outcome is AttemptOutcome.REFUSED and code in NOT_HANDED_OVER:
        return str(_("It was not handed over: the provider cannot take it"))
    if outcome is AttemptOutcome.REFUSED and _NO_MAILBOX in code:
        return str(_("The mailbox does not exist"))
    if outcome is AttemptOutcome.INVALID and code == _NO_VALUE:
        return str(_("No mail could be made of it: a value is missing"))
    if code == RECIPIENT_NOT_FOUND:
        return str(_("The contact was deleted, or has another address now"))
    return str(FAILURES.get(outcome) or _("A person counted it as not sent"))


def advise(outcome: AttemptOutcome, code: str) -> str:
    if code == RECIPIENT_NOT_FOUND:
        return str(
            _(
                "Discard it: a mail keeps its address. A run to the remaining recipients reaches"
                " the new address of a contact; a single mail has to be sent anew."
            )
        )
    return str(REMEDIES.get(outcome, REMEDIES[AttemptOutcome.REFUSED]))
