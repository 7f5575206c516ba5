"""Routes for single notifications: their status, and the mail job of each."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from ninja import Path
from pydantic import RootModel

from postledger.accounts.keys import Scope
from postledger.lib.ids import LAST_ID
from postledger.notifications.fan_out import notification_causes, notification_facts
from postledger.notifications.jobs import documents
from postledger.observability import masking
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.notifications.schemas import ExplainedNotification, NotificationOut

routes = Routes("notifications", read=Scope.NOTIFICATIONS_READ, write=Scope.NOTIFICATIONS_WRITE)

NotificationId = Annotated[int, Path(ge=1, le=LAST_ID, description="The id of the notification.")]


class MailJobOut(RootModel[dict[str, Any]]):
    """A mail job, version 1.0; its JSON Schema is at `/schemas/mail_job/1.0`."""


@routes.get("/{notification_id}", ExplainedNotification)
def get_notification(call: Call, notification_id: NotificationId) -> dict[str, object]:
    """The status of a notification, and why it waits or ended so."""
    facts = notification_facts.get_notification(notification_id, workspace_id=call.workspace_id)
    causes = notification_causes.list_notification_causes(facts, now=call.now)
    if not call.may_read_contacts:
        causes = [replace(cause, sentence=masking.mask_text(cause.sentence)) for cause in causes]
        facts = replace(facts, error=_mask_error(facts.error))
    return {**dict(NotificationOut.model_validate(facts)), "causes": causes}


# Its links act for the recipient, so that a key which only reads must not have them.
@routes.get(
    "/{notification_id}/job",
    MailJobOut,
    scopes=[Scope.NOTIFICATIONS_READ, Scope.CONTACTS_READ, Scope.EVENTS_PUBLISH],
)
def get_mail_job(call: Call, notification_id: NotificationId) -> dict[str, Any]:
    """The mail job of a notification, built from its rows."""
    return documents.build_job(notification_id, workspace_id=call.workspace_id)


def _mask_error(error: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A provider's words may quote a recipient."""
    if error is None or "message" not in error:
        return error
    return {**error, "message": masking.mask_text(str(error["message"]))}
