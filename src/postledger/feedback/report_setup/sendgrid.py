"""Has SendGrid report what becomes of an account's mail, step by step, and undoes it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from urllib.parse import urlsplit

from postledger.accounts import sealing
from postledger.accounts.models import ProviderAccount
from postledger.feedback import webhook_keys
from postledger.feedback.report_setup.account import AccountSetup
from postledger.lib import event_loops
from postledger.lib.sentences import say
from postledger.providers import set_up
from postledger.providers.base import Finding
from postledger.providers.http import reading
from postledger.providers.http.reading import Unread
from postledger.providers.sendgrid import documents, event_findings, event_setup
from postledger.providers.sendgrid.documents import WebhooksState, WebhookState
from postledger.providers.sendgrid.event_setup import Mark
from postledger.providers.sendgrid.provider import SendGrid
from postledger.providers.sendgrid.settings import SendGridSettings
from postledger.providers.set_up import InvalidUrlError, Step, StepState

PATH = "/sendgrid-events"


class SendGridReports(AccountSetup):
    """What SendGrid reports of one account's mail."""

    __slots__ = ()

    def create(self, url: str) -> Iterator[Step]:
        """The key is known here before anything that it signs can come."""
        url, mark = self._write_url(url), self._mark()
        webhook, steps = self._talk(lambda api: event_setup.prepare(api, url, mark))
        yield from steps
        yield self.register(webhook.public_key, webhook)
        yield from self._talk(lambda api: event_setup.switch_on(api, url, webhook))
        yield from self._name_former_keys(webhook)

    def remove(self) -> Iterator[Step]:
        """The keys go last: what SendGrid posts until then is believed."""
        mark = self._mark()
        yield from self._talk(lambda api: event_setup.remove(api, mark))
        for row in webhook_keys.list_keys(self.account.pk):
            if row.webhook_id:
                yield self.unregister(row.public_key)
            else:
                message = say(
                    "The key that was given with --key stays: %(key)s", key=row.public_key
                )
                yield Step("key", StepState.LEFT, message)

    def register(self, public_key: str, webhook: WebhookState | None = None) -> Step:
        known = {row.public_key for row in webhook_keys.list_keys(self.account.pk)}
        webhook_keys.register_key(
            self.workspace.pk,
            self.account.pk,
            public_key=public_key,
            webhook_id=webhook.id if webhook else "",
            actor=self.actor,
        )
        is_known = public_key.strip() in known
        state = StepState.PRESENT if is_known else StepState.DONE
        path = f"{PATH}/{self.account.pk}"
        return Step("key", state, say("What this key signs is believed at %(path)s.", path=path))

    def unregister(self, public_key: str) -> Step:
        is_removed = webhook_keys.remove_key(
            self.workspace.pk, self.account.pk, public_key=public_key, actor=self.actor
        )
        if is_removed:
            message = say(
                "What the key signs is no longer believed: a post that SendGrid still repeats is"
                " refused, and its events are lost."
            )
            return Step("key", StepState.DONE, message)
        return Step("key", StepState.ABSENT, say("The account does not have this key."))

    def _name_former_keys(self, webhook: WebhookState) -> Iterator[Step]:
        """SendGrid may post for a day again what it signed with one."""
        for row in webhook_keys.list_keys(self.account.pk):
            if row.webhook_id == webhook.id and row.public_key != webhook.public_key:
                message = say(
                    "A former key of the webhook is believed, too. After a day, remove it with"
                    " --remove-key %(key)s",
                    key=row.public_key,
                )
                yield Step("key", StepState.LEFT, message)

    def _mark(self) -> Mark:
        rows = webhook_keys.list_keys(self.account.pk)
        return Mark({row.webhook_id for row in rows if row.webhook_id}, self.name)

    def _write_url(self, url: str) -> str:
        """Where this account takes posts; raises InvalidUrlError."""
        is_here = self._read_settings().actual_endpoint.is_here
        set_up.check_url(url, poster="SendGrid", path=PATH, is_here=is_here)
        base = url.rstrip("/").removesuffix(f"/{self.account.pk}")
        parts = urlsplit(base)
        if not parts.path.endswith(PATH) or parts.query or parts.fragment:
            raise InvalidUrlError(
                say(
                    "Events are taken at %(path)s: write the URL as"
                    " https://mail.acme.example%(path)s.",
                    path=PATH,
                )
            )
        return f"{base}/{self.account.pk}"

    def _talk[Result](self, talk: Callable[[SendGrid], Awaitable[Result]]) -> Result:
        return event_loops.run_bounded(_talk(self._read_settings(), talk))

    def _read_settings(self) -> SendGridSettings:
        account = ProviderAccount.objects.get(pk=self.account.pk)
        return SendGridSettings.model_validate(sealing.unseal_settings(account))


def check_events(account_id: int, settings: Mapping[str, object]) -> Finding:
    """Whether SendGrid reports, and signs with a key that the account has."""
    keys = {row.public_key for row in webhook_keys.list_keys(account_id)}
    state = event_loops.run_bounded(
        _talk(SendGridSettings.model_validate(settings), _read_webhooks)
    )
    return event_findings.judge_webhooks(state, f"{PATH}/{account_id}", keys)


async def _read_webhooks(sendgrid: SendGrid) -> WebhooksState | Unread:
    return await reading.read(sendgrid, f"{documents.WEBHOOKS_PATH}/all", WebhooksState)


async def _talk[Result](
    settings: SendGridSettings, talk: Callable[[SendGrid], Awaitable[Result]]
) -> Result:
    sendgrid = SendGrid(settings)
    await sendgrid.open()
    try:
        return await talk(sendgrid)
    finally:
        await sendgrid.close()
