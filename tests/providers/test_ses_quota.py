"""SES says what is left of its 24 hours: in doubles, with other systems' mail, or without limit."""

import asyncio

import pytest

from postledger.providers import registry
from postledger.providers.base import QuotaReading, QuotaUnreadError, ReadsQuota
from postledger.providers.ses import quota
from postledger.providers.ses.documents import ReportedQuota
from postledger.providers.ses.provider import Ses
from tests.providers.stands import opened, ses_settings
from tools.fakes.http.faults import AnswerBadBody, AnswerError, Fault, Rule
from tools.fakes.http.server import serving
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.server import FakeSes


def read(stated: Quota | None = None, fault: Fault | None = None) -> QuotaReading:
    async def play() -> QuotaReading:
        async with serving(FakeSes()) as fake:
            if stated is not None:
                fake.service.account.quota = stated
            if fault is not None:
                fake.set_faults(Rule(fault, operation="GetAccount"))
            async with opened(Ses(ses_settings(fake.endpoint))) as provider:
                return await provider.read_quota()

    return asyncio.run(play())


def test_what_others_sent_is_not_left_for_us() -> None:
    stated = Quota(max_24_hour_send=50_000, max_send_rate=14, sent_by_others=49_000)

    assert read(stated) == QuotaReading(remaining=1_000, size=50_000, max_rate=14)
    assert read(Quota(0, 0)) == QuotaReading(remaining=0, size=0)


def test_minus_one_is_unlimited() -> None:
    assert read(Quota(UNLIMITED, UNLIMITED)) == QuotaReading(remaining=None)
    assert read(Quota(UNLIMITED, 500)) == QuotaReading(remaining=None, max_rate=500)


def test_doubles_are_rounded_against_us_and_a_lowered_quota_leaves_nothing() -> None:
    for daily, sent, remaining in [
        (200.5, 0.0, 200),
        (200.0, 199.5, 0),
        (100.0, 250.0, 0),
        (0.0, 0.0, 0),
        (200.0, -3.0, 200),
    ]:
        stated = ReportedQuota.model_validate(
            {"Max24HourSend": daily, "SentLast24Hours": sent, "MaxSendRate": 0.5}
        )

        reading = quota.judge(stated)

        assert (reading.remaining, reading.size, reading.max_rate) == (
            remaining,
            int(daily),
            0.5,
        ), daily


def test_a_refusal_or_missing_figures_are_a_sentence() -> None:
    cases: list[tuple[Fault, str]] = [
        (AnswerError("AccessDeniedException"), "allow them ses:GetAccount"),
        (AnswerError("InvalidClientTokenId"), "SES refuses the keys"),
        (AnswerError("InternalServiceErrorException"), "SES did not say the quota"),
        (AnswerBadBody(), "not the expected document"),
    ]
    for fault, sentence in cases:
        with pytest.raises(QuotaUnreadError, match=sentence):
            read(fault=fault)


def test_the_kinds_that_say_their_quota_are_known_by_name() -> None:
    settings = {
        "sendgrid": {"api_key": "SG.made-up"},
        "ses": {"region": "eu-west-1"},
        "smtp": {"host": "mail.acme.example"},
    }
    providers = {kind: registry.build(kind, settings.get(kind, {})) for kind in registry.KINDS}

    reading = {kind for kind, each in providers.items() if isinstance(each, ReadsQuota)}

    assert reading == registry.QUOTA_KINDS
