"""Which column of a file says what about a contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from postledger.contacts import details
from postledger.contacts.importing.refusals import InvalidMappingError

ATTRIBUTE = "attributes."
IGNORED = "-"


class Field(StrEnum):
    """What a column can say, besides an attribute."""

    EMAIL = "email"
    NAME = "name"
    FIRST_NAME = "first_name"  # first and last name are joined
    LAST_NAME = "last_name"
    FROM_NAME = "from_name"
    LOCALE = "locale"
    TIME_ZONE = "time_zone"
    OCD_IDS = "ocd_ids"  # several, with spaces or semicolons between them
    EXTERNAL_ID = "external_id"


# What columns are called, in small letters and without signs between the words.
_USUAL = {field.value.replace("_", ""): field for field in Field} | {
    "emailaddress": Field.EMAIL,
    "mail": Field.EMAIL,
    "fullname": Field.NAME,
    "surname": Field.LAST_NAME,
}
_SIGNS = str.maketrans("", "", " -_.")


@dataclass(frozen=True, slots=True)
class Columns:
    """A header, and what is read from which of its columns."""

    header: tuple[str, ...]
    fields: Mapping[Field, int]
    attributes: tuple[tuple[str, int], ...]

    def targets(self) -> dict[str, str]:
        """The mapping in full, as it is kept with an import."""
        found = {self.header[index]: field.value for field, index in self.fields.items()}
        return found | {self.header[index]: ATTRIBUTE + key for key, index in self.attributes}


def read(header: Sequence[str], mapping: Mapping[str, str]) -> Columns:
    """Finds out what each column is.

    A mapping says it by the column's name. The others are known by what such columns are usually
    called, or are attributes. Columns without a name are passed over.
    """
    _refuse_strangers(header, mapping)
    found: dict[str, int] = {}
    for index, name in enumerate(header):
        target = mapping.get(name) or usual(name)
        if not name or target == IGNORED:
            continue
        if target in found:
            raise _twice(target, header[found[target]], name)
        found[target] = index
    if Field.EMAIL not in found:
        raise InvalidMappingError(
            "No column has the address. The first row must be the names of the columns; map the"
            ' right one to email (on a command line: --map "COLUMN=email").'
        )
    fields = {Field(target): index for target, index in found.items() if target in _FIELDS}
    return Columns(tuple(header), fields, tuple(_attributes(found)))


def _twice(target: str, first: str, second: str) -> InvalidMappingError:
    if first == second:
        remedy = (
            f"both are called {second[:64]!r}, and a mapping goes by the name."
            " Give one of them another name in the file, or take it out."
        )
    else:
        remedy = f"leave one of them out, by mapping {second[:64]!r} to {IGNORED!r}."
    return InvalidMappingError(f"Two columns say what {target[:64]!r} is: {remedy}")


_FIELDS = frozenset(field.value for field in Field)


def whole(header: Sequence[str], targets: Mapping[str, str]) -> dict[str, str]:
    """A mapping that was kept with an import: what it does not name is left out."""
    return {name: targets.get(name, IGNORED) for name in header if name}


def usual(name: str) -> str:
    """What a column of this name is when nobody says otherwise."""
    if name.startswith(ATTRIBUTE):
        return name
    field = _USUAL.get(name.lower().translate(_SIGNS))
    return field.value if field else ATTRIBUTE + name


def _refuse_strangers(header: Sequence[str], mapping: Mapping[str, str]) -> None:
    for name, target in mapping.items():
        if name not in header:
            raise InvalidMappingError(
                f"The file has no column {name[:64]!r}: its columns are"
                f" {', '.join(header[:20])[:500]}."
            )
        if target not in _FIELDS and target != IGNORED and not target.startswith(ATTRIBUTE):
            raise InvalidMappingError(
                f"{target[:64]!r} is nothing that a column can be: write one of"
                f" {', '.join(Field)}, {ATTRIBUTE}KEY, or {IGNORED} to leave it out."
            )


def _attributes(found: Mapping[str, int]) -> list[tuple[str, int]]:
    keys = [
        (target.removeprefix(ATTRIBUTE), index)
        for target, index in found.items()
        if target.startswith(ATTRIBUTE)
    ]
    if len(keys) > details.MOST_KEYS:
        raise InvalidMappingError(
            f"A contact may have {details.MOST_KEYS} attributes; here are {len(keys)}."
            f" Leave columns out, by mapping them to {IGNORED!r}."
        )
    for key, _ in keys:
        if not details.is_key(key):
            raise InvalidMappingError(
                f"The column {key[: details.LONGEST_KEY]!r} cannot be an attribute, whose name has"
                f" 1 to {details.LONGEST_KEY} visible characters. Give it another name, or leave"
                f" it out, by mapping it to {IGNORED!r}."
            )
    return keys
