"""Which column of a file holds which field of a contact."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from postledger.contacts import details
from postledger.contacts.csv_columns import ATTRIBUTE, PARTS_OF_NAME, Field, usual_targets
from postledger.contacts.state_columns import StateColumn, find_kind
from postledger.imports.dates import DateColumn, DateOrder
from postledger.imports.forms import FORMS, Form, FormColumn
from postledger.imports.numbers import NumberColumn, NumberForm
from postledger.imports.refusals import InvalidMappingError
from postledger.lib.sentences import Sentence, say

IGNORED = "-"
NO_FORMS: Mapping[str, FormColumn] = {}

_FIELDS = frozenset(field.value for field in Field)


@dataclass(frozen=True, slots=True)
class Columns:
    """A header, and the position of each field and attribute in it."""

    header: tuple[str, ...]
    fields: Mapping[Field, int]
    attributes: tuple[tuple[str, int], ...]
    # Any number of columns says who left the old tool.
    old_states: tuple[tuple[int, StateColumn], ...] = ()
    # Of attributes that are stored in another form than the file has.
    forms: Mapping[int, Form] = field(default_factory=dict)

    def targets(self) -> dict[str, str]:
        """The complete mapping, as it is kept with an import."""
        attributes = {
            self.header[index]: join_target(key, self.forms.get(index))
            for key, index in self.attributes
        }
        states = {self.header[index]: Field.OLD_STATE.value for index, _ in self.old_states}
        # The parts of a name are both, and the field says more.
        return (
            attributes
            | states
            | {self.header[index]: field.value for field, index in self.fields.items()}
        )

    def name_of(self, field: Field) -> str:
        """What the file calls the column of a field; empty without such a column."""
        return self.header[self.fields[field]] if field in self.fields else ""


def join_target(key: str, form: Form | None) -> str:
    """What a column is mapped to that becomes an attribute."""
    return f"{form}.{key}" if form else ATTRIBUTE + key


def split_target(target: str) -> tuple[str, Form | None]:
    """The target as that of any attribute, and how its dates or numbers are read."""
    word, dot, key = target.partition(".")
    form = FORMS.get(word) if dot else None
    return (ATTRIBUTE + key, form) if form else (target, None)


def suggest_targets(
    header: Sequence[str],
    state_like: Container[str] = (),
    forms: Mapping[str, FormColumn] = NO_FORMS,
) -> dict[str, str]:
    """What a column holds by its name and values: those are read that can be read in one way."""
    targets = usual_targets(header, state_like)
    for name, column in forms.items():
        if column.form and targets.get(name, "").startswith(ATTRIBUTE):
            targets[name] = join_target(targets[name].removeprefix(ATTRIBUTE), column.form)
    return targets


def map_columns(
    header: Sequence[str],
    mapping: Mapping[str, str],
    state_like: Container[str] = (),
    forms: Mapping[str, FormColumn] = NO_FORMS,
) -> Columns:
    """Finds the target of each column: by the mapping, else by its name, else as an attribute.

    Columns without a name are ignored. `state_like` are those that seem to say who gets mail, and
    `forms` those that are dates in another form than ISO, or numbers with a comma.
    """
    _refuse_invalid(header, mapping)
    usual = suggest_targets(header, state_like, forms)
    targets: dict[str, int] = {}
    read_as: dict[int, Form | None] = {}
    old_states: list[tuple[int, StateColumn]] = []
    for index, name in enumerate(header):
        target, form = split_target(mapping.get(name) or usual.get(name, IGNORED))
        if not name or target == IGNORED:
            continue
        if target == Field.OLD_STATE:
            old_states.append((index, find_kind(name) or StateColumn.STATE))
            continue
        if target in targets:
            raise _mapped_twice(target, header[targets[target]], name)
        targets[target], read_as[index] = index, form
    if Field.EMAIL not in targets:
        raise InvalidMappingError(
            say(
                "No column holds the address. The first row must be the names of the columns;"
                ' map the right one to email (on a command line: --map "COLUMN=email").'
            )
        )
    for part in PARTS_OF_NAME:
        if part.value in targets:
            _add_attribute(targets, part, header)
    fields = {Field(target): index for target, index in targets.items() if target in _FIELDS}
    forms_read = {index: form for index, form in read_as.items() if form}
    return Columns(
        tuple(header), fields, tuple(_attributes(targets)), tuple(old_states), forms_read
    )


def _add_attribute(targets: dict[str, int], part: Field, header: Sequence[str]) -> None:
    """Lets the column of a first or last name fill the attribute of the same name, too."""
    attribute, index = ATTRIBUTE + part.value, targets[part.value]
    if attribute in targets:
        raise _mapped_twice(attribute, header[targets[attribute]], header[index])
    targets[attribute] = index


def find_unread_states(columns: Columns, state_like: Iterable[str]) -> list[str]:
    """The columns that say who gets mail, and are not read so: one that is excuses no other."""
    read = {columns.header[index] for index, _ in columns.old_states}
    return [name for name in state_like if name not in read]


_READ = {
    DateOrder.DAY_FIRST: say("with the day first"),
    DateOrder.MONTH_FIRST: say("with the month first"),
}


def describe_forms(columns: Columns, forms: Mapping[str, FormColumn]) -> list[Sentence]:
    """How the dates and numbers of a file are stored, and which cells stay texts."""
    notes = []
    for _, index in columns.attributes:
        name, form = columns.header[index], columns.forms.get(index)
        column = forms.get(name)
        if form:
            notes.append(_describe_form(name, form, _count_unread(column, form)))
        elif column and column.written:
            notes.append(_describe_texts(name, column))
    return notes


def _count_unread(column: FormColumn | None, form: Form) -> int:
    """The cells that are not in the form, of a column that is at all."""
    if isinstance(column, DateColumn) and isinstance(form, DateOrder):
        return column.count_unread(form)
    return column.others if isinstance(column, NumberColumn) and form in set(NumberForm) else 0


def _describe_form(name: str, form: Form, unread: int) -> Sentence:
    if isinstance(form, NumberForm):
        return _describe_numbers(name, unread)
    if not unread:
        return say(
            "The dates of %(column)s are read %(order)s, and stored like 2024-12-31.",
            column=name[:64],
            order=_READ[form],
        )
    return say(
        "The dates of %(column)s are read %(order)s, and stored like 2024-12-31. Cells that are no"
        " such dates, and are stored as texts: %(count)s.",
        column=name[:64],
        order=_READ[form],
        count=unread,
    )


def _describe_numbers(name: str, unread: int) -> Sentence:
    if not unread:
        return say(
            "The numbers of %(column)s are read with a decimal comma, and stored like 35.50.",
            column=name[:64],
        )
    return say(
        "The numbers of %(column)s are read with a decimal comma, and stored like 35.50. Cells that"
        " are no such numbers, and stay as they are: %(count)s.",
        column=name[:64],
        count=unread,
    )


def _describe_texts(name: str, column: FormColumn) -> Sentence:
    if isinstance(column, NumberColumn):
        return say(
            "Cells of %(column)s that look like numbers with a comma, and are stored as texts:"
            " %(count)s. No condition such as “is over” finds them. Say for the column that it has"
            " decimal commas, or write its numbers without commas between thousands.",
            column=name[:64],
            count=column.written,
        )
    return say(
        "Cells of %(column)s that look like dates, and are stored as texts: %(count)s."
        " No condition about days finds them. Say for the column whether the day or"
        " the month comes first.",
        column=name[:64],
        count=column.written,
    )


def exact_mapping(header: Sequence[str], targets: Mapping[str, str]) -> dict[str, str]:
    """The mapping that was kept with an import: it ignores all columns that it does not name."""
    return {name: targets.get(name, IGNORED) for name in header if name}


def _mapped_twice(target: str, first: str, second: str) -> InvalidMappingError:
    if first == second:
        return InvalidMappingError(
            say(
                "Two columns named '%(first)s' are both mapped to %(target)s. Rename or remove"
                " one of them in the file.",
                first=first[:64],
                target=target[:64],
            )
        )
    return InvalidMappingError(
        say(
            "The columns '%(first)s' and '%(second)s' are both mapped to %(target)s. Ignore"
            " one of them, for example by mapping '%(second)s' to '%(ignored)s'.",
            first=first[:64],
            second=second[:64],
            target=target[:64],
            ignored=IGNORED,
        )
    )


def _refuse_invalid(header: Sequence[str], mapping: Mapping[str, str]) -> None:
    for name, target in mapping.items():
        if name not in header:
            raise InvalidMappingError(
                say(
                    "The file has no column '%(name)s': its columns are %(header)s.",
                    name=name[:64],
                    header=", ".join(header[:20])[:500],
                )
            )
        attribute, _ = split_target(target)
        if target not in _FIELDS and target != IGNORED and not attribute.startswith(ATTRIBUTE):
            raise InvalidMappingError(
                say(
                    "A column cannot be mapped to '%(target)s': use one of %(fields)s,"
                    " %(attribute)s, or %(ignored)s to ignore it.",
                    target=target[:64],
                    fields=", ".join(Field),
                    attribute=f"{ATTRIBUTE}KEY",
                    ignored=IGNORED,
                )
            )


def _attributes(targets: Mapping[str, int]) -> list[tuple[str, int]]:
    keys = [
        (target.removeprefix(ATTRIBUTE), index)
        for target, index in targets.items()
        if target.startswith(ATTRIBUTE)
    ]
    if len(keys) > details.MOST_KEYS:
        raise InvalidMappingError(
            say(
                "A contact can have %(most)s attributes, and the file has %(number)s. Ignore"
                " columns, by mapping them to '%(ignored)s'.",
                most=details.MOST_KEYS,
                number=len(keys),
                ignored=IGNORED,
            )
        )
    for key, _ in keys:
        if not details.is_key(key):
            raise InvalidMappingError(
                say(
                    "The column '%(key)s' cannot be an attribute, whose name has 1 to"
                    " %(longest)s visible characters. Rename it, or ignore it, by mapping it to"
                    " '%(ignored)s'.",
                    key=key[: details.LONGEST_KEY],
                    longest=details.LONGEST_KEY,
                    ignored=IGNORED,
                )
            )
    return keys
