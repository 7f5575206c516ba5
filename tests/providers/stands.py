"""Every provider, set up so that the same addresses make the same things happen."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from postledger.lib.clock import boottime
from postledger.providers.base import InDoubt, NotSent, Outcome, OutgoingMessage, Provider
from postledger.providers.sandbox import provider as sandbox
from postledger.providers.sendgrid.provider import SendGrid
from postledger.providers.sendgrid.settings import SendGridSettings
from postledger.providers.ses.provider import Ses
from postledger.providers.ses.settings import SesSettings
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.settings import SmtpSettings, Timeouts, Tls
from tests.providers.cutting_relay import CuttingRelay
from tests.providers.fake_smtp import FakeSmtp, serving
from tests.providers.messages import SENDER, a_window
from tools.fakes.http.faults import (
    AnswerError,
    AnswerGarbage,
    DelayAnswer,
    DropAnswer,
    Fault,
    Rule,
)
from tools.fakes.http.server import serving as serving_http
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

SLOW = 0.8


@dataclass(slots=True)
class SettableClock:
    """A clock that can be set forward, as a suspended machine finds its own when it wakes."""

    seconds_slept: float = 0.0

    def sleep(self, seconds: float) -> None:
        self.seconds_slept += seconds

    def __call__(self) -> float:
        return boottime() + self.seconds_slept


@dataclass(frozen=True, slots=True)
class Stand:
    provider: Provider
    taken: Callable[[], list[str]]  # recipients in the order in which they were taken
    clock: SettableClock
    # A request of HTTP is handed over before the service can be slow.
    interrupted_while_slow: type[Outcome] = NotSent

    def window(self, *recipients: str) -> list[OutgoingMessage]:
        """Mails in the form of the provider."""
        return a_window(*recipients, form=self.provider.form)


def smtp_settings(server: FakeSmtp, *, patience: float = 5.0, **more: object) -> SmtpSettings:
    timeouts = Timeouts(
        connect=patience, command=patience, body=patience, answer=patience, quit=patience
    )
    return SmtpSettings.model_validate(
        {
            "host": "127.0.0.1",
            "port": server.port,
            "tls": Tls.NONE,
            "ehlo_name": "client.example",
            "connections": 1,
            "timeouts": timeouts,
            **more,
        }
    )


@asynccontextmanager
async def opened[P: Provider](provider: P) -> AsyncIterator[P]:
    await provider.open()
    try:
        yield provider
    finally:
        await provider.close()


@asynccontextmanager
async def sandbox_stand(lanes: int, patience: float) -> AsyncIterator[Stand]:
    taken: list[str] = []

    def sink(messages: Sequence[OutgoingMessage]) -> None:
        taken.extend(message.recipient for message in messages)

    clock = SettableClock()
    made = sandbox.Sandbox(sandbox.SandboxSettings(slow=SLOW, hang=600), sink=sink, clock=clock)
    async with opened(made) as provider:
        yield Stand(provider, lambda: taken, clock)


@asynccontextmanager
async def smtp_stand(lanes: int, patience: float) -> AsyncIterator[Stand]:
    async with serving(FakeSmtp(slow=SLOW)) as server:
        settings = smtp_settings(server, connections=lanes, patience=patience)
        clock = SettableClock()
        async with opened(Smtp(settings, clock=clock)) as provider:
            yield Stand(provider, lambda: server.recipients, clock)


def rules_by_address(*, refuse: str, later: str, throttle: str, block: str) -> list[Rule]:
    """The faults of a fake, four of them under the names that it gives to errors."""
    faults: dict[str, Fault] = {
        "refuse": AnswerError(refuse),
        "later": AnswerError(later),
        "throttle": AnswerError(throttle),
        "block": AnswerError(block),
        "vanish": DropAnswer(),
        "slow": DelayAnswer(SLOW),
        "hang": DelayAnswer(600),
        "garbage": AnswerGarbage(),
        "nul": AnswerError(refuse, "no \0 such \ud800 user \x7f"),
    }
    return [Rule(fault, recipient=f"{word}[+@]*") for word, fault in faults.items()]


SES_RULES = rules_by_address(
    refuse="MessageRejected",
    later="InternalServiceErrorException",
    throttle="TooManyRequestsException",
    block="SendingPausedException",
)
SENDGRID_RULES = rules_by_address(
    refuse="bad_request",
    later="internal_error",
    throttle="too_many_requests",
    block="forbidden",
)


def ses_settings(endpoint: str, *, patience: float = 5.0, **more: object) -> SesSettings:
    return SesSettings.model_validate(
        {
            "region": "us-east-1",
            "access_key_id": ACCESS_KEY_ID,
            "secret_access_key": SECRET_ACCESS_KEY,
            "endpoint": endpoint,
            "timeouts": {"connect": patience, "request": patience, "call": 2 * patience},
            **more,
        }
    )


def taken_by(fake: FakeSes | FakeSendGrid) -> list[str]:
    return [address for accepted in fake.service.kept for address in accepted.mail.recipients]


@asynccontextmanager
async def ses_stand(lanes: int, patience: float) -> AsyncIterator[Stand]:
    async with (
        serving_http(FakeSes()) as fake,
        CuttingRelay(fake.port, b'"broken').running() as relay,
    ):
        fake.service.account.add_identities(SENDER)
        fake.set_faults(*SES_RULES)
        settings = ses_settings(relay.endpoint, patience=patience, connections=lanes)
        clock = SettableClock()
        async with opened(Ses(settings, clock=clock)) as provider:
            yield Stand(provider, lambda: taken_by(fake), clock, InDoubt)


def sendgrid_settings(endpoint: str, *, patience: float = 5.0, **more: object) -> SendGridSettings:
    return SendGridSettings.model_validate(
        {
            "api_key": API_KEY,
            "endpoint": endpoint,
            "timeouts": {"connect": patience, "request": patience, "call": 2 * patience},
            **more,
        }
    )


@asynccontextmanager
async def sendgrid_stand(lanes: int, patience: float) -> AsyncIterator[Stand]:
    async with (
        serving_http(FakeSendGrid()) as fake,
        CuttingRelay(fake.port, b'"broken').running() as relay,
    ):
        fake.service.account.add_identities(SENDER)
        fake.set_faults(*SENDGRID_RULES)
        settings = sendgrid_settings(relay.endpoint, patience=patience, connections=lanes)
        clock = SettableClock()
        async with opened(SendGrid(settings, clock=clock)) as provider:
            yield Stand(provider, lambda: taken_by(fake), clock, InDoubt)


type Stands = Callable[[int, float], AbstractAsyncContextManager[Stand]]

STANDS: dict[str, Stands] = {
    "sandbox": sandbox_stand,
    "sendgrid": sendgrid_stand,
    "ses": ses_stand,
    "smtp": smtp_stand,
}
