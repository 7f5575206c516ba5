"""The route that says why something waits, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Path
from pydantic import Field

from postledger.accounts import queries as accounts
from postledger.accounts.keys import Scope
from postledger.accounts.queries import SenderUnknownError
from postledger.campaigns.runs import run_causes
from postledger.deliveries import queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.explanations import why
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import DeliveryId
from postledger.notifications.fan_out import notification_causes, notification_facts
from postledger.notifications.models import Event
from postledger.observability import masking
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema

routes = Routes("why", read=Scope.READ, write=Scope.SEND)

_MOST_DIGITS = 18
AskedId = Annotated[
    str,
    Path(
        max_length=254,
        examples=["01420000-0007-8000-8000-00000000002a"],
        description="The id of a mail or a run, the number of a stream, a sender's address, or"
        " `notification:` or `event:` with a number.",
    ),
]


class CauseOut(ResponseSchema):
    """One cause that keeps mail back, or the result that it has."""

    code: str = Field(description="Never changes its meaning.", examples=["rate_per_hour"])
    sentence: str
    since: datetime | None
    until: datetime | None = Field(
        description="When it ends by itself; null if that is not known, or if a person ends it."
    )
    resumed_by: str = Field(description="What will end it; empty if it is over.")
    advice: str = Field(description="What a person can do.")


class WhyOut(ResponseSchema):
    id: str
    kind: str = Field(description="`mail`, `run`, `stream`, `sender`, `notification` or `event`.")
    causes: list[CauseOut] = Field(
        description="All that apply, first the one that ends last. Empty if nothing waits."
    )


@dataclass(frozen=True, slots=True)
class Why:
    id: str
    kind: str
    causes: Sequence[Cause]


@routes.get("/{id}", WhyOut)
def explain_wait(call: Call, id: AskedId) -> Why:  # noqa: A002  its name in the path
    """Why a mail, a run, a stream, a sender, a notification or an event waits, and what to do.

    Runs and other mail of campaigns take the scope campaigns:read, too; notifications and events
    take notifications:read.
    """
    delivery_id = DeliveryId.parse(id)
    kind, _, number = id.partition(":")
    if delivery_id is not None:
        answer = _explain_mail(call, delivery_id)
    elif kind in {"notification", "event"}:
        answer = _explain_notifying(call, kind, number)
    elif "@" in id:
        answer = _explain_sender(call, id)
    elif id.isascii() and id.isdecimal() and len(id) <= _MOST_DIGITS:
        answer = _explain_stream(call, int(id))
    else:
        answer = _explain_run(call, id)
    return _hide_addresses(call, answer)


def _explain_mail(call: Call, id_: DeliveryId) -> Why:
    stream = _find_stream(call, id_.stream_id)
    delivery = queries.find_delivery(id_.stream_id, id_.position)
    if delivery is None:
        raise NotFoundError
    text = DeliveryId(id_.stream_id, id_.position).text()
    return Why(text, "mail", why.list_delivery_causes(delivery, stream, now=call.now))


def _explain_stream(call: Call, stream_id: int) -> Why:
    stream = _find_stream(call, stream_id)
    waits = queries.summarise_waits(stream_id)
    return Why(str(stream_id), "stream", why.list_stream_causes(stream, waits, now=call.now))


def _explain_run(call: Call, text: str) -> Why:
    try:
        run_id = UUID(text)
    except ValueError:
        raise NotFoundError from None
    call.require(Scope.CAMPAIGNS_READ)
    causes = run_causes.list_run_causes(call.workspace_id, run_id, now=call.now)
    return Why(str(run_id), "run", causes)


def _explain_notifying(call: Call, kind: str, number: str) -> Why:
    call.require(Scope.NOTIFICATIONS_READ)
    id_ = notification_causes.parse_number(number)
    if id_ is None:
        raise NotFoundError
    if kind == "notification":
        facts = notification_facts.get_notification(id_, workspace_id=call.workspace_id)
        causes = notification_causes.list_notification_causes(facts, now=call.now)
    else:
        event = Event.objects.filter(pk=id_, topic__workspace_id=call.workspace_id).first()
        if event is None:
            raise NotFoundError
        causes = notification_causes.list_event_causes(event, now=call.now)
    return Why(f"{kind}:{id_}", kind, causes)


def _explain_sender(call: Call, address: str) -> Why:
    try:
        sender = accounts.find_sender(call.workspace_id, address=address)
    except SenderUnknownError:
        raise NotFoundError from None
    holds = queries.find_sender_holds([sender.pk]).get(sender.pk, ())
    streams = queries.list_streams_of_sender(sender.pk)
    causes = why.list_sender_causes(holds, streams, now=call.now)
    return Why(sender.address, "sender", causes)


def _find_stream(call: Call, stream_id: int) -> StreamFacts:
    stream = queries.find_stream(stream_id)
    if stream is None or stream.workspace_id != call.workspace_id:
        raise NotFoundError
    if stream.kind is StreamKind.CAMPAIGN:
        call.require(Scope.CAMPAIGNS_READ)
    return stream


def _hide_addresses(call: Call, answer: Why) -> Why:
    """A provider's answer may quote a recipient."""
    if call.may_read_contacts:
        return answer
    masked = [replace(cause, sentence=masking.mask_text(cause.sentence)) for cause in answer.causes]
    return replace(answer, causes=masked)
