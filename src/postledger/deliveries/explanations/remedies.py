"""What can be done about mail that failed."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from postledger.deliveries.entries import RECIPIENT_NOT_FOUND, AttemptOutcome
from postledger.deliveries.queries import AttemptFacts, DeliveryFacts, EventFacts
from postledger.deliveries.states import State

_BAD_ADDRESS = "5.1."  # the status codes of RFC 3463 for addresses
_UNKNOWN_ADDRESS = _(
    "The address does not exist, or takes no email. Nothing has to be done: another try would fail"
    " again, and cost you reputation."
)
_NO_UTF8 = "utf8_unsupported"
_UNSPEAKABLE_ADDRESS = _(
    "Correct the address of the contact: this provider takes none with such letters. This email"
    " keeps the address that it has, so another try would fail again."
)
_MOVED = _(
    "The contact was deleted, or has another address now. This email keeps the address that it"
    " has, so another try would fail again. “Send to the rest” of a campaign reaches the new"
    " address; a single email has to be sent anew."
)
_NOT_SENT = _("It was in doubt, and a person counted it as not sent. Retry to send it again.")
_REMEDIES: Mapping[AttemptOutcome, Promise | str] = {
    AttemptOutcome.REFUSED: _("Mend what the provider's answer names, then retry."),
    AttemptOutcome.TRY_LATER: _("Retry when the provider takes emails again."),
    AttemptOutcome.INVALID: _("Mend the contact or the content that the cause names, then retry."),
    AttemptOutcome.POISON: _("Find the reason in the workers' log before you retry."),
    AttemptOutcome.GIVEN_UP: _("Mend the sender and release it, then retry."),
}


def find_failure(facts: DeliveryFacts) -> AttemptFacts | None:
    """The try that a failed mail ended with; None where a decision or its stream ended it."""
    if facts.state is not State.FAILED:
        return None
    last = facts.history[-1] if facts.history else None
    tries = [fact for fact in facts.history if isinstance(fact, AttemptFacts)]
    return tries[-1] if tries and not isinstance(last, EventFacts) else None


def is_hopeless(outcome: AttemptOutcome, code: str) -> bool:
    """Whether the address itself is the cause: a mail keeps its address, so no retry can help."""
    if code == RECIPIENT_NOT_FOUND:
        return True
    return outcome is AttemptOutcome.REFUSED and (_BAD_ADDRESS in code or code == _NO_UTF8)


def needs_nobody(outcome: AttemptOutcome, code: str) -> bool:
    """Whether the advice is that nothing has to be done."""
    return advise(outcome, code) is _UNKNOWN_ADDRESS


def advise(outcome: AttemptOutcome, code: str) -> Promise | str:
    if code == RECIPIENT_NOT_FOUND:
        return _MOVED
    if is_hopeless(outcome, code):
        return _UNSPEAKABLE_ADDRESS if code == _NO_UTF8 else _UNKNOWN_ADDRESS
    return _REMEDIES.get(outcome, _NOT_SENT)
