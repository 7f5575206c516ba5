"""The branding of a workspace: stored, and checked so that readers can read it."""

import re

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import queries as accounts
from postledger.accounts import trail
from postledger.content import models
from postledger.content.rendering import branding as rules
from postledger.content.rendering.branding import LEAST_CONTRAST, Branding
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

LONGEST_URL = 500
# Without braces, which are Liquid, quotes, and brackets, which can make a URL unreadable.
_LOGO_URL = re.compile(r"https?://[^\s\"'<>{}\[\]\\]+")


class InvalidLogoError(RefusedError):
    code = "invalid_logo"


class InvalidAccentError(RefusedError):
    code = "invalid_accent"


def find_branding(workspace_id: int) -> Branding:
    """As it is now; a run keeps the one of its launch in its letters."""
    row = models.Branding.objects.filter(workspace_id=workspace_id).first()
    if row is None or not (row.logo_url or row.accent):
        return rules.NO_BRANDING
    name = accounts.organisation(workspace_id).name if row.logo_url else ""
    return Branding(row.logo_url, name, row.accent)


def lock_branding(workspace_id: int) -> Branding:
    """As it is until the transaction ends, if it was ever set."""
    models.Branding.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id).first()
    return find_branding(workspace_id)


def set_branding(workspace_id: int, *, logo_url: str, accent: str, actor: str) -> None:
    """Empty texts mean none."""
    colour = accent.lower()
    check_logo(logo_url)
    check_accent(colour)
    with transaction.atomic():
        models.Branding.objects.update_or_create(
            workspace_id=workspace_id,
            defaults={"logo_url": logo_url, "accent": colour, "updated_at": Now()},
        )
        data: dict[str, trail.Fact] = {"logo_url": logo_url, "accent": colour}
        subject = "branding"
        trail.note(workspace_id, actor=actor, action="branding.changed", subject=subject, data=data)


def check_logo(url: str) -> None:
    if url and (len(url) > LONGEST_URL or not _LOGO_URL.fullmatch(url)):
        raise InvalidLogoError(
            say(
                "'%(url)s' cannot be the address of a logo: use one that begins with https://,"
                " at most %(longest)s characters, without spaces, quotes, brackets and braces.",
                url=url[:200],
                longest=LONGEST_URL,
            )
        )


def check_accent(colour: str) -> None:
    if not colour:
        return
    if not rules.is_colour(colour):
        raise InvalidAccentError(
            say("'%(colour)s' is not a colour: write it as #1d4ed8.", colour=colour[:20])
        )
    contrast = rules.find_contrast(colour)
    if contrast < LEAST_CONTRAST:
        raise InvalidAccentError(
            say(
                "%(colour)s is too pale: links in it have a contrast of %(contrast)s on white,"
                " and people need at least %(least)s. Choose a darker colour.",
                colour=colour,
                contrast=f"{contrast:.1f}",
                least=LEAST_CONTRAST,
            )
        )
