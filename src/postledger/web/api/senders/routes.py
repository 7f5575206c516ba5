"""Routes for senders."""

from typing import Annotated

from django.db import transaction
from ninja import Query

from postledger.accounts import queries, senders
from postledger.accounts.keys import Scope
from postledger.accounts.models import Sender
from postledger.campaigns import archiving
from postledger.deliveries import account_changes
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import OldestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.senders.schemas import (
    NewSenderIn,
    SenderArchiveIn,
    SenderChangeIn,
    SenderOut,
    SenderPage,
)

routes = Routes("senders", read=Scope.SETUP_READ, write=Scope.SETUP_WRITE)

SenderId = Annotated[int, path_id("The number of the sender.")]


@routes.get("", SenderPage)
def list_senders(call: Call, query: Query[OldestFirstQuery]) -> dict[str, object]:
    """All senders of the workspace, archived ones included."""
    rows = queries.page_senders(call.workspace_id, after=query.after, limit=query.limit + 1)
    return cut_page("senders", rows, query.limit, lambda row: row.pk)


@routes.post("", SenderOut, status=201, shown_with=None)
def create_sender(call: Call, payload: NewSenderIn) -> Sender:
    """Creates a sender. The first one of a workspace becomes its default."""
    id_ = senders.create_sender(
        call.workspace_id,
        address=payload.address,
        name=payload.name,
        account_id=payload.account_id,
        actor=call.actor,
    )
    return queries.get_sender(call.workspace_id, id_)


@routes.get("/{int:sender_id}", SenderOut)
def get_sender(call: Call, sender_id: SenderId) -> Sender:
    """One sender, with its limits and hours."""
    return queries.get_sender(call.workspace_id, sender_id)


@routes.patch("/{int:sender_id}", SenderOut)
def change_sender(call: Call, sender_id: SenderId, payload: SenderChangeIn) -> Sender:
    """Changes the fields that are sent: all of them, or none if one is refused.

    Workers follow within 10 seconds. Another account ends what its former provider held.
    """
    sender = queries.get_sender(call.workspace_id, sender_id)
    with transaction.atomic():
        if "name" in payload.model_fields_set:
            senders.rename_sender(
                call.workspace_id, sender_id=sender_id, name=payload.name, actor=call.actor
            )
        if "account_id" in payload.model_fields_set and payload.account_id != sender.account_id:
            account_changes.attach_sender(
                call.workspace_id,
                sender_id=sender_id,
                account_id=payload.account_id,
                actor=call.actor,
            )
        if changes := payload.limits():
            account_changes.set_sender_limits(
                call.workspace_id, sender_id=sender_id, actor=call.actor, **changes
            )
        if "working_hours" in payload.model_fields_set:
            hours = payload.working_hours.hours() if payload.working_hours else None
            account_changes.set_sender_hours(
                call.workspace_id, sender_id=sender_id, hours=hours, actor=call.actor
            )
    return queries.get_sender(call.workspace_id, sender_id)


@routes.post("/{int:sender_id}/default", SenderOut)
def make_sender_default(call: Call, sender_id: SenderId) -> Sender:
    """Sends mail that names no sender from this one; running processes follow in 5 seconds."""
    queries.get_sender(call.workspace_id, sender_id)
    senders.set_default(call.workspace_id, sender_id=sender_id, actor=call.actor)
    return queries.get_sender(call.workspace_id, sender_id)


@routes.post("/{int:sender_id}/archive", SenderOut)
def archive_sender(call: Call, sender_id: SenderId, payload: SenderArchiveIn) -> Sender:
    """Takes no new mail for a sender; deletes nothing. Refused while mail waits for it."""
    queries.get_sender(call.workspace_id, sender_id)
    archiving.archive_sender(
        call.workspace_id,
        sender_id=sender_id,
        default_id=payload.default_id,
        although_mail_waits=payload.although_mail_waits,
        actor=call.actor,
    )
    return queries.get_sender(call.workspace_id, sender_id)


@routes.post("/{int:sender_id}/restore", SenderOut)
def restore_sender(call: Call, sender_id: SenderId) -> Sender:
    """Takes mail for an archived sender again."""
    queries.get_sender(call.workspace_id, sender_id)
    senders.restore_sender(call.workspace_id, sender_id=sender_id, actor=call.actor)
    return queries.get_sender(call.workspace_id, sender_id)
