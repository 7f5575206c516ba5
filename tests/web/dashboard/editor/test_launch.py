"""A launch asks first, is refused for a problem of everybody, and is of the draft that was seen."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.accounts.models import Workspace
from postledger.accounts.people.roles import Role
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Campaign, Run
from postledger.contacts import lists
from postledger.contacts.models import Contact, List, Subscription
from postledger.deliveries import queries
from postledger.web.dashboard.editor import confirming, preflight
from tests.campaigns import press
from tests.contacts import people
from tests.races import collide
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.editor.draft_forms import launch, read_text, save
from tests.web.dashboard.visitors import Person

TOO_LATE = "It was launched already, so this click changed nothing."


def test_one_click_asks_and_names_what_goes_and_the_second_launches(
    anna: Person, draft: int
) -> None:
    lists.create_list(anna.workspace_id, key="readers", name="Readers", actor="alice")
    press.people(anna.workspace_id, 12)
    Subscription.objects.bulk_create(
        Subscription(contact=one, list=List.objects.get(key="readers"), state="active")
        for one in Contact.objects.all()
    )
    Workspace.objects.update(time_zone="Europe/Lisbon")
    moment = datetime.now(UTC) + timedelta(days=3)
    at = f"{moment:%Y-%m-%dT09:00}"
    line = {"field": ["domain"], "op": ["is"], "value": ["example.com"]}
    save(anna, draft, subject="June <3", list_key="readers", when="at", at=at, **line)
    seen = Campaign.objects.get(pk=draft).updated_at.isoformat()
    path = f"campaigns/{draft}/edit/launch/"

    text = read_text(anna.get(f"{path}?seen={quote(seen)}"))
    anna.post(path, seen=seen, shown="12")
    fewer = anna.post(path, seen=seen, shown="10", sure="1")
    none = Run.objects.count()
    confirmed = anna.post(path, seen=seen, shown="12", sure="1")

    for fact in (
        "<dt>Recipients</dt><dd>12</dd>",
        "<dd>June <3</dd>",
        "news@acme.example",
        f"{moment:%A} {moment.day} {moment:%B %Y}, 09:00 WE",
        "Schedule for 12 people ",
        f'name="seen" value="{seen}"',
    ):
        assert fact in text
    assert "(Europe/Lisbon)" in text.partition("<dt>When</dt>")[2]
    assert fewer.status_code == 422
    assert "it would go to 12 now" in read_text(fewer)
    assert none == 0
    assert confirmed.status_code == 302
    assert Run.objects.count() == 1
    # The browser's Back leads to the question, which is asked no more.
    assert anna.get(path).headers["Location"] == anna.url(f"campaigns/{draft}/")


def test_names_from_right_to_left_move_no_word_beside_them(anna: Person, draft: int) -> None:
    people.news(anna.workspace_id)
    people.member(anna.workspace_id)
    List.objects.update(name="קוראים")
    save(anna, draft, name="نشرة 1", list_key="news")
    viewer = visitors.sign_in(anna.workspace_id, role=Role.VIEWER, name="Vera")

    drafted = read_text(viewer.get(f"campaigns/{draft}/"))
    asked = read_text(anna.get(f"campaigns/{draft}/edit/launch/"))

    assert "to <bdi>קוראים</bdi>. Created by program" in drafted
    assert "Launch \u2068نشرة 1\u2069?</h1>" in asked
    assert "<dd><bdi>קוראים</bdi></dd>" in asked


def test_a_launch_counts_for_its_member_and_needs_no_number_if_it_is_small(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 2)

    answer = launch(anna, draft)
    again = launch(anna, draft)
    editor = anna.get(f"campaigns/{draft}/edit/")

    [run] = Run.objects.all()
    stream = queries.find_stream(run.stream_id)
    assert answer.headers["Location"] == anna.url(f"campaigns/runs/{run.pk}/")
    assert stream is not None
    assert stream.member_id == anna.user.member_set.get().pk
    assert again.headers["Location"] == anna.url(f"campaigns/{draft}/")
    assert TOO_LATE in read_text(anna.client.get(answer.url))
    assert editor.headers["Location"] == anna.url(f"campaigns/{draft}/")


def test_a_problem_of_everybody_refuses_the_launch_and_one_of_some_does_not(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 2, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "a@example.com"})
    path = f"campaigns/{draft}/edit/checks/"
    save(anna, draft, body="For {{ nobody }}")
    shown = read_text(anna.get(path))
    yesterday, long_ago = (
        f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M}" for days in (1, 3)
    )

    for changes, words in (
        ({"body": "For {{ nobody }}"}, "No recipient has a value for nobody"),
        ({"subject": "x" * 424, "body": "Hello"}, "It has 424 characters; shorten it to 150."),
        ({"body": "Hello", "when": "at", "at": yesterday}, "The chosen time is past."),
        ({"body": "Hello", "when": "local", "local_at": long_ago}, "The chosen time is past."),
    ):
        save(anna, draft, **{"subject": "News", **changes})
        refused = launch(anna, draft)
        assert refused.status_code == 422, words
        assert words in read_text(refused)
    none = Run.objects.count()
    save(anna, draft, subject="News", body="From {{ city }}")
    of_some = read_text(anna.get(path))
    launched = launch(anna, draft)

    assert re.search(r'<button class="btn btn-primary" type="button" disabled[^>]*>', shown)
    assert none == 0
    assert "1 recipient has no city" in of_some
    assert "problems: 0" in of_some
    assert launched.status_code == 302


def test_a_large_launch_needs_its_number_and_the_draft_that_was_seen(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1000)

    asked = read_text(anna.get(f"campaigns/{draft}/edit/launch/"))
    from_editor = anna.post(f"campaigns/{draft}/edit/launch/", typed="1,000", shown="1000")
    unasked = Run.objects.count()
    refused = [
        launch(anna, draft, shown="1000", **typed)
        for typed in ({}, {"typed": "100"}, {"typed": "10.00"}, {"typed": ""})
    ]
    old = datetime.now(UTC).isoformat()
    changed = launch(anna, draft, typed="1,000", shown="1000", seen=old)
    none = Run.objects.count()
    right = launch(anna, draft, typed="1,000", shown="1000")

    assert 'name="typed"' in asked
    assert "<dt>Recipients</dt><dd>1,000<br>" in asked
    assert "1,000 recipients are on no list: no list records that they agreed</a></dd>" in asked
    assert "<dt>Audience</dt><dd>All contacts</dd>" in asked
    assert (from_editor.status_code, unasked) == (200, 0), "it asks first"
    assert [answer.status_code for answer in refused] == [422] * 4
    assert "Type 1,000 to launch." in read_text(refused[0])
    assert 'value="100"' in read_text(refused[1])
    for answer in (refused[1], refused[3]):
        [field] = re.findall(r"<input[^>]* autofocus[^>]*>", read_text(answer))
        assert 'name="typed"' in field
        assert 'aria-invalid="true"' in field
    assert "was changed at the same time" in read_text(changed)
    assert none == 0
    assert right.status_code == 302
    assert Run.objects.count() == 1


def test_a_number_that_grew_by_more_than_a_tenth_is_asked_for_again(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1101)

    refused = launch(anna, draft, typed="1000", shown="1000")
    grown = launch(anna, draft, typed="1001", shown="1001")

    assert "Type 1,101 to launch." in read_text(refused)
    assert grown.status_code == 302


def test_an_estimate_is_confirmed_however_small_it_is() -> None:
    assert confirming.asks_number(RecipientCounts(1, is_exact=False))
    assert confirming.asks_number(RecipientCounts(100))
    assert not confirming.asks_number(RecipientCounts(99))


def test_a_launch_during_another_check_is_not_lost_and_can_be_repeated(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 200)
    seen = Campaign.objects.get(pk=draft).updated_at.isoformat()
    answer = {"seen": seen, "shown": "200", "typed": "200", "sure": "1"}

    with preflight.TURNS.take(anna.workspace_id):
        busy = anna.post(f"campaigns/{draft}/edit/launch/", **answer)
    none = Run.objects.count()
    kept = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', read_text(busy)))
    kept.pop("csrfmiddlewaretoken", None)
    repeated = anna.post(f"campaigns/{draft}/edit/launch/", **kept)

    assert (busy.status_code, none) == (429, 0)
    assert kept == answer
    assert repeated.status_code == 302
    assert Run.objects.count() == 1


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_second_click_during_the_launch_leads_to_the_campaign(anna: Person, draft: int) -> None:
    press.people(anna.workspace_id, 1)
    now = datetime.now(UTC)

    with collide.uncommitted(
        lambda: launching.launch_campaign(anna.workspace_id, draft, actor="anna", now=now)
    ):
        second = collide.start(lambda: launch(anna, draft))
        second.must_wait()

    assert second.answer().headers["Location"] == anna.url(f"campaigns/{draft}/")
    assert TOO_LATE in read_text(anna.get(f"campaigns/{draft}/"))
    assert Run.objects.count() == 1


def test_a_refused_launch_checks_the_draft_once(anna: Person, draft: int) -> None:
    """Each preflight counts the recipients, which is the longest of its searches."""
    with CaptureQueriesContext(connection) as refused:
        answer = launch(anna, draft)
    with CaptureQueriesContext(connection) as shown:
        anna.get(f"campaigns/{draft}/edit/checks/")

    assert answer.status_code == 422
    assert len(refused) < 1.5 * len(shown)
