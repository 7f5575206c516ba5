"""Whichever verb gives deliveries a result, the metrics count as many as the books."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from psycopg import sql as pg

from postledger.deliveries import entries, ledger, queries, states
from postledger.deliveries.entries import Decision, SeenDelivery, StreamKind
from postledger.deliveries.ledger import fence
from postledger.deliveries.states import State, Verb
from postledger.observability.metrics import PENDING, Series
from tests import cast, epochs
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)

type Scene = Callable[[int], Callable[[], object]]
NAMES = {"SENT": State.ACCEPTED, "VALIDATION_FAILED": State.FAILED}


@pytest.fixture(autouse=True)
def _own_tally() -> Iterator[None]:
    before = PENDING.take()
    yield
    PENDING.take()
    PENDING.add(before.items())


@pytest.fixture(autouse=True)
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


def arm(stream: int) -> Callable[[], object]:
    verdicts = iter((entries.suppressed, entries.invalid, entries.skipped))
    return lambda: cast.judge(stream, lambda at: next(verdicts)(at, code="no"), size=3)


def settle(stream: int) -> Callable[[], object]:
    claim, window = cast.armed(stream)
    results = [
        entries.accepted(0, message_id="m"),
        entries.refused(1, code="550"),
        entries.in_doubt(2),
        entries.try_later(3, delay=timedelta(), code="450"),
    ]
    return lambda: ledger.settle(claim, [window], results=results)


def sweep(stream: int) -> Callable[[], object]:
    claim, _ = cast.armed(stream)
    cast.run_out(claim.lease)
    return ledger.sweep


def sweep_poison(stream: int) -> Callable[[], object]:
    return lambda: cast.poison(stream)


def drain(stream: int) -> Callable[[], object]:
    ledger.cancel(stream, actor="alice")
    return lambda: ledger.drain(stream)


def drain_blocked(stream: int) -> Callable[[], object]:
    cast.block()
    ledger.cancel(stream, actor="alice")
    return lambda: ledger.drain(stream)


def give_up(stream: int) -> Callable[[], object]:
    cast.block()
    cast.let_block_run_out()
    return lambda: ledger.give_up(stream)


def cancel_delivery(stream: int) -> Callable[[], object]:
    return lambda: [
        ledger.cancel_delivery(stream, at, actor="alice")
        for at in cast.states(stream)
        for _ in "ab"
    ]


def erase(stream: int) -> Callable[[], object]:
    return lambda: ledger.erase(cast.sender().workspace_id, address="r1@example.com")


def record_acceptances(stream: int) -> Callable[[], object]:
    cast.lose(stream)
    proofs = [collide.proof(at) for at in (0, 1, 1)]
    return lambda: ledger.record(stream, proofs)


def record_refusals(stream: int) -> Callable[[], object]:
    cast.lose(stream)
    evidence = [
        entries.Evidence(1, entries.refused(0, code="550"), "log"),
        entries.Evidence(1, entries.not_sent(1), "log"),
    ]
    return lambda: ledger.record(stream, evidence)


def settle_too_late(stream: int) -> Callable[[], object]:
    claim, window = cast.armed(stream)
    cast.run_out(claim.lease)
    ledger.sweep()
    return lambda: ledger.settle(claim, [window], results=collide.accept_all(window))


def resolve(stream: int) -> Callable[[], object]:
    cast.lose(stream)
    decisions = [Decision.COUNT_AS_SENT, Decision.COUNT_AS_NOT_SENT]

    def decide() -> None:
        for at, decision in enumerate(decisions):
            ledger.resolve(stream, [SeenDelivery(at, 1)], decision=decision, actor="alice")

    return decide


def requeue(stream: int) -> Callable[[], object]:
    cast.book(stream, lambda at: entries.refused(at, code="550"))
    return lambda: ledger.requeue(stream, [SeenDelivery(0, 1)], actor="alice")


def supersede(stream: int) -> Callable[[], object]:
    cast.judge(stream, lambda at: entries.invalid(at, code="no"))
    keys = pg.SQL("SELECT unnest(ARRAY['r0', 'r2']) AS dedupe_key")
    return lambda: ledger.supersede([stream], source=keys, params={}, actor="alice")


def fall(stream: int) -> Callable[[], object]:
    epochs.fall()
    return lambda: ledger.put_all_in_doubt(stream)


def plan_after_a_fall(stream: int) -> Callable[[], object]:
    epochs.fall()
    ledger.put_all_in_doubt(stream)
    return lambda: collide.plan(stream, 100, 104)


SCENES: dict[Verb, list[Scene]] = {
    Verb.ARM: [arm],
    Verb.SETTLE: [settle],
    Verb.SWEEP: [sweep, sweep_poison],
    Verb.DRAIN: [drain, drain_blocked],
    Verb.GIVE_UP: [give_up],
    Verb.CANCEL_DELIVERY: [cancel_delivery],
    Verb.ERASE: [erase],
    Verb.RECORD: [record_acceptances, record_refusals, settle_too_late],
    Verb.RESOLVE: [resolve],
    Verb.REQUEUE: [requeue],
    Verb.SUPERSEDE: [supersede],
    Verb.FENCE: [fall, plan_after_a_fall],
}
# What is counted beside the books: new doubts by their cause, and mail that no worker had.
NO_TIME = "pipeline_processing_duration_seconds_bucket"
BESIDE: dict[Scene, tuple[Series, int]] = {
    settle: (("postledger_new_doubts_total", ("no_answer",)), 2),
    sweep: (("postledger_new_doubts_total", ("worker_lost",)), 5),
    fall: (("postledger_new_doubts_total", ("lost_time",)), 5),
    drain: ((NO_TIME, ("CANCELLED", "0.01")), 5),
    drain_blocked: ((NO_TIME, ("FAILED", "0.01")), 5),
    give_up: ((NO_TIME, ("FAILED", "0.01")), 5),
}


def counted(pending: dict[Series, float]) -> Counter[State]:
    """What is tallied by state."""
    counts: Counter[State] = Counter()
    for (series, labels), amount in pending.items():
        if series == "pipeline_final_state_total":
            [label] = labels
            counts[NAMES.get(label) or State(label.lower())] += int(amount)
    return counts


def booked(stream: int) -> Counter[State]:
    return Counter(queries.read_books([stream])[stream].counts)


def test_every_verb_that_gives_a_result_has_a_scene() -> None:
    ends = {
        verb
        for (_, after), verbs in states.TRANSITIONS.items()
        for verb in verbs
        if after is not State.WAITING
    }

    assert ends <= SCENES.keys()
    assert SCENES.keys() == set(Verb)


@pytest.mark.parametrize(
    ("verb", "scene"),
    [(verb, scene) for verb, scenes in SCENES.items() for scene in scenes],
    ids=lambda it: it.value if isinstance(it, Verb) else it.__name__,
)
def test_the_metrics_count_what_the_books_gain(verb: Verb, scene: Scene) -> None:
    single = {Verb.CANCEL_DELIVERY}
    kind = StreamKind.TRANSACTIONAL if verb in single else StreamKind.CAMPAIGN
    stream = cast.stream(kind, mails=1 if scene is sweep_poison else 5)
    act = scene(stream)
    before = booked(stream)
    PENDING.take()

    act()

    gained, pending = booked(stream) - before, PENDING.take()
    assert counted(pending) == gained
    assert gained or verb is Verb.REQUEUE
    if scene in BESIDE:
        series, count = BESIDE[scene]
        assert pending[series] == count
        if series[0] == NO_TIME:
            assert pending["pipeline_processing_duration_seconds_sum", series[1][:1]] == 0


def test_what_is_undone_is_not_counted() -> None:
    stream = cast.stream(mails=5)
    ledger.cancel(stream, actor="alice")
    PENDING.take()

    with transaction.atomic():
        assert ledger.drain(stream) == 5
        transaction.set_rollback(True)

    assert not PENDING.take()


def test_doubts_of_the_lost_time_are_put_there_once() -> None:
    stream = cast.stream(mails=5)
    epochs.fall()
    PENDING.take()

    assert [fence.put_in_doubt(stream) for _ in range(2)] == [1, 0]
    assert counted(PENDING.take()) == {State.IN_DOUBT: 5}
