"""Routes for imports: upload a file, preview the import, start it, and watch it."""

from typing import Annotated, Any

from django.http import StreamingHttpResponse
from ninja import Query

from postledger.accounts.keys import Scope
from postledger.imports import overview, problems, queries, uploads
from postledger.imports.files import workbooks
from postledger.imports.overview import ImportOverview
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import NewestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.imports import received_file
from postledger.web.api.imports.schemas import (
    ImportDetails,
    ImportPage,
    ImportSettings,
    UploadQuery,
)
from postledger.web.shared.csv_files import csv_response

routes = Routes("imports", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_WRITE)

ImportId = Annotated[int, path_id("The id of the import.")]

_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: CSV, or an Excel workbook (xlsx). Up to 50 MiB.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in received_file.TYPES
        },
    }
}


@routes.post("", ImportDetails, status=201, shown_with=None, openapi_extra=_FILE)
def upload_import(call: Call, query: Query[UploadQuery]) -> ImportOverview:
    """Keeps a file that can be read to its end, and shows how it is read. Imports nothing yet.

    Of a workbook the first sheet is read, or the named one.
    """
    with (
        received_file.receive_file(call.request) as path,
        workbooks.open_as_csv(path, sheet=query.sheet) as table,
    ):
        import_id = uploads.store_upload(
            call.workspace_id,
            table,
            made_of=path,
            file_name=query.file_name or "",
            actor=call.actor,
        )
    return overview.find_overview(call.workspace_id, import_id)


@routes.get("", ImportPage)
def list_imports(call: Call, query: Query[NewestFirstQuery]) -> dict[str, object]:
    """The newest first, a page at a time; includes imports of the command line."""
    overviews = overview.list_newest(call.workspace_id, limit=query.limit + 1, before=query.before)
    return cut_page("imports", overviews, query.limit, lambda shown: shown.id)


@routes.get("/{int:import_id}", ImportDetails)
def get_import(call: Call, import_id: ImportId) -> ImportOverview:
    """Its progress, the counts of its rows, and what it waits for."""
    return overview.find_overview(call.workspace_id, import_id)


@routes.post("/{int:import_id}/preview", ImportDetails, status=202)
def preview_import(call: Call, import_id: ImportId, payload: ImportSettings) -> ImportOverview:
    """Lets a worker make a dry run; its result will be in `preview` of the import."""
    uploads.request_preview(
        call.workspace_id, import_id, mapping=payload.mapping, list_key=payload.list
    )
    return overview.find_overview(call.workspace_id, import_id)


@routes.post("/{int:import_id}/start", ImportDetails, status=202)
def start_import(call: Call, import_id: ImportId, payload: ImportSettings) -> ImportOverview:
    """Lets a worker import the file.

    An import never raises consent: contacts that left, bounced or are suppressed stay so.
    """
    uploads.start_import(
        call.workspace_id,
        import_id,
        mapping=payload.mapping,
        list_key=payload.list,
        actor=call.actor,
    )
    return overview.find_overview(call.workspace_id, import_id)


@routes.post("/{int:import_id}/abandon", ImportDetails)
def abandon_import(call: Call, import_id: ImportId) -> ImportOverview:
    """Ends an import, a running one before its next chunk. Imported rows stay, and are counted."""
    uploads.abandon_import(call.workspace_id, import_id, actor=call.actor)
    return overview.find_overview(call.workspace_id, import_id)


@routes.get_csv("/{int:import_id}/problems.csv")
def get_import_problems(call: Call, import_id: ImportId) -> StreamingHttpResponse:
    """Row, column, value, problem and remedy, without addresses; safe for spreadsheets."""
    rows = queries.read_problems(call.workspace_id, import_id)
    lines = problems.csv_lines(rows)
    return csv_response(lines, file_name=f"import-{import_id}-problems.csv")
