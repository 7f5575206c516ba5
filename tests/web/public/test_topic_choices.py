"""People see what they are told of topics, and pause, resume, time and end each of it."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from postledger.contacts.consent import Origin
from postledger.notifications.models import Topic, TopicSubscription
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.subscriptions.standing import SubscriptionStatus
from postledger.notifications.topics import matching
from tests.contacts import people
from tests.notifications import seats
from tests.web.focus import check_focus
from tests.web.public import visiting
from tests.web.public.visiting import get, link, post, text

PAGE = "/preferences"
MATCH = {"termId": "2026-fall", "indexNumber": "10023"}


@pytest.fixture
def topic(acme: int) -> Topic:
    visiting.sender()
    return seats.topic(is_public=True)


def subscribe(topic: Topic, contact_id: int, **match: str) -> int:
    return subscriptions.subscribe(
        topic,
        contact_id=contact_id,
        match=match or MATCH,
        is_confirmed=True,
        origin=Origin("test", "test"),
        now=people.NOW,
    )


def status(topic: Topic, subscription_id: int) -> SubscriptionStatus:
    return subscription_queries.get_subscription(topic.workspace_id, subscription_id).status


def do(what: str, subscription_id: int, **fields: str) -> Any:
    form = {"do": f"topic-{what}", "subscription": subscription_id, **fields}
    return post(link(page=PAGE), form)


def test_the_page_says_what_one_is_told(topic: Topic) -> None:
    contact_id = people.contact(topic.workspace_id)
    subscribe(topic, contact_id)
    subscribe(topic, people.contact(topic.workspace_id, "other@example.com"), campusCode="NK")
    shown = text(get(link(page=PAGE)))
    assert "Open seats" in shown
    assert re.search("termId: 2026-fall, indexNumber: 10023|indexNumber: 10023, termId", shown)
    assert "NK" not in shown


def test_each_is_paused_resumed_and_ended_by_itself(topic: Topic) -> None:
    contact_id = people.contact(topic.workspace_id)
    first, second = subscribe(topic, contact_id), subscribe(topic, contact_id, campusCode="NB")
    assert "(paused)" in text(do("pause", first))
    assert (status(topic, first), status(topic, second)) == (
        SubscriptionStatus.PAUSED,
        SubscriptionStatus.ACTIVE,
    )
    do("resume", first)
    assert status(topic, first) is SubscriptionStatus.ACTIVE
    assert "10023" not in text(do("end", first))
    do("resume", first)  # of a page that is still open
    assert (status(topic, first), status(topic, second)) == (
        SubscriptionStatus.UNSUBSCRIBED,
        SubscriptionStatus.ACTIVE,
    )


def test_hours_and_a_break_are_saved_and_taken_back(topic: Topic) -> None:
    id_ = subscribe(topic, people.contact(topic.workspace_id))
    page = text(do("save", id_, **{"from": "22:30", "until": "06:00", "snooze": "week"}))
    row = TopicSubscription.objects.get(pk=id_)
    assert (row.window_from, row.window_until) == (1350, 360)
    assert row.snooze_until is not None
    assert 'value="22:30"' in page
    do("save", id_, **{"from": "25:00", "until": "", "snooze": "keep"})
    kept = TopicSubscription.objects.get(pk=id_)
    assert (kept.window_from, kept.window_until) == (None, None)
    assert kept.snooze_until == row.snooze_until
    do("save", id_, snooze="off")
    assert TopicSubscription.objects.get(pk=id_).snooze_until is None


def test_nobody_changes_what_another_is_told(topic: Topic) -> None:
    people.contact(topic.workspace_id)
    other = subscribe(topic, people.contact(topic.workspace_id, "other@example.com"))
    for what in ("pause", "end", "save"):
        do(what, other, snooze="week")
    assert status(topic, other) is SubscriptionStatus.ACTIVE
    assert TopicSubscription.objects.get(pk=other).snooze_until is None


def test_who_leaves_the_topic_by_one_click_is_told_nothing_until_it_is_undone(
    topic: Topic,
) -> None:
    contact_id = people.contact(topic.workspace_id)
    ids = [subscribe(topic, contact_id), subscribe(topic, contact_id, campusCode="NB")]
    post(link(key="seats"), visiting.ONE_CLICK)
    assert {status(topic, id_) for id_ in ids} == {SubscriptionStatus.UNSUBSCRIBED}
    assert "10023" not in text(get(link(page=PAGE)))
    people.undo(topic.workspace_id, key="seats")
    assert {status(topic, id_) for id_ in ids} == {SubscriptionStatus.ACTIVE}


def test_the_form_of_a_topic_takes_a_match_and_stores_it_once_it_is_confirmed(
    topic: Topic,
) -> None:
    address = visiting.somebody()
    path = f"/subscribe/{topic.workspace_id}/seats"
    form = text(get(f"{path}?{urlencode({'match.indexNumber': '10023'})}"))
    assert 'name="match.indexNumber"' in form
    assert 'value="10023"' in form

    post(f"{path}?lang=pt", {"email": address, "match.indexNumber": "10023", "match.x": "y"})
    assert not TopicSubscription.objects.exists()
    [mail] = visiting.mails(address)
    assert "10023" not in mail.text
    url = visiting.confirmation_link(mail)
    assert "indexNumber: 10023" in text(get(url))
    for _ in range(2):
        post(url)
    row = TopicSubscription.objects.get()
    assert (row.match, row.locale) == ({"indexNumber": "10023"}, "pt")
    assert status(topic, row.pk) is SubscriptionStatus.ACTIVE


def test_a_second_match_is_confirmed_too_though_the_topic_is(topic: Topic) -> None:
    address = visiting.somebody()
    subscribe(topic, people.contact(topic.workspace_id, address))
    path = f"/subscribe/{topic.workspace_id}/seats"
    post(path, {"email": address, "match.campusCode": "NB"})
    assert TopicSubscription.objects.count() == 1
    post(visiting.confirmation_link(visiting.mails(address)[-1]))
    assert TopicSubscription.objects.count() == 2


def test_who_has_as_much_as_possible_meets_a_link_that_does_not_work_any_more(
    topic: Topic,
) -> None:
    address = visiting.somebody()
    contact_id = people.contact(topic.workspace_id, address)
    post(f"/subscribe/{topic.workspace_id}/seats", {"email": address, "match.campusCode": "NB"})
    TopicSubscription.objects.bulk_create(
        TopicSubscription(
            topic=topic, contact_id=contact_id, match={"indexNumber": text}, match_digest=digest
        )
        for text in (f"{number:05}" for number in range(subscriptions.MOST_OF_CONTACT))
        for digest in [matching.digest_match({"indexNumber": text})]
    )

    answer = post(visiting.confirmation_link(visiting.mails(address)[-1]))

    assert answer.status_code == 400
    assert TopicSubscription.objects.count() == subscriptions.MOST_OF_CONTACT


def test_a_match_that_is_too_long_is_refused(topic: Topic) -> None:
    path = f"/subscribe/{topic.workspace_id}/seats"
    reply = post(path, {"email": visiting.somebody(), "match.campusCode": "x" * 61})

    assert "60 characters" in text(reply)
    check_focus(reply, "match.campusCode")


def test_a_topic_with_a_match_is_joined_by_its_form_and_one_without_by_a_tick(
    topic: Topic,
) -> None:
    whole = seats.topic(key="alarms", name="Alarms", match_fields=(), is_public=True)
    page = get(link(page=PAGE)).content.decode()
    assert 'value="alarms"' in page
    assert 'value="seats"' not in page
    post(link(page=PAGE), {"do": "save", "shown": ["alarms"], "list": ["alarms"]})
    row = TopicSubscription.objects.get()
    assert (row.topic_id, row.match) == (whole.pk, {})
    assert status(whole, row.pk) is SubscriptionStatus.ACTIVE
