"""Working hours: how people write them, and that what is stored means the same."""

from datetime import UTC, datetime, time

import pytest

from postledger.accounts import queries, senders, working_hours, workspaces
from postledger.accounts.models import AuditEntry, Sender, Workspace
from postledger.accounts.queries import SenderUnknownError
from postledger.accounts.working_hours import Hours, InvalidHoursError, InvalidTimeZoneError
from postledger.pacing import hours as pacing_hours
from postledger.pacing import stored
from postledger.pacing.hours import Span, WorkingHours

NINE_TO_SIX = Hours(((time(9), time(18)),), weekdays=(0, 1, 2, 3, 4))


def make_sender(workspace_id: int) -> int:
    return senders.create_sender(workspace_id, address="news@acme.example", actor="alice")


def test_hours_are_stored_as_they_were_written() -> None:
    office = working_hours.parse_hours(["09:00-18:00"], days="mon-fri", zone="Europe/Berlin")
    kept = working_hours.to_json(office)
    assert kept == {
        "zone": "Europe/Berlin",
        "weekdays": [0, 1, 2, 3, 4],
        "spans": [["09:00", "18:00"]],
    }
    assert working_hours.describe(kept, zone="Asia/Tokyo") == "mon-fri 09:00-18:00 Europe/Berlin"
    lunch = ["13:30-18:00", "9:00-12:30", "13:30-18:00"]
    for spans, days, text in (
        (lunch, None, "every day 09:00-12:30, 13:30-18:00 Asia/Tokyo"),
        (["22:00-06:00"], "Fri-Mon", "mon,fri-sun 22:00-06:00 Asia/Tokyo"),
        (["00:00-24:00"], "sat, sun", "sat,sun 00:00-00:00 Asia/Tokyo"),
    ):
        stored_hours = working_hours.to_json(working_hours.parse_hours(spans, days=days))
        assert working_hours.describe(stored_hours, zone="Asia/Tokyo") == text


def test_a_text_that_is_no_time_no_weekday_or_no_zone_is_refused_with_an_example() -> None:
    times = ("", "9-18", "09:00", "09:00\u201318:00", "24:00-06:00", "09:60-18:00", "٠٩:00-18:00")
    for span in times:
        with pytest.raises(InvalidHoursError, match="use the form 09:00-18:00"):
            working_hours.parse_hours([span])
    for days in ("", "monday", "mon-", "-fri", "mon;tue", "mon-fri-sun", "1-5"):
        with pytest.raises(InvalidHoursError, match="are no weekdays: use mon, tue"):
            working_hours.parse_hours(["09:00-18:00"], days=days)
    for zone in ("Berlin", "", "../etc/passwd", "UTC+1"):
        with pytest.raises(InvalidTimeZoneError, match="use an IANA name such as Europe/Lisbon"):
            working_hours.parse_hours(["09:00-18:00"], zone=zone)
    for spans in ([], [f"{n // 60:02}:{n % 60:02}-23:59" for n in range(25)]):
        with pytest.raises(InvalidHoursError, match="Use 1 to 24 times of the form 09:00-18:00"):
            working_hours.parse_hours(spans)


def test_the_hours_of_a_sender_and_its_workspace_reach_pacing_in_the_zone_of_each(
    acme: int,
) -> None:
    sender_id = make_sender(acme)
    workspaces.set_time_zone(acme, "Europe/Berlin", actor="alice")
    evenings = working_hours.parse_hours(["17:00-23:00"], zone="Asia/Tokyo")

    workspaces.set_hours(acme, NINE_TO_SIX, actor="alice")
    senders.set_hours(acme, sender_id=sender_id, hours=evenings, actor="bob")

    outgoing = queries.outgoing(sender_id)
    assert outgoing
    read = stored.read_all_hours(outgoing.limits)
    assert read == (
        WorkingHours("Europe/Berlin", (Span(time(9), time(18)),), frozenset(range(5))),
        WorkingHours("Asia/Tokyo", (Span(time(17), time(23)),)),
    )
    # 17:00 in Tokyo is 09:00 in Berlin.
    sunday = datetime(2026, 11, 15, 12, tzinfo=UTC)
    monday = datetime(2026, 11, 16, 8, tzinfo=UTC)
    assert pacing_hours.find_next_opening(read, sunday) == monday
    noted = AuditEntry.objects.filter(action__endswith="hours_changed").order_by("pk")
    assert list(noted.values_list("actor", "action", "data")) == [
        ("alice", "workspace.hours_changed", {"hours": "mon-fri 09:00-18:00 Europe/Berlin"}),
        ("bob", "sender.hours_changed", {"hours": "every day 17:00-23:00 Asia/Tokyo"}),
    ]


def test_removed_hours_are_those_of_nobody(acme: int) -> None:
    sender_id = make_sender(acme)
    workspaces.set_hours(acme, NINE_TO_SIX, actor="alice")
    senders.set_hours(acme, sender_id=sender_id, hours=NINE_TO_SIX, actor="alice")

    workspaces.set_hours(acme, None, actor="alice")
    senders.set_hours(acme, sender_id=sender_id, hours=None, actor="alice")

    assert Workspace.objects.filter(working_hours__isnull=True).count() == 1
    assert Sender.objects.filter(working_hours__isnull=True).count() == 1
    outgoing = queries.outgoing(sender_id)
    assert outgoing
    assert outgoing.limits.working_hours == ()


def test_the_hours_of_another_workspaces_sender_are_out_of_reach(acme: int) -> None:
    globex = workspaces.create_workspace("globex", actor="charlie")
    sender_id = make_sender(acme)

    with pytest.raises(SenderUnknownError):
        senders.set_hours(globex, sender_id=sender_id, hours=NINE_TO_SIX, actor="charlie")

    assert Sender.objects.get().working_hours is None
