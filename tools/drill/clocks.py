"""Workers whose clocks are wrong, all in the same way; and a database whose clock is set."""

import time
from datetime import timedelta

from postledger.deliveries import ledger, undecided
from postledger.deliveries.entries import Decision, SeenDelivery
from postledger.deliveries.states import State
from tools.drill import books, processes, skew
from tools.drill.drill import Drill
from tools.drill.losses import CAMPAIGN
from tools.drill.size import Size
from tools.drill.skew import SetClock

_SWEPT_WITHIN = 8.0


def skewed(drill: Drill, size: Size) -> None:
    library = skew.build_library(drill.folder)
    if library is None:
        drill.skipped.append("skewed clocks: there is no C compiler here")
        return
    for seconds in size.skews:
        _replace(drill, LD_PRELOAD=str(library), SKEW_SECONDS=str(seconds))
        drill.pass_time(size.pause + 5)
        # An outage under a wrong clock: how long the sender is held must not depend on it.
        drill.proxy.is_down = True
        drill.pass_time(size.pause)
        drill.proxy.is_down = False
        drill.pass_time(size.pause)
        drill.faults[f"clock wrong by {seconds} s"] += 1
    drill.come_to_rest()
    _replace(drill)


def stepped(drill: Drill, size: Size) -> None:
    """The database's clock is set on and back while mail is under way, and people press buttons.

    It stays where it ends up: to set it back by half an hour would only show that work planned in
    the future waits for it.
    """
    library = skew.build_library(drill.folder)
    if library is None:
        drill.skipped.append("steps of the database's clock: there is no C compiler here")
        return
    clock = SetClock(library, drill.folder / "clock")
    offset = 0
    clock.set_ahead(timedelta())
    drill.database.extra = clock.environment
    with drill.outage():
        drill.database.stop("fast")
        drill.database.start()
    for seconds in size.steps:
        drill.pass_time(3)
        processes.kill_one(drill)
        offset += seconds
        clock.set_ahead(timedelta(seconds=offset))
        drill.faults[f"database's clock set by {seconds} s"] += 1
        # Leases end at once, or later; a person looks when they have been swept. Work that was
        # planned before the clock was set back is due when it has caught up.
        drill.pass_time(_SWEPT_WITHIN + max(0, -seconds))
        books.persistently(lambda: _send_again(drill))


def _send_again(drill: Drill) -> None:
    """A person who believes the clock: the bytes of doubtful tries seem to have left long ago."""
    stream_id = drill.load.stream_id
    doubtful = undecided.find_undecided(stream_id, State.IN_DOUBT, limit=20)
    chosen = [SeenDelivery(doubt.position, doubt.last_try) for doubt in doubtful]
    if chosen:
        drill.load.asked.add(CAMPAIGN, len(chosen), at=time.time())
        taken = ledger.resolve(stream_id, chosen, decision=Decision.SEND_AGAIN, actor="alice")
        drill.faults["a person's send again"] += len(taken)


def _replace(drill: Drill, **extra: str) -> None:
    """All of them: one with the right time would hold the sender before the others notice."""
    for member in [*drill.fleet.of_role("worker"), *drill.fleet.of_role("beat")]:
        drill.fleet.terminate(member)
        drill.fleet.start(member.role, **extra)
