"""The things that entries of the audit trail are about: their names, and where they are shown."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import DateTimeField, F, Manager, TextField, Value
from django.db.models.functions import Coalesce, NullIf
from django.urls import reverse

from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import ApiKey, Member, ProviderAccount, Sender
from postledger.accounts.people.roles import Permission
from postledger.campaigns.models import Campaign, Run
from postledger.contacts.models import Contact, List, Segment
from postledger.content.models import Article, Template
from postledger.deliveries import queries
from postledger.imports.models import Import
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.overview.links import Links
from postledger.web.dashboard.settings.integration_forms import NAMES

_NEVER = Value(None, output_field=DateTimeField())


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    url: str = ""  # empty: it has no page, or not for this visitor


@dataclass(frozen=True, slots=True)
class Kind:
    """Things of a workspace with a table of their own."""

    rows: Manager[Any]
    key: str  # the column that subjects name
    name: F | Coalesce
    page: str = ""  # the name of its URL; empty: it has none
    argument: str = ""  # the column that the URL names; empty: one page shows all of them
    needs: Permission = Permission.READ
    gone: F | Value = _NEVER  # the column that says since when it has no page


_KINDS: Mapping[str, Kind] = {
    "account": Kind(ProviderAccount.objects, "pk", F("name")),
    "article": Kind(Article.objects, "key", F("title"), "article", "key"),
    "campaign": Kind(Campaign.objects, "tag", F("name"), "campaign", "pk"),
    "contact": Kind(Contact.objects, "pk", F("address"), "contact", "pk", gone=F("deleted_at")),
    "import": Kind(Import.objects, "pk", F("file_name"), "import", "pk"),
    "key": Kind(ApiKey.objects, "prefix", F("name"), "developers", needs=Permission.SET_UP),
    "list": Kind(List.objects, "key", F("name"), "list", "key"),
    "member": Kind(
        Member.objects,
        "pk",
        Coalesce(NullIf("name", Value("", output_field=TextField())), "email"),
        *("member", "pk"),
        needs=Permission.MANAGE_MEMBERS,
        gone=F("removed_at"),
    ),
    "run": Kind(Run.objects, "pk", F("campaign__name"), "run", "pk"),
    "segment": Kind(
        Segment.objects, "pk", F("name"), "segment", "pk", needs=Permission.MANAGE_CONTACTS
    ),
    "sender": Kind(Sender.objects, "pk", F("address"), "sender", "pk"),
    "template": Kind(Template.objects, "key", F("name"), "template", "key"),
    # A topic has the key and the name of its list.
    "topic": Kind(List.objects, "key", F("name"), "topic", "key"),
}


def find_things(visitor: Visitor, subjects: Iterable[str]) -> dict[str, Thing]:
    """By subject, those that still exist; at most two queries for each kind, however many."""
    keys_by_kind: defaultdict[str, set[str]] = defaultdict(set)
    for subject in subjects:
        kind, _, key = subject.partition(" ")
        keys_by_kind[kind].add(key)
    things: dict[str, Thing] = {}
    for kind, keys in keys_by_kind.items():
        if kind in _KINDS:
            of_kind = _find_rows(visitor, _KINDS[kind], keys)
        else:
            of_kind = _FINDERS.get(kind, _find_nothing)(visitor, keys)
        things |= {f"{kind} {key}": thing for key, thing in of_kind.items()}
    return things


def _find_rows(visitor: Visitor, kind: Kind, keys: Iterable[str]) -> dict[str, Thing]:
    rows = kind.rows.filter(
        **{f"{kind.key}__in": keys, "workspace_id": visitor.workspace.pk}
    ).values_list(kind.key, kind.name, kind.argument or kind.key, kind.gone)
    return {
        str(key): Thing(
            name,
            _open(visitor, kind.page, *([argument] if kind.argument else []), needs=kind.needs)
            if kind.page and gone_at is None
            else "",
        )
        for key, name, argument, gone_at in rows
    }


def _open(visitor: Visitor, page: str, *args: object, needs: Permission = Permission.READ) -> str:
    return reverse(page, args=[visitor.workspace.pk, *args]) if visitor.may(needs) else ""


def _find_streams(visitor: Visitor, keys: Iterable[str]) -> dict[str, Thing]:
    streams = queries.find_streams([int(key) for key in keys])
    links = Links(visitor.workspace.pk, list(streams), may_run=False)
    return {
        str(stream.id): Thing(stream.title, links.to_stream(stream.id))
        for stream in streams.values()
        if stream.workspace_id == visitor.workspace.pk
    }


def _find_emails(visitor: Visitor, keys: Iterable[str]) -> dict[str, Thing]:
    """Each has the name of its stream."""
    ids = {key: id_ for key in keys if (id_ := DeliveryId.parse(key))}
    streams = _find_streams(visitor, {str(id_.stream_id) for id_ in ids.values()})
    return {
        key: Thing(streams[str(id_.stream_id)].name, _open(visitor, "message", key))
        for key, id_ in ids.items()
        if str(id_.stream_id) in streams
    }


def _find_integrations(visitor: Visitor, keys: Iterable[str]) -> dict[str, Thing]:
    url = _open(visitor, "integrations", needs=Permission.SET_UP)
    return {key: Thing(str(NAMES[IntegrationKind(key)]), url) for key in keys}


def _find_nothing(_visitor: Visitor, _keys: Iterable[str]) -> dict[str, Thing]:
    return {}


_FINDERS: Mapping[str, Callable[[Visitor, Iterable[str]], dict[str, Thing]]] = {
    "delivery": _find_emails,
    "integration": _find_integrations,
    "stream": _find_streams,
}
