"""Hands messages to Amazon SES: one SendEmail for each, over kept connections."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, override

from postledger.providers.base import Finding, Form, ProviderEvent, QuotaReading
from postledger.providers.dns.records import SenderRecords
from postledger.providers.http import checks
from postledger.providers.http.checks import Words
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.http.provider import HttpProvider
from postledger.providers.http.reading import Unread
from postledger.providers.ses import account_check, dns_records, findings, outcomes, quota
from postledger.providers.ses.documents import IdentityState
from postledger.providers.ses.events import events
from postledger.providers.ses.settings import SesSettings

if TYPE_CHECKING:
    from postledger.providers.ses.api import SesApi

_WORDS = Words(
    "SES", "AWS", "Region and keys have to be those of AWS then.", ("region", "endpoint")
)


def build(settings: Mapping[str, object]) -> "Ses":
    return Ses(SesSettings.model_validate(settings))


async def check(settings: Mapping[str, object], senders: Sequence[str]) -> Sequence[Finding]:
    """Asks SES about the account, the identities of its senders and its configuration set."""
    ses = Ses(SesSettings.model_validate(settings))
    try:
        return await checks.collect(_ask(ses, senders), ses.settings.actual_endpoint, _WORDS)
    finally:
        await ses.close()


async def read_records(settings: Mapping[str, object], address: str) -> SenderRecords:
    ses, domain = build(settings), address.rpartition("@")[2]
    if ses.settings.from_identity_arn:
        return SenderRecords(domain)
    try:
        await ses.open()
        [(name, identity)] = (await account_check.find_identities(ses, [address])).items()
    except OSError:  # the machine has no credentials
        return SenderRecords(domain)
    finally:
        await ses.close()
    if not isinstance(identity, IdentityState):
        return SenderRecords(domain)
    return dns_records.describe_identity(domain, name, identity, ses.settings.region)


async def _ask(ses: "Ses", senders: Sequence[str]) -> AsyncIterator[Finding]:
    try:
        await ses.open()
    except OSError as error:
        yield findings.without_credentials(error.strerror or str(error))
        return
    async for finding in account_check.check_account(ses, ses.settings, senders):
        yield finding


def parse_events(headers: Mapping[str, str], body: bytes) -> Sequence[ProviderEvent]:
    return events.parse_events(headers, body)


class Ses(HttpProvider[SesSettings, "SesApi"]):
    form = Form.MIME

    @override
    async def open(self) -> None:
        """Raises OSError if the machine has to have credentials, and has none."""
        await super().open()
        api, _ = self._opened()
        await api.load_credentials()

    @override
    async def close(self) -> None:
        if self._api is not None:
            self._api.close()
        await super().close()

    async def read_quota(self) -> QuotaReading:
        return await quota.read_quota(self)

    def judge_unread(self, result: Answer | Break) -> Unread:
        return outcomes.judge_unread(result)

    @override
    def _load_api(self) -> "SesApi":
        from postledger.providers.ses.api import SesApi  # with botocore, which takes long to load

        return SesApi(self.settings)
