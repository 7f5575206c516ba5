"""Imports as callers ask for them and see them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from postledger.contacts.importing.models import ImportState
from postledger.contacts.importing.overview import Overview
from postledger.contacts.importing.reading import MOST_COLUMNS
from postledger.web.api.incoming import Incoming, ListKey

_Text = Annotated[str, Field(max_length=1_000)]


class WantedIn(Incoming):
    """What is to become of an uploaded file."""

    mapping: dict[_Text, _Text] = Field(
        default={},
        max_length=MOST_COLUMNS,
        description="What columns are, by their names: email, name, first_name, last_name,"
        " from_name, locale, time_zone, ocd_ids, external_id, attributes.KEY, or - to leave one"
        " out. Those that are not named are as suggested.",
        examples=[{"Mail": "email", "Notes": "-"}],
    )
    list: ListKey | None = Field(
        default=None, description="The list to which those are subscribed whom nothing keeps back."
    )


class Brought(BaseModel):
    """What is said of a file beside its bytes."""

    file_name: str | None = Field(default=None, max_length=255)
    sheet: str | None = Field(
        default=None,
        max_length=255,
        description="Of a workbook: which one is read; else the first.",
    )


class Question(BaseModel):
    limit: int = Field(default=25, ge=1, le=100, description="The most of a page.")
    cursor: str | None = Field(
        default=None, pattern="^[0-9]{1,18}$", description="`next` of the page before."
    )


class WaitingOut(BaseModel):
    """Who or what has to move, and why."""

    on: str = Field(examples=["you", "a worker"])
    why: str


class ImportOut(BaseModel):
    """An import; the counts from `created` to `blank` add up to the rows that are `done`."""

    id: int
    file_name: str
    state: ImportState
    waiting: WaitingOut | None = Field(
        description="Null while it is worked on, and once it has ended."
    )
    list: str | None
    row_count: int = Field(description="Without the header.")
    done: int = Field(description="How many rows have been read.")
    created: int
    updated: int
    unchanged: int
    duplicates: int = Field(description="Rows that repeat an address of the file.")
    refused: int = Field(description="Rows that are wrong; problems.csv names them.")
    blank: int
    subscribed: int
    kept_back: int = Field(description="Contacts that are not subscribed, since they left.")
    rows_per_second: float | None
    ends_at: datetime | None = Field(description="When it will be done, at this rate.")
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None


class UploadOut(BaseModel):
    """How a file is read; null once it is imported or given up."""

    encoding: str
    delimiter: str
    header: list[str]
    rows: list[list[str]] = Field(description="The first ones.")
    suggested: dict[str, str] = Field(description="What each column is unless you say otherwise.")


class ProblemRow(BaseModel):
    row: int = Field(description="As spreadsheets count: the header is row 1.")
    column: str
    value: str
    problem: str
    remedy: str


class PreviewOut(BaseModel):
    """What the import would do, as the dry run found."""

    row_count: int
    created: int
    updated: int
    unchanged: int
    duplicates: int
    refused: int
    blank: int
    subscribed: int
    kept_back: dict[str, int] = Field(description="How many, by why.")
    reasons: dict[str, int] = Field(description="Why rows are refused, and how many.")
    samples: list[str] = Field(description="Some of the contacts that would change, and how.")
    problems: list[ProblemRow] = Field(description="The first rows with problems.")


class WholeImport(ImportOut):
    mapping: dict[str, str] = Field(description="What the columns are; those not named are left.")
    upload: UploadOut | None
    preview: PreviewOut | None


class ImportPage(BaseModel):
    """The newest first."""

    imports: list[ImportOut]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


def page(found: list[Overview], *, limit: int) -> ImportPage:
    """A page of those that were found, of which one more was asked for."""
    shown = [ImportOut(**_facts(one)) for one in found[:limit]]
    return ImportPage(imports=shown, next=str(shown[-1].id) if len(found) > limit else None)


def whole(found: Overview) -> WholeImport:
    upload = found.upload
    return WholeImport(
        **_facts(found),
        mapping=dict(found.mapping),
        upload=UploadOut(**upload, suggested=found.suggested()) if upload else None,
        preview=PreviewOut(**found.preview) if found.preview else None,
    )


def _facts(found: Overview) -> dict[str, Any]:
    progress, waiting, pace = found.progress, found.waiting, found.pace
    return {
        "id": progress.import_id,
        "file_name": progress.file_name,
        "state": progress.state,
        "waiting": WaitingOut(on=waiting.on, why=waiting.why) if waiting else None,
        "list": found.list_key,
        "row_count": progress.row_count,
        "done": progress.done,
        "created": progress.created,
        "updated": progress.updated,
        "unchanged": progress.unchanged,
        "duplicates": progress.duplicates,
        "refused": progress.refused,
        "blank": progress.blank,
        "subscribed": progress.subscribed,
        "kept_back": progress.kept_back,
        "rows_per_second": pace.rows_per_second if pace else None,
        "ends_at": pace.ends_at if pace else None,
        "created_at": found.created_at,
        "started_at": found.started_at,
        "changed_at": found.changed_at,
        "finished_at": found.finished_at,
    }
