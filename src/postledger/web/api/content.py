"""The door for content that is stored nowhere: check it, and see what a reader gets."""

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field

from postledger.accounts.keys import Scope
from postledger.content import trials
from postledger.content.program import Values as Given
from postledger.content.trials import Trial
from postledger.web.api import findings
from postledger.web.api.findings import FindingOut, PreviewOut
from postledger.web.api.words import Locale, Values, Variables, WordsIn
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["content"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTENT_READ)


class ContentIn(WordsIn):
    """Words that are about to be sent."""

    locale: Locale = "en"
    required: Variables = Field(default=[], description="Variables that every mail gives.")
    optional: Variables = Field(default=[], description="Variables that may be left out.")
    values: Values | None = Field(
        default=None, description="Those of one reader: with them it is also filled in."
    )
    has_footer: bool = Field(
        default=False, description="Whether it goes with the workspace's footer."
    )


class CheckOut(BaseModel):
    """Everything there is to say: faults first, then warnings."""

    findings: list[FindingOut]
    can_be_sent: bool = Field(description="Whether there is no fault.")


class ContentPreview(PreviewOut, CheckOut):
    """The same, and what one reader would get."""


@router.post(
    "/check",
    auth=_reader,
    response={200: CheckOut, _PROBLEMS: Problem},
    operation_id="checkContent",
    summary="Check content",
)
def check(request: HttpRequest, payload: ContentIn) -> CheckOut:
    """Says whether it can be sent, and what to do where not; stores nothing."""
    trial = _tried(request, payload, payload.values)
    return CheckOut(findings=findings.told(trial.findings), can_be_sent=not trial.faults())


@router.post(
    "/preview",
    auth=_reader,
    response={200: ContentPreview, _PROBLEMS: Problem},
    operation_id="previewContent",
    summary="See what a reader gets",
)
def preview(request: HttpRequest, payload: ContentIn) -> ContentPreview:
    """Checks it, and fills it in where that can be done; stores nothing."""
    trial = _tried(request, payload, payload.values or {})
    return findings.preview(ContentPreview, trial, can_be_sent=not trial.faults())


def _tried(request: HttpRequest, payload: ContentIn, values: Given | None) -> Trial:
    workspace_id = auth.caller(request).workspace_id
    return trials.of(
        payload.source(payload.locale),
        required=tuple(payload.required),
        optional=tuple(payload.optional),
        values=values,
        footing=trials.footing(workspace_id) if payload.has_footer else None,
    )
