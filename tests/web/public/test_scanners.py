"""Programs that open every link of a mail, in every way, unsubscribe nobody."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import link

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
# method, headers
BEHAVIOURS: list[tuple[str, Mapping[str, str]]] = [
    ("GET", {}),
    ("GET", {"Accept": BROWSER}),
    ("GET", {"Accept": "*/*", "User-Agent": "curl/8.9"}),
    ("GET", {"Accept": ""}),
    ("GET", {"Accept": "text/html;q=0.1"}),
    ("GET", {"Accept": "image/avif,image/webp,*/*;q=0.8"}),
    ("GET", {"Accept": "application/*"}),
    ("GET", {"Accept": "application/json;q=0"}),
    ("GET", {"Accept": "text/html, application/json"}),
    ("GET", {"Accept": "text/html, application/json;q=0.9, */*"}),
    ("GET", {"Accept": "application/jsonp, nonsense;;;=, ,/"}),
    ("GET", {"Accept": BROWSER, "Purpose": "prefetch"}),
    ("GET", {"Accept": BROWSER, "Sec-Purpose": "prefetch;prerender"}),
    ("GET", {"Accept": "application/json", "Sec-Purpose": "prefetch"}),
    ("GET", {"Accept": "application/json", "X-Moz": "prefetch"}),
    ("GET", {"Accept": BROWSER, "X-Purpose": "preview"}),
    ("GET", {"Accept": BROWSER, "Range": "bytes=0-1023"}),
    ("GET", {"Accept": BROWSER, "X-HTTP-Method-Override": "POST"}),
    ("GET", {"Accept": BROWSER, "User-Agent": "Mozilla/5.0 (compatible; BarracudaCentral)"}),
    ("GET", {"Accept": BROWSER, "X-Requested-With": "XMLHttpRequest"}),
    ("HEAD", {}),
    ("HEAD", {"Accept": "application/json"}),
    ("OPTIONS", {"Access-Control-Request-Method": "POST", "Origin": "https://scan.example"}),
    ("OPTIONS", {"Accept": "application/json"}),
    ("PUT", {"Accept": "application/json"}),
    ("PATCH", {}),
    ("DELETE", {"Accept": "application/json"}),
    ("TRACE", {}),
    ("PROPFIND", {}),
    ("post", {}),
]
KEYS = ["general", "news", "never-made"]
PATHS = ["/unsubscribe", "/unsubscribe/undo", "/preferences"]


def scan(method: str, url: str, headers: Mapping[str, str]) -> Any:
    body = "List-Unsubscribe=One-Click" if method not in {"GET", "HEAD"} else ""
    if method == "post":
        method = "GET"  # a form's body sent with the wrong method
    return Client().generic(method, url, body, visiting.URLENCODED, headers=dict(headers))


@pytest.mark.slow
def test_a_scanner_changes_nothing(acme: int) -> None:
    """Neither of who is a member, nor of who left, nor of whom nobody knows."""
    people.news(acme)
    addresses = [f"r{number}@example.com" for number in range(3)]
    for address in addresses[:2]:
        people.member(acme, address)
    people.leave(acme, addresses[0])
    before = visiting.everything()

    for method, headers in BEHAVIOURS:
        answers = [
            scan(method, link(address, key, page=path), headers)
            for address in addresses
            for key in KEYS
            for path in PATHS
        ]

        assert visiting.everything() == before, (method, headers)
        assert {answer.status_code for answer in answers} <= {200, 405}, (method, headers)
        assert not any(answer.cookies or "Location" in answer.headers for answer in answers)


def test_a_scanner_neither_confirms_nor_ends_the_mail_of_forms(
    acme: int,
) -> None:
    visiting.sender()
    visiting.public_list(acme)
    address = visiting.somebody()
    visiting.post("/subscribe/acme/news", {"email": address})
    before = visiting.everything()

    [mail] = visiting.mails(address)
    for method, headers in BEHAVIOURS:
        answers = [scan(method, url, headers) for url in visiting.links_of(mail)]

        assert visiting.everything() == before, (method, headers)
        assert {answer.status_code for answer in answers} <= {200, 405}, (method, headers)


def test_a_method_that_does_not_work_is_told_which_ones_do(acme: int) -> None:
    response = Client().put(link())

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD, POST")
