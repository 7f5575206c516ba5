"""Makes the event webhook by which SendGrid reports to us, repairs it, and removes it.

Each step reads first and changes only what differs: a second run changes nothing, and what a run
left half done is completed by the next. Nothing is posted before its signature can be checked:
a new webhook is switched off until its key is known here.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ValidationError

from postledger.lib import sentences
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers.http import reading
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.http.reading import Obstacle, Service, Unread
from postledger.providers.sendgrid import documents
from postledger.providers.sendgrid.documents import SignatureState, WebhooksState, WebhookState
from postledger.providers.set_up import Step, StepState

_CHANGED = frozenset({200, 201, 204})
_PERMISSION = say(
    "The API key may not change event webhooks. Give it Full Access, or the permissions"
    " user.webhooks.event.settings.create, .read, .update and .delete, in the console: Settings,"
    " API Keys, the key. Or make the webhook by hand, and name its key with --key."
)
_NONE_LEFT = say(
    "If it has them, the plan may have no event webhook left: delete one that nobody uses, or"
    " choose a larger plan."
)


class SetUpError(RefusedError):
    code = "sendgrid_refused"


class WebhookApi(Service, Protocol):
    async def change(
        self, method: str, path: str, document: Mapping[str, object] | None = None
    ) -> Answer | Break:
        """The answer to a request that changes something; it is never repeated."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """What our webhooks are known by."""

    ids: Collection[str]  # of those whose keys are known here
    name: str  # has the tag of this installation

    def finds(self, webhook: WebhookState) -> bool:
        return webhook.id in self.ids or webhook.friendly_name == self.name


async def prepare(api: WebhookApi, url: str, mark: Mark) -> tuple[WebhookState, list[Step]]:
    """A webhook that signs; it posts nothing yet if it is new. Raises SetUpError."""
    webhooks = await _list_webhooks(api)
    # No two have the same URL, so one that has it is ours, whoever made it.
    own = next((item for item in webhooks if item.url == url), None) or next(
        filter(mark.finds, webhooks), None
    )
    if own is None:
        document = {**_write_settings(url, is_enabled=False), "friendly_name": mark.name}
        own = await _change(api, "POST", documents.WEBHOOKS_PATH, document, WebhookState)
        steps = [Step("webhook", StepState.DONE, say("Created the event webhook."))]
    else:
        steps = [Step("webhook", StepState.PRESENT, say("SendGrid has an event webhook for us."))]
    message = say("SendGrid signs what it posts.")
    if own.public_key:
        return own, [*steps, Step("signature", StepState.PRESENT, message)]
    path = f"{documents.WEBHOOKS_PATH}/signed/{own.id}"
    signature = await _change(api, "PATCH", path, {"enabled": True}, SignatureState)
    signed = own.model_copy(update={"public_key": signature.public_key})
    return signed, [*steps, Step("signature", StepState.DONE, message)]


async def switch_on(api: WebhookApi, url: str, webhook: WebhookState) -> list[Step]:
    """Has the webhook post everything that we use to the URL. Raises SetUpError."""
    types = documents.name_types(documents.EVENT_TYPES)
    message = say("SendGrid reports %(types)s to %(url)s.", types=types, url=url)
    if webhook.enabled and webhook.url == url and not webhook.missing_types:
        return [Step("events", StepState.PRESENT, message)]
    # What else somebody has it report stays.
    others = {"open": webhook.open, "click": webhook.click}
    document = {**_write_settings(url, is_enabled=True), **others}
    path = f"{documents.WEBHOOKS_PATH}/{webhook.id}"
    await _change(api, "PATCH", path, document, WebhookState)
    return [Step("events", StepState.DONE, message)]


async def remove(api: WebhookApi, mark: Mark) -> list[Step]:
    """Deletes our webhooks, and no other. Raises SetUpError."""
    own = [webhook for webhook in await _list_webhooks(api) if mark.finds(webhook)]
    for webhook in own:
        path = f"{documents.WEBHOOKS_PATH}/{webhook.id}"
        answer = await api.change("DELETE", path)
        _check(api, answer)
    if own:
        return [Step("webhook", StepState.DONE, say("Deleted the event webhook."))]
    return [Step("webhook", StepState.ABSENT, say("SendGrid has no event webhook of ours."))]


def _write_settings(url: str, *, is_enabled: bool) -> dict[str, object]:
    return {
        "enabled": is_enabled,
        "url": url,
        **dict.fromkeys(documents.EVENT_TYPES, True),
        "open": False,
        "click": False,
    }


async def _list_webhooks(api: WebhookApi) -> list[WebhookState]:
    state = await reading.read(api, f"{documents.WEBHOOKS_PATH}/all", WebhooksState)
    if isinstance(state, Unread):
        raise _explain(state)
    return state.actual


async def _change[State: BaseModel](
    api: WebhookApi, method: str, path: str, document: Mapping[str, object], state: type[State]
) -> State:
    answer = _check(api, await api.change(method, path, document), is_new=method == "POST")
    try:
        return state.model_validate_json(answer.body)
    except ValidationError:
        raise SetUpError(
            say(
                "SendGrid did not answer with an event webhook: run this again, which goes on from"
                " what is done."
            )
        ) from None


def _check(api: WebhookApi, answer: Answer | Break, *, is_new: bool = False) -> Answer:
    if isinstance(answer, Break) or answer.status not in _CHANGED:
        raise _explain(api.judge_unread(answer), is_new=is_new)
    return answer


def _explain(unread: Unread, *, is_new: bool = False) -> SetUpError:
    if is_new and unread.obstacle is Obstacle.DENIED:
        return SetUpError(sentences.join([_PERMISSION, _NONE_LEFT]))
    if unread.obstacle in {Obstacle.DENIED, Obstacle.CREDENTIALS}:
        return SetUpError(_PERMISSION)
    return SetUpError(
        say(
            "SendGrid did not do it: %(detail)s Correct that, or wait, and run this again: it goes"
            " on from what is done.",
            detail=sentences.end(unread.detail),
        )
    )
