"""What a page says can be done about mail that failed."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from postledger.deliveries.entries import AttemptOutcome

_BAD_ADDRESS = "5.1."  # the status codes of RFC 3463 for addresses
_UNKNOWN_ADDRESS = _(
    "The address does not exist, or takes no email. Nothing has to be done: another try would fail"
    " again, and cost you reputation."
)
_NOT_SENT = _("It was in doubt, and a person counted it as not sent. Retry to send it again.")
_REMEDIES: Mapping[AttemptOutcome, Promise | str] = {
    AttemptOutcome.REFUSED: _("Mend what the provider's answer names, then retry."),
    AttemptOutcome.TRY_LATER: _("Retry when the provider takes emails again."),
    AttemptOutcome.INVALID: _("Mend the contact or the content that the cause names, then retry."),
    AttemptOutcome.POISON: _("Find the reason in the workers' log before you retry."),
    AttemptOutcome.GIVEN_UP: _("Mend the sender and release it, then retry."),
}


def is_bad_address(outcome: AttemptOutcome, code: str) -> bool:
    """Whether the provider refused the address itself, so that a retry cannot help."""
    return outcome is AttemptOutcome.REFUSED and _BAD_ADDRESS in code


def advise(outcome: AttemptOutcome, code: str) -> Promise | str:
    if is_bad_address(outcome, code):
        return _UNKNOWN_ADDRESS
    return _REMEDIES.get(outcome, _NOT_SENT)
