"""One immutable value that holds ledger, workers, provider and the bounds of an exploration."""

from enum import StrEnum
from typing import NamedTuple

NONE = frozenset[int]()


class State(StrEnum):
    WAITING = "waiting"
    ACCEPTED = "accepted"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPPRESSED = "suppressed"
    IN_DOUBT = "in_doubt"
    ABSENT = "absent"  # no delivery has this position


UNSENT = (State.FAILED, State.CANCELLED, State.SUPPRESSED)


class Answer(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    TRY_LATER = "try later"
    THROTTLED = "throttled"
    NOT_SENT = "not sent"
    IN_DOUBT = "in doubt"


EVERY_ANSWER = (
    Answer.ACCEPTED,
    Answer.IN_DOUBT,
    Answer.REFUSED,
    Answer.TRY_LATER,
    Answer.THROTTLED,
)


class Phase(StrEnum):
    IDLE = "idle"
    CLAIMED = "claimed"
    READING = "reading"
    COMPOSED = "composed"
    ARMED = "armed"


class Due(StrEnum):
    """When a batch may be claimed, seen from the moment of the backup."""

    NOW = "now"
    LATER = "later"
    THROTTLED = "throttled"  # later too, but a release brings it forward
    SNOOZED = "snoozed"  # later too, but its recipient may bring it forward


class Block(StrEnum):
    """Whether the provider refuses the sender."""

    NONE = "none"
    STANDS = "stands"
    OVERDUE = "overdue"  # and nobody acted in time
    RELEASED = "released"


BLOCKED = (Block.STANDS, Block.OVERDUE)


class Fence(StrEnum):
    LIFTED = "lifted"
    UNSEEN = "unseen"  # the database has gone back in time and nobody has noticed
    FALLEN = (
        "fallen"  # a new epoch has begun, the deliveries of the lost time are as they were restored
    )
    JUDGED = "judged"  # whatever may have gone in the lost time is in doubt


class Delivery(NamedTuple):
    """One delivery of the books."""

    state: State = State.WAITING
    last_try: int = 0
    attempts: int = 0
    doubts: frozenset[int] = NONE
    in_grace: bool = False  # resend_after lies ahead: bytes of a doubtful try may still leave
    recipient: int = 0
    epoch: int = 1  # in which it was planned
    was_armed: bool = False  # an attempt of it was stored that the gates did not end
    values: int = 0  # that it has, its address among them: those of planning, or newer ones


class Key(NamedTuple):
    """The name of a batch: where it began and its try; the serial tells twins apart."""

    first: int
    try_no: int
    serial: int = 0


class Batch(NamedTuple):
    key: Key
    lo: int
    hi: int
    armed_to: int | None = None
    lease: int = 0  # 0: nobody has it
    is_fresh: bool = False  # lease_until lies in the future of the database's clock
    version: int = 0
    has_losses: bool = False  # a lease was lost before it was armed
    lone_losses: int = 0  # those lost while it was alone with its process
    is_alone: bool = False  # the lease was taken for this batch alone
    due: Due = Due.NOW
    epoch: int = 1  # in which due_at lies: what an earlier one made due may have gone


class Part(NamedTuple):
    """One batch of a claim, and the window of it that goes in this round."""

    key: Key
    in_time: bool = True  # by the worker's own clock a call may still start
    version: int = 0
    lo: int = 0
    to: int = 0  # lo: it has no window
    sends: tuple[int, ...] = ()
    barred: tuple[tuple[int, State], ...] = ()  # the gates' verdicts, to be committed by the arm
    answers: tuple[Answer, ...] = ()


class Worker(NamedTuple):
    """The memory of one stream worker, with its claim; killing its process leaves an idle one."""

    phase: Phase = Phase.IDLE
    lease: int = 0
    parts: tuple[Part, ...] = ()
    is_alone: bool = False
    epoch: int = 1
    process: int = 0  # those with the same number die together; 0: a process of its own


class Truth(NamedTuple):
    """What really happened to one position, most of which the ledger cannot see."""

    handed: frozenset[int] = NONE  # tries a provider call was made for
    wire: frozenset[int] = NONE  # tries whose bytes may still arrive
    taken: frozenset[int] = NONE  # tries in the provider's journal
    known: frozenset[int] = NONE  # tries in that journal when a person let the mail go again
    early: frozenset[int] = NONE  # tries of an earlier epoch
    disowned: frozenset[int] = NONE  # tries a person has counted as not sent
    ended: frozenset[int] = NONE  # attempts completed since the last requeue, doubts among them
    is_heard: bool = False  # an acceptance has reached the ledger
    by_word: bool = False  # the result is a person's word
    recipient: int = 0  # whom the first mail of this position went to, or is to go to
    is_excused: bool = False  # nobody can know whether a try of an earlier epoch was sent
    lone_deaths: int = 0  # processes that died while they composed this mail and nothing else
    values: frozenset[int] = NONE  # that were handed over


class Page(NamedTuple):
    """What an operator's page showed when it was drawn."""

    position: int
    state: State
    last_try: int


class Budget(NamedTuple):
    """How many more faults and decisions this world may meet."""

    kills: int = 0
    pauses: int = 0
    clicks: int = 0
    holds: int = 0
    cancels: int = 0
    splits: int = 0
    verdicts: int = 0
    answers: tuple[Answer, ...] = EVERY_ANSWER  # what the provider may say
    batches: int = 1  # that one claim may take
    repeats: int = 0  # settles that commit and are done again, as nobody heard that they did
    waits: int = 0  # claims that are given back until later
    releases: int = 0  # throttled and snoozed batches that are brought forward
    backups: int = 0
    restores: int = 0
    mail_cancels: int = 0  # single mails that are cancelled
    fixes: int = 0  # of a contact whose mail failed: its retry has new values
    supersedes: int = 0  # failures whose recipients a later run plans again
    blocks: int = 0  # of the sender, by the provider
    moves: int = 0  # of contacts, to another address while their notification waits


class Poison(NamedTuple):
    """Which mails kill the process that composes them, and when the ledger acts on it."""

    positions: frozenset[int]
    halve_after: int = 2
    fail_after: int = 2
    spares_others: bool = True  # kills by chance are too few to fail a mail that kills nobody


class Plan(NamedTuple):
    """Who has no delivery yet, in a run or as requests that are still to come."""

    recipients: frozenset[int] = NONE
    next_position: int = 0
    is_run: bool = False


class Backup(NamedTuple):
    """The ledger's part of a world, and what it had heard and been told until then."""

    deliveries: tuple[Delivery, ...]
    batches: tuple[Batch, ...]
    told: tuple[Truth, ...]
    is_held: bool
    is_cancelled: bool
    plan: Plan
    epoch: int
    block: Block
    drains_to: State


class Era(NamedTuple):
    """Where the ledger stands in time."""

    epoch: int = 1
    fence: Fence = Fence.LIFTED
    backup: Backup | None = None
    last_epoch: int = 1  # the highest there ever was; a witness outside the database knows it
    in_grace: bool = False  # bytes of an earlier epoch may still leave
    has_come: bool = False  # the time for which later batches wait
    leaps: int = 0  # how many epochs the numbers leapt over when this one began


ALWAYS = Era()  # of a ledger that was never copied


class World(NamedTuple):
    deliveries: tuple[Delivery, ...]
    truths: tuple[Truth, ...]
    batches: tuple[Batch, ...]
    workers: tuple[Worker, ...]
    budget: Budget
    is_held: bool = False
    is_cancelled: bool = False
    page: Page | None = None
    wrong: str = ""  # a step that must never be taken, named by the move that took it
    era: Era = ALWAYS
    plan: Plan = Plan()
    poison: Poison | None = None
    block: Block = Block.NONE
    drains_to: State = State.CANCELLED  # what the drain books, as the cancel found the sender

    @property
    def is_stopped(self) -> bool:
        """Whether nothing may be claimed or armed: it is held, cancelled or blocked."""
        return self.is_held or self.is_cancelled or self.block in BLOCKED


# These make nearly every world there is; _replace takes nearly twice as long.
def with_delivery(world: World, position: int, delivery: Delivery, truth: Truth) -> World:
    deliveries = _put(world.deliveries, position, delivery)
    return World(deliveries, _put(world.truths, position, truth), *world[2:])


def with_budget(world: World, budget: Budget) -> World:
    return World(world[0], world[1], world[2], world[3], budget, *world[5:])


def with_truth(world: World, position: int, truth: Truth) -> World:
    return World(world[0], _put(world.truths, position, truth), *world[2:])


def with_batch(world: World, old: Batch, new: Batch | None) -> World:
    """Replace one row; None deletes it."""
    rows = list(world.batches)
    rows.remove(old)
    if new is not None:
        rows.append(new)
    return World(world[0], world[1], tuple(sorted(rows, key=_order)), *world[3:])


def with_new_batch(world: World, lo: int, hi: int, try_no: int, *, is_retry: bool = False) -> World:
    key = Key(lo, try_no)
    # Twins exist only where a rule was left out; live memory must not mistake one for another.
    used = {row.key for row in world.batches}
    used |= {part.key for worker in world.workers for part in worker.parts}
    while key in used:
        key = key._replace(serial=key.serial + 1)
    era = world.era
    # A retry waits for a while, perhaps until after the fence that is about to fall.
    epoch = era.epoch + (is_retry and era.fence is Fence.UNSEEN)
    added = Batch(key, lo, hi, epoch=epoch)
    return world._replace(batches=tuple(sorted((*world.batches, added), key=_order)))


def with_worker(world: World, old: Worker, new: Worker) -> World:
    """Workers are interchangeable, so they are kept sorted and mirror images are one world."""
    rest = list(world.workers)
    rest.remove(old)
    return World(world[0], world[1], world[2], tuple(sorted((*rest, new))), *world[4:])


def with_part(worker: Worker, old: Part, new: Part | None) -> Worker:
    """Replace one part of a claim; None drops it, and a claim without parts is over."""
    index = worker.parts.index(old)
    middle = () if new is None else (new,)
    parts = (*worker.parts[:index], *middle, *worker.parts[index + 1 :])
    return worker._replace(parts=parts) if parts else idle(worker)


def idle(worker: Worker) -> Worker:
    return Worker(process=worker.process)


def _order(batch: Batch) -> Key:
    return batch.key


def _put[T](items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])
