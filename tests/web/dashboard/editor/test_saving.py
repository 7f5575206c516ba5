"""What is written in a draft is saved, all but what is wrong, and the page says so."""

import re
from typing import Any

from postledger.campaigns.models import Campaign
from postledger.contacts import lists
from tests.web.callers import Caller
from tests.web.dashboard.editor.draft_forms import PART, autosave, fields, read_text, save
from tests.web.dashboard.visitors import Person
from tests.web.focus import check_focus


def test_what_is_written_is_what_the_api_has(alice: Caller, anna: Person, draft: int) -> None:
    lists.create_list(alice.workspace_id, key="news", name="News", actor="alice")
    window = {"opens": "09:00", "closes": "17:30", "weekdays": ["mon", "fri"]}

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
        **window,
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
    assert stored["delivery_window"] == window
    page = anna.read(f"campaigns/{draft}/edit/")
    for value in ("pro, free", "Read it, {{ title }}", "2027-01-31T09:00"):
        assert f'value="{value}"' in page


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


def test_the_first_wrong_field_of_a_draft_has_the_focus(anna: Person, draft: int) -> None:
    age = {"field": ["attributes.age"], "op": ["over"], "value": ["many"]}
    late = {"when": "at", "at": "tomorrow"}
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"name": "", **age}, "name"),
        ({**age, "locale": "??"}, "value"),
        ({"filter_json": "{plan: pro}", **late}, "filter_json"),
        ({"locale": "??", **late}, "locale"),
        (late, "at"),
        ({"has_window": "on", "opens": "09:00", "closes": "17:00"}, "weekdays"),
    )
    for changes, focused in wrong:
        check_focus(save(anna, draft, **changes), focused)


def test_a_draft_that_saves_itself_takes_the_focus_from_nobody(anna: Person, draft: int) -> None:
    refused = autosave(anna, draft, name="", when="at", at="tomorrow")

    assert "this is not:" in read_text(refused)
    assert "autofocus" not in read_text(refused)


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
    assert partly.headers["HX-Trigger"] == "partly-saved"
    assert '<li data-field="id_match" data-line="0">' in read_text(partly)
    assert wholly.headers["HX-Trigger"] == "saved"
    assert again.status_code == 200
    assert "HX-Trigger" not in again.headers


def test_the_form_of_a_page_that_broke_off_saves_nothing(anna: Person, draft: int) -> None:
    audience = {"all": [{"field": "attributes.plan", "is": "pro"}]}
    Campaign.objects.filter(pk=draft).update(audience=audience)
    url = anna.url(f"campaigns/{draft}/edit/")
    broken = {"seen": fields(draft)["seen"], "name": "June"}

    page = anna.client.post(url, broken)
    part = anna.client.post(url, broken, headers=PART)
    form = anna.read(f"campaigns/{draft}/edit/").partition('id="draft"')[2].partition("</form>")[0]

    assert form.rstrip().endswith('<input type="hidden" name="complete" value="1">')
    stored = Campaign.objects.get(pk=draft)
    assert stored.audience == audience
    assert stored.name != "June"
    assert page.status_code == 422
    for answer in (page, part):
        assert "The form was incomplete, so nothing was saved" in read_text(answer)


def test_whatever_is_posted_is_refused_beside_its_field(anna: Person, draft: int) -> None:
    hours = {"has_window": "on", "opens": "09:00", "closes": "17:00", "weekdays": ["mon"]}
    posted: tuple[dict[str, Any], ...] = (
        *({name: "\0"} for name in ("filter_json", "subject", "body", "text", "opens", "closes")),
        {"match": "none"},
        {"kind": "page", "page": "a" * 501},
        {"when": "at", "at": "\0"},
        {"when": "local", "local_at": "\0"},
        {"field": ["attributes.age"], "op": ["over"], "value": ["\0"]},
    )
    for changes in posted:
        answer = save(anna, draft, **{**hours, **changes})

        assert answer.status_code == 422, changes
        assert "this is not:" in read_text(answer), changes
