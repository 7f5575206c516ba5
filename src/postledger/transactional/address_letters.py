"""Letters about another address to sign in with: a link to the new one, word to the former one."""

from datetime import datetime

import structlog
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from postledger.accounts.models import User
from postledger.accounts.people import address_changes
from postledger.accounts.people.address_changes import AddressChange
from postledger.observability import masking
from postledger.transactional import letter_carriers, own_letters
from postledger.transactional.own_letters import NoLetterSenderError

_log = structlog.get_logger(__name__)


def can_send_link(user: User) -> bool:
    """Without PUBLIC_URL no link can be made, and the sandbox reaches nobody."""
    return bool(settings.PUBLIC_URL) and letter_carriers.find_carrier(user) is not None


def send_link(user: User, *, address: str, request_id: str, now: datetime) -> None:
    """Mails the link to the new address, whoever has it: so nobody learns who has an account.

    Raises NoLetterSenderError where no letter would reach it.
    """
    link = address_changes.make_link(user, address=address, now=now)
    language = _choose_language(user)
    with translation.override(language):
        own_letters.send_letter(
            _find_carrier(user),
            to=address,
            subject=_("Confirm your new address"),
            paragraphs=[
                _("Somebody, probably you, wants to sign in to Postledger with this address."),
                _("This link works once, for one hour:"),
            ],
            link_url=settings.PUBLIC_URL.rstrip("/") + link.path,
            link_title=_("Confirm the address"),
            notes=[
                _(
                    "If it was not you, ignore this letter: nothing changes."
                    " Nobody here ever asks you for this link."
                )
            ],
            secret_until=link.valid_until,
            language=language,
            request_id=request_id,
            now=now,
        )


def tell_former(change: AddressChange, *, request_id: str = "", now: datetime) -> bool:
    """Tells the former address, without any secret; False where no letter can reach it."""
    language = _choose_language(change.user)
    with translation.override(language):
        try:
            own_letters.send_letter(
                _find_carrier(change.user),
                to=change.former,
                subject=_("Your address for Postledger was changed"),
                paragraphs=[
                    _(
                        "From now on you sign in to Postledger with %(address)s, and no longer"
                        " with this address. If that was you, there is nothing to do."
                    )
                    % {"address": masking.mask_text(change.address)},
                    _(
                        "If it was not you: where you are still signed in, change your password"
                        " under Your account, which signs out all other devices. And write to the"
                        " operator of this installation at once, who can give you your address"
                        " back."
                    ),
                ],
                secret_until=None,
                language=language,
                request_id=request_id,
                now=now,
            )
        except NoLetterSenderError as error:
            _log.warning("former_address_not_told", user_id=change.user.pk, reason=str(error))
            return False
    return True


def _find_carrier(user: User) -> int:
    carrier = letter_carriers.find_carrier(user)
    if carrier is None:
        raise NoLetterSenderError(
            "No sender that may carry letters to this person reaches people now: connect one of the"
            " first workspace to a provider, or release it, and try again."
        )
    return carrier


def _choose_language(user: User) -> str:
    """Their own choice, else that of the page that they read."""
    return user.language or translation.get_language() or "en"
