"""A new campaign needs a name alone, and a copy is a draft of its own."""

from datetime import UTC, datetime, timedelta

from postledger.campaigns.models import Campaign
from postledger.contacts import lists
from tests.campaigns import press
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.editor.draft_forms import launch, read_text, save
from tests.web.dashboard.visitors import Person


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


def test_a_new_campaign_goes_to_the_only_list_and_beside_others_one_is_chosen_first(
    anna: Person,
) -> None:
    lists.create_list(anna.workspace_id, key="news", name="News", actor="alice")
    anna.post("campaigns/new/", name="One list")
    lists.create_list(anna.workspace_id, key="tips", name="Tips", actor="alice")
    anna.post("campaigns/new/", name="Two lists")

    first, second = Campaign.objects.order_by("pk")
    assert (first.list_key, second.list_key) == ("news", "")
    assert '<option value="news" selected>' in anna.read(f"campaigns/{first.pk}/edit/")
    page = anna.read(f"campaigns/{second.pk}/edit/")
    assert '<option value="-" selected>Choose…</option>' in page


def test_a_campaign_without_a_chosen_list_is_saved_and_not_launched_until_one_is(
    anna: Person,
) -> None:
    press.people(anna.workspace_id, 1)
    for key in ("news", "tips"):
        lists.create_list(anna.workspace_id, key=key, name=key.title(), actor="alice")
    anna.post("campaigns/new/", name="Winter")
    draft = Campaign.objects.get(name="Winter").pk
    text = {"subject": "Hi", "body": "Hello"}

    saved = save(anna, draft, list_key="-", **text)
    refused = launch(anna, draft)
    copied = anna.post(f"campaigns/{draft}/duplicate/")
    checks = anna.read(f"campaigns/{draft}/edit/checks/")
    save(anna, draft, list_key="", **text)
    chosen = anna.read(f"campaigns/{draft}/edit/")
    older_page = save(anna, draft, list_key="-", **text)
    launched = launch(anna, draft)

    assert (saved.status_code, refused.status_code) == (302, 422)
    assert "It was not launched: No list is chosen." in read_text(refused)
    assert "No list is chosen yet, so these are all contacts." in checks
    assert 'value="-" selected' in read_text(anna.client.get(copied.headers["Location"]))
    assert '<option value="" selected>All contacts</option>' in chosen
    assert (older_page.status_code, launched.status_code) == (302, 302)
    assert Campaign.objects.get(pk=draft).list_key == ""


def test_the_api_chooses_all_contacts_by_no_list(alice: Caller, anna: Person) -> None:
    for key in ("news", "tips"):
        lists.create_list(anna.workspace_id, key=key, name=key.title(), actor="alice")
    of_api = newsroom.make_campaign(alice)
    anna.post("campaigns/new/", name="Winter")
    of_page = Campaign.objects.get(name="Winter").pk

    alice.ask("PATCH", f"/v1/campaigns/{of_page}", {"content": newsroom.NEW["content"]})
    refused = alice.post(f"/v1/campaigns/{of_page}/launch", None)
    alice.ask("PATCH", f"/v1/campaigns/{of_page}", {"list": None})

    assert (refused.status, refused.body["code"]) == (409, "list_not_chosen")
    for draft in (of_api, of_page):
        assert "Choose…" not in anna.read(f"campaigns/{draft}/edit/")


def test_without_a_sender_the_page_says_what_to_do_first(charlie: Caller) -> None:
    carl = visitors.sign_in(charlie.workspace_id, name="Carl")
    Campaign.objects.all().delete()
    for sender in carl.user.member_set.get().workspace.sender_set.all():
        sender.delete()

    answer = carl.post("campaigns/new/", name="News")

    assert answer.status_code == 422
    assert "Connect a provider first" in read_text(answer)
    assert 'value="News"' in read_text(answer)


def test_a_copy_of_a_launched_campaign_is_a_draft_of_its_own(anna: Person, draft: int) -> None:
    save(anna, draft, value=["pro"], field=["attributes.plan"])
    launch(anna, draft)

    answer = anna.post(f"campaigns/{draft}/duplicate/")

    original, copied = Campaign.objects.order_by("pk")
    assert answer.headers["Location"] == anna.url(f"campaigns/{copied.pk}/edit/")
    assert (copied.name, copied.timing) == ("Copy of News of May", {})
    assert (copied.content, copied.audience) == (original.content, original.audience)
    assert original.audience != {}


def test_a_copy_keeps_a_time_that_lies_ahead_and_says_of_another_that_it_was_past(
    anna: Person, draft: int
) -> None:
    for when, field in (("at", "at"), ("local", "local_at")):
        for days, is_kept in ((5, True), (-5, False)):
            moment = f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT09:00}"
            save(anna, draft, when=when, **{field: moment})
            answer = anna.post(f"campaigns/{draft}/duplicate/")

            copied = Campaign.objects.latest("pk")
            assert (copied.timing != {}) is is_kept, (when, days)
            page = read_text(anna.client.get(answer.headers["Location"]))
            assert ("was not copied" not in page) is is_kept, (when, days)
