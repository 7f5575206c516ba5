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


class Delivery(NamedTuple):
    """One line of the books."""

    state: State = State.WAITING
    last_try: int = 0
    attempts: int = 0
    doubts: frozenset[int] = NONE
    in_grace: bool = False  # resend_after lies ahead: bytes of a doubtful try may still leave


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


class Worker(NamedTuple):
    """The memory of one process; killing it leaves an idle one."""

    phase: Phase = Phase.IDLE
    key: Key = Key(0, 0)
    lease: int = 0
    in_time: bool = False  # by its own clock a call may still start
    version: int = 0
    lo: int = 0
    to: int = 0
    sends: tuple[int, ...] = ()
    barred: tuple[tuple[int, State], ...] = ()  # the gates' verdicts, to be committed by the arm
    answers: tuple[Answer, ...] = ()


class Truth(NamedTuple):
    """What really happened to one position, most of which the ledger cannot see."""

    handed: frozenset[int] = NONE  # tries a provider call was made for
    wire: frozenset[int] = NONE  # tries whose bytes may still arrive
    taken: frozenset[int] = NONE  # tries in the provider's journal
    known: frozenset[int] = NONE  # tries in that journal when a person let the mail go again
    disowned: frozenset[int] = NONE  # tries a person has counted as not sent
    ended: frozenset[int] = NONE  # attempts completed since the last requeue, doubts among them
    is_heard: bool = False  # an acceptance has reached the ledger
    by_word: bool = False  # the result is a person's word


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


# These make nearly every world there is; _replace takes nearly twice as long.
def with_delivery(world: World, position: int, delivery: Delivery, truth: Truth) -> World:
    deliveries = _put(world.deliveries, position, delivery)
    return World(deliveries, _put(world.truths, position, truth), *world[2:])


def with_truth(world: World, position: int, truth: Truth) -> World:
    return World(world[0], _put(world.truths, position, truth), *world[2:])


def with_batch(world: World, old: Batch, new: Batch | None) -> World:
    """Replace one row; None deletes it."""
    rows = list(world.batches)
    rows.remove(old)
    if new is not None:
        rows.append(new)
    return World(world[0], world[1], tuple(sorted(rows, key=_order)), *world[3:])


def with_new_batch(world: World, lo: int, hi: int, try_no: int) -> World:
    key = Key(lo, try_no)
    # Twins exist only where a rule was left out; live memory must not mistake one for another.
    used = {row.key for row in world.batches} | {worker.key for worker in world.workers}
    while key in used:
        key = key._replace(serial=key.serial + 1)
    return world._replace(batches=tuple(sorted((*world.batches, Batch(key, lo, hi)), key=_order)))


def with_worker(world: World, old: Worker, new: Worker) -> World:
    """Workers are interchangeable, so they are kept sorted and mirror images are one world."""
    rest = list(world.workers)
    rest.remove(old)
    return World(world[0], world[1], world[2], tuple(sorted((*rest, new))), *world[4:])


def _order(batch: Batch) -> Key:
    return batch.key


def _put[T](items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])
