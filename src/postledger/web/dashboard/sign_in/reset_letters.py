"""Letters with a link to choose a new password."""

from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from postledger.accounts.models import User
from postledger.accounts.people import password_resets
from postledger.transactional import letter_carriers, own_letters
from postledger.transactional.own_letters import NoLetterSenderError
from postledger.web.shared import page_frame

_log = structlog.get_logger(__name__)


def can_send() -> bool:
    """Without PUBLIC_URL no link can be made: the host of a request is a stranger's word."""
    return bool(settings.PUBLIC_URL)


def send_reset_letter(user: User | None, *, to: str, request_id: str, now: datetime) -> None:
    """Mails the link to a person; for an address that nobody has, it does the same work in vain.

    So neither the answer nor its time tells who has an account.
    """
    if not can_send():
        return
    # The outer transaction always commits: a rollback would not wait for the disk.
    with transaction.atomic(), transaction.atomic():
        for workspace_id in letter_carriers.list_carriers(user):
            try:
                _send(workspace_id, user or User(pk=0), to=to, request_id=request_id, now=now)
                break
            except NoLetterSenderError as error:
                _log.warning("reset_letter_not_sent", workspace_id=workspace_id, reason=str(error))
        transaction.set_rollback(user is None)


def _send(workspace_id: int, user: User, *, to: str, request_id: str, now: datetime) -> None:
    link = password_resets.make_reset_link(user, now=now)
    language = page_frame.choose_language(
        user.language,
        accept_language=translation.get_language() or "",
        offered=page_frame.MEMBER_LANGUAGES,
    )
    with translation.override(language):
        own_letters.send_letter(
            workspace_id,
            to=to,
            subject=_("Choose a new password"),
            paragraphs=[
                _("Somebody, probably you, asked for a new password for Postledger."),
                _("This link works once, for one hour:"),
            ],
            link_url=settings.PUBLIC_URL.rstrip("/") + link.path,
            link_title=_("Choose a new password"),
            notes=[
                _(
                    "If it was not you, ignore this letter: your password stays as it is."
                    " Nobody here ever asks you for this link."
                )
            ],
            secret_until=link.valid_until,
            language=language,
            request_id=request_id,
            now=now,
        )
