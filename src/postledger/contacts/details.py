"""What a workspace may know of a contact, and what is wrong with it when it may not."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import available_timezones

from postledger.lib.errors import RefusedError

type Scalar = str | int | float | bool
type Value = Scalar | Sequence[str]

LONGEST_KEY = 64
LONGEST_TEXT = 500
MOST_KEYS = 100
MOST_VALUES = 100
# A row of this size still lies in its table page.
LARGEST = 8_192
# Beyond it, programs that read numbers as doubles see another one: such a number is a name.
LARGEST_NUMBER = 2**53

_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_OCD_ID = re.compile(r"ocd-[a-z]+/[^\s]{1,250}")
_MOST_PLACES = 200


class InvalidContactError(RefusedError):
    code = "invalid_contact"


def _nothing() -> dict[str, Value]:
    return {}


@dataclass(frozen=True, slots=True)
class Details:
    """What is known of a new contact beside its address."""

    name: str = ""
    from_name: str = ""  # empty: mail to it comes from the sender's name
    locale: str = ""
    time_zone: str = ""
    attributes: Mapping[str, Value] = field(default_factory=_nothing)
    ocd_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What becomes different; None leaves a thing as it is, an empty one takes it away.

    Of attributes, those that are named are set, and taken away where the value is None.
    """

    address: str | None = None
    external_id: str | None = None
    name: str | None = None
    from_name: str | None = None
    locale: str | None = None
    time_zone: str | None = None
    attributes: Mapping[str, Value | None] | None = None
    ocd_ids: Sequence[str] | None = None


def check(known: Details | Changes) -> None:
    """Refuses what could not be shown, stored or put into a mail."""
    for name in ("name", "from_name"):
        _check_line(name, getattr(known, name) or "")
    if known.locale:
        check_locale(known.locale)
    if known.time_zone and known.time_zone not in available_timezones():
        raise InvalidContactError(
            f"{known.time_zone[:64]!r} is not a time zone: write one like Europe/Lisbon."
        )
    _check_places(known.ocd_ids or ())
    check_attributes(known.attributes or {})


def check_locale(locale: str) -> None:
    if not _LOCALE.fullmatch(locale):
        raise InvalidContactError(
            f"{locale[:35]!r} is not a locale: write a language like en, and a region after"
            " a hyphen where it matters, like pt-BR."
        )


def check_attributes(attributes: Mapping[str, Value | None]) -> None:
    if len(attributes) > MOST_KEYS:
        raise InvalidContactError(
            f"A contact may have {MOST_KEYS} attributes; here are {len(attributes)}."
        )
    for key, value in attributes.items():
        if not is_key(key):
            raise InvalidContactError(
                f"{key[:LONGEST_KEY]!r} cannot be the name of an attribute: write 1 to"
                f" {LONGEST_KEY} visible characters, without a space at either end."
            )
        if not (value is None or is_scalar(value) or _is_texts(value)):
            raise InvalidContactError(
                f"The attribute {key!r} can be a text of at most {LONGEST_TEXT} characters, a"
                " number below 2^53, true or false, or a list of texts. Write nothing else."
            )
    if len(json.dumps(attributes, ensure_ascii=False).encode()) > LARGEST:
        raise InvalidContactError(f"Attributes may fill {LARGEST} bytes as JSON; these are more.")


def is_key(key: str) -> bool:
    return 0 < len(key) <= LONGEST_KEY and key.isprintable() and key == key.strip()


def is_scalar(value: object) -> bool:
    """Whether a value is one text, number or truth, and is stored as what it is."""
    match value:
        case bool():
            return True
        case str():
            return len(value) <= LONGEST_TEXT and is_storable(value)
        case int() | float():
            return abs(value) < LARGEST_NUMBER  # which NaN is not
        case _:
            return False


def is_storable(text: str) -> bool:
    """PostgreSQL stores no zero byte, and half of a surrogate pair is no character."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _is_texts(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) <= MOST_VALUES
        and all(isinstance(one, str) and is_scalar(one) for one in value)
    )


def _check_line(what: str, text: str) -> None:
    if len(text) > LONGEST_TEXT or not text.isprintable():
        raise InvalidContactError(
            f"The {what} of a contact is one line of at most {LONGEST_TEXT} visible characters."
        )


def _check_places(ocd_ids: Sequence[str]) -> None:
    if len(ocd_ids) > _MOST_PLACES:
        raise InvalidContactError(f"A contact may have {_MOST_PLACES} OCD ids, and here are more.")
    for one in ocd_ids:
        if not _OCD_ID.fullmatch(one) or not is_storable(one):
            raise InvalidContactError(
                f"{one[:100]!r} is not an OCD id: write one like ocd-division/country:us/state:oh."
            )
