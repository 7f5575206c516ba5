"""The door for imports: bring a file, see what it would do, start it, and watch it."""

from typing import Annotated, Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Path, Query, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.contacts.importing import overview, problems, running, spreadsheets, uploads
from postledger.web.api import (
    exports_answers,
    imports_forms,
    imports_receiving,
    looking,
)
from postledger.web.api.imports_forms import (
    Brought,
    ImportPage,
    Question,
    WantedIn,
    WholeImport,
)
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["imports"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)
_writer = auth.ApiKey(Scope.CONTACTS_WRITE)

ImportId = Annotated[int, Path(ge=1, le=2**63 - 1)]

_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: CSV, or an Excel workbook (xlsx). Up to 50 MiB.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in imports_receiving.TYPES
        },
    }
}


@router.post(
    "",
    auth=_writer,
    response={201: WholeImport, _PROBLEMS: Problem},
    operation_id="uploadImport",
    summary="Bring a file",
    openapi_extra=_FILE,
)
def upload(request: HttpRequest, brought: Query[Brought]) -> Status[WholeImport]:
    """Keeps a file that can be read to its end, and says how it is read; nothing is imported yet.

    Of a workbook the first sheet is read, or the one that is named.
    """
    looking.refuse_unknown(request.GET, Brought)
    caller = auth.caller(request)
    with (
        imports_receiving.received(request) as path,
        spreadsheets.as_csv(path, sheet=brought.sheet) as table,
    ):
        import_id = uploads.take(
            caller.workspace_id, table, file_name=brought.file_name or "", actor=caller.actor
        )
    return Status(201, _whole(caller.workspace_id, import_id))


@router.get(
    "",
    auth=_reader,
    response={200: ImportPage, _PROBLEMS: Problem},
    operation_id="listImports",
    summary="List imports",
)
def listing(request: HttpRequest, question: Query[Question]) -> ImportPage:
    """The newest first, a page at a time; those of the command, too."""
    looking.refuse_unknown(request.GET, Question)
    found = overview.newest(
        auth.caller(request).workspace_id,
        limit=question.limit + 1,
        before=None if question.cursor is None else int(question.cursor),
    )
    return imports_forms.page(found, limit=question.limit)


@router.get(
    "/{int:import_id}",
    auth=_reader,
    response={200: WholeImport, _PROBLEMS: Problem},
    operation_id="getImport",
    summary="Look at an import",
)
def look(request: HttpRequest, import_id: ImportId) -> WholeImport:
    """How far it is, what came of its rows, and what it waits for."""
    return _whole(auth.caller(request).workspace_id, import_id)


@router.post(
    "/{int:import_id}/preview",
    auth=_writer,
    response={202: WholeImport, _PROBLEMS: Problem},
    operation_id="previewImport",
    summary="See what an import would do",
)
def preview(request: HttpRequest, import_id: ImportId, payload: WantedIn) -> Status[WholeImport]:
    """Has a worker make a dry run; `preview` of the import tells what it found, once it is done."""
    workspace_id = auth.caller(request).workspace_id
    uploads.ask_preview(workspace_id, import_id, mapping=payload.mapping, list_key=payload.list)
    return Status(202, _whole(workspace_id, import_id))


@router.post(
    "/{int:import_id}/start",
    auth=_writer,
    response={202: WholeImport, _PROBLEMS: Problem},
    operation_id="startImport",
    summary="Start an import",
)
def start(request: HttpRequest, import_id: ImportId, payload: WantedIn) -> Status[WholeImport]:
    """Has a worker do it. It never raises consent: who left, bounced or is suppressed stays so."""
    caller = auth.caller(request)
    uploads.start(
        caller.workspace_id,
        import_id,
        mapping=payload.mapping,
        list_key=payload.list,
        actor=caller.actor,
    )
    return Status(202, _whole(caller.workspace_id, import_id))


@router.post(
    "/{int:import_id}/abandon",
    auth=_writer,
    response={200: WholeImport, _PROBLEMS: Problem},
    operation_id="abandonImport",
    summary="Abandon an import",
)
def abandon(request: HttpRequest, import_id: ImportId) -> WholeImport:
    """Ends it, a running one before its next chunk. What it had imported stays, and is counted."""
    caller = auth.caller(request)
    uploads.abandon(caller.workspace_id, import_id, actor=caller.actor)
    return _whole(caller.workspace_id, import_id)


@router.get(
    "/{int:import_id}/problems.csv",
    auth=_reader,
    response={_PROBLEMS: Problem},
    operation_id="getImportProblems",
    summary="Get the rows with problems",
    openapi_extra=exports_answers.DESCRIBED,
)
def problems_csv(request: HttpRequest, import_id: ImportId) -> StreamingHttpResponse:
    """Row, column, value, problem and remedy, without addresses; safe for spreadsheets."""
    found = running.problems(auth.caller(request).workspace_id, import_id)
    return exports_answers.answer(
        problems.lines(found), file_name=f"import-{import_id}-problems.csv"
    )


def _whole(workspace_id: int, import_id: int) -> WholeImport:
    return imports_forms.whole(overview.look(workspace_id, import_id))
