"""Schemas of imports: requests and responses."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from postledger.imports.files.reading import MOST_COLUMNS
from postledger.imports.models import ImportState
from postledger.web.api.common.fields import ListKey
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_Text = Annotated[str, Field(max_length=1_000)]


class ImportSettings(RequestSchema):
    """How an uploaded file is imported."""

    mapping: dict[_Text, _Text] = Field(
        default={},
        max_length=MOST_COLUMNS,
        description="The field of each column, by the column's name: email, name, first_name,"
        " last_name, from_name, locale, time_zone, ocd_ids, external_id, old_state,"
        " attributes.KEY, day_first.KEY or month_first.KEY for an attribute whose dates are stored"
        " as ISO, decimal_comma.KEY for one whose numbers are stored with a point, or - to ignore"
        " it. Columns that are not named are mapped as suggested.",
        examples=[{"Mail": "email", "Notes": "-"}],
    )
    list: ListKey | None = Field(
        default=None,
        description="The list to which the contacts are subscribed, unless they left, bounced or"
        " are suppressed.",
    )


class UploadQuery(BaseModel):
    """What describes an uploaded file, beside its bytes."""

    file_name: str | None = Field(
        default=None, max_length=255, description="What people call the file."
    )
    sheet: str | None = Field(
        default=None,
        max_length=255,
        description="The sheet of a workbook that is read; by default the first.",
    )


class WaitingOut(ResponseSchema):
    """Who or what has to act, and why."""

    on: str = Field(examples=["you", "a worker"])
    why: str


class ImportOut(ResponseSchema):
    """An import; the counts from `created` to `blank` add up to `done_count`."""

    id: int
    file_name: str
    state: ImportState
    waiting: WaitingOut | None = Field(
        description="Null while a process works on it, and once it has ended."
    )
    list: str | None
    row_count: int = Field(description="Without the header.")
    done_count: int = Field(validation_alias="done", description="How many rows have a result.")
    created: int
    updated: int
    unchanged: int
    duplicates: int = Field(
        description="Rows that repeat an address of the file: the first row counts."
    )
    refused: int = Field(description="Rows with errors; problems.csv lists them.")
    blank: int
    subscribed: int
    kept_back: int = Field(
        description="Contacts that were not subscribed to the list; problems.csv says why."
    )
    kept_back_reasons: dict[str, int] = Field(
        description="Why these were not subscribed, with counts."
    )
    problem_count: int = Field(description="All problems; problems.csv lists the first 10,000.")
    rows_per_second: float | None
    ends_at: datetime | None = Field(description="When it will have ended, at this rate.")
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None


class UploadOut(ResponseSchema):
    """How a file is read; null once it is imported or abandoned."""

    encoding: str
    delimiter: str
    header: list[str]
    rows: list[list[str]] = Field(description="The first rows.")
    suggested: dict[str, str] = Field(description="The field of each column by default.")
    state_like: list[str] = Field(
        default=[],
        description="The columns that look like states of people in another tool. Map the right"
        " ones to old_state: otherwise people who left there are subscribed, too.",
    )


class ProblemRow(ResponseSchema):
    row: int = Field(description="As spreadsheets count: the header is row 1.")
    column: str
    value: str
    problem: str
    remedy: str


class ImportPreviewOut(ResponseSchema):
    """What the import would do, by the dry run."""

    row_count: int
    created: int
    updated: int
    unchanged: int
    duplicates: int
    refused: int
    blank: int
    subscribed: int
    kept_back_reasons: dict[str, int] = Field(
        validation_alias="kept_back",
        description="Why contacts would not be subscribed to the list, with counts.",
    )
    reasons: dict[str, int] = Field(description="Why rows are refused, with counts.")
    samples: list[str] = Field(description="Some contacts that would change.")
    problems: list[ProblemRow] = Field(
        description="The first rows with problems, refused ones first."
    )
    problem_count: int = Field(default=0, description="All problems of rows.")
    notes: list[str] = Field(
        default=[], description="How dates are stored, and how many cells stay texts."
    )


class ImportDetails(ImportOut):
    mapping: dict[str, str] = Field(description="The field of each imported column.")
    upload: UploadOut | None
    preview: ImportPreviewOut | None


class ImportPage(ResponseSchema):
    """The newest first."""

    imports: list[ImportOut]
    next: NextCursor
