"""Random sequences of every verb, by several workers, against the real database.

After each step: the transition table holds, every delivery has a result or exactly one live
batch, the counters equal a recount, each attempt is counted once, a stale lease changes nothing,
and the provider took no mail twice that nobody asked to send again.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from postledger.deliveries import audit, entries, ledger, queries, states
from postledger.deliveries.entries import (
    Claim,
    Decision,
    Entry,
    Evidence,
    Kind,
    Seen,
    Window,
)
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State, Verb
from tests import cast

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# What the provider did with a mail, and what the worker will be told.
ANSWERS = (
    "accepted",
    "accepted",
    "refused",
    "try_later",
    "throttled",
    "not_sent",
    "lost",
    "broken",
)
NOW = timedelta()
# A broken rule need only be found, not told in the fewest steps (broken_rules.py).
EXAMPLES = int(os.environ.get("EXAMPLES", "60"))
STEPS = 50
PHASES = [Phase.generate] if "EXAMPLES" in os.environ else list(Phase)


@dataclass(frozen=True)
class Fact:
    """What a delivery's row says."""

    state: State
    last_try: int
    attempts: int


@dataclass
class Worker:
    """What one worker remembers; it forgets everything when killed."""

    claim: Claim | None = None
    composed: list[tuple[Window, list[int]]] = field(default_factory=list)
    armed: list[tuple[Window, list[Entry]]] = field(default_factory=list)


class Machine:
    """The ledger, three workers, a provider and a person, each doing one thing at a time."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.workers = [Worker() for _ in range(3)]
        self.streams = [cast.stream(Kind.CAMPAIGN), cast.stream(Kind.TRANSACTIONAL)]
        self.facts: dict[tuple[int, int], Fact] = {}
        self.counted: set[tuple[int, int, int]] = set()
        self.taken: Counter[tuple[int, int]] = Counter()
        self.taken_tries: set[tuple[int, int, int]] = set()
        self.armed_tries: set[tuple[int, int, int]] = set()
        self.asked: Counter[tuple[int, int]] = Counter()
        self.by_word: set[tuple[int, int]] = set()
        self.seen: list[tuple[int, Seen]] = []
        self.cancelled: set[int] = set()
        self.held: set[int] = set()
        self.is_sender_held = False
        self.keys = 0

    def act(self) -> None:
        """Does one of the things that can be done now, the likely ones more often."""
        moves: list[tuple[int, Callable[[], None], object]] = [
            (8, self.claim_and_compose, True),
            (6, self.compose_the_next_windows, self.idle()),
            (16, self.arm, any(worker.composed for worker in self.workers)),
            (16, self.settle, any(worker.armed for worker in self.workers)),
            (2, self.wait, self.idle()),
            (6, self.a_lease_runs_out, any(worker.claim for worker in self.workers)),
            (2, self.all_leases_run_out_and_are_swept, True),
            (6, self.an_event_proves_acceptance, self.taken_tries),
            (8 if self.held else 3, self.hold_or_release, True),
            (8 if self.is_sender_held else 2, self.hold_or_release_the_sender, True),
            (1, self.cancel, True),
            (8, self.drain, self.cancelled),
            (2, self.keep_house, True),
            (2, self.a_person_is_forgotten, True),
            (4, self.a_person_opens_the_page, self.open_cases()),
            (8, self.a_person_decides, self.cases()),
            (5, self.a_person_requeues, self.cases()),
            (2, self.enqueue, True),
        ]
        possible = [move for weight, move, may in moves if may for _ in range(weight)]
        move = self.random.choice(possible)
        note(move.__name__)
        move()

    def coin(self) -> bool:
        return self.random.random() < 1 / 2

    def stream(self) -> int:
        return self.random.choice(self.streams)

    @contextmanager
    def step(self, *verbs: Verb) -> Iterator[None]:
        """Runs a verb and holds every change against the transition table."""
        yield
        after = self.read()
        for place, fact in after.items():
            before = self.facts.get(place)
            if before is None:
                assert fact == Fact(State.WAITING, 0, 0)
            elif before != fact:
                self.check_change(place, before, fact, verbs)
        assert self.facts.keys() <= after.keys()
        self.facts = after

    def check_change(
        self, place: tuple[int, int], before: Fact, after: Fact, verbs: Sequence[Verb]
    ) -> None:
        allowed = any(states.allows(verb, before.state, after.state) for verb in verbs)
        stays_doubtful = before.state is after.state is State.IN_DOUBT and Verb.RECORD in verbs
        assert allowed or stays_doubtful, f"{verbs} moved {place} from {before} to {after}"
        assert after.last_try >= before.last_try
        if after.attempts == before.attempts + 1:
            attempt = (*place, after.last_try)
            assert attempt not in self.counted, f"{place} counted try {after.last_try} twice"
            self.counted.add(attempt)
        elif after.attempts == before.attempts - 1 and Verb.RECORD in verbs:
            # The doubt was counted, and turned out to be a call that never started.
            assert before.state is State.IN_DOUBT
        elif after.attempts != before.attempts:
            assert after.attempts == 0
            assert Verb.REQUEUE in verbs
            self.counted = {attempt for attempt in self.counted if attempt[:2] != place}

    def read(self) -> dict[tuple[int, int], Fact]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT stream_id, position, state, last_try, attempts FROM deliveries_delivery"
                " WHERE stream_id = ANY(%s)",
                [self.streams],
            )
            return {(s, p): Fact(State(state), t, a) for s, p, state, t, a in cursor.fetchall()}

    def plan(self) -> None:
        mails = self.random.randint(3, 7)
        for stream_id in self.streams:
            with self.step():
                cast.enqueue(stream_id, range(mails))
        self.keys = mails

    def enqueue(self) -> None:
        repeated, fresh = self.random.randint(0, 3), self.random.randint(0, 2)
        keys = [*range(min(repeated, self.keys)), *range(self.keys, self.keys + fresh)]
        stream_id = self.stream()
        with self.step():
            try:
                cast.enqueue(stream_id, keys)
            except ledger.StreamClosedError:
                assert stream_id in self.cancelled
        self.keys += fresh

    def claim_and_compose(self) -> None:
        stream_id, limit = self.stream(), self.random.randint(1, 3)
        with self.step():
            taken = ledger.claim(stream_id, holder="w", limit=limit, lease_time=cast.LEASE)
        if taken:
            # Whoever had this worker's place before is killed: it forgets, its lease does not.
            number = self.random.randint(0, len(self.workers) - 1)
            self.workers[number] = Worker(claim=taken)
            self.compose(self.workers[number], fresh=False)

    def compose_the_next_windows(self) -> None:
        worker = self.random.choice(self.idle())
        self.compose(worker, fresh=self.coin())

    def idle(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.claim and not worker.armed]

    def compose(self, worker: Worker, *, fresh: bool) -> None:
        assert worker.claim is not None
        size = self.random.randint(1, 4)
        batches = queries.leased(worker.claim) if fresh else worker.claim.batches
        windows = [Window(b, min(b.lo + size, b.hi)) for b in batches]
        worker.composed = [
            (window, [recipient.position for recipient in queries.waiting([window])])
            for window in windows
        ]

    def arm(self) -> None:
        worker = self.random.choice([one for one in self.workers if one.composed])
        assert worker.claim is not None
        verdicts: list[Entry] = []
        sends: dict[int, list[int]] = {}
        for window, positions in worker.composed:
            judged = [p for p in positions if self.random.randint(0, 5) == 0]
            give = self.random.choice([entries.suppressed, entries.invalid])
            verdicts += [give(p, code="no") for p in judged]
            sends[window.batch.id] = [p for p in positions if p not in judged]
        windows = [window for window, _ in worker.composed]
        held = self.is_held(windows[0].batch.stream_id)
        with self.step(Verb.ARM):
            armed = ledger.arm(
                worker.claim,
                windows,
                lease_time=cast.LEASE,
                verdicts=verdicts or (None if all(sends.values()) else []),
            )
        assert not (armed and held), "a window was armed although its stream or sender is held"
        worker.composed = []
        if not armed:
            return
        for window in armed:
            self.hand_over(worker, window, sends[window.batch.id])

    def hand_over(self, worker: Worker, window: Window, positions: list[int]) -> None:
        """The provider acts at once; what it did reaches the ledger later, or never."""
        results = []
        for position in positions:
            place = (window.batch.stream_id, position)
            attempt = (*place, window.batch.try_number)
            assert self.facts[place].state is State.WAITING, f"sent {place}: {self.facts[place]}"
            assert attempt not in self.armed_tries, f"{attempt} was handed over twice"
            answer = self.random.choice(ANSWERS)
            if answer != "not_sent":
                self.armed_tries.add(attempt)
            if answer in {"accepted", "lost"}:
                self.taken[place] += 1
                self.taken_tries.add(attempt)
                assert self.taken[place] <= 1 + self.asked[place], f"{place} was sent twice"
            results.append(answer_to_entry(answer, position))
        worker.armed.append((window, results))

    def is_held(self, stream_id: int) -> bool:
        facts = queries.stream(stream_id)
        assert facts is not None
        return bool(facts.cancelled_at or facts.stream_hold or facts.sender_hold)

    def settle(self) -> None:
        prefix = self.random.randint(0, 4)
        worker = self.random.choice([one for one in self.workers if one.armed])
        assert worker.claim is not None
        windows = [window for window, _ in worker.armed]
        results = [entry for _, given in worker.armed for entry in given]
        # Sometimes only the first mails have an answer yet: a prefix is settled.
        settled_to: dict[int, int] = {}
        if prefix and len(windows) == 1 and windows[0].batch.lo + prefix < windows[0].to:
            cut = windows[0].batch.lo + prefix
            settled_to = {windows[0].batch.id: cut}
            results = [entry for entry in results if entry.position < cut]
        before = self.facts
        with self.step(Verb.SETTLE, Verb.RECORD):
            settled = ledger.settle(worker.claim, windows, results=results, settled_to=settled_to)
        self.check_stale(before, settled.lost)
        lost = {window.batch.id for window in settled.lost}
        self.go_on(worker, lost, settled_to)

    def check_stale(self, before: dict[tuple[int, int], Fact], lost: Sequence[Window]) -> None:
        """Positions of a lost window change by evidence only."""
        for window in lost:
            for position in range(window.batch.lo, window.to):
                place = (window.batch.stream_id, position)
                old, new = before.get(place), self.facts.get(place)
                if old is None or new is None or old == new:
                    continue
                assert new.state is old.state or states.allows(Verb.RECORD, old.state, new.state)

    def go_on(self, worker: Worker, lost: set[int], settled_to: dict[int, int]) -> None:
        assert worker.claim is not None
        rest = []
        armed = []
        moved = {
            window.batch.id: settled_to.get(window.batch.id, window.to)
            for window, _ in worker.armed
        }
        for batch in worker.claim.batches:
            if batch.id in lost:
                continue
            lo = moved.get(batch.id, batch.lo)
            if lo < batch.hi:
                rest.append(replace(batch, lo=lo))
        for window, answers in worker.armed:
            cut = settled_to.get(window.batch.id)
            if cut is not None and window.batch.id not in lost:
                later = Window(replace(window.batch, lo=cut), window.to)
                armed.append((later, [entry for entry in answers if entry.position >= cut]))
        worker.claim = replace(worker.claim, batches=rest)
        worker.armed = armed

    def wait(self) -> None:
        worker = self.random.choice(self.idle())
        assert worker.claim is not None
        with self.step():
            ledger.wait(
                worker.claim,
                worker.claim.batches,
                reason=Reason.HANDED_BACK,
            )
        # A worker that goes on after it gave its work back: what it composed must not be armed.
        if self.coin():
            worker.claim, worker.composed = None, []

    def all_leases_run_out_and_are_swept(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT token FROM deliveries_lease")
            tokens = [token for (token,) in cursor.fetchall()]
        for token in tokens:
            cast.run_out(token)
        with self.step(Verb.SWEEP):
            ledger.sweep()

    def a_lease_runs_out(self) -> None:
        leases = [worker.claim.lease for worker in self.workers if worker.claim]
        cast.run_out(self.random.choice(leases))
        if self.coin():
            with self.step(Verb.SWEEP):
                ledger.sweep()

    def an_event_proves_acceptance(self) -> None:
        stream_id, position, number = self.random.choice(sorted(self.taken_tries))
        said = Evidence(number, entries.accepted(position, message_id="e"), "event")
        with self.step(Verb.RECORD):
            ledger.record(stream_id, [said] * self.random.randint(1, 2))
        assert self.facts[stream_id, position].state is State.ACCEPTED

    def hold_or_release(self) -> None:
        stream_id = self.stream()
        with self.step():
            if stream_id in self.held:
                ledger.release(stream_id)
                self.held.remove(stream_id)
            elif ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob"):
                self.held.add(stream_id)

    def hold_or_release_the_sender(self) -> None:
        owner = cast.sender().pk
        with self.step():
            if self.is_sender_held:
                ledger.release_sender(owner)
            else:
                ledger.hold_sender(owner, reason=Reason.SENDER_BLOCKED, actor="machine")
        self.is_sender_held = not self.is_sender_held

    def cancel(self) -> None:
        stream_id = self.stream()
        with self.step():
            ledger.cancel(stream_id, actor="bob")
        self.cancelled.add(stream_id)

    def drain(self) -> None:
        with self.step(Verb.DRAIN):
            ledger.drain(self.stream())

    def keep_house(self) -> None:
        with self.step():
            ledger.fold(limit=3)
            ledger.retire_lanes(idle=timedelta())

    def a_person_is_forgotten(self) -> None:
        number = self.random.randint(0, self.keys)
        with self.step(Verb.FORGET):
            ledger.forget(cast.sender().workspace_id, address=f"r{number}@example.com")

    def open_cases(self) -> list[tuple[int, Seen]]:
        return [
            (stream_id, Seen(position, fact.last_try))
            for (stream_id, position), fact in sorted(self.facts.items())
            if fact.state in {State.IN_DOUBT, State.FAILED}
        ]

    def cases(self) -> list[tuple[int, Seen]]:
        """What a person may click on: an old page or a new one."""
        return [*self.seen, *self.open_cases()]

    def a_person_opens_the_page(self) -> None:
        """What is seen now may be clicked much later."""
        self.seen = self.open_cases()

    def a_person_decides(self) -> None:
        decision, is_late = self.random.choice(list(Decision)), self.coin()
        stream_id, seen = self.random.choice(self.cases())
        if is_late:
            cast.pass_grace(stream_id)
        place = (stream_id, seen.position)
        in_grace = self.is_in_grace(*place)
        with self.step(Verb.RESOLVE):
            done = ledger.resolve(stream_id, [seen], decision=decision, actor="bob")
            assert ledger.resolve(stream_id, [seen], decision=decision, actor="bob") == []
        assert not (decision is Decision.SEND_AGAIN and done and in_grace)
        if done and decision is Decision.SEND_AGAIN:
            self.asked[place] += 1
        elif done:
            self.by_word.add(place)

    def is_in_grace(self, stream_id: int, position: int) -> bool:
        """Whether bytes of a doubtful try may still leave."""
        facts = queries.delivery(stream_id, position)
        assert facts is not None
        return facts.resend_after is not None and facts.resend_after > datetime.now(UTC)

    def a_person_requeues(self) -> None:
        if self.coin():
            cast.pass_grace(self.streams[0])
        stream_id, seen = self.random.choice(self.cases())
        place = (stream_id, seen.position)
        in_grace = self.is_in_grace(*place)
        with self.step(Verb.REQUEUE):
            done = ledger.requeue(stream_id, [seen], actor="bob")
        assert not (done and in_grace)
        if done and place in self.by_word:
            # Counted as not sent and requeued: a second mail was asked for knowingly.
            self.asked[place] += 1

    def the_books_balance(self) -> None:
        for stream_id in self.streams:
            assert [str(finding) for finding in audit.audit(stream_id).findings] == []

    def no_line_is_wrong(self) -> None:
        for place, fact in self.facts.items():
            if place in self.by_word:
                continue
            if fact.state is State.ACCEPTED:
                assert self.taken[place], f"{place} is accepted, but nobody took it"
            elif fact.state not in {State.WAITING, State.IN_DOUBT}:
                assert not self.taken[place], f"{place} is {fact.state}, but was taken"


def answer_to_entry(answer: str, position: int) -> Entry:
    makers: dict[str, Callable[[], Entry]] = {
        "accepted": lambda: entries.accepted(position, message_id=f"m{position}"),
        "refused": lambda: entries.refused(position, code="bad"),
        "try_later": lambda: entries.try_later(position, delay=NOW, code="busy"),
        "throttled": lambda: entries.throttled(position, delay=NOW),
        "not_sent": lambda: entries.not_sent(position),
        "lost": lambda: entries.in_doubt(position, detail="the answer was lost"),
        "broken": lambda: entries.in_doubt(position, detail="the line broke"),
    }
    return makers[answer]()


@given(seed=st.integers(0, 2**32 - 1))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=PHASES,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
def test_no_sequence_of_verbs_leaves_the_rules(seed: int) -> None:
    ledger.release_sender(cast.sender().pk)
    machine = Machine(seed)
    machine.plan()
    for _ in range(STEPS):
        machine.act()
        machine.the_books_balance()
        machine.no_line_is_wrong()
