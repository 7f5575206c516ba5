"""Hands messages to Twilio SendGrid: one Mail Send for each, over kept connections."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import override

from postledger.providers.base import Finding, Form, ProviderEvent, QuotaReading
from postledger.providers.dns.records import SenderRecords
from postledger.providers.http import checks
from postledger.providers.http.checks import Words
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.http.provider import HttpProvider
from postledger.providers.http.reading import Unread
from postledger.providers.sendgrid import account_check, dns_records, events, outcomes, quota
from postledger.providers.sendgrid.api import SendGridApi
from postledger.providers.sendgrid.settings import SendGridSettings

_WORDS = Words("SendGrid", "SendGrid", "The API key has to be one of SendGrid then.", ("region",))


def build(settings: Mapping[str, object]) -> "SendGrid":
    return SendGrid(SendGridSettings.model_validate(settings))


async def check(settings: Mapping[str, object], senders: Sequence[str]) -> Sequence[Finding]:
    """Asks SendGrid about the key, the credits of the plan and the senders."""
    sendgrid = build(settings)
    await sendgrid.open()
    try:
        findings = account_check.check_account(sendgrid, sendgrid.settings, senders)
        return await checks.collect(findings, sendgrid.settings.actual_endpoint, _WORDS)
    finally:
        await sendgrid.close()


async def read_records(settings: Mapping[str, object], address: str) -> SenderRecords:
    sendgrid = build(settings)
    await sendgrid.open()
    try:
        return await dns_records.read_records(sendgrid, address)
    finally:
        await sendgrid.close()


def parse_events(headers: Mapping[str, str], body: bytes) -> Sequence[ProviderEvent]:
    return events.parse_events(headers, body)


class SendGrid(HttpProvider[SendGridSettings, SendGridApi]):
    form = Form.PARTS

    async def read_quota(self) -> QuotaReading:
        return await quota.read_quota(self)

    async def change(
        self, method: str, path: str, document: Mapping[str, object] | None = None
    ) -> Answer | Break:
        """The answer to a request that changes something in the account; it is not repeated."""
        api, _ = self._opened()
        return await self._exchange(api.write_change_request(method, path, document))

    def judge_unread(self, result: Answer | Break) -> Unread:
        return outcomes.judge_unread(result, now=datetime.now(UTC))

    @override
    def _load_api(self) -> SendGridApi:
        return SendGridApi(self.settings)
