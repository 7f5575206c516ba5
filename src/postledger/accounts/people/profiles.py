"""What people say of themselves: their name and the language of their pages."""

from django.db import transaction

from postledger.accounts import constraints
from postledger.accounts.models import Member, User


def change_profile(user: User, *, name: str, language: str) -> None:
    """Their workspaces show the new name too."""
    if name:
        constraints.check_name("a person", name)
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(name=name, language=language)
        Member.objects.filter(user=user, removed_at=None).update(name=name)
