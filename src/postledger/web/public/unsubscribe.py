"""The unsubscribe page, one-click unsubscribe (RFC 8058), and the undo of both.

Mail scanners open every link of a mail, so opening one changes nothing.
"""

from datetime import UTC, datetime
from enum import StrEnum

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from postledger.contacts import link_unsubscribes
from postledger.contacts.actions import restoration, suppression
from postledger.contacts.consent import Origin
from postledger.contacts.lists import is_key
from postledger.contacts.unsubscribe_links import LinkOwner, UnsubscribeRequest
from postledger.web.public import links, pages, recipients
from postledger.web.public.pages import Visit

_PREFETCH_HEADERS = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")


class Scene(StrEnum):
    """What the page shows."""

    ASK = "ask"  # the owner of the address has not unsubscribed
    LEFT = "left"  # the owner has unsubscribed
    BACK = "back"  # the owner has just undone it


_TITLES = {
    Scene.ASK: gettext_noop("Unsubscribe"),
    Scene.LEFT: gettext_noop("You are unsubscribed"),
    Scene.BACK: gettext_noop("You are back"),
}
# Of all mail, and of one list.
_SENTENCES = {
    Scene.ASK: (
        gettext_noop("Do you want to stop all mail from %(org)s to %(email)s?"),
        gettext_noop("Do you want to stop “%(list_name)s” from %(org)s to %(email)s?"),
    ),
    Scene.LEFT: (
        gettext_noop(
            "%(org)s sends no more mail to %(email)s, apart from messages that you ask for"
            " yourself."
        ),
        gettext_noop("%(org)s sends no more of “%(list_name)s” to %(email)s."),
    ),
    Scene.BACK: (
        gettext_noop("Your unsubscribing was undone. %(org)s may write to %(email)s again."),
        gettext_noop(
            "Your unsubscribing was undone. %(org)s may send “%(list_name)s” to %(email)s again."
        ),
    ),
}


@pages.public_page
def unsubscribe_page(visit: Visit) -> HttpResponse:
    recipient = links.read_unsubscribe_link(visit.token)
    # Mailbox providers press the button for many people from a few IP addresses.
    visit.limit(settings.ONE_CLICK_RATE)
    is_one_click = visit.is_post and visit.form().get("List-Unsubscribe") == "One-Click"
    is_applied = visit.is_post or _applies_on_get(visit)
    if is_applied:
        source = link_unsubscribes.ONE_CLICK if is_one_click else link_unsubscribes.UNSUBSCRIBE_PAGE
        origin = Origin(source, "recipient", ip=visit.ip)
        now = datetime.now(UTC)
        suppression.unsubscribe(
            recipient.workspace_id, request=recipient.request, origin=origin, now=now
        )
    if is_one_click or (is_applied and visit.wants_json):
        return JsonResponse({"ok": True})
    return _render(visit, recipient, _find_scene(recipient), is_answer=is_applied)


@pages.public_page
def undo_page(visit: Visit) -> HttpResponse:
    recipient = links.read_unsubscribe_link(visit.token)
    visit.limit(settings.PUBLIC_RATE)
    if not visit.is_post:
        return _render(visit, recipient, _find_scene(recipient))
    origin = Origin(link_unsubscribes.UNSUBSCRIBE_PAGE, "recipient", ip=visit.ip)
    restoration.undo(
        recipient.workspace_id, request=recipient.request, origin=origin, now=datetime.now(UTC)
    )
    if visit.wants_json:
        return JsonResponse({"ok": True})
    scene = Scene.LEFT if _find_scene(recipient) is Scene.LEFT else Scene.BACK
    return _render(visit, recipient, scene, is_answer=True)


def _applies_on_get(visit: Visit) -> bool:
    """For programs and installations that rely on it; a browser's prefetch never applies."""
    if visit.request.method != "GET":
        return False
    headers = visit.request.headers
    if any("pre" in headers.get(name, "").lower() for name in _PREFETCH_HEADERS):
        return False
    return visit.wants_json or settings.UNSUBSCRIBE_GET == "apply"


def _find_scene(recipient: LinkOwner) -> Scene:
    has_left = _left_by_link(recipient) or recipients.has_left(
        recipient.workspace_id, address=recipient.address
    )
    return Scene.LEFT if has_left else Scene.ASK


def _left_by_link(recipient: LinkOwner) -> bool:
    """Whether the unsubscription is that of the link, so that the link can undo it."""
    return recipients.has_left(
        recipient.workspace_id, address=recipient.address, list_key=_list_key(recipient.request)
    )


def _list_key(request: UnsubscribeRequest) -> str | None:
    return request.list_key if is_key(request.list_key) else None


def _render(
    visit: Visit, recipient: LinkOwner, scene: Scene, *, is_answer: bool = False
) -> HttpResponse:
    workspace_id, key = recipient.workspace_id, _list_key(recipient.request)
    may_undo = scene is Scene.LEFT and _left_by_link(recipient)
    # After unsubscribing from everything, the link of one list says so too.
    is_all = key is None or (scene is Scene.LEFT and not may_undo)
    of_all, of_list = _SENTENCES[scene]
    values = {
        "org": recipients.find_organisation(workspace_id).name,
        "email": recipient.address,
        "list_name": "" if key is None else recipients.find_list_name(workspace_id, key=key),
    }
    return pages.render_page(
        visit,
        "unsubscribe.html",
        title=gettext(_TITLES[scene]),
        workspace_id=workspace_id,
        sentence=gettext(of_all if is_all else of_list) % values,
        scene=scene.value,
        is_all=is_all,
        may_undo=may_undo,
        is_answer=is_answer,
        urls={
            name: visit.url(reverse(name), token=recipient.token)
            for name in ("unsubscribe", "undo", "preferences")
        },
    )
