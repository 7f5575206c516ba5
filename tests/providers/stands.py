"""Every provider, set up so that the same addresses make the same things happen."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from postledger.lib.clock import boottime
from postledger.providers.base import OutgoingMessage, Provider
from postledger.providers.sandbox import provider as sandbox
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.settings import SmtpSettings, Timeouts, Tls
from tests.providers.fake_smtp import FakeSmtp, serving

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


type Stands = Callable[[int, float], AbstractAsyncContextManager[Stand]]

STANDS: dict[str, Stands] = {"sandbox": sandbox_stand, "smtp": smtp_stand}
