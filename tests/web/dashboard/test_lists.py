"""Lists, suppressions and segments on the dashboard."""

import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.contacts import counts, growth, lists, segments
from postledger.contacts.actions import contacts
from postledger.contacts.growth import DayOfList
from postledger.contacts.models import List, Segment, Suppression
from postledger.contacts.states import ContactState, SubscriptionState, SuppressionReason
from postledger.privacy import erasure
from postledger.web.dashboard.audience import contact_search
from postledger.web.dashboard.audience.suppress_form import NEWS
from tests import cast, round_trips
from tests.campaigns import press
from tests.cli import installations
from tests.contacts import people
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

MIRA = "mira@example.com"


def test_a_list_is_created_renamed_archived_and_used_again(olivia: Person) -> None:
    olivia.post("lists/new/", name="Product news", key="product-news", is_public="on")
    assert "By form, double opt-in" in olivia.read("lists/")

    olivia.post("lists/product-news/change/", name="All news")
    changed = List.objects.get()
    assert (changed.name, changed.is_public) == ("All news", False)

    olivia.post("lists/product-news/archive/")
    page = olivia.read("lists/product-news/")
    assert "archived" in page
    assert "/lists/product-news/restore/" in page
    in_use, _, put_away = olivia.read("lists/").partition('id="h-archived"')
    assert ("All news" in in_use, "All news" in put_away) == (False, True)
    olivia.post("lists/product-news/restore/")
    assert List.objects.get().archived_at is None


def test_a_change_of_a_list_that_was_archived_meanwhile_says_that_nothing_was_saved(
    olivia: Person,
) -> None:
    people.news(olivia.workspace_id)
    olivia.post("lists/news/archive/")

    for name in ("All news", ""):
        path = olivia.url("lists/news/change/")
        answer = olivia.client.post(path, {"name": name}, follow=True)

        assert answer.redirect_chain == [(olivia.url("lists/news/"), 302)], name
        assert "Nothing was saved" in answer.content.decode(), name
    assert List.objects.get().name == "News"


def test_the_lists_are_counted_at_once_however_many_there_are(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    people.member(olivia.workspace_id, MIRA)
    olivia.read("lists/")

    with round_trips.counted() as asked_for_one:
        olivia.read("lists/")
    for number in range(20):
        key = people.news(olivia.workspace_id, f"news-{number}")
        people.member(olivia.workspace_id, f"r{number}@example.com", key)
    olivia.post("lists/news-0/archive/")
    olivia.read("lists/")  # takes the message along
    with round_trips.counted() as asked_for_many:
        page = olivia.read("lists/")

    assert asked_for_many() == asked_for_one()
    for key in ("news", "news-0", "news-19"):
        assert f'href="{olivia.url("contacts/")}?list={key}&amp;on=active">1</a>' in page
        assert f'href="{olivia.url("contacts/")}?list={key}&amp;on=pending">0</a>' in page


def test_archiving_a_list_names_the_drafts_that_go_to_it_first(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    olivia.post("campaigns/new/", name="June letter")

    asked = olivia.post("lists/news/archive/").content.decode()
    before = List.objects.get(key="news").archived_at
    olivia.post("lists/news/archive/", sure="1")

    assert "June letter" in asked
    assert before is None
    assert List.objects.get(key="news").archived_at is not None


def test_a_list_that_cannot_be_is_refused_and_keeps_what_was_typed(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    olivia.post("lists/new/", name="Old ones")
    olivia.post("lists/old-ones/archive/")

    for name, key, words in (
        ("Another", "News!", "cannot be the key"),
        ("Another", "news", "exists"),
        ("news", "news-two", "There is a list &#x27;News&#x27; already"),
        ("OLD ONES", "", "There is an archived list"),
        ("Новости", "", "Write a key"),
    ):
        answer = olivia.post("lists/new/", name=name, key=key)

        assert answer.status_code == 422, (name, key)
        assert words in answer.content.decode()
        assert f'value="{name}"' in answer.content.decode(), (name, key)
    assert List.objects.count() == 2


def test_a_form_is_found_with_a_slash_behind_its_address_too(
    olivia: Person, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example"
    people.news(olivia.workspace_id)
    List.objects.update(is_public=True)
    address = f"/subscribe/{olivia.workspace_id}/news"

    pages = [Client().get(path) for path in (address, f"{address}/")]

    assert [page.status_code for page in pages] == [200, 200]
    assert pages[1].content.decode().count(f'action="{address}') == 1


def test_a_list_shows_who_is_on_it_and_how_it_grew(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    for name in ("a", "b", "c"):
        people.member(olivia.workspace_id, f"{name}@example.com")
    people.leave(olivia.workspace_id, "c@example.com", "news")
    people.ask(olivia.workspace_id, people.contact(olivia.workspace_id, "d@example.com"))

    page = olivia.read("lists/news/")
    days = growth.read_growth(
        List.objects.get().pk, days=2, zone="UTC", now=people.NOW.replace(hour=23)
    )

    url = olivia.url("contacts/?list=news&amp;on=")
    for state, number in (("active", 2), ("pending", 1), ("unsubscribed", 1)):
        assert f'href="{url}{state}">{number}</a>' in page
    assert days[-1] == DayOfList(people.NOW.date(), joined=3, left=1, subscribers=2)
    assert days[0].subscribers == 0


@pytest.mark.slow
def test_a_growth_that_takes_too_long_to_read_is_no_growth_of_nobody(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    # Every statement about consents waits for longer than a page does.
    with psycopg.connect(installations.database_url()) as locking:
        locking.execute("LOCK TABLE contacts_consentevent IN ACCESS EXCLUSIVE MODE NOWAIT")
        page = olivia.read("lists/news/")

    assert "left in the last 90 days" not in page


def test_a_contact_that_is_deleted_leaves_its_lists_on_that_day(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    first, second, gone = (
        people.member(olivia.workspace_id, f"{name}@example.com") for name in "abc"
    )
    people.leave(olivia.workspace_id, "c@example.com", "news")
    day_after = people.NOW + timedelta(days=1)
    for contact_id, at in ((first, people.NOW), (second, day_after), (gone, day_after)):
        contacts.delete_contact(olivia.workspace_id, contact_id=contact_id, actor="a", now=at)
    people.member(olivia.workspace_id, "d@example.com")

    news, active = List.objects.get().pk, SubscriptionState.ACTIVE
    days = growth.read_growth(news, days=3, zone="UTC", now=day_after)

    assert [(day.joined, day.left, day.subscribers) for day in days] == [
        (0, 0, 0),
        (4, 2, 2),
        (0, 1, 1),
    ]
    assert counts.count_lists([news], [active])[news, active].number == days[-1].subscribers


def test_a_topic_is_no_list(olivia: Person) -> None:
    people.news(olivia.workspace_id, "lamps")
    List.objects.update(kind="topic")

    assert olivia.get("lists/lamps/").status_code == 404
    assert "No list yet" in olivia.read("lists/")


def test_an_address_is_suppressed_found_and_lifted_with_a_reason(olivia: Person) -> None:
    olivia.post("suppressions/new/", address="Mira@EXAMPLE.com", scope="", reason="Rang us up")
    kept = Suppression.objects.get()
    page = olivia.read("suppressions/", q=MIRA)
    for words in ("Mira@example.com", "all email", "Suppressed by hand", "Rang us up", "Olivia"):
        assert words in page

    path = f"suppressions/{kept.pk}/lift/"
    refused = olivia.post(path, scope="by_hand general", reason=" ")
    assert refused.status_code == 422
    olivia.post(path, scope="by_hand general", reason="Wrote to us")
    assert not Suppression.objects.exists()
    assert olivia.get(path).status_code == 404
    wrong = olivia.post("suppressions/new/", address="mira at example", scope="")
    assert wrong.status_code == 422
    assert 'value="mira at example"' in wrong.content.decode()


def test_suppressions_come_in_pages(olivia: Person) -> None:
    for number in range(51):
        people.leave(olivia.workspace_id, f"r{number}@example.com")

    page = olivia.read("suppressions/")
    cursor = page.partition('href="?before=')[2].partition('"')[0]
    people.leave(olivia.workspace_id, "newest@example.com")
    following = olivia.read("suppressions/", before=cursor)

    numbers = [int(number) for number in re.findall(r'Restore…<span class="sr"> r(\d+)@', page)]
    assert numbers == list(range(50, 0, -1))
    assert following.count("Restore…") == 1
    assert "r0@example.com" in following
    assert olivia.read("suppressions/", before="nonsense").count("Restore…") == 50


def test_campaigns_and_notifications_are_ended_by_hand_as_an_unsubscribe_does(
    olivia: Person,
) -> None:
    for path in ("suppressions/new/", "contacts/{}/suppress/"):
        Suppression.objects.all().delete()
        contact_id = people.contact(olivia.workspace_id, f"{len(path)}@example.com")
        address = f"{len(path)}@example.com"

        olivia.post(path.format(contact_id), address=address, scope=NEWS, reason="Rang us up")

        kept = Suppression.objects.get()
        assert (kept.reason, kept.has_left, kept.list) == ("unsubscribed", True, None), path
        assert people.state(contact_id) is ContactState.UNSUBSCRIBED, path
        page = olivia.read("suppressions/")
        for words in ("campaigns and notifications", "Rang us up", "Olivia"):
            assert words in page, path


def test_what_an_erased_person_left_behind_cannot_be_lifted(olivia: Person) -> None:
    people.leave(olivia.workspace_id, MIRA)
    Suppression.objects.update(address=None)

    answer = olivia.client.get(
        olivia.url(f"suppressions/{Suppression.objects.get().pk}/lift/"), follow=True
    )

    assert "stays suppressed for good" in answer.content.decode()
    assert "of an erased person" in answer.content.decode()


def test_an_erasure_is_no_unsubscribe_of_the_person(olivia: Person) -> None:
    people.contact(olivia.workspace_id, MIRA)
    people.bounce(olivia.workspace_id, "gone@example.com")
    people.contact(olivia.workspace_id, "gone@example.com")
    for address in (MIRA, "gone@example.com"):
        erasure.erase(olivia.workspace_id, address=address, actor="olivia", now=datetime.now(UTC))

    page = olivia.read("suppressions/").partition("<tbody")[2].partition("</tbody>")[0]

    assert page.count("Erased on request") == 2
    assert "Email to them bounced for good" in page
    assert "unsubscribed" not in page


def test_a_search_is_saved_as_a_segment_found_again_renamed_and_deleted(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    people.member(olivia.workspace_id, MIRA)
    fields = {"field": "attributes.plan", "op": "is_not", "value": "plus"}
    olivia.post("segments/new/", name="Readers", list="news", match="all", **fields)
    segment = Segment.objects.get()
    assert segment.filter == {
        "all": [{"list": "news"}, {"not": {"field": "attributes.plan", "is": "plus"}}]
    }

    page = olivia.read("segments/")
    url = page.partition('rowheader"><a href="')[2].partition('"')[0].replace("&amp;", "&")
    assert MIRA in olivia.client.get(url).content.decode()
    assert '">1</a>' in page
    assert "List: News is subscribed and plan is not plus" in page

    olivia.post("segments/new/", replaced=str(segment.pk), match="all", **fields)
    segment.refresh_from_db()
    assert (segment.name, len(segment.filter["all"])) == ("Readers", 1)
    stranger = visitors.sign_in(cast.sender(workspace="globex").workspace_id, name="Eve")
    stranger.post("segments/new/", replaced=str(segment.pk), match="any", **fields)
    segment.refresh_from_db()
    assert "any" not in segment.filter

    olivia.post(f"segments/{segment.pk}/", name="Fans")
    assert "Fans" in olivia.read("contacts/")
    olivia.post(f"segments/{segment.pk}/delete/")
    assert not Segment.objects.exists()


def test_words_are_no_part_of_a_segment_and_a_name_is_taken_once(olivia: Person) -> None:
    def save(**more: str) -> str:
        fields = {"name": "X", "state": "active", **more}
        saved = olivia.client.post(olivia.url("segments/new/"), fields, follow=True)
        return str(saved.content.decode())

    assert "Remove the words from the search first." in save(q="mira")
    save()
    again = save()
    assert "Choose another name." in again
    assert 'value="X"' in again
    assert Segment.objects.count() == 1


def test_a_filter_that_the_conditions_cannot_show_is_searched_as_json() -> None:
    stored = {"all": [{"any": [{"plan": "plus"}, {"plan": "pro"}]}, {"list": "news"}]}

    assert contact_search.write_query(stored).startswith("filter=")


def test_a_campaign_takes_the_conditions_of_a_segment_over(olivia: Person) -> None:
    campaign_id = press.campaign(olivia.workspace_id, tag="draft")
    segment_id = segments.create_segment(
        olivia.workspace_id,
        name="Plus",
        stored={"all": [{"field": "attributes.plan", "is": "plus"}]},
        actor="a",
        now=datetime.now(UTC),
    )
    page = olivia.read(f"campaigns/{campaign_id}/edit/")
    assert f'<option value="{segment_id}">Plus</option>' in page

    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    fields = {"name": "Draft", "kind": "markdown", "when": "now", "list_key": "", "seen": seen}
    fields |= {"sender": "news@acme.example", "complete": "1"}
    fields |= {"segment": str(segment_id), "use_segment": "1"}
    olivia.post(f"campaigns/{campaign_id}/edit/", **fields)

    assert 'value="plus"' in olivia.read(f"campaigns/{campaign_id}/edit/")


def test_a_list_alone_can_be_suppressed_for_somebody_without_a_contact(olivia: Person) -> None:
    people.news(olivia.workspace_id)

    olivia.post("suppressions/new/", address=MIRA, scope="news")

    kept = Suppression.objects.select_related("list").get()
    assert kept.list is not None
    assert (kept.list.key, kept.reason) == ("news", SuppressionReason.BY_HAND)


def test_a_list_without_a_key_takes_a_free_one_from_its_name(olivia: Person) -> None:
    names = ["Product News", "Product-News", "my_list", "General", "x" * 100, "Grüße aus Łódź"]
    answers = [olivia.post("lists/new/", name=name) for name in names]

    keys = ["product-news", "product-news-2", "my-list", "general-2", "x" * 56, "grusse-aus-lodz"]
    urls = [olivia.url(f"lists/{key}/") for key in keys]
    assert [answer.headers.get("Location") for answer in answers] == urls
    assert lists.find_free_key(olivia.workspace_id, "Новости") == "list"
