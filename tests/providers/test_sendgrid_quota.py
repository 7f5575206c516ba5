"""SendGrid says what is left of a plan to keys that may ask; to others it is no failure."""

import asyncio

import pytest

from postledger.providers.base import QuotaHiddenError, QuotaReading, QuotaUnreadError
from postledger.providers.sendgrid import quota
from postledger.providers.sendgrid.provider import SendGrid
from postledger.providers.sendgrid.quota import CreditsState
from tests.providers.stands import opened, sendgrid_settings
from tools.fakes.http.faults import AnswerError, AnswerGateway, Fault, Rule
from tools.fakes.http.server import serving
from tools.fakes.sendgrid.account import Credits
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, SENDING_KEY


def read(
    stated: Credits | None = None, fault: Fault | None = None, *, key: str = API_KEY
) -> QuotaReading:
    async def play() -> QuotaReading:
        async with serving(FakeSendGrid()) as fake:
            if stated is not None:
                fake.service.account.credits = stated
            if fault is not None:
                fake.set_faults(Rule(fault, operation="ListCredit"))
            async with opened(SendGrid(sendgrid_settings(fake.endpoint, api_key=key))) as provider:
                return await provider.read_quota()

    return asyncio.run(play())


def test_the_credits_that_are_left_are_known_and_no_limit() -> None:
    assert read(Credits(total=40_000, used=39_000)) == QuotaReading(
        remaining=1_000, size=40_000, is_limit=False
    )
    assert read(Credits(total=None)) == QuotaReading(remaining=None)  # a subuser


def test_strange_figures_become_some_that_can_be_shown() -> None:
    for remain, total, remaining, size in [
        (-5, 100, 0, 100),
        (150, 100, 150, 150),
        (7, None, 7, None),
        (10**20, 10**20, 10**15, 10**15),
    ]:
        expected = QuotaReading(remaining, size, is_limit=False)
        assert quota.judge(CreditsState(remain=remain, total=total)) == expected, remain


def test_a_key_that_may_not_ask_is_no_failure_and_says_what_it_lacks() -> None:
    for key, words in [
        (SENDING_KEY, "access forbidden"),
        ("SG.unknown.key", "authorization grant is invalid"),
    ]:
        with pytest.raises(QuotaHiddenError, match=r"permission user\.credits\.read") as hidden:
            read(key=key)

        assert words in str(hidden.value), key
        assert "Mail Send" not in str(hidden.value), key


def test_a_service_that_does_not_answer_is_a_failure() -> None:
    cases: list[Fault] = [AnswerError("internal_error"), AnswerGateway(403)]
    for fault in cases:
        with pytest.raises(QuotaUnreadError, match="did not say the credits") as unread:
            read(fault=fault)

        assert not isinstance(unread.value, QuotaHiddenError), fault
