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
from typing import override

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

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

STREAMS = st.integers(0, 1)
# What the provider did with a mail, and what the worker will be told.
ANSWERS = st.sampled_from(
    ["accepted", "accepted", "refused", "try_later", "throttled", "not_sent", "lost", "broken"]
)
NOW = timedelta()
# A broken rule need only be found, not told in the fewest steps (broken_rules.py).
EXAMPLES = int(os.environ.get("EXAMPLES", "60"))
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


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
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
        self.keys = 0

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

    def read(self) -> dict[tuple[int, int], Fact]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT stream_id, position, state, last_try, attempts FROM deliveries_delivery"
                " WHERE stream_id = ANY(%s)",
                [self.streams],
            )
            return {(s, p): Fact(State(state), t, a) for s, p, state, t, a in cursor.fetchall()}

    @initialize(mails=st.integers(3, 7))
    def plan(self, mails: int) -> None:
        for stream_id in self.streams:
            with self.step():
                cast.enqueue(stream_id, range(mails))
        self.keys = mails

    def is_cancelled(self, stream_id: int) -> bool:
        return stream_id in self.cancelled

    @rule(number=STREAMS, repeated=st.integers(0, 3), fresh=st.integers(0, 2))
    def enqueue(self, number: int, repeated: int, fresh: int) -> None:
        keys = [*range(min(repeated, self.keys)), *range(self.keys, self.keys + fresh)]
        with self.step():
            try:
                cast.enqueue(self.streams[number], keys)
            except ledger.StreamClosedError:
                return
        self.keys += fresh

    @rule(data=st.data(), stream=STREAMS, limit=st.integers(1, 3), size=st.integers(1, 4))
    def claim_and_compose(self, data: st.DataObject, stream: int, limit: int, size: int) -> None:
        with self.step():
            taken = ledger.claim(
                self.streams[stream], holder="w", limit=limit, lease_time=cast.LEASE
            )
        if taken:
            # Whoever had this worker's place before is killed: it forgets, its lease does not.
            number = data.draw(st.integers(0, len(self.workers) - 1))
            self.workers[number] = Worker(claim=taken)
            self.compose(self.workers[number], size, fresh=False)

    @precondition(lambda self: self.idle())
    @rule(data=st.data(), size=st.integers(1, 4), fresh=st.booleans())
    def compose_the_next_windows(self, data: st.DataObject, size: int, fresh: bool) -> None:  # noqa: FBT001
        self.compose(data.draw(st.sampled_from(self.idle())), size, fresh=fresh)

    def idle(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.claim and not worker.armed]

    def compose(self, worker: Worker, size: int, *, fresh: bool) -> None:
        assert worker.claim is not None
        batches = queries.leased(worker.claim) if fresh else worker.claim.batches
        windows = [Window(b, min(b.lo + size, b.hi)) for b in batches]
        worker.composed = [
            (window, [recipient.position for recipient in queries.waiting([window])])
            for window in windows
        ]

    @precondition(lambda self: any(worker.composed for worker in self.workers))
    @rule(data=st.data())
    def arm(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from([one for one in self.workers if one.composed]))
        assert worker.claim is not None
        verdicts: list[Entry] = []
        sends: dict[int, list[int]] = {}
        for window, positions in worker.composed:
            judged = [p for p in positions if data.draw(st.integers(0, 5)) == 0]
            give = data.draw(st.sampled_from([entries.suppressed, entries.invalid]))
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
            self.hand_over(worker, window, sends[window.batch.id], data)

    def hand_over(
        self, worker: Worker, window: Window, positions: list[int], data: st.DataObject
    ) -> None:
        """The provider acts at once; what it did reaches the ledger later, or never."""
        results = []
        for position in positions:
            place = (window.batch.stream_id, position)
            attempt = (*place, window.batch.try_number)
            assert self.facts[place].state is State.WAITING, f"sent {place}: {self.facts[place]}"
            assert attempt not in self.armed_tries, f"{attempt} was handed over twice"
            answer = data.draw(ANSWERS)
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

    @precondition(lambda self: any(worker.armed for worker in self.workers))
    @rule(data=st.data(), prefix=st.integers(0, 4))
    def settle(self, data: st.DataObject, prefix: int) -> None:
        worker = data.draw(st.sampled_from([one for one in self.workers if one.armed]))
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
        for window, given in worker.armed:
            cut = settled_to.get(window.batch.id)
            if cut is not None and window.batch.id not in lost:
                later = Window(replace(window.batch, lo=cut), window.to)
                armed.append((later, [entry for entry in given if entry.position >= cut]))
        worker.claim = replace(worker.claim, batches=rest)
        worker.armed = armed

    @precondition(lambda self: self.idle())
    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(self.idle()))
        assert worker.claim is not None
        with self.step():
            ledger.wait(
                worker.claim,
                worker.claim.batches,
                due_at=datetime.now(UTC),
                reason=Reason.HANDED_BACK,
            )
        # A worker that goes on after it gave its work back: what it composed must not be armed.
        if data.draw(st.booleans()):
            worker.claim, worker.composed = None, []

    @rule()
    def all_leases_run_out_and_are_swept(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT token FROM deliveries_lease")
            tokens = [token for (token,) in cursor.fetchall()]
        for token in tokens:
            cast.run_out(token)
        with self.step(Verb.SWEEP):
            ledger.sweep()

    @precondition(lambda self: any(worker.claim for worker in self.workers))
    @rule(data=st.data(), is_swept=st.booleans())
    def a_lease_runs_out(self, data: st.DataObject, is_swept: bool) -> None:  # noqa: FBT001
        leases = [worker.claim.lease for worker in self.workers if worker.claim]
        cast.run_out(data.draw(st.sampled_from(leases)))
        if is_swept:
            with self.step(Verb.SWEEP):
                ledger.sweep()

    @precondition(lambda self: self.taken_tries)
    @rule(data=st.data(), repeats=st.integers(1, 2))
    def an_event_proves_acceptance(self, data: st.DataObject, repeats: int) -> None:
        stream_id, position, number = data.draw(st.sampled_from(sorted(self.taken_tries)))
        said = Evidence(number, entries.accepted(position, message_id="e"), "event")
        with self.step(Verb.RECORD):
            ledger.record(stream_id, [said] * repeats)
        assert self.facts[stream_id, position].state is State.ACCEPTED

    @rule(stream=STREAMS)
    def hold_or_release(self, stream: int) -> None:
        with self.step():
            if not ledger.release(self.streams[stream]):
                ledger.hold(self.streams[stream], reason=Reason.PAUSED, actor="bob")

    @rule()
    def hold_or_release_the_sender(self) -> None:
        owner = cast.sender().pk
        with self.step():
            if not ledger.release_sender(owner):
                ledger.hold_sender(owner, reason=Reason.SENDER_BLOCKED, actor="machine")

    @rule(stream=STREAMS, sure=st.integers(0, 4))
    def cancel(self, stream: int, sure: int) -> None:
        if sure == 0:
            with self.step():
                ledger.cancel(self.streams[stream], actor="bob")
            self.cancelled.add(self.streams[stream])

    @precondition(lambda self: any(map(self.is_cancelled, self.streams)))
    @rule(stream=STREAMS)
    def drain(self, stream: int) -> None:
        with self.step(Verb.DRAIN):
            ledger.drain(self.streams[stream])

    @rule()
    def keep_house(self) -> None:
        with self.step():
            ledger.fold(limit=3)
            ledger.retire_lanes(idle=timedelta())

    def open_cases(self) -> list[tuple[int, Seen]]:
        return [
            (stream_id, Seen(position, fact.last_try))
            for (stream_id, position), fact in sorted(self.facts.items())
            if fact.state in {State.IN_DOUBT, State.FAILED}
        ]

    @precondition(lambda self: self.open_cases())
    @rule()
    def a_person_opens_the_page(self) -> None:
        """What is seen now may be clicked much later."""
        self.seen = self.open_cases()

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), decision=st.sampled_from(Decision), is_late=st.booleans())
    def a_person_decides(self, data: st.DataObject, decision: Decision, is_late: bool) -> None:  # noqa: FBT001
        stream_id, seen = data.draw(st.sampled_from(self.seen))
        if is_late:
            cast.pass_grace(stream_id)
        place = (stream_id, seen.position)
        with self.step(Verb.RESOLVE):
            done = ledger.resolve(stream_id, [seen], decision=decision, actor="bob")
            assert ledger.resolve(stream_id, [seen], decision=decision, actor="bob") == []
        assert not (decision is Decision.SEND_AGAIN and done and not is_late)
        if done and decision is Decision.SEND_AGAIN:
            self.asked[place] += 1
        elif done:
            self.by_word.add(place)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def a_person_requeues(self, data: st.DataObject) -> None:
        stream_id, seen = data.draw(st.sampled_from(self.seen))
        place = (stream_id, seen.position)
        with self.step(Verb.REQUEUE):
            done = ledger.requeue(stream_id, [seen], actor="bob")
        if done and place in self.by_word:
            # Counted as not sent and requeued: a second mail was asked for knowingly.
            self.asked[place] += 1

    @invariant()
    def the_books_balance(self) -> None:
        for stream_id in self.streams:
            assert [str(finding) for finding in audit.audit(stream_id).findings] == []

    @invariant()
    def no_line_is_wrong(self) -> None:
        for place, fact in self.facts.items():
            if place in self.by_word:
                continue
            if fact.state is State.ACCEPTED:
                assert self.taken[place], f"{place} is accepted, but nobody took it"
            elif fact.state not in {State.WAITING, State.IN_DOUBT}:
                assert not self.taken[place], f"{place} is {fact.state}, but was taken"

    @override
    def teardown(self) -> None:
        ledger.release_sender(cast.sender().pk)


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


def test_no_sequence_of_verbs_leaves_the_rules() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            phases=PHASES,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
