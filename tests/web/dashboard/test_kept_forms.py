"""A form whose sender was signed out meanwhile is kept, and sent again by a click."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client as Browser

from postledger.accounts.models import Workspace
from postledger.contacts.models import List
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

OWN = {"Origin": "http://testserver"}
OTHER = {"Origin": "https://elsewhere.example"}
PART = {"HX-Request": "true"}
WRITTEN = {"name": "Friends & <family>", "key": "friends", "welcome": "One\r\nTwo"}


@pytest.fixture
def anna() -> Person:
    """Her browser asks for tokens, as a real one does."""
    signed_in = visitors.sign_in(Workspace.objects.create(name="acme").pk)
    strict = Browser(enforce_csrf_checks=True)
    strict.cookies = signed_in.client.cookies
    person = Person(strict, signed_in.user, signed_in.member)
    person.read("lists/")  # a form, which brings the token along
    return person


def submit(anna: Person, fields: dict[str, Any], **headers: str) -> Any:
    return anna.client.post(anna.url("lists/new/"), fields, headers={**OWN, **headers})


def read_fields(answer: Any) -> dict[str, str]:
    """What a click on the page's button sends."""
    page = answer.content.decode()
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    return {unescape(name): unescape(value) for name, value in found}


def test_a_form_of_before_a_new_sign_in_is_sent_again_by_a_click(anna: Person) -> None:
    stale = {**WRITTEN, "csrfmiddlewaretoken": "a" * 64}

    asked = submit(anna, stale)

    assert (asked.status_code, List.objects.count()) == (403, 0)
    assert "Nothing of it" not in asked.content.decode()
    kept = read_fields(asked)
    assert kept == {**WRITTEN, "csrfmiddlewaretoken": kept["csrfmiddlewaretoken"]}
    assert submit(anna, kept).status_code == 302
    assert List.objects.get().name == "Friends & <family>"


def test_a_form_whose_sender_is_signed_out_waits_until_they_are_back(anna: Person) -> None:
    token = anna.client.cookies["postledger_csrf"].value
    session = anna.client.cookies.pop("postledger_session")

    asked = submit(anna, {**WRITTEN, "csrfmiddlewaretoken": token})

    assert asked.status_code == 401
    assert "You are signed out" in asked.content.decode()
    anna.client.cookies["postledger_session"] = session.value
    assert submit(anna, read_fields(asked)).status_code == 302
    assert List.objects.get().key == "friends"


@pytest.mark.parametrize("headers", [{}, OTHER], ids=["none", "another site"])
def test_nothing_of_a_form_that_may_be_another_sites_is_offered_again(
    anna: Person, headers: dict[str, str]
) -> None:
    stale = {**WRITTEN, "csrfmiddlewaretoken": "a" * 64}
    url = anna.url("lists/new/")

    forged = anna.client.post(url, stale, headers=headers)
    of_stranger = Browser().post(url, WRITTEN, headers=headers)

    assert forged.status_code == 403
    assert "friends" not in forged.content.decode()
    assert of_stranger.status_code == 302
    assert of_stranger.headers["Location"].startswith("/account/login/")


def test_a_draft_that_saves_itself_is_told_and_given_a_new_token(anna: Person) -> None:
    stale = {**WRITTEN, "csrfmiddlewaretoken": "a" * 64}

    outdated = submit(anna, stale, **PART)
    token = outdated.headers["X-CSRF-Token"]
    again = submit(anna, {**WRITTEN, "csrfmiddlewaretoken": token}, **PART)
    signed_out = Browser().post(anna.url("lists/new/"), WRITTEN, headers={**OWN, **PART})
    forged = anna.client.post(anna.url("lists/new/"), stale, headers={**OTHER, **PART})

    assert (outdated.status_code, outdated.content) == (403, b"")
    assert again.status_code == 302
    assert (signed_out.status_code, signed_out.content) == (401, b"")
    assert "X-CSRF-Token" not in forged.headers


def test_a_stranger_is_shown_nothing_that_would_have_to_be_read_first(anna: Person) -> None:
    url = anna.url("campaigns/1/edit/")

    answer = Browser().post(url, {"body": "a" * 100_000}, headers=OWN)

    assert answer.status_code == 401
    assert "too large to be kept" in answer.content.decode()
    assert read_fields(answer) == {}
