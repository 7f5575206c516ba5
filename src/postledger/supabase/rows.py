"""Rows of `subscribers`: how they are read, and whose state counts, theirs or ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from postledger.contacts import details
from postledger.contacts.details import Details, InvalidContactError
from postledger.contacts.states import ContactState
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

type Record = Mapping[str, object]

INVALID_NAME = (
    "Its from_name cannot be used in a mail, so it was left out:"
    f" write one line of at most {details.LONGEST_TEXT} visible characters."
)
_INVALID_EMAIL = "This is not an email address. Correct it in Supabase, or delete the row."
_INVALID_STATUS = f"Its status is not one of {', '.join(ContactState)}. Set one in Supabase."


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    record: Record
    email: str  # as Supabase has it
    address: str
    state: ContactState
    bounce_type: str | None
    bounce_subtype: str | None
    at: datetime | None  # when Supabase set the state, perhaps in the future; None: unknown
    from_name: str | None
    is_name_usable: bool


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A row that a person must correct in Supabase."""

    email: str
    problem: str
    address: str | None = None  # None: the email is not an address


def read_row(record: Record) -> SubscriberRow | InvalidRow:
    email = _text(record, "email")
    try:
        address = addresses.canonical(email.strip())
    except InvalidAddressError:
        return InvalidRow(email, _INVALID_EMAIL)
    status = _text(record, "status").strip().lower()
    if status not in list(ContactState):
        return InvalidRow(email, _INVALID_STATUS, address)
    from_name = _text(record, "from_name").strip()
    return SubscriberRow(
        record,
        email,
        address,
        ContactState(status),
        bounce_type=_text(record, "bounce_type")[: details.LONGEST_TEXT] or None,
        bounce_subtype=_text(record, "bounce_subtype")[: details.LONGEST_TEXT] or None,
        at=_time(_text(record, "status_updated_at")),
        from_name=from_name or None,
        is_name_usable=_is_usable(from_name),
    )


def _is_usable(from_name: str) -> bool:
    try:
        details.check_details(Details(from_name=from_name))
    except InvalidContactError:
        return False
    return True


def _time(text: str) -> datetime | None:
    """A time without a zone is UTC, as on Supabase's servers."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


class SyncDecision(Enum):
    NOTHING = auto()
    TAKE = auto()  # Supabase's state is applied here
    WRITE = auto()  # our state is written to Supabase


def decide(
    *,
    ours: ContactState,
    theirs: ContactState,
    their_at: datetime | None,
    taken_back_at: datetime | None,
    is_wish_known: bool,
) -> SyncDecision:
    """The stronger state counts, in both directions.

    Exception: a state that the recipient or an operator took back here at `taken_back_at` does not
    count again while Supabase repeats what it had before. An unsubscribe is taken before a stronger
    state is written over it: once that is lifted, only the unsubscribe suppresses the address.
    `is_wish_known` says that it was taken.
    """
    is_repeated = taken_back_at is not None and their_at is not None and their_at < taken_back_at
    if theirs is ContactState.UNSUBSCRIBED and not is_wish_known and not is_repeated:
        return SyncDecision.TAKE
    if ours is theirs:
        return SyncDecision.NOTHING
    is_ours = ours.priority > theirs.priority or is_repeated
    return SyncDecision.WRITE if is_ours else SyncDecision.TAKE


_FEW = 100
_PART = 10


def is_plausible(*, known: int, missing: int) -> bool:
    """Whether the missing rows may really be deleted: a table that hides its rows looks empty."""
    return not missing or (missing < known and (missing <= _FEW or missing * _PART <= known))
