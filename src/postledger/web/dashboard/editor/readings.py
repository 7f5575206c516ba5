"""What a person wrote into the fields of the editor, read as values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from postledger.contacts import audience
from postledger.contacts import queries as contacts
from postledger.contacts.audience import FilterTooCostlyError
from postledger.contacts.filters.expressions import Named
from postledger.contacts.models import Contact
from postledger.content import locales, notion_pages
from postledger.content.locales import InvalidLocaleError
from postledger.imports.locales import read_locale
from postledger.lib import moments, values
from postledger.lib.errors import RefusedError
from postledger.lib.moments import FarMomentError
from postledger.web.shared.sentences import translate

_LONGEST_TYPED = 254
_PATIENCE = timedelta(seconds=1)
_NAMED = 5  # of several contacts that somebody may mean


class WrongFieldError(Exception):
    """What was written into one field cannot be used; the text says what to do."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


class ReaderUnknownError(RefusedError):
    code = "reader_unknown"


@contextmanager
def beside(field: str) -> Iterator[None]:
    """Shows a refusal of the block beside a field."""
    try:
        yield
    except RefusedError as error:
        raise WrongFieldError(field, translate(error)) from error


def require(field: str, value: object, text: str) -> None:
    if not value:
        raise WrongFieldError(field, text)


def parse_json(text: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise WrongFieldError("filter_json", _('This is not JSON. Write it as {"state": "OH"}.'))
    return parsed


def parse_page(text: str) -> str:
    """The id at the end of a link to a Notion page, or the id alone."""
    ids = values.find_notion_ids(text)
    with beside("page"):
        return str(notion_pages.parse_page_id(ids[-1] if ids else text.strip()))


def find_contact_id(workspace_id: int, typed: str, *, patience: timedelta = _PATIENCE) -> int:
    """The contact with an address, or the only one whose name or address has what was typed."""
    by_address = contacts.find_contacts(workspace_id, [typed])
    if by_address:
        return next(iter(by_address.values())).pk
    try:
        similar = _find_similar(workspace_id, typed, most=_NAMED, patience=patience)
    except FilterTooCostlyError:
        text = _("Finding “%(typed)s” took too long. Write the whole address of a contact.")
        raise ReaderUnknownError(text % {"typed": typed[:_LONGEST_TYPED]}) from None
    if len(similar) == 1:
        return similar[0].pk
    if similar:
        text = _(
            "Several contacts have “%(typed)s” in their name or address, such as %(addresses)s."
            " Write the address of one."
        )
    else:
        text = _("No contact has the address %(typed)s. Write one that has, or leave it empty.")
    addresses = ", ".join(contact.address for contact in similar)
    raise ReaderUnknownError(text % {"typed": typed[:_LONGEST_TYPED], "addresses": addresses})


def suggest_addresses(workspace_id: int, typed: str, *, most: int) -> list[str]:
    """Some addresses of contacts whose name or address has what was typed."""
    try:
        similar = _find_similar(workspace_id, typed, most=most, patience=_PATIENCE)
    except FilterTooCostlyError:
        return []
    return [contact.address for contact in similar]


def _find_similar(
    workspace_id: int, typed: str, *, most: int, patience: timedelta
) -> Sequence[Contact]:
    """Raises FilterTooCostlyError: that nobody was found in time does not mean that nobody is."""
    named = Named(typed[:_LONGEST_TYPED])
    return audience.sample(workspace_id, named, size=most, patience=patience)


def parse_locale(field: str, text: str) -> str:
    """The locale that a code or the name of a language means; English if it is left empty."""
    try:
        return locales.canonical(read_locale(text.strip() or "en"))
    except InvalidLocaleError as error:
        raise WrongFieldError(field, translate(error)) from None


def parse_time(field: str, text: str) -> datetime:
    """A time without a zone, as a form's field for one writes it."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None:
        raise WrongFieldError(field, _("Write a day and a time, such as 2026-01-31 09:00."))
    try:
        moments.check_year(time)
    except FarMomentError:
        years = {"first": moments.FIRST_YEAR, "last": moments.LAST_YEAR}
        text = _("Use a year from %(first)s to %(last)s, or leave it out.") % years
        raise WrongFieldError(field, text) from None
    return time


def parse_moment(field: str, text: str) -> datetime:
    """The moment of such a time in the active zone, in UTC."""
    return moments.to_utc(timezone.make_aware(parse_time(field, text)))
