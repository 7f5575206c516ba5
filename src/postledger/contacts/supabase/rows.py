"""Reads rows of `subscribers`: what can be taken of each, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from postledger.contacts import details
from postledger.contacts.details import Details, InvalidContactError
from postledger.contacts.states import ContactState
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

type Raw = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Row:
    """A subscriber as Supabase has it."""

    raw: Raw
    email: str  # as it is written there
    address: str
    state: ContactState
    bounce_type: str | None
    bounce_subtype: str | None
    at: datetime | None  # when its state was told there, perhaps yet to come; None: nobody knows
    from_name: str | None
    is_name_usable: bool


@dataclass(frozen=True, slots=True)
class Flaw:
    """What a person is to correct in Supabase before the row can be taken, as a sentence or two."""

    email: str
    problem: str
    address: str | None = None  # None: there is none in it


NO_NAME = (
    "Its from_name cannot stand in a mail, so it was left out:"
    f" write one line of at most {details.LONGEST_TEXT} visible characters."
)


def read(raw: Raw) -> Row | Flaw:
    email = _text(raw, "email")
    try:
        address = addresses.canonical(email.strip())
    except InvalidAddressError:
        problem = "This is not an email address. Correct it in Supabase, or delete the row."
        return Flaw(email, problem)
    word = _text(raw, "status").strip().lower()
    if word not in list(ContactState):
        words = ", ".join(ContactState)
        problem = f"Its status is none of {words}, so nobody knows whether to mail it. Set one."
        return Flaw(email, problem, address)
    from_name = _text(raw, "from_name").strip()
    return Row(
        raw,
        email,
        address,
        ContactState(word),
        bounce_type=_word(raw, "bounce_type"),
        bounce_subtype=_word(raw, "bounce_subtype"),
        at=_moment(_text(raw, "status_updated_at")),
        from_name=from_name or None,
        is_name_usable=_is_line(from_name),
    )


def _is_line(from_name: str) -> bool:
    try:
        details.check(Details(from_name=from_name))
    except InvalidContactError:
        return False
    return True


def _moment(text: str) -> datetime | None:
    """A time without a zone is UTC, as Supabase's servers are."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _text(raw: Raw, name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _word(raw: Raw, name: str) -> str | None:
    return _text(raw, name)[: details.LONGEST_TEXT] or None
