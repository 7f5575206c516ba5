"""The details of a contact that a workspace may store, and their limits."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import available_timezones

from postledger.lib.errors import RefusedError
from postledger.lib.values import is_storable

type Scalar = str | int | float | bool
type Value = Scalar | Sequence[str]

LONGEST_KEY = 64
LONGEST_TEXT = 500
MOST_KEYS = 100
MOST_VALUES = 100
# A row of this size still fits into its table page.
LARGEST = 8_192
# Programs that read numbers as doubles change larger ones; such a number is an identifier.
LARGEST_NUMBER = 2**53

_LOCALE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_OCD_ID = re.compile(r"ocd-[a-z]+/[^\s]{1,250}")
_MOST_OCD_IDS = 200


class InvalidContactError(RefusedError):
    code = "invalid_contact"


@dataclass(frozen=True, slots=True)
class Details:
    """The details of a new contact."""

    name: str = ""
    from_name: str = ""  # empty: mail to it comes from the sender's name
    locale: str = ""
    time_zone: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    ocd_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """New details; None leaves a value as it is, an empty one removes it.

    Attributes that are named are set, or removed where the value is None; the others stay.
    """

    address: str | None = None
    external_id: str | None = None
    name: str | None = None
    from_name: str | None = None
    locale: str | None = None
    time_zone: str | None = None
    attributes: Mapping[str, Value | None] | None = None
    ocd_ids: Sequence[str] | None = None


def check_details(details: Details | Changes) -> None:
    """Refuses details that cannot be shown, stored or put into a mail."""
    for name in ("name", "from_name"):
        text = getattr(details, name) or ""
        if len(text) > LONGEST_TEXT or not text.isprintable():
            raise InvalidContactError(
                f"The {name} of a contact is one line of at most {LONGEST_TEXT} visible characters."
            )
    if details.locale:
        check_locale(details.locale)
    if details.time_zone and details.time_zone not in available_timezones():
        raise InvalidContactError(
            f"{details.time_zone[:64]!r} is not a time zone: use one like Europe/Lisbon."
        )
    _check_ocd_ids(details.ocd_ids or ())
    check_attributes(details.attributes or {})


def check_locale(locale: str) -> None:
    if not _LOCALE.fullmatch(locale):
        raise InvalidContactError(
            f"{locale[:35]!r} is not a locale: use a language like en, and a region after a hyphen"
            " where it matters, like pt-BR."
        )


def check_attributes(attributes: Mapping[str, Value | None]) -> None:
    if len(attributes) > MOST_KEYS:
        raise InvalidContactError(
            f"A contact may have {MOST_KEYS} attributes; this one has {len(attributes)}."
        )
    for key, value in attributes.items():
        if not is_key(key):
            raise InvalidContactError(
                f"{key[:LONGEST_KEY]!r} cannot be the name of an attribute: use 1 to {LONGEST_KEY}"
                " visible characters, without a space at either end."
            )
        if not (value is None or is_scalar(value) or _is_text_list(value)):
            raise InvalidContactError(
                f"The attribute {key!r} must be a text of at most {LONGEST_TEXT} characters, a"
                " number below 2^53, true or false, or a list of texts."
            )
    size = len(json.dumps(attributes, ensure_ascii=False).encode())
    if size > LARGEST:
        raise InvalidContactError(
            f"Attributes may have {LARGEST} bytes as JSON; these have {size}. Shorten them."
        )


def is_key(key: str) -> bool:
    return 0 < len(key) <= LONGEST_KEY and key.isprintable() and key == key.strip()


def is_scalar(value: object) -> bool:
    """Whether a value is a text, number or boolean that is stored without a change."""
    match value:
        case bool():
            return True
        case str():
            return len(value) <= LONGEST_TEXT and is_storable(value)
        case int() | float():
            return abs(value) < LARGEST_NUMBER  # False for NaN
        case _:
            return False


def _is_text_list(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) <= MOST_VALUES
        and all(isinstance(item, str) and is_scalar(item) for item in value)
    )


def _check_ocd_ids(ocd_ids: Sequence[str]) -> None:
    if len(ocd_ids) > _MOST_OCD_IDS:
        raise InvalidContactError(
            f"A contact may have {_MOST_OCD_IDS} OCD ids; this one has {len(ocd_ids)}."
        )
    for ocd_id in ocd_ids:
        if not _OCD_ID.fullmatch(ocd_id) or not is_storable(ocd_id):
            raise InvalidContactError(
                f"{ocd_id[:100]!r} is not an OCD id: use one like ocd-division/country:us/state:oh."
            )
