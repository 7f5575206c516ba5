"""The small worlds that are explored to their last state, and the larger ones for a quiet hour."""

from collections.abc import Iterator
from typing import NamedTuple

from tools.model.rules import Rule
from tools.model.world import (
    Answer,
    Batch,
    Budget,
    Delivery,
    Due,
    Key,
    Plan,
    Poison,
    State,
    Truth,
    Worker,
    World,
)

ONE = (Answer.ACCEPTED,)
# Two positions need fewer kinds of answers: one position shows what a refusal does to a delivery.
FEW = (Answer.ACCEPTED, Answer.IN_DOUBT, Answer.TRY_LATER)
TWO = (Answer.ACCEPTED, Answer.IN_DOUBT)
LATER = (Answer.ACCEPTED, Answer.TRY_LATER)
REFUSED = (Answer.ACCEPTED, Answer.REFUSED)


class Configuration(NamedTuple):
    name: str
    positions: int
    budget: Budget
    sizes: tuple[int, ...] = ()  # of the batches; empty: one that has them all
    due: Due = Due.NOW
    poison: Poison | None = None
    processes: tuple[int, ...] = (0, 0)  # of each worker
    plan: Plan = Plan()
    room: int = 0  # positions that have no delivery yet
    shows: tuple[Rule, ...] = ()  # rules without which a claim breaks here, or backstops of such

    def start(self) -> World:
        room = range(self.room)
        return World(
            deliveries=(
                *(Delivery(recipient=n) for n in range(self.positions)),
                *(Delivery(State.ABSENT) for _ in room),
            ),
            truths=(
                *(Truth(recipient=n) for n in range(self.positions)),
                *(Truth(recipient=-1) for _ in room),
            ),
            batches=tuple(self._batches()),
            workers=tuple(Worker(process=process) for process in self.processes),
            budget=self.budget,
            plan=self.plan,
            poison=self.poison,
        )

    def _batches(self) -> Iterator[Batch]:
        lo = 0
        for size in self.sizes or (self.positions,):
            if size:
                yield Batch(Key(lo, 1), lo, lo + size, due=self.due)
            lo += size


SMALL = (
    Configuration("one mail, killed, paused, clicked", 1, Budget(kills=1, pauses=1, clicks=1)),
    Configuration("one mail, paused, clicked twice", 1, Budget(pauses=1, clicks=2)),
    Configuration("one mail, held, cancelled", 1, Budget(kills=1, pauses=1, holds=1, cancels=1)),
    Configuration("one mail, cancelled, clicked", 1, Budget(pauses=1, clicks=1, cancels=1)),
    Configuration("one mail, barred, clicked", 1, Budget(pauses=1, clicks=1, verdicts=1)),
    Configuration("one mail, barred, clicked twice", 1, Budget(clicks=2, verdicts=1)),
    Configuration("one mail, barred, killed", 1, Budget(kills=1, pauses=1, verdicts=1)),
    Configuration("two mails, killed, halved", 2, Budget(kills=1, splits=1, answers=FEW)),
    Configuration(
        "two mails, killed, paused, halved", 2, Budget(kills=1, pauses=1, splits=1, answers=TWO)
    ),
    Configuration("two mails, killed, cancelled", 2, Budget(kills=1, cancels=1, answers=FEW)),
    Configuration("two mails, paused, barred", 2, Budget(pauses=1, verdicts=1, answers=TWO)),
    Configuration("two mails, barred, clicked", 2, Budget(clicks=1, verdicts=1, answers=TWO)),
    Configuration("two mails, clicked", 2, Budget(clicks=1, answers=FEW)),
    Configuration("three mails", 3, Budget(answers=FEW)),
    Configuration("three mails, killed, halved", 3, Budget(kills=1, splits=1, answers=TWO)),
)

# Where leases are lost and the lost ones come back, at a small price.
LEASES = tuple(it for it in SMALL if it.budget.kills and it.budget.pauses and not it.budget.clicks)

# Where a verdict meets a click.
BARRED = tuple(it for it in SMALL if it.budget.verdicts and it.budget.clicks)

# One claim of several batches.
SEVERAL = (
    Configuration(
        "two batches, killed, paused",
        2,
        Budget(kills=1, pauses=1, answers=ONE, batches=2),
        sizes=(1, 1),
    ),
    Configuration(
        "two batches, killed, cancelled",
        2,
        Budget(kills=1, cancels=1, answers=TWO, batches=2),
        sizes=(1, 1),
    ),
    Configuration(
        "two batches of three mails, killed",
        3,
        Budget(kills=1, answers=TWO, batches=2),
        sizes=(2, 1),
    ),
)

# One process with two workers, and mails that kill it. Fewer kills than it takes to fail a mail,
# so that nobody else's mail may fail: with as many, chance alone could hit one that is alone.
POISONED = (
    Configuration(
        "two batches, one poisoned, killed",
        2,
        Budget(kills=1, answers=ONE, batches=2),
        sizes=(1, 1),
        poison=Poison(frozenset({0})),
        processes=(1, 1),
        shows=(Rule.ALONE, Rule.COMPOSE_ALONE, Rule.ALONE_COUNTS),
    ),
    Configuration(
        "two mails, one poisoned, killed",
        2,
        Budget(kills=1, answers=ONE),
        poison=Poison(frozenset({1})),
        processes=(1, 1),
        shows=(Rule.ARM_RESETS, Rule.HALVE, Rule.ONE_STARTS_ANEW),
    ),
    Configuration(
        "three mails, one poisoned, killed",
        3,
        Budget(kills=1, answers=ONE),
        poison=Poison(frozenset({1})),
        processes=(1, 1),
        shows=(Rule.ROUNDS_ALONE, Rule.ALONE_ENDS),
    ),
)

# A ledger that is restored once, or the same backup twice.
RESTORED = (
    Configuration(
        "restored, paused",
        1,
        Budget(pauses=1, waits=1, answers=TWO, backups=1, restores=1),
        shows=(
            Rule.EPOCH_GATE,
            Rule.EPOCH_ARM,
            Rule.EPOCH_TOKEN,
            Rule.EPOCH_WAIT,
            Rule.EPOCH_ACCEPTED,
        ),
    ),
    Configuration(
        "restored, try later, settled twice",
        1,
        Budget(repeats=1, answers=LATER, backups=1, restores=1),
        shows=(Rule.EPOCH_TOKEN, Rule.EPOCH_SETTLE, Rule.EPOCH_DENIED),
    ),
    Configuration(
        "restored, try later, clicked",
        1,
        Budget(clicks=1, answers=LATER, backups=1, restores=1),
        shows=(Rule.EPOCH_TRY,),
    ),
    Configuration(
        "restored, refused, clicked twice",
        1,
        Budget(clicks=2, answers=REFUSED, backups=1, restores=1),
        shows=(Rule.EPOCH_TRY_ENDED,),
    ),
    Configuration(
        "restored, clicked",
        1,
        Budget(clicks=1, answers=TWO, backups=1, restores=1),
        shows=(Rule.EPOCH_ARM, Rule.EPOCH_GRACE),
    ),
    Configuration(
        "restored, cancelled",
        1,
        Budget(cancels=1, answers=TWO, backups=1, restores=1),
        shows=(Rule.EPOCH_FENCE, Rule.EPOCH_UPKEEP),
    ),
    Configuration(
        "restored, due later",
        1,
        Budget(answers=ONE, backups=1, restores=1),
        due=Due.LATER,
        shows=(Rule.EPOCH_GAP,),
    ),
    Configuration(
        "restored, throttled",
        1,
        Budget(releases=1, answers=ONE, backups=1, restores=1),
        due=Due.THROTTLED,
        shows=(Rule.EPOCH_FORWARD,),
    ),
    Configuration(
        "restored, snoozed",
        1,
        Budget(releases=1, answers=ONE, backups=1, restores=1),
        due=Due.SNOOZED,
        shows=(Rule.EPOCH_SNOOZE,),
    ),
    Configuration("two mails, restored", 2, Budget(answers=TWO, backups=1, restores=1)),
    Configuration(
        "a run of one, restored, clicked",
        0,
        Budget(clicks=1, answers=TWO, backups=1, restores=1),
        plan=Plan(frozenset({0}), is_run=True),
        room=3,
        shows=(Rule.PLANNED_AFTER,),
    ),
    Configuration(
        "two requests, restored twice",
        0,
        Budget(answers=ONE, backups=1, restores=2),
        plan=Plan(frozenset({0, 1})),
        room=6,
        processes=(0,),
        shows=(
            Rule.EPOCH_NOTICE,
            Rule.EPOCH_POSITION,
            Rule.EPOCH_EVIDENCE,
            Rule.EPOCH_NUMBER,
        ),
    ),
)

# Single mails that are cancelled, retries with new values, and failures that are superseded.
ENDED = (
    Configuration(
        "one mail cancelled, killed, paused, clicked",
        1,
        Budget(kills=1, pauses=1, clicks=1, mail_cancels=1, answers=FEW),
        shows=(Rule.CANCEL_UNARMED, Rule.CANCEL_DOUBT),
    ),
    Configuration(
        "one of two mails cancelled, killed",
        2,
        Budget(kills=1, mail_cancels=1, answers=TWO, batches=2),
        sizes=(1, 1),
    ),
    Configuration(
        "one mail cancelled, restored",
        1,
        Budget(mail_cancels=1, answers=TWO, backups=1, restores=1),
        shows=(Rule.EPOCH_CANCEL,),
    ),
    Configuration(
        "one mail, barred, clicked with new values",
        1,
        Budget(pauses=1, clicks=2, verdicts=1, fixes=1, answers=REFUSED),
        shows=(Rule.VALUES_UNARMED,),
    ),
    Configuration(
        "one mail, paused, clicked, readdressed",
        1,
        Budget(pauses=1, clicks=1, moves=1, answers=REFUSED),
        shows=(Rule.READDRESS_LEASE, Rule.READDRESS_UNTRIED),
    ),
    Configuration(
        "one mail, barred, clicked, superseded",
        1,
        Budget(pauses=1, clicks=1, verdicts=1, supersedes=1, answers=TWO),
        plan=Plan(next_position=1),
        room=1,
        shows=(Rule.SUPERSEDE_UNARMED, Rule.SUPERSEDE_ENDS),
    ),
    Configuration(
        "restored, barred, clicked, superseded",
        1,
        Budget(clicks=1, verdicts=1, supersedes=1, answers=ONE, backups=1, restores=1),
        plan=Plan(next_position=1),
        room=4,
        processes=(0,),
        shows=(Rule.EPOCH_SUPERSEDE,),
    ),
)

# The provider blocks the sender, and nobody acts in time, or somebody cancels or releases.
BLOCKED = (
    Configuration(
        "one mail, blocked, killed, clicked",
        1,
        Budget(kills=1, clicks=1, blocks=1, answers=TWO),
        shows=(Rule.GIVE_UP_LEASE, Rule.GIVE_UP_BLOCK),
    ),
    Configuration(
        "two batches, blocked, cancelled",
        2,
        Budget(cancels=1, blocks=1, answers=ONE, batches=2),
        sizes=(1, 1),
    ),
    Configuration(
        "one mail, blocked, held, superseded",
        1,
        Budget(pauses=1, holds=1, blocks=1, supersedes=1, answers=TWO),
        plan=Plan(next_position=1),
        room=1,
    ),
    Configuration(
        "blocked, restored",
        1,
        Budget(blocks=1, answers=TWO, backups=1, restores=1),
        shows=(Rule.EPOCH_UPKEEP,),
    ),
)

EVERY = SMALL + SEVERAL + POISONED + RESTORED + ENDED + BLOCKED


def about(rule: Rule) -> tuple[Configuration, ...]:
    """The configurations that are there for a rule; the first rules share theirs."""
    return tuple(it for it in EVERY if rule in it.shows) or SMALL


LARGE = (
    Configuration("one mail, killed, paused twice", 1, Budget(kills=1, pauses=2, clicks=1)),
    Configuration("one mail, killed, clicked twice", 1, Budget(kills=1, pauses=1, clicks=2)),
    Configuration("one mail, cancelled, clicked twice", 1, Budget(pauses=1, clicks=2, cancels=1)),
    Configuration("one mail, held, clicked", 1, Budget(pauses=1, clicks=1, holds=1, cancels=1)),
    Configuration(
        "two mails, paused, barred, try later", 2, Budget(pauses=1, verdicts=1, answers=FEW)
    ),
    Configuration(
        "two mails, barred, clicked, try later", 2, Budget(clicks=1, verdicts=1, answers=FEW)
    ),
    Configuration("two mails, all answers", 2, Budget(kills=1, pauses=1, splits=1)),
    Configuration("two mails, paused, clicked", 2, Budget(pauses=1, clicks=1)),
    Configuration("three mails, all answers", 3, Budget(splits=1)),
    Configuration(
        "two batches, killed, paused, in doubt",
        2,
        Budget(kills=1, pauses=1, answers=TWO, batches=2),
        sizes=(1, 1),
    ),
    Configuration(
        "three mails, killed, paused, halved", 3, Budget(kills=1, pauses=1, splits=1, answers=TWO)
    ),
    Configuration(
        "three batches, one poisoned, killed",
        3,
        Budget(kills=1, answers=ONE, batches=3),
        sizes=(1, 1, 1),
        poison=Poison(frozenset({0})),
        processes=(1, 1),
    ),
    Configuration(
        "two batches of three, one poisoned, killed",
        3,
        Budget(kills=1, answers=ONE, batches=2),
        sizes=(2, 1),
        poison=Poison(frozenset({1})),
        processes=(1, 1),
    ),
    Configuration(
        "two batches, one poisoned, killed twice",
        2,
        Budget(kills=2, answers=ONE, batches=2),
        sizes=(1, 1),
        poison=Poison(frozenset({0}), spares_others=False),
        processes=(0, 1, 1),
    ),
    Configuration(
        "restored, paused, clicked",
        1,
        Budget(pauses=1, clicks=1, answers=TWO, backups=1, restores=1),
    ),
    Configuration(
        "restored, clicked twice", 1, Budget(clicks=2, answers=TWO, backups=1, restores=1)
    ),
    Configuration(
        "restored, many answers, clicked",
        1,
        Budget(clicks=1, repeats=1, answers=(*FEW, Answer.REFUSED), backups=1, restores=1),
    ),
    Configuration(
        "restored twice, clicked twice", 1, Budget(clicks=2, answers=ONE, backups=1, restores=2)
    ),
    Configuration(
        "restored twice from two backups",
        1,
        Budget(clicks=1, answers=TWO, backups=2, restores=2),
        processes=(0,),
    ),
    Configuration(
        "a run of two, restored",
        0,
        Budget(answers=ONE, backups=1, restores=1),
        plan=Plan(frozenset({0, 1}), is_run=True),
        room=4,
    ),
    Configuration(
        "two batches, restored",
        2,
        Budget(answers=TWO, batches=2, backups=1, restores=1),
        sizes=(1, 1),
    ),
)
