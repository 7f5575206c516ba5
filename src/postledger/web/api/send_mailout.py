"""The door for mailouts: a page of Notion is mailed, once, or as a test."""

from datetime import UTC, datetime
from uuid import UUID

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from postledger.accounts.keys import Scope
from postledger.campaigns import mailout_sending
from postledger.campaigns.mailout_sending import Wish
from postledger.content import mailouts
from postledger.web.api.incoming import ListKey
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["mailouts"])

_PROBLEMS = frozenset(KINDS)

_writer = auth.ApiKey(Scope.CAMPAIGNS_WRITE)


class MailoutIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    page_id: str = Field(
        max_length=100,
        validation_alias=AliasChoices("page_id", "notionPageId"),
        description="The id of the page in Notion, with or without hyphens.",
    )
    sender: str | None = Field(
        default=None, max_length=254, description="Needed where the workspace has several."
    )
    list: ListKey | None = Field(
        default=None, description="Only to its readers; else to all who get mail at all."
    )


class MailoutOut(BaseModel):
    run_id: UUID
    is_test: bool
    report_url: str


@router.post(
    "",
    auth=_writer,
    response={202: MailoutOut, _PROBLEMS: Problem},
    operation_id="sendMailout",
    summary="Mail a page of Notion",
)
def send(request: HttpRequest, payload: MailoutIn) -> Status[MailoutOut]:
    """Reads the page, and launches a run of it; what became of it is written back to the page."""
    caller = auth.caller(request)
    wish = Wish(mailouts.page_id(payload.page_id), payload.sender, payload.list, caller.is_test)
    sent = mailout_sending.send(
        caller.workspace_id, wish, actor=caller.actor, now=datetime.now(UTC)
    )
    report = request.build_absolute_uri(f"/v1/runs/{sent.run_id}/report.csv")
    return Status(202, MailoutOut(run_id=sent.run_id, is_test=sent.is_test, report_url=report))
