"""Addresses that are nearly right lead where they were meant to."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from tests import cast
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id)


def read(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("members/invite/", "members/"),
        ("content/branding/save/", "content/branding/"),
        ("attention/doubts/decide/", "attention/doubts/"),
    ],
)
def test_the_address_of_a_form_leads_to_its_page_and_says_that_nothing_was_changed(
    anna: Person, path: str, page: str
) -> None:
    led = anna.get(path)

    assert (led.status_code, led.headers["Location"]) == (302, anna.url(page))
    assert "Nothing was changed. Fill in the form again." in read(anna.get(page))


def test_signing_in_again_leads_to_the_page_of_the_form(anna: Person) -> None:
    anna.user.set_password("a long enough password")
    anna.user.save()
    stranger = Client()
    asked = stranger.post(anna.url("members/invite/"), {"email": "b@example.com"})
    values = {"login": anna.user.email, "password": "a long enough password"}

    page = stranger.post(asked.headers["Location"], values, follow=True)

    assert page.status_code == 200
    assert page.redirect_chain[-1][0] == anna.url("members/")


def test_a_part_of_a_page_is_not_led_to_another(anna: Person) -> None:
    part = anna.client.get(anna.url("members/invite/"), headers={"HX-Request": "true"})

    assert (part.status_code, part.content) == (405, b"")


def test_a_page_that_takes_no_form_says_so_and_leads_back(anna: Person) -> None:
    refused = anna.post("members/")

    assert refused.status_code == 405
    assert refused.headers["Allow"] == "GET, HEAD"
    assert "This address takes no such request" in read(refused)


@pytest.mark.parametrize("path", ["lists", "senders", "content/branding"])
def test_a_page_is_found_without_its_last_slash(anna: Person, path: str) -> None:
    led = anna.get(path, q="a b")

    assert led.status_code == 302
    assert led.headers["Location"] == f"{anna.url(path)}/?{urlencode({'q': 'a b'})}"


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("/account/login", "/account/login/"),
        ("/account/password/reset/key/1-abc-def", "/account/password/reset/key/1-abc-def/"),
        ("/account/address/token", "/account/address/token/"),
        ("/join/token/", "/join/token"),
        ("/docs/", "/docs"),
    ],
)
def test_a_link_that_lost_its_last_slash_or_got_one_leads_to_the_page(
    typed: str, right: str
) -> None:
    led = Client().get(typed)

    assert (led.status_code, led.headers["Location"]) == (302, right)


@pytest.mark.parametrize("path", ["/v1/contacts/", "/nowhere", "/w/"])
def test_nothing_else_is_led_anywhere(path: str) -> None:
    assert Client().get(path).status_code == 404


def test_a_form_is_not_sent_to_another_address(anna: Person) -> None:
    assert anna.post("members/invite").status_code == 404
