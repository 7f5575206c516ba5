"""Every page is safe to open, says it in the reader's language, and believes no header."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.contacts import lists
from postledger.content import brandings
from postledger.content.models import Branding
from postledger.web.shared import page_frame
from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import get, link, post, text

EVIL = "\"><script>alert(1)</script><svg onload=alert(2)>'{{7*7}}{% debug %}%(org)s%s"


@pytest.fixture
def news(acme: int) -> int:
    visiting.sender()
    visiting.public_list(acme)
    people.member(acme)
    return acme


def pages(language: str = "en") -> list[Any]:
    """One answer of every kind."""
    address, visitor = visiting.somebody(), Client(headers={"Accept-Language": language})
    get, post = visitor.get, visitor.post
    asked = post("/subscribe/acme/news", {"email": address})
    confirm, never = visiting.links_of(visiting.mails(address)[0])
    return [
        asked,
        get(confirm),
        post(confirm),
        get(never),
        post(never),
        get(link()),
        get(link(key="news")),
        post(link(key="news")),
        post(link(key="news", page="/unsubscribe/undo")),
        get(link(page="/preferences")),
        post(link(page="/preferences"), {"do": "save"}),
        get("/subscribe/acme/news"),
        post("/subscribe/acme/news", {"email": "wrong"}),
        get("/unsubscribe?token=bad"),
        get("/subscribe/acme/none"),
        get(link(), headers={"Accept": "application/json"}),
        visitor.delete(link()),
    ]


def list_words(response: Any) -> set[str]:
    """What a reader sees, or hears, piece by piece."""
    page = re.sub("<style>.*?</style>", "", text(response), flags=re.DOTALL)
    pieces = [*re.split("<[^>]*>", page), *re.findall(r'aria-label="([^"]*)"', page)]
    return {piece.strip() for piece in pieces if re.search(r"[^\W\d_]{2}", piece)}


def test_a_reader_of_german_meets_no_english(news: int) -> None:
    english = {word for page in pages() for word in list_words(page)}
    german = {word for page in pages("de") for word in list_words(page)}

    assert english & german <= {
        "News",
        "English",
        "Русский",
        "Português",
        "Deutsch",
        '{"ok": true}',
    }


def test_every_answer_has_the_headers_that_keep_it_safe(news: int) -> None:
    for response in pages():
        policy = response["Content-Security-Policy"]
        styles = re.findall("<style>(.*?)</style>", response.content.decode(), re.DOTALL)
        hashes = [b64encode(sha256(style.encode()).digest()).decode() for style in styles]

        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert all(f"'sha256-{digest}'" in policy for digest in hashes)
        assert policy.endswith("form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Cache-Control"] == "no-store"
        assert "noindex" in response["X-Robots-Tag"]
        assert not response.cookies
        assert "<script" not in response.content.decode()
        assert " style=" not in response.content.decode()


def test_no_text_of_a_stranger_becomes_markup(news: int) -> None:
    lists.update_list(news, key="news", name=EVIL, actor="alice")
    answers = [
        *pages(),
        post("/subscribe/acme/news", {"email": EVIL, "name": EVIL}),
        get("/unsubscribe", Accept_Language=EVIL),
        Client().get("/unsubscribe", {"token": EVIL, "lang": EVIL}),
        Client().get("/preferences", {"token": EVIL, "lang": EVIL}),
        Client().get("/confirm", {"token": EVIL, "lang": EVIL}),
        Client().get("/never-again", {"token": EVIL, "lang": EVIL}),
        Client().get("/subscribe/acme/news", {"lang": EVIL, "token": EVIL}),
        get(link("o'neil+%s@example.com")),
    ]

    for response in answers:
        assert "<script" not in response.content.decode()
        assert "<svg" not in response.content.decode()
    assert "&lt;script&gt;" in answers[1].content.decode()
    # What looks like a place or a template inside a value is shown as it is.
    assert "{{7*7}}{% debug %}%(org)s%s" in text(answers[1])
    assert "o'neil+%s@example.com" in text(answers[-1])


def test_a_hostile_list_name_is_escaped_in_the_mail(news: int) -> None:
    lists.update_list(news, key="news", name='<a href="https://evil">', actor="alice")
    address = visiting.somebody()

    post("/subscribe/acme/news", {"email": address})

    [mail] = visiting.mails(address)
    assert mail.html.count("<a ") == 2  # confirm, and never again
    assert "&lt;a href=" in mail.html
    assert '<a href="https://evil">' in mail.text


def test_the_host_that_a_request_names_is_in_no_link(news: int, settings: LazySettings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    address = visiting.somebody()
    visitor = Client(
        headers={
            "Host": "evil.example",
            "X-Forwarded-Host": "evil.example",
            "Forwarded": "host=evil.example",
        }
    )

    answers = [
        visitor.post("/subscribe/acme/news", {"email": address}),
        visitor.get("/subscribe/acme/news"),
        visitor.get(link()),
        visitor.post(link()),
        visitor.get(link(page="/preferences")),
        visitor.get(visiting.confirmation_link(visiting.mails(address)[0])),
    ]

    [mail] = visiting.mails(address)
    assert all(answer.status_code == 200 for answer in answers)
    assert not any("evil" in text(answer) for answer in answers)
    assert "evil" not in mail.html + mail.text
    assert "https://mail.acme.example/confirm?token=" in mail.html


def test_a_visitor_reads_the_language_asked_for_else_the_browsers() -> None:
    for asked, accepted, expected in (
        ("ru", "pt", "ru"),
        ("", "pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("", "fr, ru;q=0.5, en;q=0.4", "ru"),
        ("", "de-AT, ru;q=0.5, en;q=0.4", "de"),
        ("xx", "pt", "pt"),
        ("PT-br", "", "pt"),
        ("../en", "", "en"),
        ("", "", "en"),
        ("", "*", "en"),
        ("", "ru;q=0", "en"),
        ("", ",,;;q=" * 500, "en"),
    ):
        offered = page_frame.READER_LANGUAGES
        assert (
            page_frame.choose_language(asked, accept_language=accepted, offered=offered) == expected
        ), (asked, accepted[:20])


def test_a_page_keeps_its_language_and_leads_to_the_others(news: int) -> None:
    for code in page_frame.READER_LANGUAGES:
        response = get(f"{link()}&lang={code}")

        page = text(response)
        assert f'<html lang="{code}">' in page
        assert response["Content-Language"] == code
        assert all(f"&lang={code}" in url for url in visiting.forms(response)), code
        others = [f"&lang={other}" for other in page_frame.READER_LANGUAGES if other != code]
        assert all(f'{other}" lang=' in page for other in others), code


def test_every_page_fills_its_places_labels_its_fields_and_has_one_heading(news: int) -> None:
    for response in pages():
        page = response.content.decode()
        assert "%(" not in text(response)
        if not page.startswith("<!doctype html>"):
            continue
        inputs = re.findall(r'<input (?![^>]*type="hidden")[^>]*>', page)
        named = [field for field in inputs if re.search(r'id="(\w+)"', field)]
        inside = re.findall(r"<label[^>]*>(?:(?!</label>).)*<input", page, re.DOTALL)

        assert len(named) + len(inside) == len(inputs)
        for field in named:
            [identity] = re.findall(r' id="(\w+)"', field)
            assert f'for="{identity}"' in page
        assert page.count("<h1>") == 1
        assert "<title></title>" not in page


def test_every_page_of_a_workspace_has_its_logo_and_its_colour_and_no_other_page(
    news: int,
) -> None:
    logo_url = "https://img.acme.example:8443/logo.png?a=1&b=2"
    brandings.set_branding(news, logo_url=logo_url, accent="#0a6b2d", actor="test")

    whole = [page for page in pages() if page.content.startswith(b"<!doctype html>")]
    branded = [page for page in whole if page.status_code in {200, 422}]
    plain = [page for page in whole if page not in branded]

    assert (len(branded), len(plain)) == (13, 3)
    for response in plain:
        assert "<img" not in text(response)
        assert "img-src" not in response["Content-Security-Policy"]
    for response in branded:
        policy = response["Content-Security-Policy"]
        styles = re.findall("<style>(.*?)</style>", response.content.decode(), re.DOTALL)
        assert "main { --deed: #0a6b2d; }" in styles[1]
        for style in styles:
            assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
        assert " img-src https://img.acme.example:8443; " in policy
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert f'src="{logo_url}"' in text(response)
        assert " style=" not in text(response)


def test_a_logo_whose_host_no_policy_can_name_is_not_shown(news: int) -> None:
    with pytest.raises(brandings.InvalidLogoError):
        brandings.set_branding(news, logo_url="https://[logo/x.png", accent="", actor="test")
    for logo_url in (
        "https://a.example;script-src/x.png",
        "https://me@a.example/x.png",
        "https://[logo/x.png",
    ):
        Branding.objects.update_or_create(workspace_id=news, defaults={"logo_url": logo_url})

        response = get(link())

        assert response.status_code == 200, logo_url
        assert "img-src" not in response["Content-Security-Policy"], logo_url
        assert "script-src" not in response["Content-Security-Policy"], logo_url
        assert "<img" not in text(response), logo_url
