"""Two people steer one campaign at random while dispatchers send it: nobody is mailed twice.

Each interleaving is a campaign of its own, with recipients whose mail is refused, put off, slow or
lost sight of. Its seed chooses what is done and when; a failure names it.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection

from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.campaigns.runs import progress, run_control
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.states import RunState
from postledger.deliveries import audit
from postledger.deliveries.states import State
from postledger.lib.errors import RefusedError
from tests.campaigns import press
from tests.dispatch import office
from tests.journeys import rig, stage
from tools.proof import crews

pytestmark = pytest.mark.django_db(transaction=True)

INTERLEAVINGS = 100 if crews.IS_FULL else 10
AT_ONCE = 5
STEPS = 6
WINDOW = 10
# In the order of the alphabet, which is the order in which they are mailed.
READERS = {"a": 40, "broken": 3, "later": 4, "refuse": 6, "slow": 10, "vanish": 5, "z": 40}
ADDRESSES = [f"{word}+{at}@example.com" for word, count in READERS.items() for at in range(count)]


@dataclass(frozen=True)
class Desk:
    """One campaign that people sit at, and what they did."""

    seed: int
    workspace_id: int
    campaign_id: int
    journal: Path
    done: Counter[str] = field(default_factory=Counter)

    def runs(self) -> list[UUID]:
        rows = Run.objects.filter(campaign_id=self.campaign_id).order_by("stream_id")
        return list(rows.values_list("pk", flat=True))

    def read_progress(self) -> list[Progress]:
        return [
            progress.find_progress(self.workspace_id, id_, now=datetime.now(UTC))
            for id_ in self.runs()
        ]


def set_up(seed: int, folder: Path) -> Desk:
    journal = folder / f"journal-{seed}"
    acme = crews.workspace(
        f"acme-{seed}",
        journal=str(journal),
        window_size=WINDOW,
        retry_after=0.05,
        slow=0.1,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address) SELECT %s, unnest(%s::text[])",
            [acme, ADDRESSES],
        )
    return Desk(seed, acme, press.campaign(acme), journal)


def pause(desk: Desk, run_id: UUID) -> None:
    run_control.pause_run(desk.workspace_id, run_id, actor="alice")


def resume(desk: Desk, run_id: UUID) -> None:
    run_control.resume_run(desk.workspace_id, run_id, actor="alice")


def cancel(desk: Desk, run_id: UUID) -> None:
    run_control.cancel_run(desk.workspace_id, run_id, actor="alice")


def edit(desk: Desk, _: UUID) -> None:
    words = replace(press.WORDS, subject=f"News at {time.monotonic()}")
    changes = {"content": words}
    now = datetime.now(UTC)
    drafts.change_campaign(desk.workspace_id, desk.campaign_id, changes, actor="bob", now=now)


def retry(desk: Desk, run_id: UUID) -> None:
    run_control.retry_failed(desk.workspace_id, run_id, actor="bob")


def rest(desk: Desk, run_id: UUID) -> None:
    launching.launch_remaining(desk.workspace_id, run_id, actor="bob", now=datetime.now(UTC))


def close(desk: Desk, run_id: UUID) -> None:
    run_control.close_run(desk.workspace_id, run_id, actor="bob", now=datetime.now(UTC))


# Some come oftener: they are refused most of the time, or keep something going.
MOVES: list[Callable[[Desk, UUID], None]] = [
    *(pause, resume, resume, cancel, edit, retry, retry, rest, rest, close, close)
]


def steer(desk: Desk, chance: random.Random) -> None:
    for _ in range(STEPS):
        time.sleep(chance.uniform(0, 0.15))
        move, run_id = chance.choice(MOVES), chance.choice(desk.runs())
        try:
            move(desk, run_id)
            desk.done[move.__name__] += 1
        except RefusedError as refused:
            desk.done[refused.code] += 1


def interleave(desk: Desk) -> None:
    """Two people act while mail goes, and again once all is at rest; then nothing stays paused."""
    launching.launch_campaign(
        desk.workspace_id, desk.campaign_id, actor="alice", now=datetime.now(UTC)
    )
    for act in ("while it is sent", "at rest"):
        chances = [random.Random(f"{desk.seed} {act} {name}") for name in ("alice", "bob")]
        with ThreadPoolExecutor(len(chances)) as people:
            work = [
                people.submit(_with_connection, partial(steer, desk, chance)) for chance in chances
            ]
        for future in work:
            future.result()
        rig.until(lambda: all(map(has_reason, desk.read_progress())), seconds=300, every=0.2)
    for run_progress in desk.read_progress():
        if run_progress.state is RunState.PAUSED:
            resume(desk, run_progress.run_id)
    rig.until(
        lambda: not any(run_progress.waiting for run_progress in desk.read_progress()),
        seconds=300,
        every=0.2,
    )


def _with_connection(work: Callable[[], None]) -> None:
    with office.own_connection():
        work()


def has_reason(run_progress: Progress) -> bool:
    """Whether a run stands where somebody can be told why."""
    if run_progress.state is RunState.PAUSED:
        return run_progress.hold is not None
    return not run_progress.waiting and run_progress.planned_at is not None


_BY_READER = """
SELECT line.address, array_agg(line.state ORDER BY line.stream_id)
FROM deliveries_delivery AS line JOIN campaigns_run AS run USING (stream_id)
WHERE run.campaign_id = %s GROUP BY line.address
"""


def faults(desk: Desk) -> list[str]:
    """What must not be, in words."""
    mailed = taken(desk)
    findings = [
        str(discrepancy)
        for run_progress in desk.read_progress()
        for discrepancy in audit.audit(run_progress.number).discrepancies
    ]
    findings += [f"{who} was mailed {times} times" for who, times in mailed.items() if times > 1]
    with connection.cursor() as cursor:
        cursor.execute(_BY_READER, [desk.campaign_id])
        of_reader = dict(cursor.fetchall())
    for address, states in of_reader.items():
        tried = [state for state in states if state != State.CANCELLED]
        reached = [state for state in tried if state in {State.ACCEPTED, State.IN_DOUBT}]
        if len(tried) > 1 or len(reached) != mailed[address]:
            findings.append(f"{address} has {states}, and was mailed {mailed[address]} times")
    return [f"seed {desk.seed}: {finding}" for finding in findings]


def taken(desk: Desk) -> Counter[str]:
    return stage.taken(desk.journal) if desk.journal.exists() else Counter()


@contextmanager
def beating(beat: crews.Beat) -> Iterator[None]:
    over = threading.Event()

    def run() -> None:
        while not over.wait(0.1):
            beat()

    with ThreadPoolExecutor(1) as pool:
        beats = pool.submit(_with_connection, run)
        try:
            yield
        finally:
            over.set()
    beats.result()


@pytest.mark.slow
@pytest.mark.sample
def test_however_a_campaign_is_steered_nobody_is_mailed_twice(tmp_path: Path) -> None:
    desks = [set_up(seed, tmp_path) for seed in range(INTERLEAVINGS)]

    with crews.in_threads(2) as beat, beating(beat), ThreadPoolExecutor(AT_ONCE) as rooms:
        jobs = [partial(_with_connection, partial(interleave, desk)) for desk in desks]
        for future in [rooms.submit(job) for job in jobs]:
            future.result()

    done = sum((desk.done for desk in desks), Counter())
    books: Counter[str] = Counter()
    for desk in desks:
        for run_progress in desk.read_progress():
            books.update({state.value: n for state, n in run_progress.books.counts.items() if n})
    assert [fault for desk in desks for fault in faults(desk)] == []
    assert {"rest", "cancel", "retry", "pause", "resume", "edit"} <= done.keys()
    assert {State.FAILED, State.IN_DOUBT, State.CANCELLED, State.ACCEPTED} <= books.keys()
