"""Everything that is stored about one person, as one JSON document for that person."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime

from django.forms.models import model_to_dict

from postledger.campaigns.planning import exclusions
from postledger.contacts import form_blocks, queries, suppressions, unsubscribe_links
from postledger.contacts.consent import Preferences
from postledger.contacts.models import ConsentEvent, Contact
from postledger.contacts.unsubscribe_links import UnsubscribeLinks
from postledger.content import letters
from postledger.deliveries import search
from postledger.deliveries.search import PersonalMail
from postledger.dispatch import past_letters
from postledger.dispatch.rounds import compose
from postledger.lib.errors import RefusedError
from postledger.notifications.subscriptions import personal_data
from postledger.providers import addresses


def export(workspace_id: int, *, address: str, now: datetime) -> str:
    """JSON with every contact of the address, deleted ones too, with subscriptions and consents;
    events of the address without a contact, its suppressions, since when its owner wants no mail of
    subscribe forms, what its contacts want to be told of topics and what became of it, the runs
    that left them out, and every mail to it or to another address that its contacts had.
    """
    canonical = addresses.canonical(address)
    contact_ids = queries.list_contact_ids(workspace_id, address=canonical)
    document = {
        "address": canonical,
        "exported_at": now,
        "contacts": [
            _contact(workspace_id, contact)
            for contact in Contact.objects.filter(pk__in=contact_ids).order_by("pk")
        ],
        "history": list(map(_event, queries.list_address_history(workspace_id, address=canonical))),
        "suppressions": list(_suppressions(workspace_id, canonical)),
        "no_forms_since": form_blocks.find_start(workspace_id, address=canonical),
        "topic_subscriptions": personal_data.list_of_contacts(contact_ids),
        "exclusions": exclusions.list_of_contacts(contact_ids),
        "mails": list(_mails(workspace_id, canonical, contact_ids)),
    }
    return json.dumps(document, default=str, ensure_ascii=False, indent=2)


def _contact(workspace_id: int, contact: Contact) -> dict[str, object]:
    subscriptions = queries.list_subscriptions(workspace_id, contact_id=contact.pk)
    status = suppressions.find_status(workspace_id, address=contact.address)
    return {
        **model_to_dict(contact, exclude=["workspace"]),
        "suppression": asdict(status),
        "subscriptions": [
            {
                "list_key": subscription.list.key,
                "state": subscription.state,
                "preferences": {
                    field.name: getattr(subscription, field.name) for field in fields(Preferences)
                },
                "created_at": subscription.created_at,
                "changed_at": subscription.changed_at,
            }
            for subscription in subscriptions
        ],
        "history": list(map(_event, _history(workspace_id, contact.pk))),
    }


def _event(event: ConsentEvent) -> dict[str, object]:
    shown = model_to_dict(event, exclude=["workspace", "contact", "list"])
    return {**shown, "list_key": event.list.key if event.list else None}


def _history(workspace_id: int, contact_id: int) -> Iterator[ConsentEvent]:
    """All of it: a profile has the newest lines only."""
    page = queries.list_history(workspace_id, contact_id=contact_id)
    while page:
        yield from page
        page = queries.list_history(workspace_id, contact_id=contact_id, before=page[-1].id)


def _suppressions(workspace_id: int, address: str) -> Iterator[dict[str, object]]:
    """Without a list, it is about all mail."""
    for kept in suppressions.list_of_address(workspace_id, address=address):
        yield {
            "list_key": kept.list.key if kept.list else None,
            "reason": kept.reason,
            "has_left": kept.has_left,
            "created_at": kept.created_at,
        }


def _mails(
    workspace_id: int, address: str, contact_ids: Sequence[int]
) -> Iterator[dict[str, object]]:
    links = unsubscribe_links.workspace_links(workspace_id)
    for mail in search.find_mail_to_person(workspace_id, address=address, contact_ids=contact_ids):
        shown = asdict(_render(workspace_id, mail, links))
        del shown["letter"], shown["list_key"]  # ours, and of no use to the person
        yield shown


def _render(workspace_id: int, mail: PersonalMail, links: UnsubscribeLinks) -> PersonalMail:
    """Fills in the letter again as for sending, but for the tokens of links; a mail that cannot be
    filled in stays as it is.
    """
    mail = replace(mail, text=past_letters.hide_tokens(mail.text))
    letter = letters.find(workspace_id, digest=mail.letter) if mail.letter else None
    if letter is None:
        return mail
    link = links.base_url if links.is_complete else ""
    values = compose.letter_values(
        mail.address, mail.variables, link=link, manage_link=links.preferences_url
    )
    try:
        filled = letter.fill(values)
    except RefusedError:
        return mail
    _, text = letter.join(filled)
    return replace(mail, subject=filled.subject, text=past_letters.hide_tokens(text))
