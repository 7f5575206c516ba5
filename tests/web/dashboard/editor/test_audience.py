"""The audience of a draft: its conditions, its filter, and the people behind its numbers."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign
from postledger.contacts.models import Contact
from postledger.content.rendering.source import Format
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard.access import find_visitor
from postledger.web.dashboard.editor import preflight
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import read_text, save
from tests.web.dashboard.visitors import Person


def test_without_scripts_a_condition_is_added_and_removed_by_saving(
    anna: Person, draft: int
) -> None:
    plan = {"field": ["attributes.plan"], "op": ["is"], "value": ["pro"]}

    added = save(anna, draft, **plan, add="1")
    stored = Campaign.objects.get(pk=draft).audience
    removed = save(anna, draft, field=["", ""], op=["is", "is"], value=["pro", ""])

    assert read_text(added).count('name="value"') == 2
    assert stored == {"all": [{"field": "attributes.plan", "is": "pro"}]}
    assert removed.status_code == 302
    assert Campaign.objects.get(pk=draft).audience == {}


def test_a_filter_that_the_builder_cannot_show_is_edited_as_json(
    alice: Caller, anna: Person
) -> None:
    nested = {"all": [{"any": [{"plan": "pro"}, {"plan": "free"}]}]}
    draft = newsroom.make_campaign(alice, audience_filter=nested)
    page = unescape(anna.read(f"campaigns/{draft}/edit/"))

    wrong = save(anna, draft, filter_json='{"field": "state", "is": "OH"}')
    broken = save(anna, draft, filter_json="{plan: pro}")
    right = save(anna, draft, filter_json='{"plan": "pro"}')

    assert '"any": [' in page
    assert "No contact has this state." in read_text(wrong)
    assert "This is not JSON." in read_text(broken)
    assert "{plan: pro}" in read_text(broken)
    assert right.status_code == 302
    assert Campaign.objects.get(pk=draft).audience == {"plan": "pro"}


def test_no_condition_is_dropped_and_too_many_are_refused(anna: Person, draft: int) -> None:
    lines = {"op": ["exists"] * 101, "value": [""] * 101}

    refused = save(anna, draft, field=["attributes.a"] * 101, **lines)
    last = save(anna, draft, field=[*[""] * 100, "attributes.a"], **lines)

    assert "more than 100 conditions" in read_text(refused)
    assert last.status_code == 302
    stored = Campaign.objects.get(pk=draft).audience
    assert stored == {"all": [{"field": "attributes.a", "exists": True}]}


def test_the_audience_is_counted_once_for_the_checks(anna: Person, draft: int) -> None:
    press.people(anna.workspace_id, 2)

    with CaptureQueriesContext(connection) as captured:
        text = anna.read(f"campaigns/{draft}/edit/checks/")

    counts = [query for query in captured if "AS recipient GROUP BY" in query["sql"]]
    assert "2 recipients: finishes" in text
    assert len(counts) == 1


def test_an_audience_that_takes_too_long_is_estimated_and_the_content_read_all_the_same(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 5_000)
    Contact.objects.update(attributes={"city": "a city with quite a long name " * 9})
    slow = [{"field": "attributes.city", "contains": f"y {n} x"} for n in range(49)]
    Campaign.objects.filter(pk=draft).update(audience={"any": slow})
    visitor = find_visitor(anna.user, anna.workspace_id)
    assert visitor is not None

    with CaptureQueriesContext(connection) as captured:
        checked = preflight.run_preflight(
            visitor,
            drafts.find_campaign(anna.workspace_id, draft),
            now=datetime.now(UTC),
            patience=timedelta(milliseconds=1),
        )

    titles = [check.title for check in checked.checks]
    assert not checked.counts.is_exact
    assert checked.outlook.waiting == checked.counts.number
    assert "The content cannot be read" not in titles
    assert "Links and pictures are written as mail programs need them" in titles
    assert not any("SELECT count(*)\nFROM contacts_contact" in one["sql"] for one in captured)


def test_the_two_searches_for_missing_values_share_the_time_that_is_left(
    anna: Person,
) -> None:
    press.people(anna.workspace_id, 2)
    words = InlineSource("News", "Hello, {{ name }}.", Format.MARKDOWN, required=("name",))
    draft = press.campaign(anna.workspace_id, content=words)
    visitor = find_visitor(anna.user, anna.workspace_id)
    assert visitor is not None
    campaign = drafts.find_campaign(anna.workspace_id, draft)

    with CaptureQueriesContext(connection) as captured:
        preflight.run_preflight(
            visitor, campaign, now=datetime.now(UTC), patience=timedelta(seconds=8)
        )

    limits = [re.search(r"'statement_timeout', '?(\d+)", query["sql"]) for query in captured]
    *_, of_values = [int(limit[1]) for limit in limits if limit]
    assert of_values * 2 <= 8_000


def test_each_number_of_the_audience_leads_to_its_people(
    alice: Caller, anna: Person, draft: int
) -> None:
    press.people(alice.workspace_id, 3)
    with_state = Campaign.objects.get(pk=draft).workspace.contact_set.filter(
        address="r1@example.com"
    )
    with_state.update(state="bounced")

    checks = anna.read(f"campaigns/{draft}/edit/checks/")
    links = re.findall(r'<a class="num" href="([^"]*reason=[^"]*)"', checks)
    pages = [read_text(anna.client.get(unescape(link))) for link in links]

    assert len(pages) == 2
    assert "R0@example.com" in pages[0]
    assert "r1@example.com" not in pages[0]
    assert "r1@example.com" in pages[1]
    assert "Left out: bounced before" in pages[1]
