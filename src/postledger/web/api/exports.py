"""The door for exports: a workspace's contacts as a CSV file."""

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field, Json

from postledger.accounts.keys import Scope
from postledger.contacts import export, filter_parsing
from postledger.contacts.filters import All, Filter
from postledger.web.api import exports_answers, looking
from postledger.web.api.incoming import ListKey
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["exports"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)


class Question(BaseModel):
    list: ListKey | None = Field(default=None, description="Only those who get this list's mail.")
    filter: Json[Any] | None = Field(
        default=None,
        description="Only whom this filter means, as JSON.",
        examples=['{"state": "OH"}'],
    )

    def audience(self, now: datetime) -> Filter:
        parts: list[Filter] = []
        if self.list is not None:
            parts.append(export.readers(self.list))
        if self.filter is not None:
            parts.append(filter_parsing.parse(self.filter, now=now))
        return All(tuple(parts))


@router.get(
    "/contacts.csv",
    auth=_reader,
    response={_PROBLEMS: Problem},
    operation_id="exportContacts",
    summary="Export contacts",
    openapi_extra=exports_answers.DESCRIBED,
)
def contacts_csv(request: HttpRequest, question: Query[Question]) -> StreamingHttpResponse:
    """All contacts, or those who meet everything asked for, as an import takes them back.

    Safe for spreadsheets: what they would execute begins with an apostrophe.
    """
    looking.refuse_unknown(request.GET, Question)
    audience = question.audience(datetime.now(UTC))
    lines = export.lines(auth.caller(request).workspace_id, audience)
    return exports_answers.answer(lines, file_name="contacts.csv")
