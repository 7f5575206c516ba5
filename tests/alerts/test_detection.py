"""What counts as an alert, and what is too young, too small or no fault."""

from datetime import UTC, datetime, timedelta

from postledger.alerts import detection
from postledger.alerts.detection import (
    Cause,
    Finding,
    HeldSender,
    OldDoubts,
    SilentSender,
    WorkspaceFacts,
    WrongStream,
)
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.reasons import LIMIT_REASONS, Reason

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
NEWS = "news@acme.example"


def ago(**length: float) -> datetime:
    return NOW - timedelta(**length)


def hold(
    reason: Reason = Reason.SENDER_BLOCKED, *, since: datetime, until: datetime | None = None
) -> Hold:
    return Hold(reason, since, until, "dispatcher", "", HoldScope.SENDER)


def held(*holds: Hold, waiting: int = 0) -> list[Finding]:
    return detect(held=[HeldSender(NEWS, holds, waiting)])


def silent(**changes: object) -> list[Finding]:
    given = {"since": ago(hours=2), "mail_count": 5, "last_mail_at": ago(minutes=1), **changes}
    return detect(silent=[SilentSender(NEWS, **given)])  # type: ignore[arg-type]


def detect(**facts: object) -> list[Finding]:
    return detection.detect(WorkspaceFacts(**facts), now=NOW)  # type: ignore[arg-type]


def test_a_doubt_alarms_after_an_hour() -> None:
    young = detect(doubts=OldDoubts(3, ago(minutes=59)))
    [old] = detect(doubts=OldDoubts(3, ago(minutes=60)))

    assert young == []
    assert old == Finding(Cause.IN_DOUBT, ago(minutes=60), 3)


def test_a_hold_that_only_a_person_ends_alarms_after_two_minutes() -> None:
    assert held(hold(since=ago(minutes=1))) == []

    [found] = held(hold(since=ago(minutes=2)), waiting=7)

    assert (found.cause, found.subject, found.count) == (Cause.SENDER_HELD, NEWS, 7)
    assert found.since == ago(minutes=2)
    assert found.data["reason"] == "sender_blocked"


def test_an_outage_alarms_after_minutes_a_pause_after_a_day_and_a_limit_never() -> None:
    soon = NOW + timedelta(seconds=10)

    assert held(hold(Reason.PROVIDER_DOWN, since=ago(minutes=14), until=soon)) == []
    assert held(hold(Reason.PROVIDER_DOWN, since=ago(minutes=15), until=soon))
    assert held(hold(Reason.PAUSED, since=ago(hours=23)), waiting=1) == []
    assert held(hold(Reason.PAUSED, since=ago(days=2)), waiting=0) == []
    assert held(hold(Reason.PAUSED, since=ago(days=1)), waiting=1)
    for reason in sorted(LIMIT_REASONS):
        assert held(hold(reason, since=ago(days=3)), waiting=1_000) == [], reason


def test_of_two_lasting_causes_the_one_without_an_end_is_named() -> None:
    down = hold(Reason.PROVIDER_DOWN, since=ago(hours=5), until=NOW + timedelta(hours=1))

    [found] = held(down, hold(since=ago(hours=1)))

    assert (found.since, found.data["reason"]) == (ago(hours=5), "sender_blocked")


def test_silence_alarms_while_mail_goes_out() -> None:
    [found] = silent()

    assert found == Finding(Cause.NO_FEEDBACK, ago(hours=2), 5, NEWS)
    assert silent(last_mail_at=ago(days=1)) == []
    assert silent(mail_count=4) == [], "a few lost events are no silence"
    assert detect() == []


def test_all_wrong_streams_of_a_workspace_are_one_alert() -> None:
    found = detect(wrong=[WrongStream(7, ago(hours=1)), WrongStream(5, ago(hours=3))])

    assert found == [Finding(Cause.BOOKS_UNBALANCED, ago(hours=3), 2, data={"stream": 5})]


def test_a_worker_is_missing_when_none_lives_and_nobody_looked_for_two_minutes() -> None:
    def find(minutes: float, *, has_worker: bool = False) -> Finding | None:
        watched_at = ago(minutes=minutes)
        return detection.find_missing_worker(watched_at=watched_at, has_worker=has_worker, now=NOW)

    assert find(1.9) is None
    assert find(60, has_worker=True) is None
    assert find(2) == Finding(Cause.NO_WORKER, ago(minutes=2))
