"""The door for reports: what became of a run's mails, line by line and by cause."""

from datetime import datetime
from typing import Self
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from postledger.accounts.keys import Scope
from postledger.campaigns import report
from postledger.campaigns.report import Failure
from postledger.deliveries.states import State
from postledger.web.api import exports_answers
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["runs"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CAMPAIGNS_READ)


class FailureOut(BaseModel):
    """Mails that failed, or are in doubt, for one cause."""

    state: State = Field(description="`failed` or `in_doubt`.")
    code: str = Field(examples=["550 5.1.1"])
    count: int
    since: datetime = Field(description="When the first of them came to be so.")
    example: str = Field(description="What the provider said of the first one; may be empty.")
    remedy: str = Field(description="What to do about it.")

    @classmethod
    def of(cls, found: Failure) -> Self:
        return cls(
            state=found.state,
            code=found.code,
            count=found.count,
            since=found.since,
            example=found.example,
            remedy=found.remedy,
        )


class Failures(BaseModel):
    failures: list[FailureOut] = Field(description="The most frequent cause first.")


@router.get(
    "/{uuid:run_id}/report.csv",
    auth=_reader,
    response={_PROBLEMS: Problem},
    operation_id="getRunReport",
    summary="Report of a run",
    openapi_extra=exports_answers.DESCRIBED,
)
def report_csv(request: HttpRequest, run_id: UUID) -> StreamingHttpResponse:
    """One line for each mail: email, status, error_message, message_id, sent_at.

    Safe for spreadsheets: what they would execute begins with an apostrophe.
    """
    lines = report.rows(auth.caller(request).workspace_id, run_id)
    return exports_answers.answer(lines, file_name=f"run-{run_id}.csv")


@router.get(
    "/{uuid:run_id}/failures",
    auth=_reader,
    response={200: Failures, _PROBLEMS: Problem},
    operation_id="listRunFailures",
    summary="Failures of a run, by cause",
)
def failures(request: HttpRequest, run_id: UUID) -> Failures:
    """Why mails of the run failed or are in doubt, how many, and what to do."""
    found = report.failures(auth.caller(request).workspace_id, run_id)
    return Failures(failures=[FailureOut.of(one) for one in found])
