"""The table of campaigns and the page of a run: figures of one snapshot, in few queries."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django import Settings

from postledger.campaigns import listing
from postledger.campaigns.listing import CampaignGroup, CampaignRow
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import live_run, run_control, run_lookup
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.campaigns.states import RunState
from postledger.deliveries import ledger
from postledger.deliveries.states import State
from tests import cast, round_trips
from tests.campaigns import press

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(UTC)


def rows(workspace_id: int, **filters: object) -> list[CampaignRow]:
    page = listing.read_page(workspace_id, now=now(), **filters)  # type: ignore[arg-type]
    return list(page.rows)


def tags(workspace_id: int, **filters: object) -> list[str]:
    return [row.tag for row in rows(workspace_id, **filters)]


def launch_all(acme: int, readers: int = 20) -> dict[str, Run]:
    """A campaign of each group, by its tag; the draft was never launched."""
    press.people(acme, readers)
    runs = {
        tag: press.launched(acme, press.campaign(acme, tag=tag))
        for tag in ("moving", "paused", "open", "sent", "cancelled")
    }
    press.campaign(acme, tag="draft")
    cast.book(runs["moving"].stream_id, press.taken)
    run_control.pause_run(acme, runs["paused"].pk, actor="anna")
    cast.book(runs["open"].stream_id, press.refused, size=readers)
    cast.book(runs["sent"].stream_id, press.taken, size=readers)
    run_control.cancel_run(acme, runs["cancelled"].pk, actor="bob")
    ledger.drain(runs["cancelled"].stream_id)
    run_control.end_finished_runs()
    return runs


def test_every_campaign_has_its_group_its_books_and_why_it_waits(acme: int) -> None:
    launch_all(acme)

    by_tag = {row.tag: row for row in rows(acme)}

    assert {tag: row.group for tag, row in by_tag.items()} == {
        "moving": CampaignGroup.MOVING,
        "paused": CampaignGroup.WAITING,
        "open": CampaignGroup.OPEN,
        "sent": CampaignGroup.DONE,
        "cancelled": CampaignGroup.DONE,
        "draft": CampaignGroup.DRAFT,
    }
    moving, paused, draft = by_tag["moving"].run, by_tag["paused"].run, by_tag["draft"]
    assert moving is not None
    assert moving.books.counts[State.ACCEPTED] == 10
    assert moving.pace is not None
    assert moving.pace.ends_at is not None
    assert paused is not None
    assert paused.holds[0].actor == "anna"
    assert [cause.code for cause in by_tag["paused"].causes] == ["paused"]
    assert (draft.run, draft.causes) == (None, ())


def test_a_group_is_counted_as_it_is_listed(acme: int) -> None:
    launch_all(acme)

    counts = listing.read_page(acme, now=now()).counts

    assert counts == {group: len(rows(acme, group=group)) for group in CampaignGroup}
    assert sum(counts.values()) == len(rows(acme)) == 6
    assert tags(acme, group=CampaignGroup.WAITING) == ["paused"]


def test_behind_very_many_that_nobody_closed_the_new_ones_are_found_and_all_are_counted(
    acme: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_MOST_UNDER_WAY", 3)
    press.people(acme, 1)
    for tag in ("oldest", "old-0", "old-1", "old-2"):
        cast.book(press.launched(acme, press.campaign(acme, tag=tag)).stream_id, press.refused)
    press.launched(acme, press.campaign(acme, tag="moving"))

    page = listing.read_page(acme, group=CampaignGroup.MOVING, now=now())
    [second] = Campaign.objects.filter(tag="old-0")

    assert [row.tag for row in page.rows] == ["moving"]
    assert {group: count for group, count in page.counts.items() if count} == {
        CampaignGroup.MOVING: 1,
        CampaignGroup.OPEN: 4,
    }
    assert tags(acme, group=CampaignGroup.OPEN, before=second.pk) == ["oldest"]


def test_campaigns_are_found_by_a_part_of_their_name_and_paged(acme: int) -> None:
    for n in range(7):
        press.campaign(acme, tag=f"news-{n}")
    pages = [tags(acme, limit=3)]
    last = rows(acme, limit=3)[-1].id
    pages.append(tags(acme, limit=3, before=last))
    last = rows(acme, limit=3, before=last)[-1].id
    pages.append(tags(acme, limit=3, before=last))

    assert [tag for page in pages for tag in page] == [f"news-{n}" for n in range(6, -1, -1)]
    name = rows(acme)[0].name
    assert len(rows(acme, name=name.upper()[1:-1])) == 7
    assert rows(acme, name="100%") == []


def test_tests_take_no_place_on_a_page_of_launches(acme: int) -> None:
    press.people(acme, 3)
    sent = press.launched(acme, press.campaign(acme, tag="sent"))
    cast.book(sent.stream_id, press.taken)
    run_control.end_finished_runs()
    tried = [press.launched(acme, press.campaign(acme, tag=f"tried-{n}")) for n in range(3)]
    Run.objects.filter(pk__in=[run.pk for run in tried]).update(is_sandboxed=True)

    assert tags(acme, group=CampaignGroup.DONE, limit=2) == ["sent"]
    assert tags(acme, group=CampaignGroup.DRAFT) == ["tried-2", "tried-1", "tried-0"]


def test_fifty_rows_take_as_many_queries_as_one_and_the_page_of_a_run_few(acme: int) -> None:
    run = launch_all(acme)["moving"]
    rows(acme)  # prepares the statements
    live_run.read_live_run(acme, run.pk, now=now())

    with round_trips.counted() as for_one:
        rows(acme, limit=1, name="")
    with round_trips.counted() as for_all:
        rows(acme)
    with round_trips.counted() as for_run:
        live_run.read_live_run(acme, run.pk, now=now())

    assert for_one() <= for_all() == for_run() == 10


def test_the_page_of_a_run_adds_up_while_the_run_moves(acme: int) -> None:
    press.people(acme, 60)
    run = press.launched(acme, press.campaign(acme))

    for result in (press.taken, press.refused, press.taken):
        cast.book(run.stream_id, result)
        seen = live_run.read_live_run(acme, run.pk, now=now())
        books = seen.progress.books
        assert sum(books.states.values()) == books.planned == 60
        accepted = sum(point.accepted for point in seen.series.points)
        assert accepted == books.counts[State.ACCEPTED]
        failed = sum(failure.count for failure in seen.failures)
        assert failed == books.counts[State.FAILED]

    seen = live_run.read_live_run(acme, run.pk, now=now())
    assert seen.failures[0].example == "No such user."
    assert seen.failures[0].code == "550 5.1.1"
    assert seen.sender == "news@acme.example"
    assert seen.progress.pace is not None
    run_control.pause_run(acme, run.pk, actor="anna")
    seen = live_run.read_live_run(acme, run.pk, now=now())
    assert seen.progress.state is RunState.PAUSED
    assert [cause.code for cause in seen.causes] == ["paused"]


def test_another_workspace_sees_no_run_and_no_campaign(acme: int, settings: Settings) -> None:
    globex = press.set_up_workspace(settings, "globex")
    run = launch_all(acme)["moving"]

    assert rows(globex) == []
    assert sum(listing.read_page(globex, now=now()).counts.values()) == 0
    assert run_lookup.find_run_ids(globex, [run.stream_id]) == {}
    assert run_lookup.find_run_ids(acme, [run.stream_id]) == {run.stream_id: run.pk}
    for id_ in (run.pk, uuid4()):
        with pytest.raises(CampaignUnknownError):
            live_run.read_live_run(globex, id_, now=now())


def test_a_scheduled_run_waits_and_one_that_is_partly_due_moves(acme: int) -> None:
    press.people(acme, 3)
    run = press.launched(acme, press.campaign(acme))

    with_later = listing.read_page(acme, now=run.launched_at - timedelta(days=400)).rows

    assert [row.group for row in with_later] == [CampaignGroup.WAITING]
    assert [row.group for row in rows(acme)] == [CampaignGroup.MOVING]
