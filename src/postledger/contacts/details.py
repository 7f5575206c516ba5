"""The details of a contact that a workspace may store, and their limits."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postledger.lib import zones
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.lib.values import (
    LOCALE_PATTERN,
    OCD_ID_PATTERN,
    describe_no_locale,
    is_storable,
)

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

_LOCALE = re.compile(LOCALE_PATTERN)
_OCD_ID = re.compile(OCD_ID_PATTERN)
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
                say(
                    "The %(name)s of a contact is one line of at most %(longest)s visible"
                    " characters.",
                    name=name,
                    longest=LONGEST_TEXT,
                )
            )
    if details.locale:
        check_locale(details.locale)
    if details.time_zone and details.time_zone not in zones.list_zones():
        raise InvalidContactError(
            say(
                "'%(time_zone)s' is not a time zone: use one like Europe/Lisbon.",
                time_zone=details.time_zone[:64],
            )
        )
    _check_ocd_ids(details.ocd_ids or ())
    check_attributes(details.attributes or {})


def check_locale(locale: str) -> None:
    if not _LOCALE.fullmatch(locale):
        raise InvalidContactError(describe_no_locale(locale))


def check_attributes(attributes: Mapping[str, Value | None]) -> None:
    if len(attributes) > MOST_KEYS:
        raise InvalidContactError(
            say(
                "A contact may have %(most)s attributes; this one has %(number)s.",
                most=MOST_KEYS,
                number=len(attributes),
            )
        )
    for key, value in attributes.items():
        if not is_key(key):
            raise InvalidContactError(
                say(
                    "'%(key)s' cannot be the name of an attribute: use 1 to %(longest)s visible"
                    " characters, without a space at either end.",
                    key=key[:LONGEST_KEY],
                    longest=LONGEST_KEY,
                )
            )
        if not (value is None or is_scalar(value) or _is_text_list(value)):
            raise InvalidContactError(
                say(
                    "The attribute '%(key)s' must be a text of at most %(longest)s characters,"
                    " a number below 2^53, true or false, or a list of texts.",
                    key=key,
                    longest=LONGEST_TEXT,
                )
            )
    size = len(json.dumps(attributes, ensure_ascii=False).encode())
    if size > LARGEST:
        raise InvalidContactError(
            say(
                "Attributes may have %(largest)s bytes as JSON; these have %(size)s. Shorten them.",
                largest=LARGEST,
                size=size,
            )
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
            say(
                "A contact may have %(most)s OCD ids; this one has %(number)s.",
                most=_MOST_OCD_IDS,
                number=len(ocd_ids),
            )
        )
    for ocd_id in ocd_ids:
        if not _OCD_ID.fullmatch(ocd_id) or not is_storable(ocd_id):
            raise InvalidContactError(
                say(
                    "'%(ocd_id)s' is not an OCD id: use one like ocd-division/country:us/state:oh.",
                    ocd_id=ocd_id[:100],
                )
            )
