"""Costly content costs the web process nothing, and its caller is told what is wrong with it."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from postledger.content import isolation
from postledger.lib.child_pool import ChildPool
from tests.web.callers import Caller, Reply

WIDE_TABLE = "|".join("a" * 700) + "\n" + "|".join("-" * 700) + "\n" + "x\n" * 700


def preview(who: Caller, body: str, *, format_: str = "markdown", **values: Any) -> Reply:
    given = {"subject": "Hello", "format": format_, "body": body}
    return who.post("/v1/content/preview", {**given, "values": values, "optional": list(values)})


def faults(reply: Reply) -> list[str]:
    return [finding["code"] for finding in reply.body["findings"] if not finding["is_warning"]]


def test_a_template_that_fails_or_never_ends_is_a_finding(alice: Caller) -> None:
    templates: list[tuple[str, dict[str, Any]]] = [
        ('{% if (1..100000000000) contains "x" %}y{% endif %}', {}),
        ("{% case 1 %}{% when 1,1,1,1,1,1,1,1,1,1 %}" * 9 + "{% endcase %}" * 9, {}),
        ("{{ score | floor }}", {"score": "nan"}),
        ("{{ l | sum }}", {"l": ["1e9999999999999999999"]}),
        ("{% for i in l limit:-5 %}{{ i }}{% endfor %}", {"l": [1, 2]}),
    ]
    for body, values in templates:
        reply = preview(alice, body, **values)

        assert (reply.status, reply.body["html"]) == (200, None), body
        assert faults(reply) == ["template_failed"], body


@pytest.mark.parametrize(
    ("format_", "body", "code"),
    [
        ("markdown", WIDE_TABLE, "markup_too_complex"),
        ("mjml", "<mj-section><mj-column></mj-column></mj-section>" * 1_300, "html_too_large"),
        ("html", "<!doctype html>srcdoc" + "<a>" * 100_000, "markup_too_complex"),
        ("html", "<!doctype html>" + "<p a{{ a }}>x</p>" * 1_900, "liquid_misplaced"),
    ],
)
def test_costly_content_is_refused_and_costs_the_web_process_nothing(
    format_: str, body: str, code: str, alice: Caller
) -> None:
    if format_ == "mjml":
        body = f"<mjml><mj-body>{body}</mj-body></mjml>"
    preview(alice, "Hello")  # the children have started
    began = time.process_time()

    reply = preview(alice, body, format_=format_, a=1)

    assert time.process_time() - began < 1
    assert set(faults(reply)) == {code}
    assert len(reply.body["findings"]) <= 20


@pytest.fixture
def impatient(renderers: None) -> Iterator[ChildPool]:
    """A web process that ends every rendering at once."""
    usual, pool = isolation._pool, isolation.make_pool(thread_count=16)
    pool.patience = 0.0
    isolation.install(pool)
    yield pool
    isolation.install(usual)
    pool.stop()


def test_what_takes_too_long_is_an_unprocessable_request_and_is_not_stored(
    alice: Caller, impatient: ChildPool
) -> None:
    alice.post("/v1/templates", {"id": "bill", "name": "Bill"})
    text = {"locale": "en", "subject": "Hello", "format": "markdown", "body": "Hello"}

    shown = preview(alice, "Hello")
    added = alice.post("/v1/templates/bill/versions", {"texts": [text]})

    for refused in (shown, added):
        assert (refused.status, refused.body["code"]) == (422, "content_too_costly")
    assert alice.get("/v1/templates/bill/versions").body["versions"] == []


def test_who_finds_all_renderers_busy_is_asked_to_try_again(
    alice: Caller, impatient: ChildPool
) -> None:
    impatient.size, impatient.wait = 0, 0.0

    reply = preview(alice, "Hello")

    assert (reply.status, reply.body["code"]) == (429, "renderers_busy")
