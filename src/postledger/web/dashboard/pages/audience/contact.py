"""One contact: its story, its lists, what is known, and whether it may be mailed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.accounts.people.roles import Permission
from postledger.contacts import queries, reach, suppressions
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import (
    STOPS_EVERYTHING,
    ContactState,
    SubscriptionState,
    SuppressionReason,
)
from postledger.privacy import export as person_export
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import (
    attribute_rows,
    contact_story,
    former_addresses,
    words,
)
from postledger.web.dashboard.audience.contact_story import Part
from postledger.web.dashboard.frame import render_page


@require_safe
def show(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:
    workspace_id, now = visitor.workspace.pk, datetime.now(UTC)
    contact = queries.get_contact(workspace_id, contact_id=contact_id)
    given = request.GET.get("part", "")
    part = Part(given) if given in set(Part) else None
    story = contact_story.read_story(
        workspace_id, contact, part=part, until=_read_until(request.GET.get("until", ""))
    )
    kept = suppressions.list_of_address(workspace_id, address=contact.address)
    values = {
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "title": contact.name or formats.readable(contact.address),
        "contact": contact,
        "badge": words.make_contact_badge(contact, _find_reason(kept)),
        "story": story,
        "older_url": story.older and _find_url(part, until=story.older.isoformat()),
        "newest_url": _find_url(part) if "until" in request.GET else "",
        "tabs": _list_tabs(part),
        "subscriptions": _list_subscriptions(workspace_id, contact, kept, now=now),
        "may_be_mailed": contact.state == ContactState.ACTIVE and _find_reason(kept) is None,
        "reach": reach.read_reach(workspace_id, [contact_id], now=now)[contact_id],
        "is_suppressed": _find_reason(kept) in STOPS_EVERYTHING,
        "suppressions": [
            {
                "kept": one,
                "scope": words.name_suppressed(one),
                "reason": words.name_reason(one),
            }
            for one in kept
        ],
        "former_mail": former_addresses.list_waiting(workspace_id, contact),
        "attributes": [
            (key, attribute_rows.write_value(value))
            for key, value in sorted(contact.attributes.items())
        ],
    }
    return render_page(request, visitor, "dashboard/audience/contact.html", values)


@require_safe
def export_person(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:  # noqa: ARG001  every view gets it
    """A file for the person, as the API makes it; its name has no address."""
    contact = queries.get_contact(visitor.workspace.pk, contact_id=contact_id)
    document = person_export.export(
        visitor.workspace.pk, address=contact.address, now=datetime.now(UTC)
    )
    headers = {"Content-Disposition": f'attachment; filename="contact-{contact_id}.json"'}
    return HttpResponse(document, content_type="application/json; charset=utf-8", headers=headers)


def _read_until(text: str) -> datetime:
    """The moment of a URL of ours; another text shows the newest."""
    try:
        until = datetime.fromisoformat(text)
        return until.astimezone(UTC) if until.tzinfo else _tomorrow()
    except (ValueError, OverflowError):
        return _tomorrow()


def _tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def _find_reason(kept: Sequence[Suppression]) -> SuppressionReason | None:
    """Why no email goes to it at all."""
    return next((SuppressionReason(one.reason) for one in kept if one.list is None), None)


def _find_url(part: Part | None, **values: str) -> str:
    return f"?{urlencode({**({'part': part.value} if part else {}), **values})}"


def _list_tabs(current: Part | None) -> list[Mapping[str, Any]]:
    tabs: list[tuple[Part | None, Any]] = [(None, _("Everything")), *contact_story.TITLES.items()]
    return [
        {"url": _find_url(part), "title": title, "is_current": part is current}
        for part, title in tabs
    ]


def _list_subscriptions(
    workspace_id: int, contact: Contact, kept: Sequence[Suppression], *, now: datetime
) -> list[Mapping[str, Any]]:
    """The lists of a contact; an active one that a suppression stops is not shown as active, and
    since the moment of the suppression. One that ended with an unsubscribe from everything was
    ended by the contact, and not by somebody else.
    """
    stop = next((one for one in kept if one.list is None), None)
    shown: list[Mapping[str, Any]] = []
    for one in queries.list_subscriptions(workspace_id, contact_id=contact.pk):
        is_stopped = stop is not None and one.state == SubscriptionState.ACTIVE
        state, since = one.state, one.changed_at
        if stop is not None and is_stopped:
            has_left = stop.reason == SuppressionReason.UNSUBSCRIBED
            ended = SubscriptionState.UNSUBSCRIBED if has_left else SubscriptionState.SUPPRESSED
            state, since = ended, stop.created_at
        shown.append(
            {
                "of": one,
                "badge": words.make_subscription_badge(state),
                "since": since,
                "is_on_break": one.snooze_until is not None and one.snooze_until > now,
            }
        )
    return shown
