"""The dry run of an import: each chunk is merged and rolled back."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from postledger.contacts import lists
from postledger.contacts.models import Contact, List
from postledger.imports import merging, remarks, running, staging
from postledger.imports.columns import Columns, describe_forms, map_columns
from postledger.imports.files import reading
from postledger.imports.files.reading import FileSurvey
from postledger.imports.merging import RowCounts, Target
from postledger.imports.problems import ChunkProblems
from postledger.imports.remarks import OwnChoice
from postledger.imports.rows import PreparedChunk
from postledger.lib.sentences import Sentence
from postledger.observability import masking

_SAMPLES = 5
_LONGEST_VALUE = 100
_COMPARED = ("name", "from_name", "locale", "time_zone", "attributes", "ocd_ids")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What an import would change of one contact; empty: there is no value."""

    row: int
    contact_id: int
    address: str  # masked
    field: str  # of an attribute its key
    before: str
    after: str


@dataclass(kw_only=True, slots=True)
class ImportPreview(RowCounts):
    """What an import would do with the rows of a file."""

    survey: FileSurvey
    columns: Columns
    samples: list[str] = field(default_factory=list)  # of contacts that would change
    changes: list[FieldChange] = field(default_factory=list)  # of the same contacts, each apart
    # Contacts who confirmed or left by themselves: how many, and the ids of the first ones.
    own_choices: Counter[OwnChoice] = field(default_factory=Counter)
    choosers: dict[OwnChoice, list[int]] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        return self.survey.row_count

    @property
    def notes(self) -> list[Sentence]:
        return describe_forms(self.columns, self.survey.forms)

    def add_choices(self, choices: Iterable[tuple[int, OwnChoice]]) -> None:
        for contact_id, choice in choices:
            self.own_choices[choice] += 1
            choosers = self.choosers.setdefault(choice, [])
            if len(choosers) < _SAMPLES:
                choosers.append(contact_id)


type ReportPreview = Callable[[ImportPreview], None]
type KeepProblems = Callable[[ChunkProblems], None]


def preview_import(  # noqa: PLR0913  what an import takes, and two callbacks
    workspace_id: int,
    path: Path,
    *,
    mapping: Mapping[str, str],
    list_key: str | None = None,
    new_list: str = "",
    report: ReportPreview,
    keep: KeepProblems,
) -> ImportPreview:
    """Reads the whole file and changes nothing; `keep` is given the problems of each chunk.

    A new list exists only while a chunk is tried.

    If two new contacts of the file have the same external id, it is found only within a chunk; the
    import itself finds every such pair.
    """
    list_id = None if list_key is None else lists.get_active_id(workspace_id, list_key)
    survey = reading.survey_new_file(path)
    columns = map_columns(survey.header, mapping, survey.state_like, survey.forms)
    preview = ImportPreview(survey=survey, columns=columns)
    target = Target(workspace_id, list_id, preview.columns, source="dry run", actor="")
    staging.forget_addresses()
    remarks.collect_former(workspace_id)
    for chunk in running.prepared_chunks(
        path, survey, target.columns, byte=survey.first_byte, row=2
    ):
        keep(merging.retry_overtaken(partial(_try_chunk, target, chunk, preview, new_list)))
        report(preview)
    return preview


@transaction.atomic
def _try_chunk(
    target: Target, chunk: PreparedChunk, preview: ImportPreview, new_list: str
) -> ChunkProblems:
    # Outside of what is rolled back: the next chunks look for the addresses of this one.
    duplicates = staging.stage_rows(target.columns, chunk.lines)
    with transaction.atomic():
        merging.lock_consents(target)
        if new_list:
            target = replace(target, list_id=_create_list(target.workspace_id, new_list))
        counts, problems = merging.merge_staged(target, chunk, duplicates)
        former = remarks.find_former(target.columns)
        problems = replace(problems, repairs=[*problems.repairs, *former])
        choices = remarks.find_own_choices()
        if target.list_id is not None:
            choices += remarks.find_returning(target.workspace_id, target.list_id)
        row_numbers = remarks.find_changed(_SAMPLES - len(preview.samples))
        after = _read_contacts(row_numbers)
        transaction.set_rollback(True)
    samples, changes = describe_samples(row_numbers, _read_contacts(row_numbers), after)
    preview.samples += samples
    preview.changes += changes
    preview.add(counts)
    preview.add_choices(choices)
    return problems


def _create_list(workspace_id: int, name: str) -> int:
    """A list that nobody else sees; a list of the same key that is being created waits for it."""
    created = List.objects.create(
        workspace_id=workspace_id, key=lists.find_free_key(workspace_id, name), name=name
    )
    return created.pk


type _Contacts = Mapping[int, Mapping[str, Any]]


def _read_contacts(ids: Iterable[int]) -> _Contacts:
    contacts = Contact.objects.filter(pk__in=list(ids), deleted_at=None)
    return {one["pk"]: dict(one) for one in contacts.values("pk", "address", *_COMPARED)}


def describe_samples(
    row_numbers: Mapping[int, int], before: _Contacts, after: _Contacts
) -> tuple[list[str], list[FieldChange]]:
    """The changes of some contacts, each with its row, as sentences and field by field. Pure.

    Who was deleted or erased since the chunk was rolled back is left out.
    """
    kept = [(row, before[pk], after[pk]) for pk, row in row_numbers.items() if pk in before]
    samples = [_describe(row, old, new) for row, old, new in kept]
    return samples, [change for one in kept for change in list_changes(*one)]


def list_changes(
    row: int, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[FieldChange]:
    """The fields in which two states of a contact differ, each attribute by itself. Pure."""
    address = masking.mask_text(str(before["address"]))
    old, new = _flatten(before), _flatten(after)
    return [
        FieldChange(row, before["pk"], address, name, old.get(name, ""), new.get(name, ""))
        for name in sorted(old.keys() | new.keys())
        if old.get(name, "") != new.get(name, "")
    ]


def _flatten(contact: Mapping[str, Any]) -> dict[str, str]:
    plain = {name: contact[name] for name in _COMPARED if name != "attributes"}
    return {name: _write(value) for name, value in (plain | contact["attributes"]).items()}


def _write(value: object) -> str:
    if isinstance(value, str) or value is None:
        return (value or "")[:_LONGEST_VALUE]
    return json.dumps(value, ensure_ascii=False)[:_LONGEST_VALUE]


def _describe(row: int, before: Mapping[str, object], after: Mapping[str, object]) -> str:
    changes = "; ".join(
        f"{name}: {before[name]!r} → {after[name]!r}"
        for name in sorted(_COMPARED)
        if before[name] != after[name]
    )
    return f"row {row}, {masking.mask_text(str(before['address']))}: {changes}"
