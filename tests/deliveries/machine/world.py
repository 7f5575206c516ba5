"""The ledger and everybody around it, and what must hold after every step."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from postledger.deliveries import audit, ledger, states
from postledger.deliveries.entries import Claim, Entry, StreamKind, Window
from postledger.deliveries.states import State, Verb
from tests import cast
from tests.deliveries.machine import rows
from tests.deliveries.machine.fence import Fence
from tests.deliveries.machine.inside import Inside
from tests.deliveries.machine.outside import Mail, Outside
from tests.deliveries.machine.rows import Fact, Place
from tests.epochs import Backup

# What the ledger does by itself, and workers do: none of it happens to a stream that is fenced.
FENCED_OFF = frozenset(
    {
        *(Verb.ARM, Verb.SETTLE, Verb.SWEEP, Verb.DRAIN, Verb.GIVE_UP),
        *(Verb.CANCEL_DELIVERY, Verb.ERASE),
    }
)


@dataclass
class Worker:
    """What one worker remembers; it forgets everything when killed."""

    claim: Claim | None = None
    composed: list[tuple[Window, list[int]]] = field(default_factory=list)
    armed: list[tuple[Window, list[Entry]]] = field(default_factory=list)


@dataclass(frozen=True)
class Saved:
    """A backup of the database, and what the machine expected then."""

    tables: Backup
    inside: Inside
    minutes: int
    tries: int  # that had been made until then


class World:
    """The ledger, three workers, a provider and a person, each doing one thing at a time."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        # Of a run, or of a topic, whose recipients may bring mail forward and move.
        self.is_topic = self.coin()
        self.planned = cast.stream(StreamKind.TOPIC if self.is_topic else StreamKind.CAMPAIGN)
        self.transactional = cast.stream(StreamKind.TRANSACTIONAL)
        self.streams = [self.planned, self.transactional]
        self.workers = [Worker() for _ in range(3)]
        self.inside, self.outside, self.fence = Inside(), Outside(), Fence()
        self.backup: Saved | None = None

    def coin(self) -> bool:
        return self.random.random() < 1 / 2

    def stream(self) -> int:
        return self.random.choice(self.streams)

    def some[T](self, items: Collection[T]) -> list[T]:
        """Some of them, at least one, in their order."""
        count = self.random.randint(1, len(items))
        chosen = set(self.random.sample(range(len(items)), count))
        return [item for number, item in enumerate(items) if number in chosen]

    def mail(self, place: Place) -> Mail:
        stream_id, _ = place
        return (stream_id, self.outside.addresses[place]) if stream_id == self.planned else place

    def may_send(self, stream_id: int) -> bool:
        inside = self.inside
        stopped = inside.held | inside.cancelled | self.fence.closed
        return stream_id not in stopped and not inside.is_sender_held

    def ready_streams(self) -> list[int]:
        """The streams that may send, and have something to send."""
        waiting = {stream_id for stream_id, _ in self.waiting()}
        return [
            stream_id
            for stream_id in self.streams
            if stream_id in waiting and self.may_send(stream_id)
        ]

    def waiting(self) -> list[Place]:
        facts = self.inside.facts.items()
        return [place for place, fact in facts if fact.state is State.WAITING]

    @contextmanager
    def step(self, *verbs: Verb) -> Iterator[None]:
        """Runs a verb and holds every change against the transition table."""
        yield
        before, after = self.inside.facts, {}
        for place, fact, address in rows.read_lines(self.streams):
            after[place] = fact
            if address == ledger.ERASED:
                self.inside.erased.add(place)
            old = before.get(place)
            if old is None:
                self._check_new(place, fact, address)
            elif old != fact:
                self._check_change(place, old, fact, verbs)
        assert before.keys() <= after.keys()
        self.inside.facts = after

    def _check_new(self, place: Place, fact: Fact, address: str) -> None:
        """A line starts by waiting, but for one that a restored run plans after the restore."""
        self.outside.note_line(place, address)
        if place[0] == self.planned and self.fence.epoch > 1:
            assert fact.state is State.IN_DOUBT, f"{place} was planned again, and is not in doubt"
            self._check_attempts(place, Fact(State.WAITING, 0, 0), fact, [Verb.FENCE])
            self.fence.note_doubt(place)
        else:
            assert fact == Fact(State.WAITING, 0, 0)

    def _check_change(
        self, place: Place, before: Fact, after: Fact, verbs: Collection[Verb]
    ) -> None:
        allowed = any(states.allows(verb, before.state, after.state) for verb in verbs)
        stays_doubtful = before.state is after.state is State.IN_DOUBT and Verb.RECORD in verbs
        assert allowed or stays_doubtful, f"{verbs} moved {place} from {before} to {after}"
        assert place[0] not in self.fence.closed or FENCED_OFF.isdisjoint(verbs), (
            f"{verbs} moved {place} behind the fence from {before} to {after}"
        )
        assert after.last_try >= before.last_try
        self._check_attempts(place, before, after, verbs)
        is_fenced = Verb.FENCE in verbs and after.state is State.IN_DOUBT
        assert not is_fenced or place in self.fence.due, f"the fence doubts {place}: {before}"
        self.fence.note_change(place)
        if is_fenced:
            self.fence.note_doubt(place)

    def _check_attempts(
        self, place: Place, before: Fact, after: Fact, verbs: Collection[Verb]
    ) -> None:
        """Each attempt is counted once."""
        counted = self.inside.counted
        if after.attempts == before.attempts + 1:
            attempt = (*place, after.last_try)
            assert attempt not in counted, f"{place} counted try {after.last_try} twice"
            counted.add(attempt)
        elif after.attempts == before.attempts - 1 and Verb.RECORD in verbs:
            # The doubt was counted, and turned out to be a call that never started.
            assert before.state is State.IN_DOUBT
        elif after.attempts != before.attempts:
            assert after.attempts == 0
            assert Verb.REQUEUE in verbs
            self.inside.counted = {attempt for attempt in counted if attempt[:2] != place}

    def the_books_balance(self) -> None:
        for stream_id in self.streams:
            assert [str(finding) for finding in audit.audit(stream_id).discrepancies] == []

    def no_line_is_wrong(self) -> None:
        """Accepted was taken, and what ended otherwise was not, as far as the database can know."""
        taken = self.outside.taken
        for place, fact in self.inside.facts.items():
            # A failure may have been requeued, and taken, in a time that a restore has lost.
            if place in self.inside.by_word or place in self.fence.failed:
                continue
            if fact.state is State.ACCEPTED:
                assert taken[place], f"{place} is accepted, but nobody took it"
            elif fact.state not in {State.WAITING, State.IN_DOUBT}:
                assert not taken[place], f"{place} is {fact.state}, but was taken"
