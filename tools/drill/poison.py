"""Deaths before anything is armed: of the same claim again and again, and of one poisoned mail."""

import time
from datetime import UTC, datetime

from postledger.deliveries.states import State
from postledger.lib.crashpoints import Point
from postledger.transactional import actions as transactional
from postledger.transactional.requests import MailRequest
from tools.drill import books, reading, smtp_server, tenants
from tools.drill.drill import Drill
from tools.drill.fleet import LEASE
from tools.drill.losses import TRANSACTIONAL
from tools.drill.oracle import Rule
from tools.drill.size import Size
from tools.drill.waiting import until

_MAILS = 50
_DEATHS = 3
_PATIENCE = 600.0


def three_deaths(drill: Drill, size: Size) -> None:
    """No innocent mail fails because its worker died three times before it was armed."""
    owners = _two_tenants(drill, "deaths")
    drill.come_to_rest()  # or somebody else's mail would be what they die of
    _without_workers(drill)
    promised = [_ask(drill, owner, f"deaths{owner}") for owner in owners]
    for _ in range(_DEATHS):
        _die_of_a_claim(drill)
    drill.faults["three deaths in a row of one claim"] += 1
    _start_workers(drill, size)
    drill.load.is_fed = True
    drill.come_to_rest()
    _expect(drill, [mail for mails in promised for mail in mails], failed=0)


def poisoned_mail(drill: Drill, size: Size) -> None:
    """Two tenants, one mail that kills its worker: that one fails, and all others go.

    The second tenant's mails come after the first death: what a worker has armed when an unknown
    poison kills it is in doubt, and rightly so.
    """
    owners = _two_tenants(drill, "poison")
    drill.come_to_rest()
    _without_workers(drill)
    poisoned = _address(f"poison{owners[0]}", 17)
    drill.known.poisoned.add(poisoned)
    promised = _ask(drill, owners[0], f"poison{owners[0]}")
    drill.fleet.next_crash = lambda role: None if role == "web" else f"{Point.COMPOSE}:{poisoned}"
    deaths = drill.fleet.kills[Point.COMPOSE]
    _start_workers(drill, size)
    until(lambda: _has_died(drill, deaths), seconds=_PATIENCE)
    promised += _ask(drill, owners[1], f"poison{owners[1]}")
    until(lambda: _is_over(drill, owners), seconds=_PATIENCE, every=0.2)
    drill.fleet.next_crash = lambda _role: None
    drill.faults["a poisoned mail"] += 1
    for member in drill.fleet.workers():
        drill.fleet.kill(member, why="poisoned")
    _start_workers(drill, size)
    drill.load.is_fed = True
    _expect(drill, promised, failed=1)


def _has_died(drill: Drill, deaths: int) -> bool:
    drill.fleet.replace_dead()
    return drill.fleet.kills[Point.COMPOSE] > deaths


def _is_over(drill: Drill, owners: list[int]) -> bool:
    drill.fleet.replace_dead()
    return not books.persistently(lambda: reading.waiting(*owners))


def _die_of_a_claim(drill: Drill) -> None:
    """One worker reads what it claimed, and dies; nobody takes its place before the lease ends."""
    dying = drill.fleet.start("beat", CRASH_AT=f"{Point.AFTER_READ}:1")
    until(lambda: dying in drill.fleet.replace_dead(replaces=False), seconds=_PATIENCE)
    time.sleep(LEASE + 1)


def _two_tenants(drill: Drill, name: str) -> list[int]:
    number = len(drill.load.workspaces)
    owners = [tenants.create(f"{name}-{number + n}", drill.proxy.port)[0] for n in range(2)]
    drill.load.workspaces += owners
    return owners


def _ask(drill: Drill, workspace_id: int, name: str) -> list[str]:
    """Single mails over the path that every request takes."""
    promised: list[str] = []
    for number in range(_MAILS):
        address = _address(name, number)
        words = f"News {smtp_server.mark(address)}"
        drill.load.asked.add(TRANSACTIONAL, 1, at=time.time())
        answer = transactional.accept(
            workspace_id,
            mails=[MailRequest(address, "News", html=f"<p>{words}</p>", text=words)],
            request_id=address,
            now=datetime.now(UTC),
        )
        promised += answer.ids
    drill.customer.promised += promised
    return promised


def _address(name: str, number: int) -> str:
    return f"{name}+s{number}@drill.example"


def _without_workers(drill: Drill) -> None:
    drill.load.is_fed = False
    for member in drill.fleet.workers():
        drill.fleet.kill(member, why="to begin with")


def _start_workers(drill: Drill, size: Size) -> None:
    for role in ("beat", *["worker"] * (size.workers - 1)):
        crash = drill.fleet.next_crash(role)
        drill.fleet.start(role, **({"CRASH_AT": crash} if crash else {}))


def _expect(drill: Drill, mails: list[str], *, failed: int) -> None:
    ledger_ = books.persistently(lambda: reading.ledger(*drill.load.workspaces))
    states = [ledger_[mail].state for mail in mails]
    counts = (states.count(State.FAILED), states.count(State.ACCEPTED))
    if counts != (failed, len(mails) - failed):
        drill.violate(
            Rule.END_HAS_CAUSE, f"{counts[0]} of {len(mails)} failed, {counts[1]} were accepted"
        )
