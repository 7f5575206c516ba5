from collections import Counter
from functools import partial

import pytest

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Batch, Claim, StreamKind, Window
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _planned(mails: int) -> int:
    stream = cast.stream()
    for first in range(0, mails, 10_000):
        collide.plan(stream, first, min(first + 10_000, mails) - 1)
    return stream


def _claim_all(stream: int, holder: str) -> list[Claim]:
    taken = []
    while claim := ledger.claim(stream, holder=holder, limit=3, lease_time=cast.LEASE):
        taken.append(claim)
    return taken


def test_eight_claimers_take_each_of_100000_mails_once() -> None:
    stream = _planned(100_000)

    taken = collide.together([partial(_claim_all, stream, f"worker {n}") for n in range(8)])

    claims = [claim for claims in taken for claim in claims]
    holders: dict[int, int] = {}
    for claim in claims:
        for batch in claim.batches:
            assert batch.id not in holders, "two leases on one batch"
            holders[batch.id] = claim.lease
    batches = [batch for claim in claims for batch in claim.batches]
    assert len(batches) == 200
    assert sorted(p for b in batches for p in range(b.lo, b.hi)) == list(range(100_000))
    assert len({claim.lease for claim in claims}) == len(claims)
    assert dict(_leases(stream)) == holders
    assert sum(bool(claims) for claims in taken) > 1, "nobody had a rival"


def _leases(stream: int) -> list[tuple[int, int]]:
    rows = sql.rows("SELECT id, lease FROM deliveries_batch WHERE stream_id = %(s)s", {"s": stream})
    return [(id_, lease) for id_, lease in rows]


def test_one_mail_batches_are_claimed_once_too() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=1000)

    taken = collide.together([partial(_claim_all, stream, f"worker {n}") for n in range(4)])

    batches = Counter(batch.id for claims in taken for claim in claims for batch in claim.batches)
    assert len(batches) == 1000
    assert set(batches.values()) == {1}


def test_eight_workers_hand_over_each_mail_once() -> None:
    stream = _planned(6_000)

    sent = collide.together([lambda: _work(stream) for _ in range(8)])

    handed_over = Counter(position for positions in sent for position in positions)
    assert len(handed_over) == 6_000
    assert set(handed_over.values()) == {1}
    assert set(collide.column(stream, "attempts").values()) == {1}
    assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == 6_000
    assert cast.batches(stream) == []


def _work(stream: int) -> list[int]:
    """A worker's life without a network: returns the positions it handed over."""
    sent: list[int] = []
    while claim := collide.claim(stream, limit=1):
        batch: Batch | None = claim.batches[0]
        while batch:
            window = Window(batch, min(batch.lo + 100, batch.hi))
            sent += [recipient.position for recipient in queries.read_waiting([window])]
            assert collide.arm(claim, window) == [window]
            settled = ledger.settle(claim, [window], results=collide.accept_all(window))
            assert settled.lost == []
            batch = cast.again(batch, lo=window.to) if window.to < batch.hi else None
    return sent
