"""People who want another address to sign in with, and the links that are mailed to it."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import LazySettings
from django.test import Client

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role
from tests.web.dashboard import letters, sign_ins
from tests.web.dashboard.sign_ins import confirmed

CHANGE = "/account/address/"
SENT = "Look into your mailbox"
GONE = "This link does not work any more"


def prepare(settings: LazySettings) -> None:
    """An installation that knows its address."""
    sign_ins.hash_cheaply(settings)
    settings.PUBLIC_URL = "https://mail.example/"


def new_address() -> str:
    return f"{sign_ins.new_name()}@new.example"


def join(user: User, workspace: str) -> Member:
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    return Member.objects.create(
        workspace=tenant, user=user, email=user.email.upper(), role=Role.VIEWER.value
    )


def ask(client: Client, address: str) -> Any:
    return client.post(CHANGE, {"email": address})


def get_link(user: User, address: str) -> str:
    assert SENT in read(ask(confirmed(user), address))
    return link_to(address)


def link_to(address: str) -> str:
    """The path of the link in the newest letter to an address."""
    [url] = letters.find_links(letters.letters_to(address)[-1])
    assert url.startswith("https://mail.example/account/address/")
    return urlsplit(url).path


def address_of(user: User) -> str:
    return str(User.objects.values_list("email", flat=True).get(pk=user.pk))


def read(answer: Any) -> str:
    """A page as text, with every run of spaces as one."""
    return " ".join(answer.content.decode().split())
