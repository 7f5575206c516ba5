"""A run whose reports are bad stops itself, says why, and counts afresh after a release."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import connection, transaction

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Hold, StreamKind
from postledger.deliveries.reasons import Reason
from postledger.feedback import run_stops
from tests import cast
from tests.deliveries.models import StreamDelta
from tests.feedback import reports, topics

pytestmark = pytest.mark.django_db(transaction=True)


def report(stream_id: int, **counts: int) -> None:
    """Adds to a stream's counters, as the application of events does."""
    StreamDelta.objects.create(stream_id=stream_id, **counts)


def accept(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"m{position}")


def release(stream_id: int) -> bool:
    try:
        return ledger.release(stream_id)
    finally:
        connection.close()  # of this thread


def find_hold(stream_id: int) -> Hold | None:
    stream = queries.find_stream(stream_id)
    assert stream is not None
    return cast.stream_hold(stream)


def test_a_run_with_too_many_bounces_or_complaints_is_held_with_the_figures() -> None:
    bounced, reported = cast.stream(mails=1), cast.stream(mails=1)
    report(bounced, delivered=1_732, bounced=82)
    report(reported, delivered=9_900, complained=40)

    assert run_stops.stop_bad_runs() == 2

    hold = find_hold(bounced)
    assert hold is not None
    assert (hold.reason, hold.until, hold.actor) == (Reason.BOUNCE_RATE, None, "guard")
    assert hold.detail == "82 of 1,814 mails bounced (4.5 %); limit 3 %"
    other = find_hold(reported)
    assert other is not None
    assert other.detail == "40 of 9,900 mails were reported as spam (0.4 %); limit 0.3 %"
    assert run_stops.stop_bad_runs() == 0


def test_a_run_counts_afresh_after_a_person_released_it() -> None:
    run = cast.stream(mails=1)
    report(run, accepted=2_000, delivered=940, bounced=60)
    run_stops.stop_bad_runs()
    report(run, delivered=100, bounced=900)  # before the release: the person saw them

    ledger.release(run)

    assert run_stops.stop_bad_runs() == 0
    ledger.fold()
    assert run_stops.stop_bad_runs() == 0
    report(run, delivered=150, bounced=49)
    assert run_stops.stop_bad_runs() == 0  # 199 mails since
    report(run, delivered=1)
    assert run_stops.stop_bad_runs() == 1
    hold = find_hold(run)
    assert hold is not None
    assert hold.detail.startswith("49 of 200 mails bounced")


def test_a_late_bounce_of_mail_from_before_the_release_is_not_counted() -> None:
    _, account_id = topics.new_account()
    run = cast.stream(mails=2)
    cast.book(run, accept)
    report(run, delivered=940, bounced=60)
    run_stops.stop_bad_runs()
    ledger.release(run)
    cast.enqueue(run, [2])
    cast.book(run, accept)
    cast.enqueue(run, [3])

    for position in (0, 1, 2):
        tag = reports.reference(run, position)
        reports.apply(account_id, reports.bounce(f"r{position}@example.com", tag))

    [guarded] = queries.list_guarded_runs()
    assert (guarded.accepted, guarded.bounced) == (1, 1)


def test_a_release_waits_for_reports_that_are_being_taken_and_counts_them_before() -> None:
    _, account_id = topics.new_account()
    run = cast.stream(mails=1)
    cast.book(run, accept)
    cast.enqueue(run, [1])
    report(run, delivered=940, bounced=60)
    run_stops.stop_bad_runs()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            bounce = reports.bounce("r0@example.com", reports.reference(run, 0))
            reports.apply(account_id, bounce)
            released = pool.submit(release, run)
            assert not wait([released], timeout=0.5).done
        assert released.result()

    assert queries.list_guarded_runs() == []


def test_the_end_of_a_pause_counts_afresh_only_where_the_run_stopped_itself_too() -> None:
    run = cast.stream(mails=1)
    ledger.hold(run, reason=Reason.PAUSED, actor="alice")
    report(run, delivered=500, bounced=500)

    assert run_stops.stop_bad_runs() == 0
    hold = find_hold(run)
    assert hold is not None
    assert hold.reason is Reason.PAUSED

    ledger.release(run)
    assert run_stops.stop_bad_runs() == 1
    assert ledger.hold(run, reason=Reason.PAUSED, actor="alice")
    both = [hold.reason for hold in queries.find_streams([run])[run].holds]
    assert both == [Reason.BOUNCE_RATE, Reason.PAUSED]
    ledger.release(run)
    assert queries.list_guarded_runs() == []
    assert queries.find_streams([run])[run].holds == ()


def test_only_runs_of_campaigns_that_go_on_are_guarded() -> None:
    cancelled = cast.stream(mails=1)
    others = [cast.stream(kind, mails=1) for kind in (StreamKind.TRANSACTIONAL, StreamKind.TOPIC)]
    for id_ in (cancelled, *others, cast.stream(mails=1, is_test=True)):
        report(id_, delivered=500, bounced=500)
    ledger.cancel(cancelled, actor="alice")
    report(cast.stream(mails=1), delivered=500, on_suppression_list=500, soft_bounced=500)

    assert run_stops.stop_bad_runs() == 0
    assert find_hold(cancelled) is None


def test_one_run_stops_no_other_run() -> None:
    bad, good, theirs = (
        cast.stream(mails=1, workspace=name) for name in ("acme", "acme", "globex")
    )
    report(bad, delivered=500, bounced=500)
    report(good, delivered=990, bounced=10)
    report(theirs, delivered=990, bounced=10)

    assert run_stops.stop_bad_runs() == 1
    assert find_hold(bad) is not None
    assert find_hold(good) is find_hold(theirs) is None


def test_two_guards_at_once_stop_a_run_once() -> None:
    run = cast.stream(mails=1)
    report(run, delivered=500, bounced=500)

    def stop(_: int) -> int:
        try:
            return run_stops.stop_bad_runs()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(stop, range(4))) == 1
