"""The door for filters: whom they mean, how many that is, and what would make them fast."""

from datetime import UTC, datetime, timedelta
from time import perf_counter

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from postledger.accounts.keys import Scope
from postledger.contacts import advice, audience, filter_parsing
from postledger.contacts.filters import Filter
from postledger.contacts.states import ContactState
from postledger.web.api.incoming import Incoming
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["audiences"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)


class AudienceIn(Incoming):
    """Whom a filter means."""

    filter: dict[str, JsonValue] = Field(examples=[{"state": "OH", "list": "news"}])
    only_active: bool = Field(
        default=True, description="Only those whom a live mailout would go to."
    )

    def audience(self) -> Filter:
        meant = filter_parsing.parse(self.filter, now=datetime.now(UTC))
        return audience.active(meant) if self.only_active else meant


class SampleIn(AudienceIn):
    """The same, and of how many."""

    size: int = Field(default=10, ge=1, le=100)


class AdviceOut(BaseModel):
    advice: str | None = Field(description="What would make it fast; null when it is.")


class AudienceCount(AdviceOut):
    number: int
    is_exact: bool = Field(description="False of an estimate: counting would have taken long.")
    took_ms: int


class MemberOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    contact_id: int
    address: str
    name: str
    state: ContactState


class Sample(BaseModel):
    """Any of them, in no order."""

    contacts: list[MemberOut]


@router.post(
    "/check",
    auth=_reader,
    response={200: AdviceOut, _PROBLEMS: Problem},
    operation_id="checkAudience",
    summary="Check a filter",
)
def check(request: HttpRequest, payload: AudienceIn) -> AdviceOut:
    """Refuses a wrong filter, with the place and what to write there; looks at no contact."""
    workspace_id = auth.caller(request).workspace_id
    return AdviceOut(advice=advice.advice(workspace_id, payload.audience()))


@router.post(
    "/count",
    auth=_reader,
    response={200: AudienceCount, _PROBLEMS: Problem},
    operation_id="countAudience",
    summary="Count whom a filter means",
)
def count(request: HttpRequest, payload: AudienceIn) -> AudienceCount:
    """Exactly, or as an estimate where that would take more than 5 seconds."""
    workspace_id, meant = auth.caller(request).workspace_id, payload.audience()
    started = perf_counter()
    counted = audience.count_or_estimate(workspace_id, meant)
    took = timedelta(seconds=perf_counter() - started)
    return AudienceCount(
        number=counted.number,
        is_exact=counted.is_exact,
        took_ms=round(took / timedelta(milliseconds=1)),
        advice=advice.advice(workspace_id, meant, took=took),
    )


@router.post(
    "/sample",
    auth=_reader,
    response={200: Sample, _PROBLEMS: Problem},
    operation_id="sampleAudience",
    summary="See some whom a filter means",
)
def sample(request: HttpRequest, payload: SampleIn) -> Sample:
    """To see whether it means whom you meant."""
    found = audience.sample(
        auth.caller(request).workspace_id, payload.audience(), size=payload.size
    )
    return Sample(contacts=[MemberOut.model_validate(member) for member in found])
