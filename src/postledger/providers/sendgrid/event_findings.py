"""Judges what SendGrid reports of an account's mail, and whether we can believe it; pure."""

from collections.abc import Collection

from postledger.lib.check_results import Level
from postledger.providers.base import Finding
from postledger.providers.http.reading import Obstacle, Unread
from postledger.providers.sendgrid import documents, findings
from postledger.providers.sendgrid.documents import WebhooksState, WebhookState

READ_SCOPE = "user.webhooks.event.settings.read"
_CREATE = "Run postledger sendgrid connect for this account with --create --url URL."
_SUBJECT = "events"


def judge_webhooks(state: WebhooksState | Unread, path: str, keys: Collection[str]) -> Finding:
    """`path` is where the account takes posts, and `keys` are those that it believes."""
    if isinstance(state, Unread):
        is_denied = state.obstacle in {Obstacle.DENIED, Obstacle.CREDENTIALS}
        thing = "what SendGrid reports"
        return (
            findings.denied(_SUBJECT, thing, READ_SCOPE)
            if is_denied
            else findings.unsaid(_SUBJECT, thing, state)
        )
    own = [webhook for webhook in state.actual if webhook.url.rstrip("/").endswith(path)]
    faults = [fault for webhook in own if (fault := _find_fault(webhook, keys))]
    if not own:
        message = "SendGrid reports nothing of this mail: no bounce is known, no doubt ends."
        by_hand = f"Or make a webhook by hand, which posts to {path}, and name its key with --key."
        return Finding(_SUBJECT, Level.WARNING, message, f"{_CREATE} {by_hand}")
    if len(faults) == len(own):
        return Finding(_SUBJECT, Level.WARNING, faults[0], _CREATE)
    types = documents.name_types(documents.EVENT_TYPES)
    return Finding(_SUBJECT, Level.OK, f"SendGrid reports {types}.")


def _find_fault(webhook: WebhookState, keys: Collection[str]) -> str:
    """Why an event webhook is of no use; empty if it is."""
    if not webhook.enabled:
        return f"The event webhook to {webhook.url} is switched off, so nothing is reported."
    if not webhook.public_key:
        return f"The event webhook to {webhook.url} does not sign, so its posts are refused."
    if webhook.public_key not in keys:
        return (
            f"The event webhook to {webhook.url} signs with a key that the account does not have,"
            " so its posts are refused."
        )
    if webhook.missing_types:
        return f"SendGrid does not report {documents.name_types(webhook.missing_types)}."
    return ""
