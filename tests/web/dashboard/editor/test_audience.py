"""The audience of a draft: its conditions, its filter, and the people behind its numbers."""

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from uuid import UUID

from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign
from postledger.campaigns.runs import report
from postledger.contacts import segments
from postledger.contacts.csv_columns import Field
from postledger.contacts.models import Contact, Subscription
from postledger.imports.columns import IGNORED
from postledger.web.dashboard.access import find_visitor
from postledger.web.dashboard.editor import preflight
from tests.campaigns import press
from tests.contacts import people
from tests.imports import files
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import autosave, read_text, save
from tests.web.dashboard.visitors import Person


def test_without_scripts_a_condition_is_added_and_removed_by_saving(
    anna: Person, draft: int
) -> None:
    plan = {"field": ["attributes.plan"], "op": ["is"], "value": ["pro"]}

    added = save(anna, draft, **plan, add="1")
    stored = Campaign.objects.get(pk=draft).audience
    removed = save(anna, draft, field=["", ""], op=["is", "is"], value=["pro", ""])

    assert read_text(added).count('type="text" name="value"') == 2
    assert stored == {"all": [{"field": "attributes.plan", "is": "pro"}]}
    assert removed.status_code == 302
    assert Campaign.objects.get(pk=draft).audience == {}


def test_a_language_is_chosen_and_said_by_its_name(anna: Person, draft: int) -> None:
    lines = {"field": ["locale", "locale"], "op": ["is", "not_in"]}

    save(anna, draft, **lines, value=["de-AT", "Portuguese (Brazil), немецкий"])
    page = unescape(anna.read(f"campaigns/{draft}/edit/"))
    unknown = save(anna, draft, **lines, value=["de-AT", "German, Klingon"])

    assert Campaign.objects.get(pk=draft).audience == {
        "all": [
            {"field": "locale", "is": "de-AT"},
            {"not": {"field": "locale", "in": ["pt-BR", "de"]}},
        ]
    }
    assert 'value="Portuguese (Brazil), German"' in page
    assert "is not the code of a language: write one like en" in read_text(unknown)


def test_a_wrong_condition_is_told_at_its_own_line(anna: Person, draft: int) -> None:
    lines = {
        "field": ["attributes.plan", "", "attributes.age", "locale"],
        "op": ["is", "is", "over", "is"],
        "value": ["pro", "", "many", "en"],
    }

    whole = read_text(save(anna, draft, **lines))
    part = read_text(autosave(anna, draft, **lines))

    wrong = '<span class="error" id="id_match_error">Write a number, such as 5, 0.5 or 0,5.</span>'
    conditions = whole.split('<div class="row condition">')[1:]
    assert [wrong in condition for condition in conditions] == [False, True, False]
    assert 'value="many" aria-invalid="true" aria-describedby="id_match_error"' in whole
    assert '<li data-field="id_match" data-line="1"><b>Conditions:</b>' in part


def test_a_filter_that_the_builder_cannot_show_is_edited_as_json(
    alice: Caller, anna: Person
) -> None:
    nested = {"all": [{"any": [{"plan": "pro"}, {"plan": "free"}]}]}
    deep = f'{{"all": [{'{"not":' * 1500}{{}}{"}" * 1500}]}}'
    draft = newsroom.make_campaign(alice, audience_filter=nested)
    page = unescape(anna.read(f"campaigns/{draft}/edit/"))

    unmet = read_text(save(anna, draft, filter_json='{"field": "state", "is": "OH"}'))
    for text in ("{plan: pro}", '{"all": null}', '{"all": 5}', '{"all": [1]}', deep):
        wrong = save(anna, draft, filter_json=text, subject="Kept all the same")
        assert wrong.status_code == 422, text[:20]
        assert 'class="error" id="id_filter_json_error"' in read_text(wrong), text[:20]
        assert text in read_text(wrong), text[:20]
    kept = Campaign.objects.get(pk=draft).content["subject"]
    save(anna, draft, filter_json='{"plan": "pro"}')

    assert '"any": [' in page
    assert "No contact has this state." in unmet
    assert kept == "Kept all the same"
    assert Campaign.objects.get(pk=draft).audience == {"plan": "pro"}


def test_the_people_of_a_segment_are_left_out_until_its_tick_goes(anna: Person, draft: int) -> None:
    press.people(anna.workspace_id, 3)
    Contact.objects.filter(address="r1@example.com").update(address="r1@Partner.example")
    partners = {"all": [{"field": "domain", "is": "partner.example"}]}
    segment_id = segments.create_segment(
        anna.workspace_id, name="Partners", stored=partners, actor="a", now=datetime.now(UTC)
    )
    lines = {"match": "any", "field": ["attributes.plan"], "op": ["missing"], "value": [""]}

    save(anna, draft, **lines, segment=str(segment_id), leave_out_segment="1")
    page = unescape(anna.read(f"campaigns/{draft}/edit/"))
    broken = save(anna, draft, **lines, excepted=["{"])
    kept = Campaign.objects.get(pk=draft).audience
    save(anna, draft, **lines)
    unticked = Campaign.objects.get(pk=draft).audience
    save(anna, draft, **lines, excepted=[json.dumps(partners)])

    assert 'name="excepted" value="{"all":' in page
    assert "<span>Partners</span>" in page
    assert broken.status_code == 422
    assert unticked == {"any": [{"field": "attributes.plan", "exists": False}]}
    assert kept == {"all": [unticked, {"not": partners}]}
    run = press.launched(anna.workspace_id, draft)
    assert press.addresses(run) == ["R0@example.com", "r2@example.com"]


def test_the_report_of_a_run_as_an_import_tells_who_got_its_campaign(
    alice: Caller, draft: int, tmp_path: Path
) -> None:
    press.people(alice.workspace_id, 3)
    run_id = newsroom.launched(alice, draft)
    newsroom.book(run_id, newsroom.taken, size=2)
    lines = report.write_csv(alice.workspace_id, UUID(run_id))
    table = files.write_file(tmp_path, "".join(lines))
    mapping = dict.fromkeys(report.COLUMNS, IGNORED)
    mapping |= {"email": Field.EMAIL, "sent_at": "attributes.got_june"}

    files.import_file(alice.workspace_id, table, mapping=mapping)

    missing = {"field": "attributes.got_june", "exists": False}
    rest = newsroom.make_campaign(alice, tag="july", audience_filter=missing)
    assert press.addresses(press.launched(alice.workspace_id, rest)) == ["r2@example.com"]


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
    campaign, patience = drafts.find_campaign(anna.workspace_id, draft), timedelta(milliseconds=1)

    with CaptureQueriesContext(connection) as captured:
        checked = preflight.run_preflight(
            visitor, campaign, now=datetime.now(UTC), patience=patience
        )

    titles = [check.title for check in checked.checks]
    assert not checked.counts.is_exact
    assert "Some recipients may be on no list: no list records that they agreed" in titles
    assert checked.outlook.waiting == checked.counts.number
    assert "The content cannot be read" not in titles
    assert "Links and pictures are written as mail programs need them" in titles
    assert not any("SELECT count(*)\nFROM contacts_contact" in one["sql"] for one in captured)


def test_each_number_of_the_audience_leads_to_its_people(
    alice: Caller, anna: Person, draft: int
) -> None:
    press.people(alice.workspace_id, 3)
    Contact.objects.filter(address="r1@example.com").update(state="bounced")
    people.news(alice.workspace_id)
    for name in ("left", "resting"):
        people.member(alice.workspace_id, f"{name}@example.com")
    Subscription.objects.filter(contact__address="resting@example.com").update(
        snooze_until=datetime(2040, 5, 17, 12, tzinfo=UTC)
    )
    people.leave(alice.workspace_id, "left@example.com", "news")

    checks = anna.read(f"campaigns/{draft}/edit/checks/")
    links = re.findall(r'<a class="num" href="([^"]*reason=[^"]*)"', checks)
    listed = [
        set(re.findall(r"(\w+)@example.com</a>", read_text(anna.client.get(unescape(link)))))
        for link in links
    ]

    assert listed[0] == {"R0", "r2"}
    assert sorted(listed[1:], key=sorted) == [{"left"}, {"r1"}, {"resting"}]
