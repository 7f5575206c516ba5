"""Hands out invitations: by mail, or as a link that the owner passes on where no mail can go."""

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from postledger.accounts.models import User
from postledger.accounts.people.invitations import NewInvitation
from postledger.deliveries import sender_setup
from postledger.transactional import free_senders, own_letters
from postledger.transactional.own_letters import NoLetterSenderError
from postledger.web.dashboard.access import Visitor
from postledger.web.shared import languages, requests


def deliver_invitation(
    request: HttpRequest, visitor: Visitor, invitation: NewInvitation, *, now: datetime
) -> str | None:
    """Mails the invitation; where that would reach nobody, returns its link instead.

    No mail goes without PUBLIC_URL, because the host of a request is not known to be public, and
    none through the sandbox.
    """
    path, base_url = reverse("join", args=[invitation.token]), settings.PUBLIC_URL.rstrip("/")
    if not base_url:
        return request.build_absolute_uri(path)
    sender = free_senders.find_free_sender(visitor.workspace.pk)
    if sender is None or not sender_setup.reaches_people(sender):
        return base_url + path
    try:
        _send(request, visitor, invitation, base_url + path, now)
    except NoLetterSenderError:  # it was held meanwhile
        return base_url + path
    return None


def _send(
    request: HttpRequest, visitor: Visitor, invitation: NewInvitation, url: str, now: datetime
) -> None:
    language = _choose_language(request, invitation.email)
    names = {
        "person": visitor.user.name or visitor.user.email,
        "workspace": visitor.workspace.name,
    }
    with translation.override(language):
        own_letters.send_letter(
            visitor.workspace.pk,
            to=invitation.email,
            subject=_("Join %(workspace)s on Postledger") % names,
            paragraphs=[
                _("%(person)s invites you to the workspace %(workspace)s on Postledger.") % names,
                _("This link works once, for seven days:"),
            ],
            link_url=url,
            link_title=_("Accept the invitation"),
            notes=[_("If you do not know why you got this letter, ignore it.")],
            secret_until=invitation.valid_until,
            language=language,
            request_id=requests.id_of(request),
            now=now,
        )


def _choose_language(request: HttpRequest, email: str) -> str:
    """That of the person who is invited, where it is known; else that of the inviting one."""
    known = User.objects.filter(email=email.lower()).values_list("language", flat=True).first()
    return known or languages.choose(request)
