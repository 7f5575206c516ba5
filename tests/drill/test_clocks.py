"""What the drill found about clocks that disagree, each as small as it can be shown."""

from datetime import UTC, datetime, timedelta
from typing import override

import pytest

from postledger.deliveries import ledger, queries
from postledger.deliveries.reasons import Reason
from postledger.dispatch import heartbeat
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_hold_of_some_length_runs_by_the_databases_clock() -> None:
    stream_id, owner = cast.stream(mails=1), cast.sender().pk
    second = timedelta(seconds=1)

    ledger.hold(stream_id, reason=Reason.PROVIDER_DOWN, actor="dispatcher", length=second)
    ledger.hold_sender(owner, reason=Reason.PROVIDER_DOWN, actor="dispatcher", length=second)

    facts = queries.find_stream(stream_id)
    assert facts is not None
    for held in (cast.stream_hold(facts), cast.sender_hold(facts)):
        assert held is not None
        assert held.until is not None
        assert held.until - held.since == second


@pytest.mark.parametrize("skew", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_tick_is_as_old_as_it_is_whatever_the_workers_clock_says(
    skew: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Skewed(datetime):
        @classmethod
        @override
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + skew

    monkeypatch.setattr(heartbeat, "datetime", Skewed)
    now = datetime.now(UTC) + skew

    heartbeat.write("fresh", started_at=now, busy_streams=0, claimed_at=None, ticked_at=now)
    old = now - heartbeat.ALIVE_WITHIN - timedelta(seconds=1)
    heartbeat.write("stale", started_at=now, busy_streams=0, claimed_at=None, ticked_at=old)

    assert [worker.name for worker in heartbeat.hearing_beat()] == ["fresh"]
