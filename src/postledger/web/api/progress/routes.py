"""The route that says what is being sent, and what the rest waits for."""

from datetime import datetime
from uuid import UUID

from ninja import Query
from pydantic import BaseModel, Field

from postledger.accounts.keys import Scope
from postledger.campaigns.runs import queue
from postledger.campaigns.runs.queue import QueueProgress
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema
from postledger.web.api.progress.members import authenticate_member

routes = Routes("progress", read=Scope.CAMPAIGNS_READ, write=Scope.CAMPAIGNS_WRITE)


class ActiveCampaignOut(ResponseSchema):
    """The run that has been sent for the longest time."""

    id: int = Field(description="Of the campaign.")
    name: str
    campaign_tag: str
    run_id: UUID
    planned: int
    sent: int = Field(description="Mails that the provider accepted.")
    failed: int
    waiting: int
    started_at: datetime | None


class ProgressOut(ResponseSchema):
    """The queue of the workspace's runs, without tests."""

    active_campaign: ActiveCampaignOut | None = Field(
        description="Null while no run is being sent."
    )
    queued_count: int = Field(description="Runs that wait: they are planned, scheduled or held.")
    next_campaign_at: datetime | None = Field(
        description="When the first of them goes on; null if no such time is known."
    )
    reason_code: str | None = Field(
        description="Why the run that goes on first waits: the cause that ends last.",
        examples=["rate_per_hour"],
    )
    next_run_at: datetime | None = Field(
        description="When that run goes on; null if a person has to act first."
    )


class ProgressQuery(BaseModel):
    workspace: int | None = Field(
        default=None,
        ge=1,
        lt=10**18,
        description="Of a member who is signed in: which of their workspaces; by default the one"
        " that they saw last. A key has its own.",
    )


@routes.get("", ProgressOut, auth=[authenticate_member])
def poll_progress(call: Call, query: Query[ProgressQuery]) -> QueueProgress:  # noqa: ARG001  read with the session
    """What is being sent in the workspace, how many runs wait, and what the first waits for."""
    return queue.read_progress(call.workspace_id)
