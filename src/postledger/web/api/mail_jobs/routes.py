"""The route that takes mail jobs, and the page with their JSON Schema."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from pydantic import ConfigDict, Field, RootModel
from pydantic.config import JsonDict

from postledger.accounts.keys import Scope
from postledger.notifications.jobs import contract, intake
from postledger.notifications.jobs.intake import JobResult
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import ResponseSchema
from postledger.web.api.notifications.schemas import NotificationStatus

routes = Routes("mail jobs", read=Scope.NOTIFICATIONS_READ, write=Scope.EVENTS_PUBLISH)


_EXAMPLE: JsonDict = {
    "version": "1.0",
    "notificationId": 1,
    "openEventId": 1,
    "subscriptionId": 1,
    "dedupeKey": "2026-fall/main/12345/open",
    "locale": "en",
    "recipient": {"email": "alice@example.com"},
    "template": {
        "id": contract.TEMPLATE,
        "variables": {
            "courseTitle": "Algebra",
            "courseString": "640:151",
            "sectionIndex": "12345",
            "sectionNumber": "01",
            "meetingSummary": "Mon 10:20",
            "manageUrl": "https://mail.example.com/preferences",
        },
    },
    "event": {
        "termId": "2026-fall",
        "campusCode": "main",
        "indexNumber": "12345",
        "statusAfter": "Open",
        "eventAt": "2026-12-24T18:00:00Z",
    },
    "links": {},
}


class MailJobIn(RootModel[dict[str, Any]]):
    """A mail job, version 1.0; its JSON Schema is at `/schemas/mail_job/1.0`."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})


class TakenJobOut(ResponseSchema):
    notification_id: int
    result: JobResult = Field(
        description="`planned`: its mail was planned now. `policy_changed`: it was planned before,"
        " and has another delivery policy now. `unchanged`: nothing changed."
    )
    status: NotificationStatus
    mail_id: str | None = Field(description="The id of its mail; null if it has none.")


@routes.post("", TakenJobOut, status=202, shown_with=None)
def post_mail_job(call: Call, payload: MailJobIn) -> dict[str, object]:
    """Takes the mail job of one notification. Idempotent: the same job twice makes one mail.

    The ids must name a notification of the workspace with its event and its subscription.
    """
    taken = intake.take_job(call.workspace_id, payload.root, now=call.now)
    return {
        "notification_id": taken.notification.id,
        "result": taken.result,
        "status": taken.notification.status,
        "mail_id": taken.notification.mail_id,
    }


@require_safe
def serve_schema(_request: HttpRequest, version: str) -> HttpResponse:
    """The JSON Schema of mail jobs, for everybody."""
    if version != contract.VERSION:
        raise Http404
    return HttpResponse(contract.read_schema(), content_type="application/schema+json")
