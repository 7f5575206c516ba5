"""What is too large to be read is refused in words, beside its field, and never as a stale form."""

import asyncio
from typing import Any

import pytest
from django.db import connections
from django.test import Client as Browser

from postledger.accounts.people.roles import Role
from postledger.web.front.front import Front
from postledger.web.shared import bodies
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person
from tests.web.front import asgi
from tests.web.front.asgi import Client

pytestmark = pytest.mark.usefixtures("furnished")

STALE = "This form is out of date"
PICTURE = "it has more than 5 MB, and readers would wait for it"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def anna(alice: Caller) -> Person:
    """Her browser asks for tokens, as a real one does."""
    signed_in = visitors.sign_in(alice.workspace_id)
    strict = Browser(enforce_csrf_checks=True)
    strict.cookies = signed_in.client.cookies
    return Person(strict, signed_in.user, signed_in.member)


def post(person: Person, path: str, body: Any = None, **headers: str) -> Any:
    """A form that the front did not pass on."""
    unread: dict[str, Any] = {"wsgi.input": body or bodies.too_large()}
    return person.client.post(person.url(path), {}, headers=headers, **unread)


def test_what_is_too_large_or_too_slow_is_refused_in_words(anna: Person) -> None:
    for path, words in (
        ("imports/upload/", "larger than 50 MiB. Divide it"),
        ("content/branding/save/", PICTURE),
        ("content/articles/may/slices/new/", "may have 2.0\xa0MB at most"),
        ("content/templates/welcome/write/", "may have 8.0\xa0MB at most"),
        ("lists/", "may have 64.0\xa0KB at most"),
    ):
        answer = post(anna, path)

        assert answer.status_code == 413, path
        assert words in answer.content.decode()
        assert STALE not in answer.content.decode(), path
    slow = post(anna, "imports/upload/", bodies.too_late())
    assert slow.status_code == 408
    assert "did not arrive in time" in slow.content.decode()


def test_a_picture_of_a_draft_that_is_too_large_is_refused_in_its_place(
    anna: Person, alice: Caller
) -> None:
    path = f"campaigns/{newsroom.make_campaign(alice)}/edit/picture/"
    part, page = post(anna, path, **HTMX), post(anna, path)

    assert (part.status_code, page.status_code) == (413, 413)
    assert part.content.decode().strip().startswith('<p class="error" role="alert">')
    for answer in (part, page):
        assert PICTURE in answer.content.decode()


def test_a_draft_that_is_too_long_says_beside_the_text_that_nothing_is_saved(
    anna: Person, alice: Caller
) -> None:
    answer = post(anna, f"campaigns/{newsroom.make_campaign(alice)}/edit/", **HTMX)
    page = answer.content.decode()

    assert answer.status_code == 413
    assert 'id="problems" hx-swap-oob="true"' in page
    assert 'data-field="id_body"' in page
    assert "may have 2.0\xa0MB at most" in page


def test_a_try_that_is_too_long_says_so_in_its_frame(anna: Person) -> None:
    answer = post(anna, "content/templates/welcome/try/")

    assert (answer.status_code, answer.headers["X-Frame-Options"]) == (413, "SAMEORIGIN")
    assert "8.0\xa0MB at most" in answer.content.decode()


def test_who_may_not_upload_is_refused_as_for_a_small_file(alice: Caller) -> None:
    viewer = visitors.sign_in(alice.workspace_id, Role.VIEWER)

    assert post(viewer, "imports/upload/").status_code == 403
    assert post(viewer, "content/branding/save/").status_code == 403
    stranger = visitors.Person(Browser(), viewer.user, viewer.member)
    assert post(stranger, "imports/upload/").status_code == 302


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_announced", [True, False])
def test_the_front_brings_the_sentence_to_a_browser(
    anna: Person, monkeypatch: pytest.MonkeyPatch, *, is_announced: bool
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)  # as with a pool
    size = 15 * bodies.MIB
    framing = ("content-length", str(size)) if is_announced else ("transfer-encoding", "chunked")
    session = anna.client.cookies["postledger_session"].value
    cookies = ("cookie", f"postledger_session={session}; postledger_csrf={'a' * 32}")
    form = ("content-type", "multipart/form-data; boundary=b")
    client = Client([b"x" * bodies.MIB] * 15)

    path = anna.url("content/branding/save/")
    reply = asyncio.run(
        asgi.ask(Front(thread_count=1), "POST", path, framing, cookies, form, client=client)
    )

    assert reply.status == 413
    assert PICTURE in reply.content.decode()
