"""SendGrid gets each mail once, by the key of the account, and its answers become outcomes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from pydantic import ValidationError

from postledger.providers import registry
from postledger.providers.base import (
    Accepted,
    Attachment,
    Form,
    InDoubt,
    Mailbox,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.sendgrid.provider import SendGrid
from postledger.providers.sendgrid.settings import SendGridSettings
from tests.providers.messages import a_letter, a_message, a_window, send
from tests.providers.stands import opened, sendgrid_settings, taken_by
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    BadBody,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    Rule,
)
from tools.fakes.http.server import serving
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, SENDING_KEY


def at(
    story: Callable[[FakeSendGrid, SendGrid], Awaitable[None]],
    *,
    patience: float = 5.0,
    **more: object,
) -> None:
    async def run() -> None:
        async with serving(FakeSendGrid()) as fake:
            fake.service.account.add_identities("acme.example")
            settings = sendgrid_settings(fake.endpoint, patience=patience, **more)
            async with opened(SendGrid(settings)) as provider:
                await story(fake, provider)

    asyncio.run(run())


async def send_one(provider: SendGrid, message: OutgoingMessage | None = None) -> Outcome:
    [outcome] = await send(provider, [message or a_message(content=a_letter())])
    return outcome


# What SendGrid gets.


def test_sendgrid_takes_every_part_of_a_mail_and_its_id_is_the_mails() -> None:
    full = replace(
        a_letter(),
        to=Mailbox("alice@example.com", "Ärmel, Alice"),
        subject="Grüße",
        reply_to=(Mailbox("desk@acme.example"), Mailbox("shop@acme.example", "Shop")),
        headers={"X-Campaign": "Frühling", "List-Unsubscribe": "<https://acme.example/u>"},
        attachments=(Attachment("größe.pdf", "application/pdf", b"%PDF-1.7\x00\xff"),),
    )

    async def story(fake: FakeSendGrid, provider: SendGrid) -> None:
        message = a_message(content=full)
        outcome = await send_one(provider, message)

        [accepted] = fake.service.kept
        assert outcome == Accepted(accepted.message_id)
        assert accepted.mail.recipients == ("alice@example.com",)
        assert accepted.mail.custom_args == ({"postledger-id": message.reference},)
        assert not accepted.mail.categories

    at(story)


def test_a_window_uses_no_more_connections_than_it_may() -> None:
    async def story(fake: FakeSendGrid, provider: SendGrid) -> None:
        seen: set[int] = set()
        fake.set_faults(Rule(DelayAnswer(0.02)))
        window = a_window(*(f"r{n}@example.com" for n in range(30)), form=Form.PARTS)
        sending = asyncio.ensure_future(send(provider, window))
        while not sending.done():
            seen.add(len(fake.connections))
            await asyncio.sleep(0.001)

        assert {type(outcome) for outcome in await sending} == {Accepted}
        assert len(set(taken_by(fake))) == len(taken_by(fake)) == 30
        assert max(seen) == 3

    at(story, connections=3)


def test_what_sendgrid_cannot_take_is_refused_before_anything_is_sent() -> None:
    async def story(fake: FakeSendGrid, provider: SendGrid) -> None:
        message = a_message("björn@example.com", content=a_letter())

        assert type(await send_one(provider, message)) is Refused
        assert not fake.connections

    at(story)


# The table, at the wire: some errors, and what only a wire can do.

ROWS: list[tuple[Fault, type[Outcome], str, str, str]] = [
    (AnswerError("bad_request"), Refused, "BAD_REQUEST", "PERMANENT", "HTTP 400"),
    (AnswerError("not_found"), SenderBlocked, "ENDPOINT", "CONFIGURATION", "HTTP 404"),
    (AnswerError("internal_error"), TryLater, "SERVICE_UNAVAILABLE", "TRANSIENT", "HTTP 500"),
    (AnswerGateway(503), TryLater, "SERVICE_UNAVAILABLE", "TRANSIENT", "HTTP 503"),
    (AnswerGateway(500), InDoubt, "GATEWAY", "TRANSIENT", "HTTP 500"),
    (AnswerGateway(502, is_accepted=True), InDoubt, "GATEWAY", "TRANSIENT", "HTTP 502"),
    *((AnswerBadBody(body), InDoubt, "GATEWAY", "TRANSIENT", "HTTP 202") for body in BadBody),
    (DelayAnswer(600), InDoubt, "TIMEOUT", "TIMEOUT", "RequestTimeout"),
    (HalveAnswer(), InDoubt, "TIMEOUT", "TIMEOUT", "RequestTimeout"),
    (HalveAnswer(End.CLOSE), InDoubt, "", "TRANSIENT", "NetworkingError"),
    (DropAnswer(), InDoubt, "", "TRANSIENT", "NetworkingError"),
    (CutRequest(), InDoubt, "", "TRANSIENT", "NetworkingError"),
    (AnswerGarbage(), InDoubt, "", "TRANSIENT", "NetworkingError"),
]


SLOW = {DelayAnswer(600), HalveAnswer()}


@pytest.mark.slow
@pytest.mark.sample
def test_an_answer_of_the_service_is_its_row() -> None:
    async def story(fake: FakeSendGrid, provider: SendGrid, *, is_slow: bool) -> None:
        for fault, outcome, code, category, original in ROWS:
            if (fault in SLOW) is not is_slow:
                continue
            fake.set_faults(Rule(fault))

            result = await send_one(provider)

            assert type(result) is outcome, fault
            assert not isinstance(result, Accepted)
            assert result.code == (f"SENDGRID_{code}" if code else "NETWORK_ERROR"), fault
            assert (result.category, result.original_code) == (f"{category}_ERROR", original), fault
            assert result.duration is not None
            assert result.duration > timedelta(), fault

    at(partial(story, is_slow=False))
    at(partial(story, is_slow=True), patience=0.5)


def test_a_sender_that_nobody_verified_is_blocked_and_others_are_not() -> None:
    async def story(fake: FakeSendGrid, provider: SendGrid) -> None:
        stranger = replace(a_letter(), sender=Mailbox("news@stranger.example"))
        window = [a_message(content=stranger), a_message(position=1, content=a_letter())]

        blocked, accepted = await send(provider, window)

        assert isinstance(blocked, SenderBlocked)
        assert (blocked.code, blocked.is_account) == ("SENDGRID_SENDER_NOT_VERIFIED", False)
        assert isinstance(accepted, Accepted)

    at(story)


def test_a_key_that_sendgrid_does_not_know_blocks_the_account_and_one_that_may_send_is_enough() -> (
    None
):
    async def blocked(fake: FakeSendGrid, provider: SendGrid) -> None:
        outcome = await send_one(provider)

        assert isinstance(outcome, SenderBlocked)
        assert (outcome.code, outcome.is_account) == ("SENDGRID_CREDENTIALS", True)
        assert "SG." not in outcome.detail

    async def accepted(fake: FakeSendGrid, provider: SendGrid) -> None:
        assert isinstance(await send_one(provider), Accepted)

    at(blocked, api_key="SG.unknown.key")
    at(accepted, api_key=SENDING_KEY)


def test_credits_that_are_used_up_are_a_quota_and_too_many_requests_name_their_end() -> None:
    async def story(fake: FakeSendGrid, provider: SendGrid) -> None:
        account = fake.service.account
        account.credits.total = 1
        assert isinstance(await send_one(provider), Accepted)

        used_up = await send_one(provider)
        account.rate_limit.limit = 0
        too_many = await send_one(provider)

        assert isinstance(used_up, Throttled)
        assert (used_up.is_quota, used_up.retry_after) == (True, None)
        assert isinstance(too_many, Throttled)
        assert not too_many.is_quota
        assert too_many.retry_after is not None
        assert timedelta() < too_many.retry_after <= timedelta(seconds=61)

    at(story)


# The settings.


def test_the_endpoint_of_a_region_is_known() -> None:
    for region, host in [("global", "api.sendgrid.com"), ("eu", "api.eu.sendgrid.com")]:
        settings = SendGridSettings.model_validate({"api_key": API_KEY, "region": region})

        endpoint = settings.actual_endpoint

        assert (endpoint.host, endpoint.port, endpoint.is_encrypted) == (host, 443, True), region
        assert not endpoint.is_here, region


def test_wrong_settings_are_refused_and_no_key_is_repeated() -> None:
    cases: list[dict[str, object]] = [
        {},
        {"api_key": ""},
        {"api_key": "SG.with\nline break"},
        {"api_key": "SG.ключ"},
        {"api_key": API_KEY, "region": "us"},
        {"api_key": API_KEY, "connections": 101},
        {"api_key": API_KEY, "endpoint": "https://api.sendgrid.com"},
        {"api_key": API_KEY, "endpoint": "https://evil.example"},
        {"api_key": API_KEY, "endpoint": "http://127.0.0.1.evil.example"},
        {"api_key": API_KEY, "endpoint": "http://127.0.0.1/path"},
        {"api_key": API_KEY, "endpoint": "no URL"},
        {"api_key": API_KEY, "endpoint": "http://127.0.0.1:0"},
        {"api_key": API_KEY, "unknown": 1},
    ]
    for settings in cases:
        with pytest.raises(ValidationError) as refused:
            registry.build("sendgrid", settings)

        assert API_KEY not in str(refused.value), settings
