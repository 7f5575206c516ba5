"""The page and the one-click door (RFC 8058) by which people leave, and come back.

Programs open every link of a mail before its reader does, so opening one changes nothing.
"""

from datetime import UTC, datetime
from enum import StrEnum

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.urls import reverse

from postledger.contacts import actions
from postledger.contacts.actions.lists import is_key
from postledger.contacts.consent import Origin
from postledger.contacts.unsubscribe import Wish
from postledger.web.public import door, people, signed
from postledger.web.public.door import Visit
from postledger.web.public.signed import Recipient

_PREFETCH = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")


class Scene(StrEnum):
    """What the page shows."""

    ASK = "ask"  # mail goes to this address, as far as its owner is concerned
    LEFT = "left"  # its owner left
    BACK = "back"  # its owner has just come back


@door.door
def show(visit: Visit) -> HttpResponse:
    found = signed.recipient(visit.token)
    # Mailbox providers press the button for many people, from a few addresses.
    visit.limit(settings.ONE_CLICK_RATE)
    is_one_click = visit.is_post and visit.form().get("List-Unsubscribe") == "One-Click"
    does_act = visit.is_post or _acts_when_opened(visit)
    if does_act:
        source = "one-click" if is_one_click else "unsubscribe page"
        _leave(visit, found, source)
    if is_one_click or (does_act and visit.wants_json):
        return JsonResponse({"ok": True})
    return _page(visit, found, _standing(found), is_answer=does_act)


@door.door
def undo(visit: Visit) -> HttpResponse:
    found = signed.recipient(visit.token)
    visit.limit(settings.PUBLIC_RATE)
    if not visit.is_post:
        return _page(visit, found, _standing(found))
    origin = Origin("unsubscribe page", "recipient", ip=visit.ip)
    actions.undo(found.workspace_id, wish=found.wish, origin=origin, now=datetime.now(UTC))
    if visit.wants_json:
        return JsonResponse({"ok": True})
    scene = Scene.LEFT if _standing(found) is Scene.LEFT else Scene.BACK
    return _page(visit, found, scene, is_answer=True)


def _acts_when_opened(visit: Visit) -> bool:
    """For installations and programs that rely on it; a browser that reads ahead never acts."""
    if visit.request.method != "GET":
        return False
    if any("pre" in visit.request.headers.get(name, "").lower() for name in _PREFETCH):
        return False
    return visit.wants_json or settings.UNSUBSCRIBE_GET == "apply"


def _leave(visit: Visit, found: Recipient, source: str) -> None:
    origin = Origin(source, "recipient", ip=visit.ip)
    actions.unsubscribe(found.workspace_id, wish=found.wish, origin=origin, now=datetime.now(UTC))


def _standing(found: Recipient) -> Scene:
    has_left = _left_by_link(found) or people.has_left(found.workspace_id, address=found.address)
    return Scene.LEFT if has_left else Scene.ASK


def _left_by_link(found: Recipient) -> bool:
    """Whether just what the link is about was left, so that it can be undone by it."""
    return people.has_left(
        found.workspace_id, address=found.address, list_key=_list_key(found.wish)
    )


def _list_key(wish: Wish) -> str | None:
    return wish.list_key if is_key(wish.list_key) else None


def _page(visit: Visit, found: Recipient, scene: Scene, *, is_answer: bool = False) -> HttpResponse:
    key = _list_key(found.wish)
    may_undo = scene is Scene.LEFT and _left_by_link(found)
    # Who left everything is told so, also by the link of one list.
    is_all = key is None or (scene is Scene.LEFT and not may_undo)
    organisation = people.organisation(found.workspace_id)
    words = visit.words(
        org=organisation.name,
        email=found.address,
        list="" if key is None else people.list_name(found.workspace_id, key=key),
    )
    told = words["unsubscribe"]
    return door.page(
        visit,
        "unsubscribe.html",
        title=told["title" if scene is Scene.ASK else f"{scene}_title"],
        words=words,
        organisation=organisation,
        sentence=told[f"{scene}_{'all' if is_all else 'list'}"],
        scene=scene.value,
        is_all=is_all,
        may_undo=may_undo,
        is_answer=is_answer,
        urls={
            name: visit.url(reverse(name), token=found.token)
            for name in ("unsubscribe", "undo", "preferences")
        },
    )
