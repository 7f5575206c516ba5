"""Why a notification got no mail, as people are told; in the language spoken.

The view `open_event_notifications` has the same sentences in English (`notification_message`).
"""

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

from postledger.notifications.states import Failure, Skip

_TEXTS: Mapping[str, str] = {
    Skip.CONTACT_TYPE: gettext_noop("The subscription is not by email."),
    Skip.CONTACT_GONE: gettext_noop("The contact was deleted."),
    Skip.PENDING: gettext_noop("The subscription was not confirmed yet."),
    Skip.PAUSED: gettext_noop("The subscription is paused."),
    Skip.UNSUBSCRIBED: gettext_noop("The person unsubscribed."),
    Skip.SUPPRESSED: gettext_noop("The address must not be mailed."),
    Skip.NOT_WANTED: gettext_noop("The person does not want to hear of this status."),
    Skip.MOST_REACHED: gettext_noop("The person got as many notifications as they wanted."),
    Skip.DUPLICATE: gettext_noop(
        "The person was told the same a moment ago, or is about to be told."
    ),
    Failure.NO_LOCALE: gettext_noop("The template has no text in the person's language."),
    Skip.CANCELLED: gettext_noop("It, or all mail of its stream, was cancelled."),
    Skip.EXPIRED: gettext_noop("It would have come too late: its time to live ends before."),
}


def explain_code(code: str) -> str:
    """One sentence; empty for a code that is none of the fan-out's."""
    return gettext(_TEXTS[code]) if code in _TEXTS else ""
