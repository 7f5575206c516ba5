"""Whom a run goes to, in which order, and how planning goes on after any interruption."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from postledger.accounts import workspaces
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.contacts.actions import subscriptions
from postledger.contacts.details import Details
from postledger.contacts.models import Contact, Subscription
from postledger.content.rendering.source import Format
from postledger.deliveries import queries
from postledger.mailing.content_source import InlineSource
from postledger.mailing.send_times import SendTime
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db


def test_an_audience_is_planned_by_small_letters_in_byte_order(acme: int) -> None:
    for address in ("b@example.com", "A@example.com", "a-b@example.com", "C@example.com"):
        people.contact(acme, address)

    run = press.launched(acme, press.campaign(acme))

    assert press.addresses(run) == [
        "a-b@example.com",
        "A@example.com",
        "b@example.com",
        "C@example.com",
    ]
    assert run.planned_at is not None
    assert run.excluded == {}


def test_who_must_not_be_mailed_is_counted_by_why_and_not_planned(acme: int) -> None:
    people.news(acme)
    for name in ("ok", "gone", "dead", "left", "paused", "asked", "kept"):
        people.member(acme, f"{name}@example.com")
    people.leave(acme, "gone@example.com")
    people.bounce(acme, "dead@example.com")
    people.leave(acme, "left@example.com", "news")
    people.contact(acme, "elsewhere@example.com")
    by_name = {c.address.partition("@")[0]: c.pk for c in Contact.objects.all()}
    people.act(subscriptions.pause, acme, by_name["paused"])
    Subscription.objects.filter(contact_id=by_name["asked"]).update(state="pending")
    people.suppress(acme, "kept@example.com")

    run = press.launched(acme, press.campaign(acme, list_key="news"))

    assert press.addresses(run) == ["ok@example.com"]
    assert run.excluded == {
        "unsubscribed": 1,
        "bounced": 1,
        "list_unsubscribed": 1,
        "list_paused": 1,
        "list_pending": 1,
        "by_hand": 1,
    }


def test_a_mail_without_a_list_goes_to_nobody_who_never_confirmed_or_left_every_list(
    acme: int,
) -> None:
    for key in ("news", "offers"):
        people.news(acme, key)
    people.member(acme, "agreed@example.com")
    people.contact(acme, "imported@example.com")
    people.ask(acme, people.contact(acme, "known@example.com"))  # perhaps in another's name
    for name in ("asked", "confirmed", "left"):
        contact_id = people.unconfirmed(acme, f"{name}@example.com")
        people.ask(acme, contact_id)
        if name == "confirmed":
            people.act(subscriptions.confirm, acme, contact_id)
    people.leave(acme, "left@example.com", "news")
    for name in ("quit", "other"):
        people.member(acme, f"{name}@example.com")
        people.leave(acme, f"{name}@example.com", "news")
    people.subscribe(acme, Contact.objects.get(address="other@example.com").pk, "offers")

    run = press.launched(acme, press.campaign(acme))

    mailed = ("agreed", "confirmed", "imported", "known", "other")
    assert press.addresses(run) == [f"{name}@example.com" for name in mailed]
    assert run.excluded == {"unconfirmed": 2, "left_every_list": 1}


def test_a_snooze_that_ends_before_a_mail_is_due_does_not_keep_it_back(acme: int) -> None:
    people.news(acme)
    due = datetime.now(UTC) + timedelta(days=7)
    for name, end in (("awake", due - timedelta(days=6)), ("asleep", due + timedelta(days=1))):
        people.snooze(acme, people.member(acme, f"{name}@example.com"), end)

    later = press.launched(acme, press.campaign(acme, list_key="news", timing=SendTime(at=due)))
    now = press.launched(acme, press.campaign(acme, tag="news-2", list_key="news"))
    to_all = press.launched(acme, press.campaign(acme, tag="all", timing=SendTime(at=due)))

    assert press.addresses(later) == press.addresses(to_all) == ["awake@example.com"]
    assert later.excluded == {"snoozed": 1}
    assert now.excluded == {"snoozed": 2}
    assert to_all.excluded == {"on_break": 1}


def test_a_letter_gets_the_name_and_the_attributes_it_uses_and_no_others(acme: int) -> None:
    details = Details(
        name="Ann", attributes={"plan": "pro", "secret": "x"}, from_name="Bob at Acme"
    )
    contact_id = people.contact(acme, "ann@example.com", details)
    words = InlineSource("News", "{{ name }} has {{ plan }}.", Format.MARKDOWN, required=("plan",))

    run = press.launched(acme, press.campaign(acme, content=words))

    [(_, planned, variables, letter)] = press.lines(run)
    assert planned == contact_id
    assert variables == {"name": "Ann", "plan": "pro", "from_name": "Bob at Acme"}
    assert letter == 0


def test_who_comes_after_the_launch_is_not_part_of_the_run(acme: int) -> None:
    press.people(acme, 3)
    campaign_id = press.campaign(acme)
    run_id = press.launch(acme, campaign_id)
    late = people.contact(acme, "late@example.com")
    # Everything in a test's transaction comes at one moment.
    Contact.objects.filter(pk=late).update(created_at=Now() + timedelta(seconds=1))

    assert "late@example.com" not in press.addresses(press.planned(run_id))


def test_a_run_goes_on_after_the_chunk_that_was_committed(acme: int) -> None:
    press.people(acme, 35)
    run_id = press.launch(acme, press.campaign(acme))
    assert planning.plan_next_chunk(run_id, size=10)
    assert planning.plan_next_chunk(run_id, size=10)
    middle = Run.objects.get(pk=run_id)

    run = press.planned(run_id)

    assert middle.cursor_address != ""
    assert len(press.addresses(run)) == 35
    assert len(set(map(str.lower, press.addresses(run)))) == 35
    assert queries.read_books([run.stream_id])[run.stream_id].planned == 35


def test_who_leaves_while_a_run_is_planned_gets_nothing_and_is_counted_once(acme: int) -> None:
    for name in ("a", "b"):
        people.contact(acme, f"{name}@example.com", Details(time_zone="Asia/Tokyo"))
    local_time = SendTime(local_time=datetime(2026, 11, 16, 9))  # noqa: DTZ001  in their own zone
    launched = [
        press.launch(acme, press.campaign(acme)),
        press.launch(acme, press.campaign(acme, tag="local", timing=local_time)),
    ]
    people.leave(acme, "b@example.com")

    for run_id in launched:
        run = press.planned(run_id)
        assert press.addresses(run) == ["a@example.com"]
        assert run.excluded == {"unsubscribed": 1}


NINE = SendTime(local_time=datetime(2026, 11, 16, 9))  # noqa: DTZ001  in everybody's own zone


def test_whose_zone_is_unknown_is_in_the_zone_that_the_workspace_had_at_the_launch(
    acme: int,
) -> None:
    people.contact(acme, "a@example.com", Details(time_zone="Asia/Tokyo"))
    people.contact(acme, "b@example.com")
    Contact.objects.update(updated_at=Now() - timedelta(days=1))
    run_id = press.launch(acme, press.campaign(acme, timing=NINE))
    assert planning.plan_next_chunk(run_id)

    workspaces.set_time_zone(acme, "Asia/Tokyo", actor="alice")

    assert press.addresses(press.planned(run_id)) == ["a@example.com", "b@example.com"]


def test_many_launches_of_one_workspace_do_not_delay_those_of_another(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    globex = press.set_up_workspace(settings, "globex")
    for workspace_id in (acme, globex):
        press.people(workspace_id, 3)
    for workspace_id, tag in ((acme, "first"), (acme, "second"), (globex, "only")):
        campaign_id = press.campaign(workspace_id, tag=tag)
        press.launch(workspace_id, campaign_id)

    planning.plan_all()

    in_order = Run.objects.exclude(planned_at=None).order_by("planned_at")
    assert list(in_order.values_list("campaign__tag", flat=True)) == ["first", "only", "second"]
