"""The settings of event webhooks, and whether their posts are signed."""

from datetime import datetime
from urllib.parse import urlsplit

from tools.fakes.http.exchanges import Answer
from tools.fakes.http.routing import Call, Document, Route
from tools.fakes.sendgrid.account import Account, Caller
from tools.fakes.sendgrid.answers import answer_document
from tools.fakes.sendgrid.errors import Issue, SendGridError, bad_request
from tools.fakes.sendgrid.webhooks import SETTINGS, Webhook, format_time, make_webhook

MAX_WEBHOOKS = 5


def _create(caller: Caller, call: Call) -> Answer:
    account = caller.account
    _check(account, call.document)
    if len(account.webhooks) >= MAX_WEBHOOKS:
        raise bad_request(
            Issue("You have reached the maximum number of webhooks per your current billing plan.")
        )
    if "url" not in call.document:
        raise bad_request(Issue("url is required", "url"))
    webhook = make_webhook(call.document["url"], call.now)
    webhook.settings = dict.fromkeys(SETTINGS, False)
    _change(webhook, call.document, call.now)
    account.webhooks[webhook.id] = webhook
    return answer_document(webhook.to_document(), 201)


def _list(caller: Caller, _: Call) -> Answer:
    webhooks = [webhook.to_document() for webhook in caller.account.webhooks.values()]
    return answer_document({"max_allowed": MAX_WEBHOOKS, "webhooks": webhooks})


def _get(caller: Caller, call: Call) -> Answer:
    return answer_document(_find(caller, call).to_document())


def _update(caller: Caller, call: Call) -> Answer:
    webhook = _find(caller, call)
    _check(caller.account, call.document, webhook.id)
    _change(webhook, call.document, call.now)
    return answer_document(webhook.to_document())


def _delete(caller: Caller, call: Call) -> Answer:
    del caller.account.webhooks[_find(caller, call).id]
    return Answer(204, b"")


def _get_key(caller: Caller, call: Call) -> Answer:
    webhook = _find(caller, call)
    return answer_document({"id": webhook.id, "public_key": webhook.public_key})


def _toggle_key(caller: Caller, call: Call) -> Answer:
    webhook, is_signed = _find(caller, call), call.document.get("enabled")
    if not isinstance(is_signed, bool):
        raise bad_request(Issue("enabled must be a boolean", "enabled"))
    if not is_signed:
        webhook.private_key = ""
    elif not webhook.private_key:
        webhook.make_keys()
    return _get_key(caller, call)


def _find(caller: Caller, call: Call) -> Webhook:
    webhook = caller.account.webhooks.get(call.parameters["id"])
    if webhook is None:
        raise SendGridError("not_found", "Invalid id provided.")
    return webhook


def _check(account: Account, document: Document, own_id: str = "") -> None:
    """An update need not name everything."""
    for name in SETTINGS | {"enabled"}:
        if not isinstance(document.get(name, False), bool):
            raise bad_request(Issue(f"{name} must be a boolean", name))
    for name in ("url", "friendly_name"):
        if not isinstance(document.get(name, ""), str):
            raise bad_request(Issue(f"{name} must be a string", name))
    url = document.get("url")
    if url is None:
        return
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise bad_request(Issue(f"'{url}' is not a valid url"))
    if any(other.url == url for other in account.webhooks.values() if other.id != own_id):
        raise bad_request(Issue(f"Webhook at '{url}' already exists. Please provide a unique URL."))


def _change(webhook: Webhook, document: Document, now: datetime) -> None:
    for name in ("url", "friendly_name", "enabled"):
        setattr(webhook, name, document.get(name, getattr(webhook, name)))
    webhook.settings.update({name: document[name] for name in SETTINGS if name in document})
    webhook.updated_date = format_time(now)


_ALL = "user/webhooks/event/settings"
ROUTES = (
    Route("CreateEventWebhook", "POST", _ALL, _create),
    Route("ListEventWebhook", "GET", f"{_ALL}/all", _list),
    Route("GetEventWebhook", "GET", f"{_ALL}/{{id}}", _get),
    Route("UpdateEventWebhook", "PATCH", f"{_ALL}/{{id}}", _update),
    Route("DeleteEventWebhook", "DELETE", f"{_ALL}/{{id}}", _delete),
    Route("GetSignedEventWebhook", "GET", f"{_ALL}/signed/{{id}}", _get_key),
    Route("UpdateSignedEventWebhook", "PATCH", f"{_ALL}/signed/{{id}}", _toggle_key),
)
