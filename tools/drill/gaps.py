"""A database that goes back in time: a standby that lagged is promoted, a backup is restored.

Requests that were acknowledged in the lost time are gone, which no program can mend; they are
counted apart, and must be exactly those that the harness knows of. What waited in the restored
state may have been sent in the lost time: the fence must fall by itself, put it in doubt, and let
nothing go until a person lifts it.
"""

import time
from collections.abc import Callable
from contextlib import closing

import psycopg

from postledger.lib.ids import DeliveryId
from tools.drill import books, clusters, fence, reading
from tools.drill.drill import Drill
from tools.drill.oracle import Rule
from tools.drill.services import Postgres
from tools.drill.size import Size
from tools.drill.waiting import until

_LAG = 5.0
_FALLS_WITHIN = 60.0
_WAITING = 900  # mails, more than are sent in the lost time

_LINES = """
SELECT d.stream_id, d.position FROM deliveries_delivery d WHERE d.state = 'waiting'
"""


def promoted(drill: Drill, size: Size) -> None:
    for _ in range(size.gaps):
        _lose_time(drill, _promote)
        drill.faults["standby promoted that lagged"] += 1


def restored(drill: Drill, size: Size) -> None:
    for _ in range(size.gaps):
        _lose_time(drill, _restore)
        drill.faults["backup restored"] += 1


type Loss = Callable[[Drill], Callable[[], Postgres]]


def _promote(drill: Drill) -> Callable[[], Postgres]:
    standby = clusters.start_standby(drill.database)
    clusters.catch_up(drill.database, standby)
    clusters.cut_off(standby)

    def lose() -> Postgres:
        clusters.promote(drill.database, standby)
        return standby

    return lose


def _restore(drill: Drill) -> Callable[[], Postgres]:
    backup = drill.database.folder / f"backup-{time.time_ns()}"
    clusters.back_up(drill.database, backup)
    return lambda: clusters.restore(drill.database, backup)


def _lose_time(drill: Drill, begin: Loss) -> None:
    """Nothing is asked for at the two ends of the lost time, so that its requests are known."""
    drill.pass_time(2)
    drill.load.is_fed = False
    first = drill.load.reserve(_WAITING)
    books.plan(drill.load.stream_id, first, _WAITING)
    drill.customer.stop()
    before = len(drill.customer.promised)
    lose = begin(drill)
    drill.customer.start()
    _wait(drill, _LAG)
    drill.customer.stop()
    gone = drill.customer.promised[before:]
    drill.known.in_gap.update(gone)
    with drill.outage():
        successor = lose()
        drill.known.fenced |= _waiting_in(successor)
        clusters.take_over(drill.database, successor)
    _count_apart(drill, gone)
    _pass_the_fence(drill)
    drill.load.stream_id = books.open_campaign(drill.load.workspace_id, drill.load.sender_id)
    drill.load.campaigns += 1
    drill.load.is_fed = True
    drill.customer.start()
    drill.pass_time(3)


def _wait(drill: Drill, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        drill.fleet.replace_dead()
        time.sleep(0.1)


def _waiting_in(successor: Postgres) -> set[str]:
    """What the fence has to put in doubt, read before anybody else reaches the database."""
    with closing(psycopg.connect(successor.url, autocommit=True)) as connection:
        rows = connection.execute(_LINES).fetchall()
    return {DeliveryId(stream_id, position).text() for stream_id, position in rows}


def _count_apart(drill: Drill, gone: list[str]) -> None:
    """What the harness says was lost is what the ledger does not have; no more, and no less."""
    ledger = books.persistently(lambda: reading.ledger(*drill.load.workspaces))
    missing = {mail for mail in drill.customer.promised if mail not in ledger}
    if missing != drill.known.in_gap:
        drill.violate(
            Rule.PROMISE_KEPT,
            f"{len(gone)} requests were acknowledged in the gap, and {len(missing)} are missing",
        )


def _pass_the_fence(drill: Drill) -> None:
    if not fence.is_built():
        drill.skipped.append("the fence: this installation has none")
        return
    until(
        lambda: (drill.fleet.replace_dead(), fence.is_down())[1], seconds=_FALLS_WITHIN, every=0.2
    )
    fence.lift()
