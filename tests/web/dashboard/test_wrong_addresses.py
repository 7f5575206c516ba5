"""Addresses that are nearly right lead where they were meant to."""

from urllib.parse import urlencode

import pytest
from django.test import Client

from tests import cast
from tests.web.dashboard import visitors
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id)


def test_the_address_of_a_form_leads_to_its_page_and_says_that_nothing_was_changed(
    anna: Person,
) -> None:
    for path, page in (
        ("members/invite/", "members/"),
        ("content/branding/save/", "content/branding/"),
        ("attention/doubts/decide/", "attention/doubts/"),
    ):
        led = anna.get(path)

        assert (led.status_code, led.headers["Location"]) == (302, anna.url(page))
        assert "Nothing was changed. Fill in the form again." in read(anna.get(page)), path


def test_signing_in_again_leads_to_the_page_of_the_form(anna: Person) -> None:
    anna.user.set_password("a long enough password")
    anna.user.save()
    stranger = Client()
    asked = stranger.post(anna.url("members/invite/"), {"email": "b@example.com"})
    values = {"login": anna.user.email, "password": "a long enough password"}

    page = stranger.post(asked.headers["Location"], values, follow=True)

    assert page.status_code == 200
    assert page.redirect_chain[-1][0] == anna.url("members/")


def test_a_page_that_takes_no_form_says_so_and_leads_back(anna: Person) -> None:
    refused = anna.post("members/")

    assert refused.status_code == 405
    assert refused.headers["Allow"] == "GET, HEAD"
    assert "This address takes no such request" in read(refused)


def test_a_page_is_found_without_its_last_slash(anna: Person) -> None:
    for path in ("lists", "senders", "content/branding"):
        led = anna.get(path, q="a b")

        assert led.status_code == 302, path
        assert led.headers["Location"] == f"{anna.url(path)}/?{urlencode({'q': 'a b'})}"


def test_a_link_that_lost_its_last_slash_or_got_one_leads_to_the_page_and_no_other_anywhere() -> (
    None
):
    key = "/account/password/reset/key/1-abc-def"
    for typed, right in (
        ("/account/login", "/account/login/"),
        (key, f"{key}/"),
        ("/account/address/token", "/account/address/token/"),
        ("/join/token/", "/join/token"),
        ("/docs/", "/docs"),
    ):
        led = Client().get(typed)
        assert (led.status_code, led.headers["Location"]) == (302, right)
    for path in ("/v1/contacts/", "/nowhere", "/w/"):
        assert Client().get(path).status_code == 404, path


def test_a_form_is_not_sent_to_another_address(anna: Person) -> None:
    assert anna.post("members/invite").status_code == 404
