"""Every provider, set up so that the same addresses make the same things happen."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from postledger.providers.base import OutgoingMessage, Provider
from postledger.providers.sandbox import provider as sandbox
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.settings import Settings, Timeouts, Tls
from tests.providers.fake_smtp import FakeSmtp, serving

SLOW = 0.8


@dataclass(frozen=True, slots=True)
class Stand:
    provider: Provider
    taken: Callable[[], list[str]]  # recipients in the order in which they were taken


def smtp_settings(server: FakeSmtp, *, patience: float = 5.0, **more: object) -> Settings:
    timeouts = Timeouts(
        connect=patience, command=patience, body=patience, answer=patience, quit=patience
    )
    return Settings.model_validate(
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

    async with opened(sandbox.Sandbox(sandbox.Settings(slow=SLOW), sink=sink)) as provider:
        yield Stand(provider, lambda: taken)


@asynccontextmanager
async def smtp_stand(lanes: int, patience: float) -> AsyncIterator[Stand]:
    async with serving(FakeSmtp(slow=SLOW)) as server:
        settings = smtp_settings(server, connections=lanes, patience=patience)
        async with opened(Smtp(settings)) as provider:
            yield Stand(provider, lambda: server.recipients)


type Stands = Callable[[int, float], AbstractAsyncContextManager[Stand]]

STANDS: dict[str, Stands] = {"sandbox": sandbox_stand, "smtp": smtp_stand}
