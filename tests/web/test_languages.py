"""A page is in its reader's language, and nothing else is."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
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


def test_a_persons_choice_comes_before_the_cookie_and_the_cookie_before_the_browser() -> None:
    before = translation.get_language()
    for own, cookie, accepted, expected in (
        ("pt", "en", "ru", "pt"),
        ("", "pt", "ru", "pt"),
        (None, "pt", "ru", "pt"),
        (None, "", "ru", "ru"),
        (None, "xx", "ru", "ru"),
        # Readers have German, members have not, and no page of theirs is half German.
        (None, "", "de", "en"),
        ("de", "de", "de, pt", "pt"),
    ):
        response = open_page(own=own, cookie=cookie, accepted=accepted)

        assert response["Content-Language"] == expected, (own, cookie, accepted)
        assert response.content.decode() == {"en": "Yes", "ru": "Да", "pt": "Sim"}[expected], (
            own,
            cookie,
            accepted,
        )
        assert response["Vary"] == "Accept-Language, Cookie", (own, cookie, accepted)
        assert translation.get_language() == before, "the next request finds none left behind"


def test_where_no_page_is_nobody_asks_who_the_reader_is() -> None:
    for path in ("/v1/email", "/ready", "/metrics", "/pictures/a.png"):
        request = RequestFactory().get(path)
        request.user = SimpleLazyObject(lambda: pytest.fail("asked the database"))  # type: ignore[assignment]  # as a session does it

        assert languages.middleware(page)(request).status_code == 200, path


def test_a_page_that_says_its_language_is_believed_and_what_is_no_page_claims_none() -> None:
    def answer(path: str, response: HttpResponse) -> HttpResponseBase:
        request = RequestFactory().get(path, headers={"Accept-Language": "ru"})
        return languages.middleware(lambda _request: response)(request)

    own = answer("/docs", HttpResponse(headers={"Content-Language": "en"}))
    program = open_page("/v1/email", own="ru", cookie="ru")

    assert own["Content-Language"] == "en"
    assert program.content == b"Yes"
    assert "Content-Language" not in program
    assert "Content-Language" not in answer("/w/1/report", JsonResponse({}))


def test_a_language_is_remembered_by_a_cookie() -> None:
    response = HttpResponse()

    languages.remember(response, "pt")

    cookie = response.cookies["postledger_language"]
    assert cookie.value == "pt"
    assert cookie["samesite"] == "Lax"
    assert cookie["httponly"]
