"""Who leaves while a campaign is sent gets none of what was not on its way when they left.

Honest means: an unsubscribe is one commit, and right after it one look at the ledger says where
the person's mail is. The look comes after the commit, so what it does not find armed was not armed
at the commit either, and a mail that went all the same would be a fault: nobody claimed its batch,
or its window comes after the one in hand, or it is in hand and being composed, and consent is
asked for once more when it is armed. Gone: it has a result.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.deliveries import audit, queries
from postledger.deliveries.states import State
from tests.campaigns import press
from tests.journeys import stage
from tests.web.public import visiting
from tools.proof import crews

pytestmark = pytest.mark.django_db(transaction=True)

READERS, LEAVERS = (50_000, 1_000) if crews.IS_FULL else (2_000, 50)
WINDOW = 50
# Seconds that a window is with the provider: as long as real ones take, so that people can leave
# meanwhile, and all of them before the campaign is over.
CALL = 3.0 if crews.IS_FULL else 0.3


class Place(StrEnum):
    """Where a mail is at the moment its recipient has left."""

    WAITING = "waiting"
    COMPOSED = "in hand, not armed"
    ARMED = "armed"
    GONE = "gone"


_LOOK = """
SELECT CASE
    WHEN b.lease IS NULL OR %(position)s >= b.lo + %(window)s THEN 'waiting'
    WHEN %(position)s < b.armed_to THEN 'armed'
    ELSE 'in hand, not armed'
END
FROM deliveries_batch AS b
WHERE b.stream_id = %(stream)s AND b.lo <= %(position)s AND %(position)s < b.hi
"""


def look(stream_id: int, position: int) -> Place:
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, {"stream": stream_id, "position": position, "window": WINDOW})
        row = cursor.fetchone()
    return Place.GONE if row is None else Place(row[0])


def people(workspace_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address)"
            " SELECT %s, 'slow+' || n || '@example.com' FROM generate_series(1, %s) AS n",
            [workspace_id, READERS],
        )
        cursor.execute("ANALYZE contacts_contact")


def leave_one_by_one(
    workspace_id: int, stream_id: int, readers: Sequence[str], leavers: Sequence[int]
) -> dict[str, Place]:
    """Each goes through the one-click endpoint once a random part of the campaign has a result."""
    places = {}
    moments = sorted(random.uniform(0, 0.9) * len(readers) for _ in leavers)
    for position, moment in zip(leavers, moments, strict=True):
        while _count_settled(stream_id) < moment:
            time.sleep(0.02)
        # Not always when a window was just settled.
        time.sleep(random.uniform(0, CALL / 60))
        url = visiting.link(readers[position], workspace_id=workspace_id, secret=crews.SECRET)
        assert visiting.post(url, visiting.ONE_CLICK).status_code == 200
        places[readers[position]] = look(stream_id, position)
    return places


def _count_settled(stream_id: int) -> int:
    return sum(queries.read_books([stream_id])[stream_id].counts.values())


@pytest.mark.slow
@pytest.mark.sample
def test_who_left_is_mailed_nothing_that_was_not_on_its_way(
    tmp_path: Path, settings: Settings
) -> None:
    settings.ONE_CLICK_RATE = "1000000/minute"
    journal = tmp_path / "journal"
    acme = crews.workspace("acme", journal=str(journal), window_size=WINDOW, slow=CALL)
    people(acme)
    run = press.launched(acme, press.campaign(acme))
    readers = press.addresses(run)
    leavers = random.sample(range(READERS), LEAVERS)
    # The endpoint is called once before anybody is in a hurry.
    visiting.post(visiting.link("nobody@example.com", secret=crews.SECRET), visiting.ONE_CLICK)

    with crews.at_work(tmp_path) as beat:
        beat()
        left = leave_one_by_one(acme, run.stream_id, readers, leavers)
        crews.wait(beat, run.stream_id, seconds=600)

    taken = stage.taken(journal)
    audited = audit.audit(run.stream_id)
    places = Counter(left.values())
    mailed = Counter(place for address, place in left.items() if taken[address])
    assert places[Place.WAITING] >= LEAVERS / 5, "nearly nobody left in time: this proves nothing"
    assert mailed[Place.WAITING] == mailed[Place.COMPOSED] == 0
    assert audited.discrepancies == []
    assert max(taken.values()) == 1
    assert audited.books.counts[State.SUPPRESSED] == LEAVERS - mailed.total()
    assert len(taken) == audited.books.counts[State.ACCEPTED] == READERS - LEAVERS + mailed.total()
