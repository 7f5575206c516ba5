"""How many questions to the database each page of a workspace needs."""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.db import connection
from django.test import Client
from django.urls import reverse

from postledger.accounts import trail
from postledger.accounts.people.roles import Permission
from postledger.web.dashboard import page_rules, urls
from tests import round_trips
from tests.web.dashboard import visitors

_HOST = "127.0.0.1"
_VALUE = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Counted:
    name: str
    status: int
    queries: int


def count(values: Mapping[str, Any], *, address: str) -> Iterator[Counted]:
    """Opens every page as an owner, in this process, and searches for an address.

    Pages that only take POST are left out. The values are those of the URLs, by name. Counted are
    the round trips of the connection, the larger number of two visits: before the first of them the
    process forgets what it remembers. A download is counted until it begins.
    """
    logging.getLogger("django.request").setLevel(logging.ERROR)
    client = visitors.sign_in(values["workspace_id"]).client
    # To prepare a statement is a round trip too, but happens once in the life of a connection.
    connection.connection.prepare_threshold = None
    for rule in page_rules.list_rules(urls.urlpatterns):
        if not isinstance(rule.rule, Permission):
            continue
        named = {name: values[name] for name in _VALUE.findall(rule.route)}
        counted = _visit_twice(client, rule.name, reverse(rule.name, kwargs=named), values)
        if counted.status != HTTPStatus.METHOD_NOT_ALLOWED:
            yield counted
    found = f"{reverse('messages', args=[values['workspace_id']])}?q={quote(address)}"
    yield _visit_twice(client, "messages by address", found, values)


def _visit_twice(client: Client, name: str, url: str, values: Mapping[str, Any]) -> Counted:
    # A decision makes the process forget.
    trail.note(values["workspace_id"], actor="proof", action="list.changed", subject="proof")
    first, second = _visit(client, name, url), _visit(client, name, url)
    return max(first, second, key=lambda one: one.queries)


def _visit(client: Client, name: str, url: str) -> Counted:
    with round_trips.counted() as asked:
        status = client.get(url, SERVER_NAME=_HOST).status_code
    return Counted(name, status, asked())
