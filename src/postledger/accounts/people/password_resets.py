"""Links to choose a new password: each works once, and for an hour."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.urls import reverse

from postledger.accounts import trail
from postledger.accounts.models import Member, User


@dataclass(frozen=True, slots=True)
class ResetLink:
    valid_until: datetime
    path: str = field(repr=False)  # below PUBLIC_URL


def make_reset_link(user: User, *, now: datetime) -> ResetLink:
    """A link of which nothing is stored: it is signed with the person's password and last sign-in,
    and a change of either ends it.
    """
    path = reverse(
        "account_reset_password_from_key",
        kwargs={
            "uidb36": user_pk_to_url_str(user),
            "key": default_token_generator.make_token(user),
        },
    )
    return ResetLink(now + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT), path)


def print_reset_link(user: User, *, now: datetime, actor: str) -> ResetLink:
    """A link that somebody hands over by themselves; every workspace of the person notes it."""
    with transaction.atomic():
        for member in Member.objects.filter(user=user, removed_at=None):
            trail.note(
                member.workspace_id,
                actor=actor,
                action="member.reset_link",
                subject=f"member {member.pk}",
            )
    return make_reset_link(user, now=now)
