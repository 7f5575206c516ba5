"""Which column of a file holds which field of a contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postledger.contacts import details
from postledger.contacts.csv_columns import ATTRIBUTE, PARTS_OF_NAME, Field, usual_target
from postledger.imports.refusals import InvalidMappingError

IGNORED = "-"

_FIELDS = frozenset(field.value for field in Field)


@dataclass(frozen=True, slots=True)
class Columns:
    """A header, and the position of each field and attribute in it."""

    header: tuple[str, ...]
    fields: Mapping[Field, int]
    attributes: tuple[tuple[str, int], ...]

    def targets(self) -> dict[str, str]:
        """The complete mapping, as it is kept with an import."""
        attributes = {self.header[index]: ATTRIBUTE + key for key, index in self.attributes}
        # The parts of a name are both, and the field says more.
        return attributes | {
            self.header[index]: field.value for field, index in self.fields.items()
        }

    def name_of(self, field: Field) -> str:
        """What the file calls the column of a field; empty without such a column."""
        return self.header[self.fields[field]] if field in self.fields else ""


def map_columns(header: Sequence[str], mapping: Mapping[str, str]) -> Columns:
    """Finds the target of each column: by the mapping, else by its name, else as an attribute.

    Columns without a name are ignored.
    """
    _refuse_invalid(header, mapping)
    targets: dict[str, int] = {}
    for index, name in enumerate(header):
        target = mapping.get(name) or usual_target(name)
        if not name or target == IGNORED:
            continue
        if target in targets:
            raise _mapped_twice(target, header[targets[target]], name)
        targets[target] = index
    if Field.EMAIL not in targets:
        raise InvalidMappingError(
            "No column holds the address. The first row must be the names of the columns; map the"
            ' right one to email (on a command line: --map "COLUMN=email").'
        )
    for part in PARTS_OF_NAME:
        if part.value in targets:
            _add_attribute(targets, part, header)
    fields = {Field(target): index for target, index in targets.items() if target in _FIELDS}
    return Columns(tuple(header), fields, tuple(_attributes(targets)))


def _add_attribute(targets: dict[str, int], part: Field, header: Sequence[str]) -> None:
    """Lets the column of a first or last name fill the attribute of the same name, too."""
    attribute, index = ATTRIBUTE + part.value, targets[part.value]
    if attribute in targets:
        raise _mapped_twice(attribute, header[targets[attribute]], header[index])
    targets[attribute] = index


def exact_mapping(header: Sequence[str], targets: Mapping[str, str]) -> dict[str, str]:
    """The mapping that was kept with an import: it ignores all columns that it does not name."""
    return {name: targets.get(name, IGNORED) for name in header if name}


def _mapped_twice(target: str, first: str, second: str) -> InvalidMappingError:
    if first == second:
        return InvalidMappingError(
            f"Two columns named {first[:64]!r} are both mapped to {target[:64]}."
            " Rename or remove one of them in the file."
        )
    return InvalidMappingError(
        f"The columns {first[:64]!r} and {second[:64]!r} are both mapped to {target[:64]}."
        f" Ignore one of them, for example by mapping {second[:64]!r} to {IGNORED!r}."
    )


def _refuse_invalid(header: Sequence[str], mapping: Mapping[str, str]) -> None:
    for name, target in mapping.items():
        if name not in header:
            raise InvalidMappingError(
                f"The file has no column {name[:64]!r}: its columns are"
                f" {', '.join(header[:20])[:500]}."
            )
        if target not in _FIELDS and target != IGNORED and not target.startswith(ATTRIBUTE):
            raise InvalidMappingError(
                f"A column cannot be mapped to {target[:64]!r}: use one of"
                f" {', '.join(Field)}, {ATTRIBUTE}KEY, or {IGNORED} to ignore it."
            )


def _attributes(targets: Mapping[str, int]) -> list[tuple[str, int]]:
    keys = [
        (target.removeprefix(ATTRIBUTE), index)
        for target, index in targets.items()
        if target.startswith(ATTRIBUTE)
    ]
    if len(keys) > details.MOST_KEYS:
        raise InvalidMappingError(
            f"A contact can have {details.MOST_KEYS} attributes, and the file has {len(keys)}."
            f" Ignore columns, by mapping them to {IGNORED!r}."
        )
    for key, _ in keys:
        if not details.is_key(key):
            raise InvalidMappingError(
                f"The column {key[: details.LONGEST_KEY]!r} cannot be an attribute, whose name has"
                f" 1 to {details.LONGEST_KEY} visible characters. Rename it, or ignore it, by"
                f" mapping it to {IGNORED!r}."
            )
    return keys
