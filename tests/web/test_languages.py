"""A page is in its reader's language, and nothing else is."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import RequestFactory
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext

from postledger.web.shared import languages


@dataclass
class Reader:
    language: str


def page(_request: HttpRequest) -> HttpResponse:
    # Django itself knows this word.
    return HttpResponse(gettext("Yes"))


def open_page(
    path: str = "/w/1/", *, own: str | None = None, cookie: str = "", accepted: str = "ru"
) -> Any:
    request = RequestFactory().get(path, headers={"Accept-Language": accepted})
    if cookie:
        request.COOKIES["postledger_language"] = cookie
    if own is not None:
        request.user = Reader(own)  # type: ignore[assignment]  # all that is asked of a person
    return languages.middleware(page)(request)


@pytest.mark.parametrize(
    ("own", "cookie", "accepted", "expected"),
    [
        ("pt", "en", "ru", "pt"),
        ("", "pt", "ru", "pt"),
        (None, "pt", "ru", "pt"),
        (None, "", "ru", "ru"),
        (None, "xx", "ru", "ru"),
        # Readers have German, members have not, and no page of theirs is half German.
        (None, "", "de", "en"),
        ("de", "de", "de, pt", "pt"),
    ],
)
def test_a_persons_choice_comes_before_the_cookie_and_the_cookie_before_the_browser(
    own: str | None, cookie: str, accepted: str, expected: str
) -> None:
    response = open_page(own=own, cookie=cookie, accepted=accepted)

    assert response["Content-Language"] == expected
    assert response.content.decode() == {"en": "Yes", "ru": "Да", "pt": "Sim"}[expected]
    assert response["Vary"] == "Accept-Language, Cookie"


def test_a_program_reads_english_whatever_it_accepts() -> None:
    response = open_page("/v1/email", own="ru", cookie="ru")

    assert response.content == b"Yes"
    assert "Content-Language" not in response


def test_what_is_no_page_claims_no_language() -> None:
    request = RequestFactory().get("/w/1/report", headers={"Accept-Language": "ru"})

    response = languages.middleware(lambda _request: JsonResponse({}))(request)

    assert "Content-Language" not in response


@pytest.mark.parametrize("path", ["/v1/email", "/ready", "/metrics", "/pictures/a.png"])
def test_where_no_page_is_nobody_asks_who_the_reader_is(path: str) -> None:
    request = RequestFactory().get(path)
    request.user = SimpleLazyObject(lambda: pytest.fail("asked the database"))  # type: ignore[assignment]  # as a session does it

    assert languages.middleware(page)(request).status_code == 200


def test_a_page_that_says_its_language_is_believed() -> None:
    request = RequestFactory().get("/docs", headers={"Accept-Language": "ru"})

    response = languages.middleware(
        lambda _request: HttpResponse(headers={"Content-Language": "en"})
    )(request)

    assert response["Content-Language"] == "en"


def test_the_next_request_finds_no_language_left_behind() -> None:
    before = translation.get_language()

    open_page(own="pt")

    assert translation.get_language() == before


def test_a_language_is_remembered_by_a_cookie() -> None:
    response = HttpResponse()

    languages.remember(response, "pt")

    cookie = response.cookies["postledger_language"]
    assert cookie.value == "pt"
    assert cookie["samesite"] == "Lax"
    assert cookie["httponly"]
