"""The editor of a draft: what is written is saved, checked, shown, tested and launched."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any, override
from urllib.parse import urlencode

import pytest
from django.conf import LazySettings
from django.db import connection
from django.http import QueryDict
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from postledger.accounts import senders, working_hours, workspaces
from postledger.accounts.models import Sender, Workspace
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import NOBODY
from postledger.campaigns import article_deletion
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Campaign, Run
from postledger.contacts import lists
from postledger.contacts.models import Contact, List, Subscription
from postledger.content import articles, templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.deliveries import ledger, queries
from postledger.deliveries.reasons import Reason
from postledger.mailing.send_times import SendTime
from postledger.web.dashboard.access import find_visitor
from postledger.web.dashboard.editor import choices, confirming, preflight, readings, saving
from postledger.web.dashboard.editor.draft_form import DraftForm, Part
from postledger.web.dashboard.editor.readings import ReaderUnknownError
from tests.campaigns import press
from tests.races import collide
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

PART = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)


@pytest.fixture
def anna(alice: Caller) -> Person:
    return visitors.sign_in(alice.workspace_id)


@pytest.fixture
def draft(alice: Caller) -> int:
    return newsroom.make_campaign(alice)


def fields(campaign_id: int, **changes: Any) -> dict[str, Any]:
    """The form as a browser sends it: what the campaign has, and what a person changed."""
    campaign = Campaign.objects.select_related("sender").get(pk=campaign_id)
    return {
        "seen": campaign.updated_at.isoformat(),
        "name": campaign.name,
        "list_key": campaign.list_key,
        "match": "all",
        "field": [""],
        "op": ["is"],
        "value": [""],
        "kind": "markdown",
        "subject": campaign.content["subject"],
        "body": campaign.content["body"],
        "sender": campaign.sender.address,
        "when": "now",
        **changes,
    }


def save(person: Person, campaign_id: int, **changes: Any) -> Any:
    url = person.url(f"campaigns/{campaign_id}/edit/")
    return person.client.post(url, fields(campaign_id, **changes))


def read_text(response: Any) -> str:
    return unescape(" ".join(response.content.decode().split()))


def test_a_new_campaign_needs_a_name_alone_and_leads_to_its_editor(anna: Person) -> None:
    refused = anna.post("campaigns/new/", name="two\nlines\x07")
    first = anna.post("campaigns/new/", name="Winter catalogue")
    second = anna.post("campaigns/new/", name="Winter catalogue")

    tags = list(Campaign.objects.order_by("pk").values_list("tag", flat=True))
    assert refused.status_code == 422
    assert "Use printable characters only." in read_text(refused)
    assert tags == ["winter-catalogue", "winter-catalogue-2"]
    assert first.headers["Location"] != second.headers["Location"]
    assert "Winter catalogue" in read_text(anna.client.get(first.headers["Location"]))


def test_a_new_campaign_goes_to_the_only_list_and_all_contacts_are_warned_of(
    anna: Person,
) -> None:
    lists.create_list(anna.workspace_id, key="news", name="News", actor="alice")
    anna.post("campaigns/new/", name="One list")
    lists.create_list(anna.workspace_id, key="tips", name="Tips", actor="alice")
    anna.post("campaigns/new/", name="Two lists")

    first, second = Campaign.objects.order_by("pk")
    assert (first.list_key, second.list_key) == ("news", "")
    page = anna.read(f"campaigns/{second.pk}/edit/")
    assert "People who left one of your lists, but not all email, are among them." in page


def test_without_a_sender_the_page_says_what_to_do_first(charlie: Caller) -> None:
    carl = visitors.sign_in(charlie.workspace_id, name="Carl")
    Campaign.objects.all().delete()
    for sender in carl.user.member_set.get().workspace.sender_set.all():
        sender.delete()

    answer = carl.post("campaigns/new/", name="News")

    assert answer.status_code == 422
    assert "Connect a provider first" in read_text(answer)
    assert 'value="News"' in read_text(answer)


def test_what_is_written_is_what_the_api_has(alice: Caller, anna: Person, draft: int) -> None:
    lists.create_list(alice.workspace_id, key="news", name="News", actor="alice")

    answer = save(
        anna,
        draft,
        name="June",
        list_key="news",
        match="any",
        field=["attributes.plan", "list:news", "attributes.age", ""],
        op=["in", "not_on", "is", "is"],
        value=["pro, free", "", "5", ""],
        kind="html",
        subject="Hello {{ city }}",
        preheader="Read it, {{ title }}",
        body="<p>{{ nick | default: 'you' }}</p>\r\n<p>Bye</p>",
        when="at",
        at="2027-01-31T09:00",
        has_window="on",
        opens="09:00",
        closes="17:30",
        weekdays=["mon", "fri"],
    )

    stored = alice.get(f"/v1/campaigns/{draft}").body
    assert answer.status_code == 302, read_text(answer)
    assert (stored["name"], stored["list"]) == ("June", "news")
    assert stored["audience_filter"] == {
        "any": [
            {"field": "attributes.plan", "in": ["pro", "free"]},
            {"not": {"list": "news"}},
            {"field": "attributes.age", "in": ["5", 5]},
        ]
    }
    content = stored["content"]
    assert content["body"] == "<p>{{ nick | default: 'you' }}</p>\n<p>Bye</p>"
    assert (content["required"], content["optional"]) == (["city", "title"], ["nick"])
    assert content["preheader"] == "Read it, {{ title }}"
    assert stored["timing"]["at"] == "2027-01-31T09:00:00Z"
    assert stored["delivery_window"] == {
        "opens": "09:00",
        "closes": "17:30",
        "weekdays": ["mon", "fri"],
    }
    page = anna.read(f"campaigns/{draft}/edit/")
    assert 'value="pro, free"' in page
    assert 'value="Read it, {{ title }}"' in page
    assert 'value="2027-01-31T09:00"' in page


def test_what_is_wrong_stays_as_it_was_typed_and_the_rest_is_saved(
    anna: Person, draft: int
) -> None:
    answer = save(
        anna,
        draft,
        subject="A better subject",
        field=["attributes.age"],
        op=["at_least"],
        value=["many"],
        when="at",
        at="tomorrow",
    )

    text = read_text(answer)
    campaign = Campaign.objects.get(pk=draft)
    assert answer.status_code == 422
    assert 'value="many"' in text
    assert "Write a number, such as 5, 0.5 or 0,5." in text
    assert 'value="tomorrow"' in text
    assert "Write a day and a time" in text
    assert campaign.content["subject"] == "A better subject"
    assert (campaign.audience, campaign.timing) == ({}, {})


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


def test_a_draft_saves_itself_and_tells_when_it_did(anna: Person, draft: int) -> None:
    url = anna.url(f"campaigns/{draft}/edit/")
    seen = fields(draft)["seen"]

    answer = anna.client.post(url, fields(draft, subject="Hi {{ city }}"), headers=PART)

    text, stored = read_text(answer), Campaign.objects.get(pk=draft)
    assert answer.headers["HX-Trigger"] == "saved"
    assert "Saved at" in text
    assert stored.updated_at.isoformat() in text
    assert stored.updated_at.isoformat() != seen
    assert 'name="may_be_empty" value="city"' in text
    assert "<html" not in text


def autosave(person: Person, campaign_id: int, **changes: Any) -> Any:
    url = person.url(f"campaigns/{campaign_id}/edit/")
    return person.client.post(url, fields(campaign_id, **changes), headers=PART)


def test_a_value_with_a_default_may_be_empty_also_if_it_got_it_later(
    anna: Person, draft: int
) -> None:
    autosave(anna, draft, subject="Hi {{ city }}")
    autosave(anna, draft, subject="Hi {{ city | default: 'you' }}", variable=["city"])

    content = Campaign.objects.get(pk=draft).content
    assert "city" in content["optional"]


def test_a_tick_moves_no_line_of_the_values_and_a_browser_restores_none(
    anna: Person, draft: int
) -> None:
    body = "{{ plan }} {{ city }} {{ age }}"
    autosave(anna, draft, body=body, subject="News")
    shown = ["age", "city", "plan"]

    autosave(anna, draft, body=body, subject="News", variable=shown, may_be_empty=["age"])
    page = anna.read(f"campaigns/{draft}/edit/")

    assert re.findall(r'name="variable" value="(\w+)"', page) == shown
    assert re.findall(r'name="may_be_empty" value="(\w+)" checked', page) == ["age"]
    assert re.search(r'<form[^>]* id="draft"[^>]* autocomplete="off"', page)


def test_a_draft_is_checked_again_when_all_of_it_is_saved_and_it_changed(
    anna: Person, draft: int
) -> None:
    url = anna.url(f"campaigns/{draft}/edit/checks/")
    wrong = {"field": ["attributes.age"], "op": ["at_least"], "value": ["many"]}

    partly = autosave(anna, draft, subject="A better subject", **wrong)
    wholly = autosave(anna, draft)
    part = read_text(anna.client.get(url, headers=PART))
    [checked] = re.findall(r'name="checked" form="draft" value="([^"]*)"', part)
    again = autosave(anna, draft, checked=checked)

    assert "Write a number, such as 5, 0.5 or 0,5." in read_text(partly)
    assert '<li data-field="id_match">' in read_text(partly)
    assert "HX-Trigger" not in partly.headers
    assert wholly.headers["HX-Trigger"] == "saved"
    assert again.status_code == 200
    assert "HX-Trigger" not in again.headers


def test_without_scripts_a_draft_with_unsaved_parts_leads_to_no_launch(
    anna: Person, draft: int
) -> None:
    link = f'href="{anna.url(f"campaigns/{draft}/edit/checks/")}">Check, test and launch'

    partly = read_text(save(anna, draft, when="at", at="tomorrow"))
    past = read_text(save(anna, draft, when="at", at="2020-01-31T09:00"))

    assert link in anna.read(f"campaigns/{draft}/edit/")
    assert link not in partly
    assert "Possible when all is saved." in partly
    assert "2020-01-31 is in the past." in past


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("match", "none"), ("filter_json", "\0"), ("subject", "\0"), ("body", "\0")),
        *(("text", "\0"), ("page", "a" * 501), ("at", "\0"), ("local_at", "\0")),
        *(("opens", "\0"), ("closes", "\0"), ("value", ["\0"])),
    ],
    ids=lambda one: ascii(one)[:16],
)
def test_whatever_is_posted_is_refused_beside_its_field(
    anna: Person, draft: int, name: str, value: str | list[str]
) -> None:
    kind = "page" if name == "page" else "markdown"
    when = {"at": "at", "local_at": "local"}.get(name, "now")
    over = {"field": ["attributes.age"], "op": ["over"]} if name == "value" else {}
    hours = {"has_window": "on", "opens": "09:00", "closes": "17:00", "weekdays": ["mon"]}

    answer = save(anna, draft, **{"kind": kind, "when": when, **over, **hours, name: value})

    assert answer.status_code == 422
    assert "this is not:" in read_text(answer)


def test_a_variable_that_cannot_be_stored_is_left_out(anna: Person, draft: int) -> None:
    save(anna, draft, body="{{ open", variable=["city", "a\0b"])

    assert Campaign.objects.get(pk=draft).content["required"] == ["city"]


def test_two_editors_at_once_are_told_and_choose(anna: Person, draft: int) -> None:
    boris = visitors.sign_in(anna.workspace_id, name="Boris")
    url = anna.url(f"campaigns/{draft}/edit/")
    seen = fields(draft)["seen"]
    quiet = anna.client.get(url, {"seen": seen}, headers=PART)
    save(boris, draft, subject="Boris was here")

    noticed = anna.client.get(url, {"seen": seen}, headers=PART)
    refused = save(anna, draft, seen=seen, subject="Anna was here")
    kept = Campaign.objects.get(pk=draft).content["subject"]
    mine = save(anna, draft, seen=seen, subject="Anna was here", overwrite="1")

    assert quiet.status_code == 204
    assert 'hx-sync="#draft:drop"' in anna.read(f"campaigns/{draft}/edit/")
    assert "Boris changed this campaign" in read_text(noticed)
    assert refused.status_code == 409
    assert "Boris changed this campaign" in read_text(refused)
    assert 'value="Anna was here"' in read_text(refused)
    assert kept == "Boris was here"
    assert mine.status_code == 302
    assert Campaign.objects.get(pk=draft).content["subject"] == "Anna was here"


def test_a_change_in_another_window_of_ones_own_is_called_so(anna: Person, draft: int) -> None:
    seen = fields(draft)["seen"]
    save(anna, draft, subject="Window one")

    refused = read_text(save(anna, draft, seen=seen, subject="Window two"))

    assert "You changed this campaign in another window" in refused
    assert "theirs" not in refused


class InterruptedForm(DraftForm):
    """Somebody else saves after the first part."""

    @override
    def list_parts(self) -> Iterator[Part]:
        parts = super().list_parts()
        yield next(parts)
        boris = visitors.sign_in(self.workspace_id, name="Boris")
        save(boris, self.campaign.id, when="at", at="2027-01-31T09:00")
        yield from parts


def test_whose_part_was_saved_before_a_conflict_is_told_so(anna: Person, draft: int) -> None:
    campaign = drafts.find_campaign(anna.workspace_id, draft)
    posted = QueryDict(urlencode(fields(draft, name="June", subject="June"), doseq=True))
    form = InterruptedForm(
        anna.workspace_id, campaign, choices.list_choices(anna.workspace_id), posted
    )
    visitor = find_visitor(anna.user, anna.workspace_id)
    assert visitor is not None

    saved = saving.save_draft(visitor, form, as_of=campaign.updated_at, now=datetime.now(UTC))

    values = {"saved": saved, "visitor": visitor}
    shown = render_to_string("dashboard/editor_problems.html", values)
    stored = Campaign.objects.get(pk=draft)
    assert (stored.name, stored.content["subject"]) == ("June", "News for {{ name }}")
    assert "Only a part of yours is saved" in shown


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


def test_the_checks_show_the_figures_of_the_api_and_who_lacks_a_value(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 3, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "nobody@example.com"})
    alice.post("/v1/contacts", {"address": "gone@example.com"})
    Contact.objects.filter(address="gone@example.com").update(state="unsubscribed")
    save(anna, draft, body="From {{ city }}")

    text = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    part = read_text(anna.client.get(anna.url(f"campaigns/{draft}/edit/checks/"), headers=PART))
    forecast = alice.get(f"/v1/campaigns/{draft}/forecast").body

    assert f"{forecast['waiting']} recipients: finishes" in text
    assert "1 recipient has no city" in text
    assert "capitals count" not in text
    assert "nobody@example.com" in text
    assert "One-click unsubscribe header, and a footer" in text
    assert "<html" not in part
    assert 'id="people" hx-swap-oob' in part
    assert "Launch to 4 people" in part


def test_the_forecast_shows_the_days_of_the_api_and_leads_to_what_would_change_it(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 9)
    Sender.objects.update(daily_limit=1)
    manager = visitors.sign_in(anna.workspace_id, role=Role.MANAGER, name="Mia")
    sender = Campaign.objects.get(pk=draft).sender_id

    page = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    theirs = read_text(manager.get(f"campaigns/{draft}/edit/checks/"))
    days = alice.get(f"/v1/campaigns/{draft}/forecast").body["days"]

    shown = re.findall(
        r'<th scope="row">\w+ (\d+) \w+</th><td>[^<]+</td><td class="n">1</td>', page
    )
    assert [int(number) for number in shown] == [int(day["day"][-2:]) for day in days[:7]]
    assert '2 more days</th><td class="n">2</td>' in page
    limits_url = anna.url(f"senders/{sender}/limits/#id_daily_limit")
    assert f'<a href="{limits_url}">Raise the sender\'s daily limit</a>' in page
    assert "Choose another sender" not in page
    assert limits_url not in theirs
    assert "Raise the sender's daily limit" in theirs

    ledger.hold_sender(sender, reason=Reason.PAUSED, actor="bob")
    held = anna.read(f"campaigns/{draft}/edit/checks/")
    assert f'href="{anna.url(f"senders/{sender}/")}">See why its sender is held' in held


def test_the_checks_name_the_attribute_that_differs_in_case(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 2, attributes={"City": "Porto"})
    save(anna, draft, body="From {{ city }}")

    text = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))

    assert "No recipient has a value for city" in text
    assert "Contacts have City, and capitals count. Write City in the text." in text


def test_a_missing_footer_and_wrong_content_are_problems(anna: Person, draft: int) -> None:
    workspaces.set_organisation(anna.workspace_id, NOBODY, actor="alice")
    save(anna, draft, subject="", body="{{ open")

    text = anna.read(f"campaigns/{draft}/edit/checks/")

    assert "The footer of your emails is not complete" in text
    assert "Enter your organisation and its postal address under Branding." in text
    assert f'href="{anna.url("content/branding/")}"' in text.partition("is not complete")[2]
    assert "Nobody would get it" in text
    assert "{{ has no end here; close it before the next one." in text
    assert "Possible when this is solved:" in text
    assert f'href="{anna.url(f"campaigns/{draft}/edit/")}#audience">Nobody would get it</a>' in text


def test_an_archived_list_keeps_its_name_and_refuses_the_launch(anna: Person, draft: int) -> None:
    lists.create_list(anna.workspace_id, key="leser-2", name="Leser", actor="alice")
    save(anna, draft, list_key="leser-2")
    lists.archive_list(anna.workspace_id, key="leser-2", actor="alice")

    page = anna.read(f"campaigns/{draft}/edit/")
    checks = anna.read(f"campaigns/{draft}/edit/checks/")
    refused = launch(anna, draft)

    assert '<option value="leser-2" selected>Leser (archived)</option>' in page
    assert "The list Leser is archived" in checks
    assert "Choose another list, or take this one into use again" in checks
    assert refused.status_code == 422
    assert not Run.objects.exists()


def test_a_wrong_subject_is_a_problem_also_without_a_text(anna: Person, draft: int) -> None:
    press.people(anna.workspace_id, 1)
    save(anna, draft, subject="{{ oops", body="")

    text = anna.read(f"campaigns/{draft}/edit/checks/")

    titles = re.findall(r"Problem: </span>([^<]*)</p>", text)
    assert titles == ["Subject, line 1", "Text"]


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


def test_the_preview_is_what_a_contact_would_get_in_a_frame_that_runs_nothing(
    alice: Caller, charlie: Caller, anna: Person, draft: int
) -> None:
    alice.post("/v1/contacts", {"address": "mira@example.com", "name": "Mira"})
    charlie.post("/v1/contacts", {"address": "far@example.com", "name": "Far"})
    path = f"campaigns/{draft}/edit"
    save(anna, draft, preheader="<b>Not</b> bold, {{ name }}")

    shown = anna.read(f"{path}/preview/", **{"as": "mira@example.com"})
    text = anna.read(f"{path}/preview/", **{"as": "mira@example.com", "show": "text"})
    strange = anna.read(f"{path}/preview/", **{"as": "far@example.com"})
    alice.post("/v1/contacts", {"address": "miro@example.com", "name": "Miro"})
    by_part = anna.read(f"{path}/preview/", **{"as": "mira"})
    of_several = anna.read(f"{path}/preview/", **{"as": "mir"})
    offered = anna.read(f"{path}/readers/", **{"as": "mir"})
    offered_first = anna.read(f"{path}/readers/")
    frame = anna.get(f"{path}/letter/", **{"as": "mira@example.com"})

    assert "News for Mira" in shown
    assert "Preheader: &lt;b&gt;Not&lt;/b&gt; bold, Mira" in shown
    for page in (shown, by_part):
        assert "To: <b>Mira</b> &lt;mira@example.com&gt;" in page
    assert "Not" not in text.partition("<pre")[2]
    assert "&lt;b&gt;Not&lt;/b&gt; bold, Mira</div>" in frame.content.decode()
    assert 'sandbox=""' in shown
    assert "Hello, Mira." in text
    assert "No contact has the address far@example.com." in strange
    assert "News for Mira" in by_part
    assert "Several contacts have “mir” in their name or address." in of_several
    for listed in (offered, offered_first):
        assert set(re.findall('value="([^"]*)"', listed)) == {
            "mira@example.com",
            "miro@example.com",
        }
    assert frame.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "<strong" in frame.content.decode()
    assert "Mira" in frame.content.decode()


def test_a_test_goes_to_the_addresses_as_a_contact_would_get_it(
    alice: Caller, anna: Person, draft: int
) -> None:
    mira = alice.post("/v1/contacts", {"address": "mira@example.com", "name": "Mira"}).body["id"]
    path = f"campaigns/{draft}/edit/test/"

    sent = anna.post(path, to="anna@example.com", **{"as": "Mira@example.com"})
    wrong = anna.post(path, to="no address", **{"as": "mira@example.com"})

    url = anna.url(path)
    parts = {"to": "no address", "as": ""}
    in_place = read_text(anna.client.post(url, parts, headers=PART))
    as_nobody = {"to": "anna@example.com", "as": "nobody at all"}
    of_nobody = read_text(anna.client.post(url, as_nobody, headers=PART))
    state = read_text(anna.client.get(url, headers=PART))

    [run] = Run.objects.all()
    assert sent.status_code == 302
    assert 'id="test-to-error" role="alert" hx-swap-oob="true">There is no address' in in_place
    assert 'id="test-as-error" role="alert" hx-swap-oob="true">No contact has' in of_nobody
    assert "<input" not in in_place
    assert 'hx-trigger="every 4s"' in state
    assert 'id="test-to-error"' not in state
    assert anna.get(path).headers["Location"] == anna.url(f"campaigns/{draft}/edit/checks/")
    assert (run.is_test, run.test_contact_id, run.actor) == (True, mira, anna.actor)
    assert wrong.status_code == 422
    assert 'value="no address"' in read_text(wrong)
    assert "There is no address to send a test to." in read_text(wrong)


def launch(person: Person, draft: int, **changes: str) -> Any:
    """The answer to the question whether a draft is launched."""
    seen = Campaign.objects.get(pk=draft).updated_at.isoformat()
    answer = {"seen": seen, "shown": "99", "sure": "1", **changes}
    return person.post(f"campaigns/{draft}/edit/launch/", **answer)


def test_one_click_asks_and_names_what_goes_and_the_second_launches(
    anna: Person, draft: int
) -> None:
    lists.create_list(anna.workspace_id, key="readers", name="Readers", actor="alice")
    press.people(anna.workspace_id, 12)
    Subscription.objects.bulk_create(
        Subscription(contact=one, list=List.objects.get(key="readers"), state="active")
        for one in Contact.objects.all()
    )
    moment = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%dT09:00}"
    save(anna, draft, subject="June <3", list_key="readers", when="at", at=moment)
    seen = Campaign.objects.get(pk=draft).updated_at.isoformat()
    path = f"campaigns/{draft}/edit/launch/"

    asked = anna.post(path, seen=seen, shown="12")
    fewer = anna.post(path, seen=seen, shown="10", sure="1")
    none = Run.objects.count()
    confirmed = anna.post(path, seen=seen, shown="12", sure="1")

    text = read_text(asked)
    assert asked.status_code == 200
    assert "<dt>Recipients</dt><dd>12</dd>" in text
    assert "<dt>Audience</dt><dd>Readers</dd>" in text
    assert "<dd>June <3</dd>" in text
    assert "news@acme.example" in text
    assert "09:00" in text.partition("<dt>When</dt>")[2]
    assert f'name="seen" value="{seen}"' in text
    assert fewer.status_code == 422
    assert "it would go to 12 now" in read_text(fewer)
    assert none == 0
    assert confirmed.status_code == 302
    assert Run.objects.count() == 1


def test_the_question_names_the_subject_of_a_template_and_the_time_of_each_reader(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1)
    templates.create(anna.workspace_id, key="june", name="June", actor="alice")
    text = Source("June is here", "Hello.", Format.MARKDOWN, locale="en")
    version = Version((), (), "en", (text,))
    templates.add_version(anna.workspace_id, key="june", version=version, actor="alice")
    day = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    times = {"when": "local", "local_at": f"{day}T09:00", "has_window": "on"}
    hours = {"opens": "09:00", "closes": "17:30", "weekdays": ["mon", "fri"]}
    save(anna, draft, kind="template", template="june", **times, **hours)

    asked = read_text(anna.post(f"campaigns/{draft}/edit/launch/", shown="1"))

    assert "<dd>June is here</dd>" in asked
    assert f"{day} 09:00, each reader" in asked
    assert "Mon, Fri 09:00-17:30 of each reader" in asked


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
    assert again.status_code == 422
    assert "was launched before" in read_text(again)
    assert editor.headers["Location"] == anna.url(f"campaigns/{draft}/")


def test_a_problem_of_everybody_refuses_the_launch_and_one_of_some_does_not(
    alice: Caller, anna: Person, draft: int
) -> None:
    newsroom.people(alice, 2, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "a@example.com"})
    path = f"campaigns/{draft}/edit/checks/"
    save(anna, draft, body="For {{ nobody }}", when="at", at="2020-01-31T09:00")

    shown = read_text(anna.get(path))
    refused = launch(anna, draft)
    none = Run.objects.count()
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M}"
    save(anna, draft, body="From {{ city }}", when="at", at=yesterday)
    of_some = read_text(anna.get(path))
    launched = launch(anna, draft)

    assert "No recipient has a value for nobody" in shown
    assert re.search(r'<button class="btn btn-primary" type="button" disabled[^>]*>', shown)
    assert refused.status_code == 422
    assert "It was not launched: No recipient has a value for nobody." in read_text(refused)
    assert none == 0
    assert "1 recipient has no city" in of_some
    assert "problems: 0" in of_some
    assert "The time is past: mail goes at once." in of_some
    assert launched.status_code == 302


def test_a_large_launch_needs_its_number_and_the_draft_that_was_seen(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1000)

    without = launch(anna, draft)
    wrong = launch(anna, draft, typed="100", shown="1000")
    misread = launch(anna, draft, typed="10.00", shown="1000")
    empty = launch(anna, draft, typed="", shown="1000")
    changed = launch(anna, draft, typed="1,000", shown="1000", seen=datetime.now(UTC).isoformat())
    none = Run.objects.count()
    right = launch(anna, draft, typed="1,000", shown="1000")

    assert "Type 1,000 to launch." in read_text(without)
    assert 'value="100"' in read_text(wrong)
    assert misread.status_code == 422, "no group of three digits"
    for refused in (wrong, empty):
        [field] = re.findall(r"<input[^>]* autofocus[^>]*>", read_text(refused))
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


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_draft_that_is_launched_while_it_is_saved_stays_as_it_was_launched(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1)
    now = datetime.now(UTC)

    with collide.uncommitted(
        lambda: launching.launch_campaign(anna.workspace_id, draft, actor="boris", now=now)
    ):
        late_save = collide.start(lambda: save(anna, draft, subject="Too late"))
        late_save.must_wait()

    assert late_save.answer().headers["Location"] == anna.url(f"campaigns/{draft}/")
    assert Campaign.objects.get(pk=draft).content["subject"] == "News for {{ name }}"


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_a_draft_and_the_deletion_of_its_article_at_once_the_later_is_refused(
    anna: Person, draft: int
) -> None:
    for key in ("kept", "gone"):
        articles.create(anna.workspace_id, key=key, title=key, actor="alice")

    def delete(key: str) -> Sequence[Campaign]:
        return article_deletion.delete_article(anna.workspace_id, key=key, actor="boris")

    with collide.uncommitted(lambda: delete("gone")):
        late_save = collide.start(lambda: save(anna, draft, kind="article", article="gone"))
        late_save.must_wait()
    refused = late_save.answer()
    with collide.uncommitted(lambda: save(anna, draft, kind="article", article="kept", text="")):
        late_deletion = collide.start(lambda: delete("kept"))
        late_deletion.must_wait()

    assert refused.status_code == 422
    assert "Article “gone” not found in this workspace." in read_text(refused)
    assert [one.pk for one in late_deletion.answer()] == [draft]
    assert [one.key for one in articles.list_articles(anna.workspace_id)] == ["kept"]


def test_a_search_for_a_reader_that_takes_too_long_says_so(anna: Person) -> None:
    press.people(anna.workspace_id, 20_000)

    with pytest.raises(ReaderUnknownError, match="took too long"):
        readings.find_contact_id(
            anna.workspace_id, "nobody has this", patience=timedelta(milliseconds=1)
        )


def test_a_copy_of_a_launched_campaign_is_a_draft_of_its_own(anna: Person, draft: int) -> None:
    save(anna, draft, value=["pro"], field=["attributes.plan"])
    launch(anna, draft)

    answer = anna.post(f"campaigns/{draft}/duplicate/")

    original, copied = Campaign.objects.order_by("pk")
    assert answer.headers["Location"] == anna.url(f"campaigns/{copied.pk}/edit/")
    assert (copied.name, copied.timing) == ("Copy of News of May", {})
    assert (copied.content, copied.audience) == (original.content, original.audience)
    assert original.audience != {}


def archive_sender(workspace_id: int) -> None:
    """Another one becomes the default before."""
    [old] = Sender.objects.filter(workspace_id=workspace_id)
    account_id, address = old.account_id, "other@acme.example"
    other = senders.create_sender(
        workspace_id, address=address, account_id=account_id, actor="alice"
    )
    senders.set_default(workspace_id, sender_id=other, actor="alice")
    senders.archive_sender(workspace_id, sender_id=old.pk, actor="alice")


def archive_list(workspace_id: int, draft: int) -> None:
    """The list of a draft."""
    lists.create_list(workspace_id, key="gone", name="Gone", actor="alice")
    change = {"list_key": "gone"}
    drafts.change_campaign(workspace_id, draft, change, actor="alice", now=datetime.now(UTC))
    lists.archive_list(workspace_id, key="gone", actor="alice")


@pytest.mark.parametrize("archived", [("list",), ("sender",), ("list", "sender")], ids=" and ".join)
def test_a_draft_whose_list_or_sender_was_archived_is_saved_and_gets_others(
    anna: Person, draft: int, archived: tuple[str, ...]
) -> None:
    press.people(anna.workspace_id, 1)
    if "list" in archived:
        archive_list(anna.workspace_id, draft)
    if "sender" in archived:
        archive_sender(anna.workspace_id)
    others = {"list_key": "", "sender": Sender.objects.get(is_default=True).address}

    renamed = save(anna, draft, name="June")
    page = read_text(anna.get(f"campaigns/{draft}/edit/"))
    part = read_text(autosave(anna, draft, name="July"))
    checks = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    refused = read_text(launch(anna, draft))
    stored = Campaign.objects.get(pk=draft)
    mended = save(anna, draft, name="August", **others)
    after = read_text(anna.get(f"campaigns/{draft}/edit/"))

    assert (renamed.status_code, stored.name) == (302, "July")
    words = {"list": "There is no list 'gone', or it is archived.", "sender": "is archived and"}
    for one in archived:
        field = "list_key" if one == "list" else one
        assert f'<li data-field="id_{field}">' in part
        assert f'<span class="error" id="id_{field}_error">' in page
        assert words[one] in page
        assert words[one] in part
        assert (words[one] if one == "sender" else "The list Gone is archived") in checks
        assert words[one] not in after
    assert "It was not launched: The " in refused
    assert mended.status_code == 302
    campaign = Campaign.objects.select_related("sender").get(pk=draft)
    assert (campaign.name, campaign.list_key) == ("August", "")
    assert campaign.sender.address == others["sender"]
    assert launch(anna, draft).status_code == 302


@pytest.mark.parametrize("kind", ["at", "local_time"])
def test_a_draft_whose_time_is_long_past_is_saved_and_then_sent_now(
    anna: Person, draft: int, kind: str
) -> None:
    press.people(anna.workspace_id, 1)
    moment = "2025-01-01T09:00:00" + ("Z" if kind == "at" else "")
    Campaign.objects.filter(pk=draft).update(timing={kind: moment})
    field = {"at": "at", "local_time": "local_at"}[kind]
    shown = {"when": field.removesuffix("_at"), field: "2025-01-01T09:00"}

    renamed = save(anna, draft, name="June", **shown)
    page = read_text(anna.get(f"campaigns/{draft}/edit/"))
    refused = launch(anna, draft)
    mended = save(anna, draft, name="July", when="now", subject="Read this")

    assert renamed.status_code == 302
    assert f'id="id_{field}_error">2025-01-01 is in the past.' in page
    assert refused.status_code == 422
    assert "2025-01-01 is in the past." in read_text(refused)
    assert mended.status_code == 302
    campaign = Campaign.objects.get(pk=draft)
    assert (campaign.name, campaign.timing) == ("July", {})
    assert campaign.content["subject"] == "Read this"


def read_shown(person: Person, draft: int) -> dict[str, Any]:
    """The fields of time and hours as the page shows them, and a browser sends them."""
    page = person.read(f"campaigns/{draft}/edit/")
    shown: dict[str, Any] = {
        name: re.search(rf'name="{name}" value="([^"]*)"', page)[1]  # type: ignore[index]  # it is there
        for name in ("at", "local_at", "opens", "closes")
    }
    [when] = re.findall(r'name="when" value="(\w+)" checked', page)
    days = re.findall(r'name="weekdays" value="(\w+)"[^>]* checked', page)
    return {**shown, "when": when, "weekdays": days, "has_window": "on"}


@pytest.mark.parametrize(
    "timing",
    [
        SendTime(at=datetime(2027, 10, 31, 1, 30, tzinfo=UTC)),  # the second 02:30 of its night
        SendTime(at=datetime(2027, 5, 5, 9, 0, 45, tzinfo=UTC)),
        SendTime(local_time=datetime(2027, 5, 5, 9, 0, 45)),  # noqa: DTZ001  of each reader
    ],
)
def test_a_save_changes_no_time_and_no_hours_that_nobody_touched(
    anna: Person, draft: int, timing: SendTime
) -> None:
    Workspace.objects.filter(pk=anna.workspace_id).update(time_zone="Europe/Berlin")
    hours = working_hours.parse_hours(["09:00-12:30", "13:30-18:00"], days="mon-fri")
    change = {"timing": timing, "delivery_window": hours}
    drafts.change_campaign(anna.workspace_id, draft, change, actor="alice", now=datetime.now(UTC))
    before = Campaign.objects.get(pk=draft)
    shown = read_shown(anna, draft)

    saved = save(anna, draft, name="June", **shown)
    after = Campaign.objects.get(pk=draft)

    assert saved.status_code == 302
    assert "09:00-12:30, 13:30-18:00" in anna.read(f"campaigns/{draft}/edit/")
    assert after.name == "June"
    assert (after.timing, after.delivery_window) == (before.timing, before.delivery_window)
    save(anna, draft, **{**shown, "weekdays": ["mon"]})
    other_days = drafts.find_campaign(anna.workspace_id, draft).delivery_window
    save(anna, draft, **{**shown, "closes": "15:00"})
    other_hours = drafts.find_campaign(anna.workspace_id, draft).delivery_window
    assert other_days == working_hours.parse_hours(["09:00-12:30", "13:30-18:00"], days="mon")
    assert other_hours == working_hours.parse_hours(["09:00-15:00"], days="mon-fri")
    save(anna, draft, **{**shown, "at": "2027-03-01T10:00", "local_at": "2027-03-01T10:00"})
    moved = drafts.find_campaign(anna.workspace_id, draft).timing
    assert moved.at == (timing.at and datetime(2027, 3, 1, 9, tzinfo=UTC))
    assert moved.local_time == (timing.local_time and datetime(2027, 3, 1, 10))  # noqa: DTZ001  of each


def test_a_copy_of_a_campaign_whose_list_and_sender_were_archived_says_so(
    anna: Person, draft: int
) -> None:
    archive_list(anna.workspace_id, draft)
    archive_sender(anna.workspace_id)

    answer = anna.post(f"campaigns/{draft}/duplicate/")

    copied = Campaign.objects.order_by("pk").last()
    assert copied is not None
    assert answer.headers["Location"] == anna.url(f"campaigns/{copied.pk}/edit/")
    page = read_text(anna.client.get(answer.headers["Location"]))
    assert copied.list_key == "gone"
    assert "There is no list 'gone', or it is archived." in page
    assert "is archived and takes no new mail." in page


@pytest.mark.parametrize("when", ["at", "local"])
def test_a_copy_keeps_a_time_that_lies_ahead_and_says_of_another_that_it_was_past(
    anna: Person, draft: int, when: str
) -> None:
    field = {"at": "at", "local": "local_at"}[when]
    pages = []
    for days in (5, -5):
        moment = f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT09:00}"
        save(anna, draft, when=when, **{field: moment})
        answer = anna.post(f"campaigns/{draft}/duplicate/")
        pages.append(read_text(anna.client.get(answer.headers["Location"])))

    _original, ahead, past = Campaign.objects.order_by("pk")
    assert list(ahead.timing.values()) != []
    assert past.timing == {}
    assert "was not copied" not in pages[0]
    assert "The time of the original is past, so it was not copied" in pages[1]


def test_a_stranger_with_a_large_body_is_asked_to_sign_in_before_it_is_read(
    anna: Person, draft: int
) -> None:
    url = anna.url(f"campaigns/{draft}/edit/")
    body = json.dumps("a" * 100_000)

    answer = Client().post(url, body, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/account/login/")


def test_a_value_that_readers_of_a_template_lack_leads_to_a_new_version(
    alice: Caller, anna: Person
) -> None:
    newsroom.people(alice, 2, attributes={"city": "Porto"})
    alice.post("/v1/contacts", {"address": "a@example.com"})
    alice.post("/v1/templates", {"id": "welcome", "name": "Welcome"})
    text = {"locale": "en", "subject": "Hi", "format": "markdown", "body": "{{ city }} {{ plan }}"}
    version = {"required": ["city", "plan"], "fallback_locale": "en", "texts": [text]}
    alice.post("/v1/templates/welcome/versions", version)
    draft = newsroom.make_campaign(alice, content={"kind": "template", "id": "welcome"})

    page = anna.read(f"campaigns/{draft}/edit/checks/")

    assert "1 recipient has no city" in page
    assert "Make it optional in a new version of the template, or leave these people out" in page
    assert "Every email would fail. Make it optional in a new version of the template." in page
    assert f'href="{anna.url("content/templates/welcome/write/")}"' in page
    assert "et the value be empty" not in page


@pytest.mark.parametrize(
    "seen",
    [
        "",
        "garbage",
        "2026-01-01T00:00:00",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_a_moment_that_no_page_of_ours_has_seen_is_a_conflict(
    anna: Person, draft: int, seen: str
) -> None:
    workspaces.set_time_zone(anna.workspace_id, "America/New_York", actor="alice")
    drafts.find_campaign(anna.workspace_id, draft)
    url = anna.url(f"campaigns/{draft}/edit/")

    part = anna.client.post(url, fields(draft, seen=seen, name="Mine"), headers=PART)
    unchanged = anna.client.post(url, fields(draft, seen=seen), headers=PART)

    assert part.status_code == unchanged.status_code == 200
    assert Campaign.objects.get(pk=draft).name != "Mine"
