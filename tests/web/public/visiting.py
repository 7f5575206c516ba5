"""What visitors of the public doors have and do: links, forms, and a look at what changed."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any
from uuid import uuid4

from django.db import connection
from django.test import Client

from postledger.contacts import lists
from postledger.contacts.models import (
    ConsentEvent,
    Contact,
    FormBlock,
    List,
    Subscription,
    Suppression,
)
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest, sign_token
from tests import cast
from tests.contacts.people import R1

SECRET = "a secret of the tests, long enough"
PUBLIC_URL = "https://mail.acme.example"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
URLENCODED = "application/x-www-form-urlencoded"


def link(
    email: str = R1,
    key: str = GENERAL,
    *,
    workspace_id: int | None = None,
    secret: str = SECRET,
    page: str = "/unsubscribe",
) -> str:
    signed = sign_token(UnsubscribeRequest(email, key, workspace_id), secret=secret.encode())
    return f"{page}?token={signed}"


def get(url: str, **headers: str) -> Any:
    return Client().get(url, headers=_named(headers))


def post(url: str, form: dict[str, Any] | None = None, **headers: str) -> Any:
    return Client().post(url, form or {}, headers=_named(headers))


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def text(response: Any) -> str:
    return unescape(str(response.content.decode()))


def forms(response: Any) -> list[str]:
    """Where the forms of a page are sent to."""
    return [unescape(url) for url in re.findall(r'action="([^"]*)"', response.content.decode())]


def everything() -> list[list[str]]:
    """All that a visitor could change, to be compared with itself later."""
    return [
        sorted(map(repr, model._default_manager.values_list()))
        for model in (Contact, List, Subscription, Suppression, ConsentEvent, FormBlock)
    ]


def public_list(workspace_id: int, key: str = "news", name: str = "News") -> str:
    lists.create_list(workspace_id, key=key, name=name, is_public=True, actor="alice")
    return key


def somebody() -> str:
    """An address that no earlier run used: mails to one address are counted for a day."""
    return f"r{uuid4().hex}@example.com"


def sender(workspace: str = "acme") -> None:
    cast.sender(workspace)


@dataclass(frozen=True)
class Mail:
    sender: str
    subject: str
    html: str
    text: str


def mails(address: str) -> list[Mail]:
    """The mails that were accepted for an address."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sender.address, b.subject, b.html, b.text FROM deliveries_delivery AS d"
            " JOIN deliveries_body AS b USING (stream_id, position)"
            " JOIN deliveries_stream AS stream ON stream.id = d.stream_id"
            " JOIN accounts_sender AS sender ON sender.id = stream.sender_id"
            " WHERE d.address = %s ORDER BY d.position",
            [address],
        )
        return [Mail(*row) for row in cursor.fetchall()]


def confirmation_link(mail: Mail) -> str:
    """The path and the query of the link in a confirmation mail."""
    confirm, never = links_of(mail)
    assert never.startswith("/never-again?")
    return confirm


def links_of(mail: Mail) -> list[str]:
    urls = re.findall(r"https?://\S+", mail.text)
    assert all(url.startswith(PUBLIC_URL) for url in urls)
    return [str(url.removeprefix(PUBLIC_URL)) for url in urls]
