"""People with passwords and second factors, and the browsers that they sign in with."""

import secrets
from http import HTTPStatus
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.conf import LazySettings
from django.test import Client

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role

PASSWORD = "correct horse battery"


def hash_cheaply(settings: LazySettings) -> None:
    """For tests that are not about the hash, which takes longer than all the rest of them."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def new_name() -> str:
    """Redis counts attempts by address, and remembers those of earlier runs."""
    return secrets.token_hex(6)


def person(email: str = "", *, workspace: str = "acme", role: Role = Role.OWNER) -> User:
    """A member of a workspace, with an address of their own."""
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    user = User(email=email or f"{new_name()}@example.com")
    user.set_password(PASSWORD)
    user.save()
    Member.objects.create(workspace=tenant, user=user, email=user.email, role=role.value)
    return user


def browser(*, network: str = "", is_strict: bool = False) -> Client:
    """A browser in a network of its own, because Redis counts attempts by network too."""
    address = network or f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"
    return Client(enforce_csrf_checks=is_strict, REMOTE_ADDR=address)


def sign_in(client: Client, user: User, password: str = PASSWORD) -> Any:
    return client.post("/account/login/", {"login": user.email, "password": password})


def signed_in(user: User) -> Client:
    client = browser()
    client.force_login(user)
    return client


def confirmed(user: User) -> Client:
    """A browser whose person has just given the password again."""
    client = signed_in(user)
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    return client


def add_app(user: User) -> str:
    """Sets up an authenticator app, with recovery codes; returns its secret."""
    secret = str(totp.generate_totp_secret())
    totp.TOTP.activate(user, secret)
    RecoveryCodes.activate(user)
    return secret


def enter_code(client: Client, url: str, secret: str) -> Any:
    """Enters the code that the app shows; again if it shows the next one meanwhile."""
    shown, answer = 0, None
    while shown != (now := _find_counter()):
        shown = now
        code = totp.format_hotp_value(totp.hotp_value(secret, shown))
        answer = client.post(url, {"code": code})
        if answer.status_code == HTTPStatus.FOUND:
            break
    return answer


def _find_counter() -> int:
    [counter] = totp.yield_hotp_counters_from_time()
    return int(counter)


def recovery_codes(user: User) -> list[str]:
    found = Authenticator.objects.get(user=user, type=Authenticator.Type.RECOVERY_CODES)
    return list(found.wrap().get_unused_codes())
