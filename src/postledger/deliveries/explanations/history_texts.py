"""What a person is told about each fact in the history of a mail; in the language spoken."""

from typing import assert_never

from django.utils.translation import gettext, gettext_noop

from postledger.deliveries.entries import DOUBTFUL, AttemptOutcome
from postledger.deliveries.queries import AttemptFacts, EventFacts, ReportFacts
from postledger.deliveries.states import State

_OUTCOMES: dict[AttemptOutcome, str] = {
    AttemptOutcome.ACCEPTED: gettext_noop("the provider took it"),
    AttemptOutcome.REFUSED: gettext_noop("the provider refused it for good"),
    AttemptOutcome.TRY_LATER: gettext_noop("the provider asked to try later"),
    AttemptOutcome.THROTTLED: gettext_noop("the provider limited our rate; not counted"),
    AttemptOutcome.SENDER_BLOCKED: gettext_noop(
        "the provider refused the sender, not the mail; not counted"
    ),
    AttemptOutcome.NOT_SENT: gettext_noop("it was not handed over; not counted"),
    AttemptOutcome.IN_DOUBT: gettext_noop("the connection broke after hand-over"),
    AttemptOutcome.LOST_TIME: gettext_noop(
        "it was due in a time that a restore of the database has lost"
    ),
    AttemptOutcome.LEASE_LOST: gettext_noop(
        "its worker was lost while the mail was with the provider"
    ),
    AttemptOutcome.INVALID: gettext_noop("it did not pass validation"),
    AttemptOutcome.SKIPPED: gettext_noop("the recipient's settings say no"),
    AttemptOutcome.SUPPRESSED: gettext_noop("the address must not be mailed"),
    AttemptOutcome.EXPIRED: gettext_noop("its time to live had ended"),
    AttemptOutcome.POISON: gettext_noop("workers died of it again and again; it was given up"),
    AttemptOutcome.GIVEN_UP: gettext_noop(
        "its sender stayed blocked; it was given up and not handed over"
    ),
}

_OTHER_EVENT = gettext_noop("%(actor)s reported “%(kind)s”")
_EVENTS: dict[str, str] = {
    "proved_accepted": gettext_noop("evidence came that the provider took it (%(actor)s)"),
    "proved_not_accepted": gettext_noop(
        "evidence came that the provider did not take it (%(actor)s)"
    ),
    "count_as_sent": gettext_noop("%(actor)s counted it as sent"),
    "count_as_not_sent": gettext_noop("%(actor)s counted it as not sent"),
    "send_again": gettext_noop("%(actor)s chose to send it again"),
    "requeued": gettext_noop("%(actor)s requeued it"),
    "discarded": gettext_noop("%(actor)s discarded it: it stays failed and asks nobody any more"),
    "cancelled": gettext_noop("%(actor)s cancelled it"),
    "readdressed": gettext_noop("its contact had got another address, to which it goes"),
    "superseded": gettext_noop("%(actor)s launched a later run that sends to this recipient again"),
}

_OTHER_REPORT = gettext_noop("the provider reported “%(name)s”")
_REPORTS: dict[str, str] = {
    "accepted": gettext_noop("the provider reported that it took it"),
    "delivered": gettext_noop("the recipient's server took it"),
    "deferred": gettext_noop("the recipient's server said not now; the provider goes on trying"),
    "bounced": gettext_noop("it bounced for good"),
    "soft_bounced": gettext_noop("it bounced; the address stays in use"),
    "on_suppression_list": gettext_noop(
        "the provider kept it back: the address is on the account's own suppression list"
    ),
    "dropped": gettext_noop("the provider took it and then did not send it"),
    "complained": gettext_noop("the recipient reported it as spam"),
    "not_spam": gettext_noop("the recipient said that it is no spam"),
    "unsubscribed": gettext_noop("the recipient unsubscribed at the provider"),
    "opened": gettext_noop("it was opened, by a person or a machine"),
    "clicked": gettext_noop("a link in it was followed, by a person or a machine"),
    "refused": gettext_noop("the provider could not make the mail and did not send it"),
}


def describe_fact(fact: AttemptFacts | EventFacts | ReportFacts) -> str:
    """One sentence, without its time and its full stop."""
    match fact:
        case AttemptFacts():
            return f"{gettext(_OUTCOMES[fact.outcome])}{_details(fact)}{_consequence(fact)}"
        case EventFacts():
            sentence = gettext(_EVENTS.get(fact.kind, _OTHER_EVENT))
            return sentence % {"actor": fact.actor, "kind": fact.kind}
        case ReportFacts():
            sentence = gettext(_REPORTS.get(fact.report, _OTHER_REPORT)) % {"name": fact.name}
            details = ": ".join(part for part in (fact.code, fact.detail.rstrip(".")) if part)
            return f"{sentence} ({details})" if details else sentence
        case _:
            assert_never(fact)


def _details(fact: AttemptFacts) -> str:
    """The code and the detail, unless they repeat the outcome."""
    detail = (fact.detail or "").rstrip(".")
    if detail.casefold() == _OUTCOMES[fact.outcome]:
        detail = ""
    details = ": ".join(part for part in (fact.code, detail) if part)
    return f" ({details})" if details else ""


def _consequence(fact: AttemptFacts) -> str:
    """What an outcome led to, where that does not follow from the outcome."""
    if fact.state is State.IN_DOUBT and fact.outcome not in DOUBTFUL:  # then it is an older doubt
        return gettext("; an earlier try is in doubt, so it stays in doubt")
    if fact.state is State.FAILED and fact.outcome is AttemptOutcome.TRY_LATER:
        return gettext("; that was the last attempt")
    return ""
