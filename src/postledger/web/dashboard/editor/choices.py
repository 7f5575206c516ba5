"""What the editor offers to choose from: lists, fields of contacts, content and senders."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.contacts import audience, lists, segments
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import Contact, List
from postledger.contacts.states import ListKind
from postledger.content import articles, templates
from postledger.imports import queries
from postledger.lib.errors import RefusedError
from postledger.web.dashboard import language_names, text_names
from postledger.web.dashboard.editor import conditions
from postledger.web.dashboard.editor.conditions import ATTRIBUTE, LIST, Condition

_SAMPLE = 500  # contacts whose attributes are offered
_OFFERED_VALUES = 20  # of an attribute
_LONGEST_VALUE = 60

type Choice = tuple[str, Promise | str]


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A field of contacts that a condition may be about."""

    key: str
    label: str

    @property
    def kind(self) -> str:
        return conditions.find_kind(self.key)


@dataclass(frozen=True, slots=True)
class Choices:
    lists: Sequence[Choice]
    templates: Sequence[Choice]
    articles: Sequence[Choice]
    senders: Sequence[Choice]
    segments: Sequence[Choice]
    archived_lists: Sequence[Choice]  # not offered, but a draft may have one


def list_choices(workspace_id: int) -> Choices:
    """What can be chosen now; archived things cannot."""
    return Choices(
        lists=[
            ("", _("All contacts")),
            *lists.name_apart(_list_lists(workspace_id)),
        ],
        templates=[
            (one.key, one.name)
            for one in templates.list_templates(workspace_id)
            if one.archived_at is None and one.newest is not None and not one.is_builtin
        ],
        articles=[(one.key, one.title or one.key) for one in articles.list_articles(workspace_id)],
        senders=[
            (sender.address, _name_sender(sender))
            for sender in accounts.senders(workspace_id)
            if sender.archived_at is None
        ],
        segments=[(str(one.pk), one.name) for one in segments.list_segments(workspace_id)],
        archived_lists=[
            (one.key, _("%(name)s (archived)") % {"name": one.name})
            for one in lists.list_all(workspace_id).exclude(archived_at=None)
        ],
    )


def propose_list(workspace_id: int) -> tuple[str | None, bool]:
    """The list that there is, if there is one alone, and whether somebody has to choose one.

    All contacts are never proposed beside lists: among them are people who agreed to none.
    """
    keys = [one.key for one in _list_lists(workspace_id)[:2]]
    return (keys[0] if len(keys) == 1 else None), len(keys) > 1


def _list_lists(workspace_id: int) -> QuerySet[List]:
    return lists.list_all(workspace_id).filter(archived_at=None, kind=ListKind.LIST.value)


def _name_sender(sender: Sender) -> str:
    name = f"{sender.name} <{sender.address}>" if sender.name else sender.address
    return f"{name}, {sender.account.name}" if sender.account else name


def list_fields(workspace_id: int, used: Sequence[Condition]) -> list[FieldChoice]:
    """The fields of contacts, their attributes and lists, and those that conditions name."""
    names = _name_attributes()
    attributes = (ATTRIBUTE + key for key in list_attributes(workspace_id))
    fields = _name_columns() | {
        field: names.get(field, field.removeprefix(ATTRIBUTE)) for field in attributes
    }
    fields |= _name_lists(workspace_id)
    for condition in used:
        if condition.field:
            plain = condition.field.removeprefix(ATTRIBUTE)
            fields.setdefault(condition.field, plain)
    return [FieldChoice(key, label) for key, label in fields.items()]


def name_fields(workspace_id: int) -> Mapping[str, str]:
    """What fields are called in words; any other attribute is called by its key."""
    return _name_columns() | _name_attributes() | _name_lists(workspace_id)


def _name_columns() -> dict[str, str]:
    return {
        "domain": _("Domain of the address"),
        "locale": _("Language"),
        "ocd_ids": _("Place (OCD id)"),
        "created_at": _("Added"),
    }


def _name_attributes() -> dict[str, str]:
    """As imports store them."""
    return {
        f"{ATTRIBUTE}first_name": _("First name"),
        f"{ATTRIBUTE}last_name": _("Last name"),
    }


def _name_lists(workspace_id: int) -> dict[str, str]:
    return {
        LIST + key: _("List: %(name)s") % {"name": name}
        for key, name in lists.name_apart(_list_lists(workspace_id))
    }


def list_insertable(fields: Iterable[FieldChoice]) -> list[str]:
    """What a text can name of a contact: name, address, and the attributes among the fields."""
    keys = (one.key.removeprefix(ATTRIBUTE) for one in fields if one.kind == "attribute")
    return ["name", "email", *filter(text_names.is_nameable, keys)]


def list_attributes(workspace_id: int) -> list[str]:
    """The attributes of some contacts, so that those that most have are among them, and of the
    newest imports, whose contacts a sample may miss.
    """
    sampled = {key for attributes in _sample_attributes(workspace_id) for key in attributes}
    return sorted(sampled | queries.list_imported_attributes(workspace_id))


def list_values(workspace_id: int) -> list[tuple[str, list[str]]]:
    """Of each attribute the commonest texts among some contacts, to choose from."""
    counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for attributes in _sample_attributes(workspace_id):
        for key, value in attributes.items():
            if isinstance(value, str) and 0 < len(value) <= _LONGEST_VALUE:
                counters[key][value] += 1
    return [
        (ATTRIBUTE + key, sorted(value for value, _count in counter.most_common(_OFFERED_VALUES)))
        for key, counter in sorted(counters.items())
    ]


def list_languages(
    workspace_id: int, used: Sequence[Condition]
) -> list[tuple[str, list[language_names.Choice]]]:
    """By group: those of some contacts and of conditions, and the others."""
    codes = {contact.locale or "" for contact in _sample_contacts(workspace_id)}
    codes |= {condition.value for condition in used if condition.has_language}
    of_contacts, others = language_names.list_choices(codes)
    return [(_("Languages of your contacts"), of_contacts), (_("Other languages"), others)]


def _sample_attributes(workspace_id: int) -> list[Mapping[str, Any]]:
    return [contact.attributes for contact in _sample_contacts(workspace_id)]


def _sample_contacts(workspace_id: int) -> Sequence[Contact]:
    try:
        return audience.sample(workspace_id, EVERYBODY, size=_SAMPLE)
    except RefusedError:
        return []


def ask_to_choose(offered: Sequence[Choice], value: object) -> Sequence[Choice]:
    """Nothing is chosen by itself: what is written would make room for it."""
    return offered if value or not offered else [("", _("Choose…")), *offered]


def include_value(
    offered: Sequence[Choice], value: str, known: Sequence[Choice] = ()
) -> Sequence[Choice]:
    """With the value that a campaign has already, though it may not be offered any more."""
    if not value or any(value == key for key, _label in offered):
        return offered
    return [*offered, (value, dict(known).get(value, value))]
