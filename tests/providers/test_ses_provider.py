"""SES gets our own bytes, signed, once for each mail, and its answers become outcomes."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import MetadataRetrievalError
from pydantic import ValidationError

from postledger.lib import references
from postledger.lib.check_results import Level
from postledger.providers import registry
from postledger.providers.base import (
    Accepted,
    Finding,
    InDoubt,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.ses.credentials import MachineCredentials, NoCredentialsError
from postledger.providers.ses.provider import Ses
from postledger.providers.ses.settings import SesSettings
from postledger.providers.ses.signing import Signer
from tests.providers.messages import KEY, LARGE, SENDER, WIRE, a_letter, a_message, a_window, send
from tests.providers.raw_server import Peer, RawServer
from tests.providers.stands import opened, ses_settings, taken_by
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    Fault,
    HalveAnswer,
    Rule,
)
from tools.fakes.http.server import serving
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY, Service
from tools.fakes.ses.sigv4 import Credential


def at(
    story: Callable[[FakeSes, Ses], Awaitable[None]],
    *,
    service: Service | None = None,
    patience: float = 5.0,
    **more: object,
) -> None:
    async def run() -> None:
        async with serving(FakeSes(service or Service())) as fake:
            fake.service.account.add_identities("acme.example")
            fake.service.account.add_configuration_sets("main")
            settings = ses_settings(fake.endpoint, patience=patience, **more)
            async with opened(Ses(settings)) as provider:
                await story(fake, provider)

    asyncio.run(run())


async def send_one(provider: Ses, message: OutgoingMessage | None = None) -> Outcome:
    [outcome] = await send(provider, [message or a_message()])
    return outcome


# What SES gets.


def test_ses_gets_our_bytes_and_the_reference() -> None:
    async def story(fake: FakeSes, provider: Ses) -> None:
        for content in (WIRE, LARGE):
            fake.service.kept.clear()
            message = a_message(content=content)
            outcome = await send_one(provider, message)

            [accepted] = fake.service.kept
            assert outcome == Accepted(accepted.message_id)
            assert accepted.mail.raw == content
            assert accepted.mail.recipients == ("alice@example.com",)
            assert accepted.mail.configuration_set == "main"
            tags = dict(accepted.mail.tags)
            assert tags == {"postledger-id": message.reference}
            reference = references.read(tags["postledger-id"], [KEY])
            assert reference is not None
            assert reference.delivery_id.text() == message.id

    at(story, configuration_set="main")


def test_addresses_are_written_with_their_name_and_an_ascii_domain() -> None:
    async def story(fake: FakeSes, provider: Ses) -> None:
        message = a_message("anna@bücher.example", content=a_letter())
        assert isinstance(await send_one(provider, message), Accepted)

        [accepted] = fake.service.kept
        assert taken_by(fake) == ["anna@xn--bcher-kva.example"]
        assert b'From: "Acme News" <news@acme.example>\r\n' in accepted.mail.raw
        assert accepted.mail.senders == (SENDER,)

    at(story)


def test_the_id_of_the_request_is_a_tag_of_letters_that_ses_allows() -> None:
    async def story(fake: FakeSes, provider: Ses) -> None:
        base = a_message()
        tags = {"request_id": "a.b:c_d-" + "e" * 300}
        message = OutgoingMessage(
            base.id, base.reference, base.sender, base.recipient, base.content, tags
        )
        await send_one(provider, message)

        [accepted] = fake.service.kept
        assert dict(accepted.mail.tags)["request_id"] == "a_b_c_d-" + "e" * 248

    at(story)


def test_the_tags_of_a_notification_are_tags_of_the_mail() -> None:
    async def story(fake: FakeSes, provider: Ses) -> None:
        given = {"dedupeKey": "seat-1", "traceId": "t1", "subscriptionId": "7", "openEventId": "8"}
        await send_one(provider, replace(a_message(), tags=given))

        [accepted] = fake.service.kept
        tags = dict(accepted.mail.tags)
        assert {name: tags[name] for name in given} == given

    at(story)


def test_what_ses_cannot_take_is_refused_before_anything_is_sent() -> None:
    not_ascii = b"Reply-To: bj\xc3\xb6rn@example.com\r\n" + WIRE
    cases: list[tuple[str, OutgoingMessage, type[Outcome]]] = [
        ("recipient", a_message("björn@example.com"), Refused),
        ("no address", a_message("no address"), Refused),
        ("out of the document", a_message('"},"x@example.com'), Refused),
        ("sender", a_message(sender="nürnberg@acme.example"), SenderBlocked),
        ("header", a_message(content=not_ascii), Refused),
        ("size", a_message(content=WIRE + b"x" * 30_000_001), Refused),
    ]

    async def story(fake: FakeSes, provider: Ses) -> None:
        for case, message, outcome in cases:
            assert type(await send_one(provider, message)) is outcome, case
        assert not fake.connections

    at(story)


def test_a_window_uses_no_more_connections_than_it_may() -> None:
    async def story(fake: FakeSes, provider: Ses) -> None:
        seen: set[int] = set()
        fake.set_faults(Rule(DelayAnswer(0.02)))
        sending = asyncio.ensure_future(
            send(provider, a_window(*(f"r{n}@example.com" for n in range(30))))
        )
        while not sending.done():
            seen.add(len(fake.connections))
            await asyncio.sleep(0.001)

        assert {type(outcome) for outcome in await sending} == {Accepted}
        assert len(set(taken_by(fake))) == len(taken_by(fake)) == 30
        assert max(seen) == 3

    at(story, connections=3)


# The table, at the wire: an error of each outcome, and what only a wire can do.

ROWS: list[tuple[Fault, type[Outcome], str, str, str]] = [
    (AnswerError("MessageRejected"), Refused, "SES_MESSAGE_REJECTED", "PERMANENT", ""),
    (
        AnswerError("SendingPausedException"),
        SenderBlocked,
        "SES_ACCOUNT_SENDING_PAUSED",
        "PERMANENT",
        "",
    ),
    (AnswerError("LimitExceededException"), Throttled, "SES_DAILY_QUOTA_EXCEEDED", "QUOTA", ""),
    (AnswerError("ServiceUnavailable"), TryLater, "SES_SERVICE_UNAVAILABLE", "TRANSIENT", ""),
    (AnswerGateway(503), TryLater, "SES_SERVICE_UNAVAILABLE", "TRANSIENT", "HTTP 503"),
    (AnswerGateway(500), InDoubt, "SES_GATEWAY", "TRANSIENT", "HTTP 500"),
    (AnswerGateway(502, is_accepted=True), InDoubt, "SES_GATEWAY", "TRANSIENT", "HTTP 502"),
    (AnswerBadBody(), InDoubt, "SES_GATEWAY", "TRANSIENT", "HTTP 200"),
    (DelayAnswer(600), InDoubt, "SES_TIMEOUT", "TIMEOUT", "RequestTimeout"),
    (HalveAnswer(), InDoubt, "SES_TIMEOUT", "TIMEOUT", "RequestTimeout"),
    (DropAnswer(), InDoubt, "NETWORK_ERROR", "TRANSIENT", "NetworkingError"),
    (CutRequest(), InDoubt, "NETWORK_ERROR", "TRANSIENT", "NetworkingError"),
    (AnswerGarbage(), InDoubt, "NETWORK_ERROR", "TRANSIENT", "NetworkingError"),
]
SLOW = {DelayAnswer(600), HalveAnswer()}


@pytest.mark.slow
@pytest.mark.sample
def test_an_answer_of_the_service_is_its_row() -> None:
    async def story(fake: FakeSes, provider: Ses, *, is_slow: bool) -> None:
        for fault, outcome, code, category, original in ROWS:
            if (fault in SLOW) is not is_slow:
                continue
            fake.set_faults(Rule(fault))

            result = await send_one(provider)

            assert type(result) is outcome, fault
            assert not isinstance(result, Accepted)
            assert (result.code, result.category) == (code, f"{category}_ERROR"), fault
            name = fault.name if isinstance(fault, AnswerError) else original
            assert result.original_code == name, fault
            assert result.duration is not None
            assert result.duration > timedelta(), fault

    at(partial(story, is_slow=False))
    at(partial(story, is_slow=True), patience=0.5)


def test_a_sender_that_nobody_verified_is_blocked_and_without_production_access_the_account() -> (
    None
):
    async def story(fake: FakeSes, provider: Ses) -> None:
        stranger = "news@stranger.example"
        content = WIRE.replace(SENDER.encode(), stranger.encode())
        message = a_message(content=content, sender=stranger)

        blocked, accepted = await send(provider, [message, a_message(position=1)])
        fake.service.account.has_production_access = False
        without_access = await send_one(provider)

        assert isinstance(accepted, Accepted)
        for outcome, is_account in [(blocked, False), (without_access, True)]:
            assert isinstance(outcome, SenderBlocked)
            assert (outcome.code, outcome.is_account) == ("SES_IDENTITY_NOT_VERIFIED", is_account)

    at(story)


# Signatures and credentials.


def test_a_signature_is_that_of_botocore() -> None:
    aws = "email.eu-west-1.amazonaws.com"
    for method, url, host, body in [
        ("POST", f"https://{aws}/v2/email/outbound-emails", aws, b'{"Content":{}}'),
        ("GET", "http://127.0.0.1:4579/v2/email/account", "127.0.0.1:4579", b""),
    ]:
        for token in (None, "FwoGZXIvYXdzE=="):
            credentials = ReadOnlyCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", token)
            signer = Signer(credentials, region="eu-west-1", method=method, url=url, host=host)
            headers = {"Host": host, "Content-Type": "application/json"}
            while True:
                before = datetime.now(UTC).replace(microsecond=0)
                request = AWSRequest(method, url, dict(headers), body)
                SigV4Auth(credentials, "ses", "eu-west-1").add_auth(request)
                if datetime.now(UTC).replace(microsecond=0) == before:
                    break  # both are of one second

            assert dict(signer.sign(body, before)) == dict(request.headers.items()), (method, token)


def test_a_key_that_ses_does_not_know_blocks_the_account_and_one_of_a_session_needs_its_token() -> (
    None
):
    async def blocked(fake: FakeSes, provider: Ses) -> None:
        outcome = await send_one(provider)

        assert isinstance(outcome, SenderBlocked)
        assert (outcome.code, outcome.is_account) == ("SES_CREDENTIALS", True)

    async def accepted(fake: FakeSes, provider: Ses) -> None:
        assert isinstance(await send_one(provider), Accepted)

    at(blocked, access_key_id="AKIAUNKNOWN")
    service = Service(credentials={"ASIASESSION": Credential("secret", "the-token")})
    keys: dict[str, Any] = {"access_key_id": "ASIASESSION", "secret_access_key": "secret"}
    at(accepted, service=service, session_token="the-token", **keys)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    return monkeypatch


NO_KEYS: dict[str, Any] = {"access_key_id": "", "secret_access_key": ""}


def test_a_machine_without_credentials_cannot_open_the_account(
    machine: pytest.MonkeyPatch,
) -> None:
    provider = Ses(ses_settings("http://127.0.0.1:9", **NO_KEYS))

    with pytest.raises(OSError, match="no AWS credentials were found"):
        asyncio.run(provider.open())


def test_an_account_without_keys_uses_those_of_the_machine_and_reads_them_again_after_a_refusal(
    machine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write_keys(secret: str) -> None:
        (tmp_path / "credentials").write_text(
            f"[default]\naws_access_key_id = AKIAMACHINE\naws_secret_access_key = {secret}\n"
        )

    async def story(fake: FakeSes, provider: Ses) -> None:
        assert isinstance(await send_one(provider), SenderBlocked)
        write_keys("secret")
        assert isinstance(await send_one(provider), Accepted)

    write_keys("wrong")
    at(story, service=Service(credentials={"AKIAMACHINE": Credential("secret")}), **NO_KEYS)


def test_credentials_from_the_network_are_fetched_beside_the_event_loop(
    machine: pytest.MonkeyPatch,
) -> None:
    """The server of the credentials runs in the same loop: a blocking call would never end."""
    expires_at = datetime.now(UTC) + timedelta(hours=6)

    async def give(peer: Peer) -> None:
        await peer.read()
        document = {
            "AccessKeyId": "ASIACONTAINER",
            "SecretAccessKey": "secret",
            "Token": "the-token",
            "Expiration": expires_at.isoformat(),
        }
        body = json.dumps(document).encode()
        peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body)
        await peer.close()

    async def run() -> None:
        service = Service(credentials={"ASIACONTAINER": Credential("secret", "the-token")})
        async with serving(FakeSes(service)) as fake, RawServer((give,)).running() as server:
            service.account.add_identities(SENDER)
            uri = f"http://127.0.0.1:{server.port}/credentials"
            machine.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)
            async with opened(Ses(ses_settings(fake.endpoint, **NO_KEYS))) as provider:
                assert isinstance(await send_one(provider), Accepted)

    asyncio.run(run())


def test_keys_of_the_machine_with_a_stray_character_are_refused_before_any_mail_and_not_shown(
    machine: pytest.MonkeyPatch,
) -> None:
    keys = {
        "AWS_ACCESS_KEY_ID": ("AKIAHUSH\r", "the access key id that"),
        "AWS_SECRET_ACCESS_KEY": ("hush hush", "the secret access key that"),
        "AWS_SESSION_TOKEN": ("hüsh", "the session token that"),
    }
    for name, (wrong, words) in keys.items():
        for each in keys:
            machine.setenv(each, "FINE")
        machine.setenv(name, wrong)
        provider = Ses(ses_settings("http://127.0.0.1:9", **NO_KEYS))

        with pytest.raises(OSError, match=words) as raised:
            asyncio.run(provider.open())

        assert "correct it where it is set" in str(raised.value)
        assert "hush" not in str(raised.value).lower()


def test_a_machine_whose_keys_became_unusable_hands_nothing_over(
    machine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write_keys(token: str) -> None:
        (tmp_path / "credentials").write_text(
            "[default]\naws_access_key_id = ASIAMACHINE\naws_secret_access_key = secret\n"
            f"aws_session_token = {token}\n"
        )

    async def story(fake: FakeSes, provider: Ses) -> None:
        write_keys("to ken")
        assert isinstance(await send_one(provider), SenderBlocked)  # the token was refused
        outcome = await send_one(provider)

        assert isinstance(outcome, TryLater)
        assert "session token" in outcome.detail
        assert "to ken" not in outcome.detail

    write_keys("wrong")
    service = Service(credentials={"ASIAMACHINE": Credential("secret", "the-token")})
    at(story, service=service, **NO_KEYS)


class Chain:
    """Credentials that expire and are renewed, as those of an instance."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)
        self.is_away = False
        self.error: Exception = MetadataRetrievalError(error_msg="away")
        self.count = 0
        self.token = "token"
        self.threads: set[str] = set()

    def find(self) -> Credentials:
        first = self.fetch()
        return RefreshableCredentials(
            first["access_key"],
            first["secret_key"],
            first["token"],
            self.now + timedelta(hours=1),
            self.fetch,
            "instance",
            time_fetcher=lambda: self.now,
        )

    def fetch(self) -> dict[str, str]:
        self.threads.add(threading.current_thread().name)
        if self.is_away:
            raise self.error
        self.count += 1
        return {
            "access_key": f"KEY{self.count}",
            "secret_key": "secret",
            "token": self.token,
            "expiry_time": (self.now + timedelta(hours=1)).isoformat(),
        }


def test_credentials_are_renewed_beside_the_mail_while_the_old_ones_are_valid() -> None:
    async def run() -> None:
        chain = Chain()
        source = MachineCredentials(chain.find)
        assert (await source.get()).access_key == "KEY1"
        chain.now += timedelta(minutes=50)

        assert (await source.get()).access_key == "KEY1"  # without waiting
        async with asyncio.timeout(60):
            while (await source.get()).access_key == "KEY1":  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.001)
        assert chain.count == 2
        assert threading.main_thread().name not in chain.threads

    asyncio.run(run())


def test_expired_credentials_are_renewed_before_the_mail_or_not_used() -> None:
    async def run() -> None:
        chain = Chain()
        source = MachineCredentials(chain.find)
        await source.get()
        chain.now += timedelta(hours=2)
        found = await asyncio.gather(*(source.get() for _ in range(5)))
        assert {credentials.access_key for credentials in found} == {"KEY2"}

        chain.now += timedelta(minutes=59)
        chain.is_away = True
        assert (await source.get()).access_key == "KEY2"  # still valid
        chain.now += timedelta(hours=1)
        with pytest.raises(NoCredentialsError, match="away"):
            await source.get()

    asyncio.run(run())


def test_renewal_goes_on_after_any_error_and_the_error_is_named() -> None:
    async def run(error: Exception | None, words: str) -> None:
        chain = Chain()
        source = MachineCredentials(chain.find, retry_after=0)
        await source.get()
        chain.now += timedelta(hours=2)
        if error:
            chain.is_away, chain.error = True, error
        else:
            chain.token = "to\nken"

        with pytest.raises(NoCredentialsError, match=words):
            await source.get()

        chain.is_away, chain.token = False, "token"
        assert (await source.get()).access_key != "KEY1", words

    errors: list[tuple[Exception | None, str]] = [
        (MetadataRetrievalError(error_msg="away"), "MetadataRetrievalError: .* away"),
        (KeyError("hush"), "KeyError$"),
        (json.JSONDecodeError("hush", "hush", 0), "JSONDecodeError$"),
        (None, "session token"),
    ]
    for error, words in errors:
        asyncio.run(run(error, words))


# Settings and checks.


def test_wrong_settings_are_refused_by_name() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "region"),
        ({"region": "moon"}, "such as eu-west-1"),
        ({"region": "eu-" + "west" * 20 + "-1"}, "such as eu-west-1"),
        ({"region": "eu" + "-west" * 10 + "-1"}, "such as eu-west-1"),
        ({"region": "eu-west-1", "unheard_of": 1}, "unheard_of"),
        ({"region": "eu-west-1", "access_key_id": "a"}, "secret_access_key"),
        ({"region": "eu-west-1", "secret_access_key": "a"}, "access_key_id"),
        ({"region": "eu-west-1", "session_token": "a"}, "session_token"),
        ({"region": "eu-west-1", "access_key_id": "a\r\n", "secret_access_key": "b"}, "breaks"),
        (
            {
                "region": "eu-west-1",
                "access_key_id": "AKIAFAKE",
                "secret_access_key": "a",
                "session_token": "a",
            },
            "--unset session_token",
        ),
        ({"region": "eu-west-1", "configuration_set": "a b"}, "such as main"),
        ({"region": "eu-west-1", "configuration_set": "a" * 65}, "such as main"),
        ({"region": "eu-west-1", "from_identity_arn": "arn:aws:s3:::x"}, "such as arn:aws:ses:"),
        ({"region": "eu-west-1", "connections": 0}, "connections"),
        ({"region": "eu-west-1", "timeouts": {"call": 31}}, "call"),
        ({"region": "eu-west-1", "timeouts": {"request": 30}}, "request"),
    ]
    for settings, complaint in cases:
        with pytest.raises(ValidationError, match=complaint):
            registry.build("ses", settings)


def test_mail_and_credentials_go_to_aws_or_this_machine_and_nowhere_else() -> None:
    for endpoint in [
        "https://email.eu-west-1.amazonaws.com",
        "https://email.eu-west-1.amazonaws.com:443/",
        "https://email-fips.eu-west-1.amazonaws.com",
        "https://email.eu-west-1.api.aws",
        "http://127.0.0.1:4579",
        "http://[::1]:4579",
        "https://localhost:4579",
    ]:
        registry.build("ses", {"region": "eu-west-1", "endpoint": endpoint})
    for endpoint in [
        "http://email.eu-west-1.amazonaws.com",
        "https://email.eu-west-1.amazonaws.com:8443",
        "https://email.us-east-1.amazonaws.com",
        "https://email.eu-west-1.amazonaws.com.evil.example",
        "https://email.eu-west-1.amazonaws.com@evil.example",
        "https://s3.eu-west-1.amazonaws.com",
        "https://evil.example/email.eu-west-1.amazonaws.com",
        "https://email.eu-west-1.amazonaws.com/path",
        "https://192.0.2.1",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "ftp://127.0.0.1",
        "email.eu-west-1.amazonaws.com",
        "https://email.eu-west-1.amazonaws.com:http",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://[::1",
    ]:
        with pytest.raises(ValidationError, match=r"https://email\.eu-west-1|of another region"):
            registry.build("ses", {"region": "eu-west-1", "endpoint": endpoint})


def test_the_endpoint_of_a_region_is_known_and_no_secret_is_shown() -> None:
    keys = {"access_key_id": "ASIA", "secret_access_key": "hush", "session_token": "hush"}
    for region, host in [
        ("eu-west-1", "email.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", "email.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "email.cn-north-1.amazonaws.com.cn"),
    ]:
        settings = SesSettings.model_validate({"region": region, **keys})

        endpoint = settings.actual_endpoint
        assert (endpoint.host, endpoint.port, endpoint.is_encrypted) == (host, 443, True), region
        assert "hush" not in repr(settings), region


def test_a_call_takes_thirty_seconds_at_most() -> None:
    assert registry.build("ses", {"region": "eu-west-1"}).call_time == 30


def test_a_check_sends_nothing_and_names_the_settings_to_change() -> None:
    async def run(change: dict[str, object]) -> Sequence[Finding]:
        async with serving(FakeSes()) as fake:
            fake.service.account.add_identities("acme.example")
            fake.service.account.add_configuration_sets("main")
            account = {
                "region": "us-east-1",
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
                "endpoint": fake.endpoint,
                "configuration_set": "main",
                **change,
            }
            findings = await registry.load_module("ses").check(account, ["news@acme.example"])
            assert not fake.service.kept
            return findings

    cases: list[tuple[dict[str, object], list[str], list[str]]] = [
        ({}, [], []),
        ({"secret_access_key": "wrong"}, ["access_key_id"], ["secret_access_key"]),
        ({"endpoint": "http://127.0.0.1:9"}, ["region", "endpoint"], []),
    ]
    for change, settings, secrets in cases:
        failed = [each for each in asyncio.run(run(change)) if each.level is not Level.OK]

        assert [name for finding in failed for name in finding.settings] == settings, change
        assert [name for finding in failed for name in finding.secrets] == secrets, change
