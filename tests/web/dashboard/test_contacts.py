"""Contacts on the dashboard: found, told in one story, suppressed, restored, exported, erased."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from postledger.accounts.models import AuditEntry
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import Contact
from postledger.contacts.states import SubscriptionState, SuppressionReason
from postledger.notifications.models import Notification
from postledger.notifications.states import FanOutEnd, Skip
from postledger.web.dashboard.audience.contact_story import Entry, cut_page
from tests.campaigns import press
from tests.contacts import people
from tests.notifications import cast as topics
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

MIRA = "mira@example.com"


@pytest.fixture
def mira(olivia: Person) -> int:
    people.news(olivia.workspace_id)
    contact_id = people.member(olivia.workspace_id, MIRA)
    changes = Changes(name="Mira Novak", external_id="cust_1", attributes={"plan": "plus"})
    contacts.update_contact(
        olivia.workspace_id, contact_id=contact_id, changes=changes, actor="a", now=people.NOW
    )
    return contact_id


def find(who: Person, **query: str) -> list[str]:
    """The names and addresses that a search lists."""
    page = who.read("contacts/", **query)
    return re.findall(r'rowheader"><a href="[^"]*">([^<]*)</a>', page)


def move(workspace_id: int, contact_id: int, address: str) -> None:
    changes = Changes(address=address)
    contacts.update_contact(
        workspace_id, contact_id=contact_id, changes=changes, actor="a", now=people.NOW
    )


def test_words_find_a_part_of_a_name_or_an_address_and_a_whole_external_id(
    olivia: Person, mira: int
) -> None:
    people.contact(olivia.workspace_id, "tom%1@other.example", Details(name="Tom"))

    assert find(olivia) == ["Mira Novak", "Tom"]
    for words in ("novak", "MIRA@", "mira@exam", "@example", "cust_1", " example.com "):
        assert find(olivia, q=words) == ["Mira Novak"], words
    assert find(olivia, q="m%") == ["Tom"]
    assert find(olivia, q="cust") == []
    assert find(olivia, q="ira@example.com") == []  # addresses are found by their beginning

    move(olivia.workspace_id, mira, "new@example.com")
    people.contact(olivia.workspace_id, "mira@example.com.br", Details(name="Another"))
    assert find(olivia, q="Mira@Example.com") == ["Another", "Mira Novak"]
    assert olivia.read("contacts/", q="Mira@Example.com").count("formerly mira@example.com") == 1
    assert find(olivia, q="mira@exampl") == ["Another"]  # and former ones as a whole


def test_lists_states_and_conditions_narrow_the_list_together(olivia: Person, mira: int) -> None:
    people.member(olivia.workspace_id, "left@example.com")
    people.leave(olivia.workspace_id, "left@example.com", "news")
    people.contact(olivia.workspace_id, "gone@example.com")
    people.bounce(olivia.workspace_id, "gone@example.com")

    assert find(olivia, list="news") == ["Mira Novak"]
    assert find(olivia, list="news", on="unsubscribed") == ["left@example.com"]
    assert find(olivia, state="bounced") == ["gone@example.com"]
    plan = {"field": "attributes.plan", "op": "is", "value": "plus"}
    assert find(olivia, **plan) == ["Mira Novak"]
    assert find(olivia, state="bounced", **plan) == []
    assert find(olivia, filter='{"plan": "plus"}') == ["Mira Novak"]
    assert "Did you mean plus (1)?" in olivia.read("contacts/", **(plan | {"value": "Plus"}))


def test_a_wrong_search_says_what_to_do_and_keeps_what_was_typed(olivia: Person, mira: int) -> None:
    wrong = (
        ({"field": "attributes.plan", "op": "is", "value": ""}, "Write a value"),
        ({"filter": "{plan}"}, "This is not JSON"),
        ({"list": "nope"}, "There is no list"),
        ({"field": "domain", "op": "is", "value": "a b"}, ">Condition 1: This is not the domain"),
    )
    for query, words in wrong:
        answer = olivia.get("contacts/", q="Mira", **query)

        assert answer.status_code == 422, query
        assert words in answer.content.decode()
        assert 'value="Mira"' in answer.content.decode(), query


def test_a_page_leads_to_the_next_and_back_to_the_first(olivia: Person) -> None:
    press.people(olivia.workspace_id, 60)

    page = olivia.read("contacts/", q="example")
    [url] = re.findall(r'href="(\?[^"]*after=[^"]*)"', page)
    following = olivia.client.get(olivia.url(f"contacts/{url.replace('&amp;', '&')}"))
    both = page + following.content.decode()

    assert len(set(re.findall(r'/contacts/\d+/"', both))) == 60
    assert "First page" in following.content.decode()


def test_the_filter_finds_what_the_badges_say_and_the_head_who_may_be_mailed(
    olivia: Person, mira: int
) -> None:
    people.unconfirmed(olivia.workspace_id, "asked@example.com")
    for name in ("stopped", "partly"):
        people.member(olivia.workspace_id, f"{name}@example.com")
    for scope, name in (("", "stopped"), ("news", "partly")):
        olivia.post("suppressions/new/", address=f"{name}@example.com", scope=scope)

    assert find(olivia, state="suppressed") == ["stopped@example.com"]
    assert find(olivia, state="unconfirmed") == ["asked@example.com"]
    assert find(olivia, state="active") == ["Mira Novak", "partly@example.com"]
    assert '?state=active">2</a> of whom may be mailed' in olivia.read("contacts/")
    fields = {"state": "suppressed", "name": "Nobody"}
    segment = olivia.client.post(olivia.url("segments/new/"), fields, follow=True)
    assert "people who are not mailed" in segment.content.decode()


def test_the_story_has_campaigns_single_mail_notifications_and_consent_newest_first(
    alice: Caller, olivia: Person, mira: int
) -> None:
    alice.send(to=MIRA, subject="Your order")
    topic = topics.add_topic(olivia.workspace_id)
    told = topics.event(topic)
    subscription = topics.subscribe(topic, "mira")
    subscription.contact_id = mira
    subscription.save()
    Notification.objects.create(
        event=told,
        subscription=subscription,
        dedupe_key="k",
        end=FanOutEnd.SKIPPED,
        code=Skip.PAUSED,
    )

    [last] = re.findall(r'data-label="Last email"><a href="([^"]*)"', olivia.read("contacts/"))
    assert "Your order" in olivia.client.get(last).content.decode()
    page = olivia.read(f"contacts/{mira}/")
    consent = olivia.read(f"contacts/{mira}/", part="consent")

    assert page.index("Notification") < page.index("Your order") < page.index("for News.")
    assert "people.csv · alice" in page
    assert "Your order" not in consent
    assert "Became a contact." in consent
    assert "Your order" in olivia.read(f"contacts/{mira}/", part="single")
    assert "Your order" not in olivia.read(f"contacts/{mira}/", part="campaigns")


def test_a_run_that_left_somebody_out_is_in_their_story(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    olga = visitors.sign_in(acme, name="Olga")
    press.people(acme, 1)
    contact = Contact.objects.get(workspace_id=acme)
    people.bounce(acme, contact.address)
    press.planned(press.launched(acme, press.campaign(acme)).pk)

    page = olga.read(f"contacts/{contact.pk}/", part="campaigns")

    assert "Left out" in page
    assert "bounced before" in page


def test_a_moment_that_is_none_of_ours_shows_the_newest(olivia: Person, mira: int) -> None:
    for until in ("", "soon", "2026-11-18", "9999-12-31T23:59:59-23:59"):
        assert "Became a contact." in olivia.read(f"contacts/{mira}/", until=until), until


def test_entries_of_one_moment_stay_on_one_page() -> None:
    now = datetime(2026, 11, 15, tzinfo=UTC)
    moments = [now - timedelta(minutes=minute) for minute in (0, 1, 1, 2)]

    page = cut_page([Entry(at, "mail", "text") for at in moments], limit=2)

    assert [entry.at for entry in page.entries] == moments[:3]
    assert page.older == moments[2]
    assert cut_page([Entry(now, "mail", "text")], limit=1).older is None


def test_somebody_is_suppressed_and_restored_with_a_reason(olivia: Person, mira: int) -> None:
    olivia.post(f"contacts/{mira}/suppress/", scope="", reason="Rang us up")
    page = olivia.read(f"contacts/{mira}/")
    assert people.find_suppression(olivia.workspace_id, MIRA).reason is SuppressionReason.BY_HAND
    for shown in ("Rang us up", "Stopped: all email</p><p>Suppressed by hand"):
        assert shown in page
    for gone in ("Yes: single emails", "<p>Active ·", "Suppress…"):
        assert gone not in page, gone
    assert ">Suppressed<" in olivia.read("contacts/")

    refused = olivia.post(f"contacts/{mira}/restore/", scope="by_hand general", reason=" ")
    assert refused.status_code == 422
    assert people.find_suppression(olivia.workspace_id, MIRA).reason is not None

    olivia.post(f"contacts/{mira}/restore/", scope="by_hand general", reason="Wrote to us")
    assert people.find_suppression(olivia.workspace_id, MIRA).reason is None
    assert "Wrote to us" in olivia.read(f"contacts/{mira}/", part="consent")


def test_a_list_alone_is_suppressed_and_restored(olivia: Person, mira: int) -> None:
    olivia.post(f"contacts/{mira}/suppress/", scope="news", reason="Wants receipts alone")
    page = olivia.read(f"contacts/{mira}/")
    assert people.subscription(mira) is SubscriptionState.SUPPRESSED
    assert people.find_suppression(olivia.workspace_id, MIRA).reason is None
    for shown in ("Wants receipts alone", "Yes: single emails", "Stopped: News</p>"):
        assert shown in page

    olivia.post(f"contacts/{mira}/restore/", scope="by_hand news", reason="Asked for it")
    assert people.subscription(mira) is SubscriptionState.ACTIVE


def test_a_state_without_a_suppression_is_not_said_to_be_mailed(olivia: Person, mira: int) -> None:
    Contact.objects.filter(pk=mira).update(state="unsubscribed")

    page = olivia.read(f"contacts/{mira}/")

    assert "No campaigns and no notifications: Unsubscribed." in page
    assert "Yes: single emails" not in page


def test_erasing_asks_for_the_address(olivia: Person, mira: int) -> None:
    file = SimpleUploadedFile("people.csv", f"email\n{MIRA}\nann@example.com\n".encode())
    olivia.client.post(olivia.url("imports/upload/"), {"file": file})

    refused = olivia.post(f"contacts/{mira}/erase/", typed="other@example.com")
    assert refused.status_code == 422
    assert 'value="other@example.com"' in refused.content.decode()
    assert Contact.objects.filter(pk=mira, deleted_at=None).exists()

    erased = olivia.client.post(
        olivia.url(f"contacts/{mira}/erase/"), {"typed": "Mira@Example.com"}, follow=True
    )
    assert "1 import that named them was cancelled." in erased.content.decode()
    assert not Contact.objects.filter(address=MIRA).exists()
    assert olivia.get(f"contacts/{mira}/").status_code == 404


def test_exports_are_those_of_the_api(olivia: Person, mira: int) -> None:
    people.contact(olivia.workspace_id, "f@example.com", Details(name="=1+Novak"))
    person = olivia.get(f"contacts/{mira}/export.json")
    listed = olivia.get("contacts/export.csv", q="novak")
    nobody = olivia.get("contacts/export.csv", q="nobody")

    noted = AuditEntry.objects.filter(action="contacts.exported", actor=olivia.actor)
    [entry, _of_nobody] = noted.order_by("pk")
    asked = {"list": "", "state": None, "has_words": True, "has_conditions": False}
    assert (entry.subject, entry.data) == ("contacts", asked), "no address stays there"
    assert json.loads(person.content)["contacts"][0]["name"] == "Mira Novak"
    assert MIRA not in person.headers["Content-Disposition"]
    listed_file = b"".join(listed.streaming_content).decode()
    assert listed_file.startswith('\ufeff"email",'), "Excel reads no UTF-8 without a mark"
    assert MIRA in listed_file
    assert "'=1+Novak" in listed_file
    assert MIRA not in b"".join(nobody.streaming_content).decode()


def test_a_former_address_still_finds_its_mail_but_not_that_of_whoever_has_it_now(
    alice: Caller, olivia: Person, mira: int
) -> None:
    alice.send(to=MIRA, subject="Before the move")
    move(olivia.workspace_id, mira, "new@example.com")
    before = olivia.read(f"contacts/{mira}/")
    people.contact(olivia.workspace_id, MIRA)
    alice.send(to=MIRA, subject="To somebody else")
    after = olivia.read(f"contacts/{mira}/")

    assert "Before the move" in before
    assert "Single email · to a former address, mira@example.com" in before
    assert "To somebody else" not in after
