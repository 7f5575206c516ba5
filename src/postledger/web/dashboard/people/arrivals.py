"""Signs in a person who has just chosen a password, or proved an address by a mailed link."""

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from django.http import HttpRequest

from postledger.accounts.models import User


def sign_in(request: HttpRequest, user: User) -> None:
    """Begins a new session: the key of one from before, which somebody may have planted, is void.

    The password counts as given just now, so that a second factor can be set up at once.
    """
    get_adapter().login(request, user)
    record_authentication(request, user, method="password", email=user.email, reauthenticated=True)
