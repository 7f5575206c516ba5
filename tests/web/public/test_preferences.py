"""People choose what they get, take a break, and leave everything, each for themselves only."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from postledger.contacts import lists, states
from postledger.contacts.actions import suppression
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.states import ContactState, SubscriptionState
from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import get, link, post, text

PAGE = "/preferences"


def ticked(response: Any) -> dict[str, bool]:
    """The lists of a page, and which of them are ticked."""
    boxes = re.findall(r'name="list" value="([^"]+)"( checked)?', response.content.decode())
    return {key: bool(checked) for key, checked in boxes}


def save(url: str, shown: list[str], chosen: list[str], snooze: str = "off") -> Any:
    return post(url, {"do": "save", "shown": shown, "list": chosen, "snooze": snooze})


def test_the_page_shows_public_lists_and_those_one_has_and_saves_a_choice_once(acme: int) -> None:
    visiting.public_list(acme, "offers", "Offers")
    visiting.public_list(acme, "news", "News")
    people.news(acme, "staff")
    people.news(acme, "secret")
    contact_id = people.member(acme, key="staff")
    people.subscribe(acme, contact_id, "news")
    before = visiting.everything()

    shown = get(link(page=PAGE))
    same = save(link(page=PAGE), ["news"], ["news"])
    unchanged = visiting.everything()
    saved = save(link(page=PAGE), ["news", "offers"], ["offers"])

    assert ticked(shown) == {"offers": False, "news": True, "staff": True}
    assert (same.status_code, unchanged) == (200, before)
    assert "Your choice was saved." in text(saved)
    assert ticked(saved) == {"offers": True, "news": False, "staff": True}
    assert people.subscription(contact_id, "news") is SubscriptionState.UNSUBSCRIBED
    assert people.subscription(contact_id, "offers") is SubscriptionState.ACTIVE
    # Of a list that the page had not shown, as it came later, nothing was said.
    assert people.subscription(contact_id, "staff") is SubscriptionState.ACTIVE


def test_who_left_a_list_comes_back_by_ticking_it(acme: int) -> None:
    visiting.public_list(acme)
    contact_id = people.member(acme)
    people.leave(acme, key="news")

    save(link(page=PAGE), ["news"], ["news"])

    assert people.subscription(contact_id) is SubscriptionState.ACTIVE
    assert not visiting.everything()[3]


def test_a_break_is_taken_shown_and_ended(acme: int) -> None:
    visiting.public_list(acme)
    contact_id = people.member(acme)
    url = link(page=PAGE)

    for word, days in (("week", 7), ("month", 30)):
        response = save(url, ["news"], ["news"], word)
        until = Subscription.objects.get(contact_id=contact_id).snooze_until
        save(url, ["news"], ["news"], "keep")
        kept = Subscription.objects.get(contact_id=contact_id).snooze_until
        save(url, ["news"], ["news"], "off")

        assert until is not None
        assert abs(until - datetime.now(UTC) - timedelta(days=days)) < timedelta(minutes=30), word
        assert f"On a break until {until:%B} {until.day}, {until.year}" in text(response)
        assert kept == until
        assert Subscription.objects.get(contact_id=contact_id).snooze_until is None


def test_everything_is_left_and_returned_to(acme: int) -> None:
    visiting.public_list(acme)
    contact_id = people.member(acme)

    left = post(link(page=PAGE), {"do": "leave"})
    state_then = people.state(contact_id)
    save(link(page=PAGE), ["news"], [])
    back = post(link(page=PAGE), {"do": "return"})

    assert state_then is ContactState.UNSUBSCRIBED
    assert "You left everything that acme sends" in text(left)
    assert ticked(back) == {"news": True}
    assert people.state(contact_id) is ContactState.ACTIVE


def test_what_others_keep_back_cannot_be_taken(acme: int) -> None:
    visiting.public_list(acme)
    contact_id = people.member(acme)
    stranger = people.contact(acme, "r2@example.com")
    reason = states.SuppressionReason.BY_HAND
    for address in (people.R1, "r2@example.com"):
        suppression.suppress(acme, address=address, reason=reason, actor="bob", list_key="news")

    of_member = save(link(page=PAGE), ["news"], ["news"])
    of_stranger = save(link("r2@example.com", page=PAGE), ["news"], ["news"])

    assert (ticked(of_member), ticked(of_stranger)) == ({}, {"news": False})
    assert people.subscription(contact_id) is SubscriptionState.SUPPRESSED
    assert not Subscription.objects.filter(contact_id=stranger).exists()


def test_a_list_that_is_not_offered_cannot_be_joined(acme: int, globex: int) -> None:
    people.news(acme, "staff")
    visiting.public_list(globex, "theirs")
    visiting.public_list(acme, "old")
    lists.archive_list(acme, key="old", actor="alice")
    people.contact(acme)
    before = visiting.everything()

    keys = ["staff", "theirs", "old", "general", "none", "", "\x00"]
    response = save(link(page=PAGE), keys, keys)

    assert response.status_code == 200
    assert visiting.everything() == before


def test_charlie_cannot_touch_acmes_list_of_the_same_key(acme: int, globex: int) -> None:
    for workspace_id in (acme, globex):
        visiting.public_list(workspace_id)
    ours, theirs = people.member(acme), people.member(globex)

    save(link(page=PAGE, workspace_id=globex), ["news"], [])

    assert people.subscription(theirs) is SubscriptionState.UNSUBSCRIBED
    assert people.subscription(ours) is SubscriptionState.ACTIVE


def test_an_address_nobody_knows_sees_what_a_stranger_to_the_lists_sees(acme: int) -> None:
    visiting.public_list(acme)
    people.contact(acme, "aaaa@example.com")
    registered = link("aaaa@example.com", page=PAGE)
    unknown = link("bbbb@example.com", page=PAGE)

    def lines(url: str) -> list[str]:
        answers = [
            get(url),
            save(url, ["news"], []),
            save(url, ["news"], ["news"], "week"),
            save(url, ["news"], []),
            post(url, {"do": "leave"}),
            post(url, {"do": "return"}),
        ]
        pages = [text(answer).replace(url.partition("=")[2], "T") for answer in answers]
        return [page.replace("bbbb", "aaaa") for page in pages]

    assert lines(registered) == lines(unknown)
    assert Contact.objects.count() == 2
