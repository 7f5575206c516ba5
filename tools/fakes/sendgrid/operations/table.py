"""All operations of SendGrid that the fake has, and the scope that a key needs for each."""

from collections.abc import Mapping

from tools.fakes.http.exchanges import Answer
from tools.fakes.http.routing import Route, RouteTable
from tools.fakes.sendgrid.account import Caller
from tools.fakes.sendgrid.operations import account, webhooks

# The names are those of Twilio's OpenAPI.
TABLE: RouteTable[Caller, Answer] = RouteTable(
    "/v3/", (Route("SendMail", "POST", "mail/send"), *account.ROUTES, *webhooks.ROUTES)
)
_EVENTS = "user.webhooks.event.settings"
# Any key may ask for its own scopes.
SCOPES: Mapping[str, str] = {
    "SendMail": "mail.send",
    "ListCredit": "user.credits.read",
    "ListVerifiedSender": "verified_senders.read",
    "ListAuthenticatedDomain": "whitelabel.read",
    "CreateEventWebhook": f"{_EVENTS}.create",
    "ListEventWebhook": f"{_EVENTS}.read",
    "GetEventWebhook": f"{_EVENTS}.read",
    "UpdateEventWebhook": f"{_EVENTS}.update",
    "DeleteEventWebhook": f"{_EVENTS}.delete",
    "GetSignedEventWebhook": f"{_EVENTS}.read",
    "UpdateSignedEventWebhook": f"{_EVENTS}.update",
}
ALL_SCOPES = frozenset(SCOPES.values())
