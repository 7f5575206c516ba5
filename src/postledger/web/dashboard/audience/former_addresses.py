"""What a contact's former addresses mean for its mail, and what is said when one is corrected."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.contrib import messages as levels
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.contacts import queries
from postledger.contacts.models import Contact
from postledger.contacts.states import ContactState, SuppressionReason
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import messages
from postledger.deliveries.figures.message_sources import Message, MessageFilters
from postledger.deliveries.states import State
from postledger.web.dashboard import formats
from postledger.web.dashboard.audience import contact_saving

_MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class FormerMailNotice:
    """What becomes of the mail that waits for a former address."""

    text: str
    url: str


def list_mail(
    workspace_id: int, contact: Contact, wanted: MessageFilters, *, limit: int
) -> list[Message]:
    """Mail of a contact to its former addresses; not that of whoever has one of these now."""
    former: Sequence[str] = contact.former_addresses or ()
    owners = queries.find_contacts(workspace_id, former) if former else {}
    mails = (
        message
        for address in former
        for message in messages.search_messages(
            workspace_id, replace(wanted, address=address), limit=limit
        ).messages
    )
    return [
        mail
        for mail in mails
        if mail.contact_id == contact.pk
        or (mail.contact_id is None and mail.address.lower() not in owners)
    ]


def list_waiting(workspace_id: int, contact: Contact) -> list[FormerMailNotice]:
    """By the address and by what becomes of it; notifications follow their contact."""
    wanted = MessageFilters(state=State.WAITING)
    counts = Counter(
        (mail.address, mail.kind, mail.contact_id is None)
        for mail in list_mail(workspace_id, contact, wanted, limit=_MOST_WAITING)
        if mail.kind is not StreamKind.TOPIC
    )
    url = reverse("messages", args=[workspace_id])
    return [
        FormerMailNotice(
            _choose_words(kind, count, is_sent=is_sent)
            % {"number": formats.count(count), "address": address},
            f"{url}?{urlencode({'q': address, 'state': State.WAITING.value})}",
        )
        for (address, kind, is_sent), count in counts.items()
    ]


def _choose_words(kind: StreamKind, count: int, *, is_sent: bool) -> str:
    """Mail keeps the address that it was planned for, and fails where it names the contact."""
    if is_sent:
        return ngettext(
            "%(number)s waiting email still goes to the former address %(address)s, unless that"
            " address is suppressed: it is not linked to a contact.",
            "%(number)s waiting emails still go to the former address %(address)s, unless that"
            " address is suppressed: they are not linked to a contact.",
            count,
        )
    if kind is StreamKind.TRANSACTIONAL:
        return ngettext(
            "%(number)s waiting single email to the former address %(address)s will not be sent."
            " Send it again to the new address.",
            "%(number)s waiting single emails to the former address %(address)s will not be sent."
            " Send them again to the new address.",
            count,
        )
    return ngettext(
        "%(number)s waiting email to the former address %(address)s fails when it is due, unless"
        " that address is suppressed. “Send to the rest” of its campaign then goes to the new"
        " address.",
        "%(number)s waiting emails to the former address %(address)s fail when they are due, unless"
        " that address is suppressed. “Send to the rest” of their campaigns then goes to the new"
        " address.",
        count,
    )


def describe_new_address(
    workspace_id: int, contact: Contact, *, before: Contact | None
) -> Iterator[tuple[int, str]]:
    """What a new address means for a contact's mail: sentences with their levels."""
    stop = contact_saving.find_stop(workspace_id, contact.address)
    if stop is not None:
        yield levels.WARNING, contact_saving.describe_stop(stop)
    if stop is not None or before is None:
        return
    if contact.state == ContactState.UNSUBSCRIBED:
        yield (
            levels.WARNING,
            _(
                "They had unsubscribed, or reported an email as spam. That counts for the new"
                " address, too: it gets no campaigns and no notifications."
            ),
        )
    elif before.state == ContactState.BOUNCED:
        text = _("Email to the old address had bounced. They get email again, at the new one.")
        yield levels.SUCCESS, text
    old_stop = contact_saving.find_stop(workspace_id, before.address)
    if old_stop is not None and old_stop.reason == SuppressionReason.BY_HAND:
        yield (
            levels.WARNING,
            _(
                "The old address was suppressed by hand, and the new one is not. Suppress it, too,"
                " if they are to get nothing."
            ),
        )
