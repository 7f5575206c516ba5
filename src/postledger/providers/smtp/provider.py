"""Hands messages to an SMTP server over pooled connections."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from postledger.lib.clock import Clock, Deadline, boottime
from postledger.providers import windows
from postledger.providers.base import Outcome, OutgoingMessage
from postledger.providers.smtp.courier import Trip
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.settings import Settings
from postledger.providers.windows import Turns


def build(settings: Mapping[str, object]) -> "Smtp":
    return Smtp(Settings.model_validate(settings))


class Smtp:
    """One recipient for each transaction, and no retries: that is the caller's business."""

    def __init__(self, settings: Settings, *, clock: Clock = boottime) -> None:
        self._settings = settings
        self._clock = clock
        self._pool: Pool | None = None

    @property
    def window_size(self) -> int:
        return self._settings.connections

    @property
    def call_time(self) -> float:
        """The wait after the dot, and a minute at most to get there."""
        timeouts = self._settings.timeouts
        return timeouts.answer + 2 * timeouts.command

    async def open(self) -> None:
        self._pool = Pool(self._settings)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def send(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        if self._pool is None:
            raise RuntimeError("the provider is not open")
        trip = Trip(
            self._settings,
            self._pool,
            window,
            start_by=Deadline(deadline - self.call_time, self._clock),
            dot_by=Deadline(deadline - self._settings.timeouts.answer, self._clock),
        )
        lanes = min(len(window), self._settings.connections)
        async with aclosing(windows.carry(Turns(len(window)), trip.lane, lanes)) as outcomes:
            async for report in outcomes:
                yield report
