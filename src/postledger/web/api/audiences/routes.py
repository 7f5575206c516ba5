"""Routes that check, count and sample the contacts of a filter."""

from datetime import datetime, timedelta
from time import perf_counter

from pydantic import Field, JsonValue

from postledger.accounts.keys import Scope
from postledger.contacts import audience, index_advice
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import Filter
from postledger.contacts.states import ContactState
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

routes = Routes("audiences", read=Scope.CONTACTS_READ, write=Scope.CONTACTS_READ)


class AudienceIn(RequestSchema):
    filter: dict[str, JsonValue] = Field(examples=[{"state": "OH", "list": "news"}])
    only_active: bool = Field(
        default=True,
        description="Only contacts that a campaign to all contacts would go to now.",
    )

    def audience(self, now: datetime) -> Filter:
        contacts = parsing.parse(self.filter, now=now)
        return audience.only_reached(contacts, at=now) if self.only_active else contacts


class SampleIn(AudienceIn):
    size: int = Field(default=10, ge=1, le=100)


class AudienceCount(ResponseSchema):
    number: int
    is_exact: bool = Field(description="False for an estimate.")
    took_ms: int


class MemberOut(ResponseSchema):
    contact_id: int = Field(validation_alias="id")
    address: str
    name: str
    state: ContactState


class Sample(ResponseSchema):
    """In no particular order."""

    contacts: list[MemberOut]


@routes.post("/check", None, status=204)
def check_audience(call: Call, payload: AudienceIn) -> None:
    """Refuses a wrong filter with the place and the correction; reads no contacts."""
    audience.check(call.workspace_id, payload.audience(call.now))


@routes.post("/count", AudienceCount)
def count_audience(call: Call, payload: AudienceIn) -> dict[str, object]:
    """Counts the contacts, or estimates the number if counting takes more than 5 seconds."""
    contacts = payload.audience(call.now)
    started = perf_counter()
    count = audience.count_or_estimate(call.workspace_id, contacts)
    took = timedelta(seconds=perf_counter() - started)
    index_advice.log_if_slow(call.workspace_id, contacts, took=took)
    return {
        "number": count.number,
        "is_exact": count.is_exact,
        "took_ms": round(took / timedelta(milliseconds=1)),
    }


@routes.post("/sample", Sample)
def sample_audience(call: Call, payload: SampleIn) -> dict[str, object]:
    """Some contacts that match the filter."""
    members = audience.sample(call.workspace_id, payload.audience(call.now), size=payload.size)
    return {"contacts": members}
