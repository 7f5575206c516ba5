"""The route that mails a Notion page."""

from uuid import UUID

from django.conf import settings
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from postledger.accounts.keys import Scope
from postledger.campaigns.notion import mailouts
from postledger.campaigns.notion.mailouts import MailoutRequest
from postledger.content import notion_pages
from postledger.web.api.common.fields import ListKey
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema

routes = Routes("mailouts", read=Scope.CAMPAIGNS_READ, write=Scope.CAMPAIGNS_WRITE)


class MailoutIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    page_id: str = Field(
        max_length=100,
        validation_alias=AliasChoices("page_id", "notionPageId"),
        description="The id of the page in Notion, with or without hyphens.",
        examples=["1f3d6a0e5b7c4d2e9a8b0c1d2e3f4a5b"],
    )
    sender: str | None = Field(
        default=None, max_length=254, description="Required if the workspace has several."
    )
    list: ListKey | None = Field(
        default=None, description="Only its subscribers; all contacts by default."
    )


class MailoutOut(ResponseSchema):
    run_id: UUID
    is_test: bool
    report_url: str


@routes.post("", MailoutOut, status=202, shown_with=None)
def send_mailout(call: Call, payload: MailoutIn) -> dict[str, object]:
    """Reads the page and launches a run of it. The result is written back to the page."""
    page_id = notion_pages.parse_page_id(payload.page_id)
    request = MailoutRequest(page_id, payload.sender, payload.list, call.member_id)
    mailout = mailouts.send_page(call.workspace_id, request, actor=call.actor, now=call.now)
    path = f"/v1/runs/{mailout.run_id}/report.csv"
    base_url = settings.PUBLIC_URL.rstrip("/")
    report_url = base_url + path if base_url else call.request.build_absolute_uri(path)
    return {"run_id": mailout.run_id, "is_test": mailout.is_test, "report_url": report_url}
