"""People who hold, release, cancel, requeue, resolve and send to the rest, while processes die."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from postledger.campaigns.launches import launching
from postledger.deliveries import ledger, undecided
from postledger.deliveries.entries import Decision, SeenDelivery
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.errors import RefusedError
from tools.drill import books, processes, runs
from tools.drill.drill import Drill
from tools.drill.losses import CAMPAIGN
from tools.drill.size import Size

_ACTOR = "alice"
_AT_ONCE = 50
_LINES = 100


@dataclass
class _Desk:
    """Somebody with every button at hand."""

    drill: Drill
    run_id: UUID
    streams: list[int] = field(default_factory=list)  # campaigns that may be cancelled

    def hold(self) -> None:
        ledger.hold(self.drill.load.stream_id, reason=Reason.PAUSED, actor=_ACTOR)

    def release(self) -> None:
        ledger.release(self.drill.load.stream_id)

    def hold_sender(self) -> None:
        ledger.hold_sender(self.drill.load.sender_id, reason=Reason.PAUSED, actor=_ACTOR)

    def release_sender(self) -> None:
        ledger.release_sender(self.drill.load.sender_id)

    def open_campaign(self) -> None:
        load = self.drill.load
        stream_id = books.open_campaign(load.workspace_id, load.sender_id, "Short")
        load.campaigns += 1
        self.streams.append(stream_id)
        books.plan(stream_id, load.reserve(_LINES), _LINES, words=("", "refuse+"))

    def cancel(self) -> None:
        if self.streams:
            ledger.cancel(self.streams.pop(0), actor=_ACTOR)

    def requeue(self) -> None:
        """Gives failures another chance: some of them are refused again."""
        for stream_id in self._all():
            seen = _list_undecided(stream_id, State.FAILED)
            if seen:
                self.drill.load.asked.add(CAMPAIGN, len(seen), at=time.time())
                ledger.requeue(stream_id, seen, actor=_ACTOR)

    def count_as_sent(self) -> None:
        self._resolve(Decision.COUNT_AS_SENT)

    def count_as_not_sent(self) -> None:
        self._resolve(Decision.COUNT_AS_NOT_SENT)

    def send_again(self) -> None:
        """Refused for as long as the bytes of the doubtful try may still leave."""
        self._resolve(Decision.SEND_AGAIN)

    def send_to_the_rest(self) -> None:
        load = self.drill.load
        try:
            launching.launch_remaining(
                load.workspace_id, self.run_id, actor=_ACTOR, now=datetime.now(UTC)
            )
        except RefusedError:
            self.drill.faults["rest refused"] += 1

    def _resolve(self, decision: Decision) -> None:
        for stream_id in self._all():
            seen = _list_undecided(stream_id, State.IN_DOUBT)[:5]
            if seen:
                ledger.resolve(stream_id, seen, decision=decision, actor=_ACTOR)

    def _all(self) -> list[int]:
        return [self.drill.load.stream_id, *self.streams]


def _list_undecided(stream_id: int, state: State) -> list[SeenDelivery]:
    return [
        SeenDelivery(delivery.position, delivery.last_try)
        for delivery in undecided.find_undecided(stream_id, state, limit=_AT_ONCE)
    ]


def busy(drill: Drill, size: Size) -> None:
    run_id = runs.launch(drill, "people", contacts=_LINES, word="refuse+")
    desk = _Desk(drill, run_id)
    deeds: list[Callable[[], None]] = [
        desk.hold,
        desk.release,
        desk.hold_sender,
        desk.release_sender,
        desk.open_campaign,
        desk.cancel,
        desk.requeue,
        desk.count_as_sent,
        desk.count_as_not_sent,
        desk.send_again,
        desk.send_to_the_rest,
    ]
    for number in range(size.deeds):
        deed = deeds[number % len(deeds)] if number < len(deeds) else random.choice(deeds)
        books.persistently(deed)
        drill.faults[f"a person's {deed.__name__.replace('_', ' ')}"] += 1
        if random.random() < 0.5:
            processes.kill_one(drill)
        drill.pass_time(random.uniform(0.2, 1.5))
    for deed in (desk.release, desk.release_sender):
        books.persistently(deed)
