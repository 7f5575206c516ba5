"""Serves one stream for one turn: claims due batches and takes them through rounds."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field

from postledger.accounts.queries import Outgoing
from postledger.deliveries import ledger
from postledger.deliveries.entries import Batch, Body, Claim, StreamKind
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.context import Context
from postledger.dispatch.pace.permits import Pause
from postledger.dispatch.provider_pool import Blocked, OpenProvider
from postledger.dispatch.rounds import report
from postledger.dispatch.rounds.pipeline import Pipeline
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.lib.database_outage import OUTAGE_ERRORS

# A turn takes this many batches, and begins no round after this many seconds.
SINGLES_PER_TURN = 50
BATCHES_PER_TURN = 4
SLOW_RATE = 50.0  # mails a second: one batch lasts ten seconds and more
TURN_SECONDS = 2.0


@dataclass(slots=True)
class StreamWorker:
    stream: StreamFacts
    context: Context
    shared_bodies: Mapping[int, Body] = field(default_factory=dict)
    on_claim: Callable[[], None] = lambda: None
    is_claiming: bool = True
    has_worked: bool = False
    pause: Pause | None = None  # the stream gets no moment before it is over
    _pipeline: Pipeline | None = None

    @property
    def is_pacing(self) -> bool:
        return self._pipeline is not None and self._pipeline.is_pacing

    async def run(self) -> None:
        async with self.context.providers.use(self.stream) as usable:
            if isinstance(usable, Blocked):
                await self.context.holds.hold_blocked(self.stream.sender_id, usable)
                return
            sender, opened = usable
            claim = await self._claim(sender, opened)
            if claim is not None:
                await self._work(claim, sender, opened, self.context.compose_lock.shared())
            if self.context.stop.is_set():
                return
            if claim.has_suspects if claim else await self._has_suspects():
                await self._serve_suspect(sender, opened)

    async def _claim(self, sender: Outgoing, opened: OpenProvider) -> Claim | None:
        crashpoints.reached(Point.BEFORE_CLAIM)
        claim = await self.context.db.run(
            ledger.claim,
            self.stream.id,
            holder=self.context.name,
            limit=self._find_batch_count(sender),
            lease_time=opened.lease,
        )
        self.is_claiming = False
        self.on_claim()
        return claim

    def _find_batch_count(self, sender: Outgoing) -> int:
        if self.stream.kind is StreamKind.TRANSACTIONAL:
            return SINGLES_PER_TURN
        rate = sender.limits.lowest_rate
        # The rounds of a claim follow one another; a second claim uses the moments in between.
        return 1 if rate is not None and rate < SLOW_RATE else BATCHES_PER_TURN

    async def _has_suspects(self) -> bool:
        return await self.context.db.run(ledger.has_suspects, self.stream.id)

    async def _serve_suspect(self, sender: Outgoing, opened: OpenProvider) -> None:
        """Claims one suspect, and composes nothing else in this process until it is armed."""
        # The round leaves this stack once the batch is armed; without a claim it ends here.
        async with AsyncExitStack() as alone:
            await alone.enter_async_context(self.context.compose_lock.alone())
            claim = await self.context.db.run(
                ledger.claim_suspect,
                self.stream.id,
                holder=self.context.name,
                lease_time=opened.lease,
            )
            if claim is not None:
                await self._work(claim, sender, opened, alone)

    async def _work(
        self,
        claim: Claim,
        sender: Outgoing,
        opened: OpenProvider,
        composing: AbstractAsyncContextManager[object],
    ) -> None:
        """Takes a window of each batch through a round, again and again until the turn is over.

        `composing` is how the first round composes: beside others, or alone.
        """
        self.has_worked = True
        crashpoints.reached(Point.AFTER_CLAIM)
        pipeline = Pipeline(self.stream, self.context, claim, sender, opened, self.shared_bodies)
        self._pipeline = pipeline
        batches: Sequence[Batch] = claim.batches
        report.received(sum(batch.hi - batch.lo for batch in batches))
        ends_at = time.monotonic() + TURN_SECONDS
        try:
            while batches and not self._is_over(pipeline, ends_at):
                batches = await pipeline.run_round(batches, composing)
                composing = self.context.compose_lock.shared()
        except OUTAGE_ERRORS:
            await pipeline.give_back(batches)
            raise
        except Exception:
            # No process died, so no mail is blamed; tried alone, the good ones can be sent.
            await pipeline.give_back_suspects(batches)
            raise
        self.shared_bodies, self.pause = pipeline.shared_bodies, pipeline.pause
        await pipeline.give_back(batches)
        if claim.is_probe:
            await self.context.db.run(ledger.end_probe, claim)

    def _is_over(self, pipeline: Pipeline, ends_at: float) -> bool:
        if pipeline.is_blocked or pipeline.pause:
            return True
        return self.context.stop.is_set() or time.monotonic() >= ends_at
