"""Mails by template, and mails with an unsubscribe link, from the API to the ledger."""

import copy
import re
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.contacts import unsubscribe_links
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.content import letters, templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.deliveries import queries
from postledger.deliveries.entries import Body
from postledger.lib.ids import DeliveryId
from tests.web.callers import Caller, Reply, caller

SECRET = "a secret of the tests, long enough"
VARIABLES = {
    "courseTitle": "Operating Systems",
    "courseString": "01:198:416",
    "sectionIndex": "09214",
    "sectionNumber": "03",
    "meetingSummary": "Tue 10:20",
    "manageUrl": "https://example.com/manage?a=1&b=2",
}
TEMPLATE = {"id": "open-seat", "locale": "en", "variables": VARIABLES}


@pytest.fixture
def alice(db: None) -> Caller:
    return caller("acme")


def by_template(who: Caller, **changes: Any) -> Reply:
    template = {**copy.deepcopy(TEMPLATE), **changes}
    return who.send(subject=None, html=None, template=template)


def read_stored_body(reply: Reply) -> Body:
    assert reply.status == 202, reply.body
    named = DeliveryId.parse(reply.body["id"])
    assert named
    return queries.read_bodies(named.stream_id, [named.position])[named.position]


def test_a_mail_by_template_is_stored_in_its_words(alice: Caller) -> None:
    for locale in ("en", "ru", "pt", "pt-BR", "RU"):
        mail = read_stored_body(by_template(alice, locale=locale))

        assert "01:198:416" in mail.subject, locale
        assert "Operating Systems" in mail.html
        assert "https://example.com/manage?a=1&amp;b=2" in mail.html
        assert "https://example.com/manage?a=1&b=2" in mail.text
        assert not re.search("{{|{%", mail.subject + mail.html + mail.text)


def test_a_missing_variable_is_named_and_nothing_is_stored(alice: Caller) -> None:
    for name in VARIABLES:
        variables = {key: value for key, value in VARIABLES.items() if key != name}

        refused = by_template(alice, variables=variables)

        assert (refused.status, refused.body["code"]) == (422, "template_missing_variable")
        assert refused.body["errors"][0]["place"] == f"template.variables.{name}"
        assert name in refused.body["detail"]
    assert alice.get("/v1/email").body["mails"] == []


def test_what_cannot_be_filled_in_is_refused(alice: Caller) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"locale": "fr"}, "template_missing_locale", "template.locale"),
        ({"locale": "en" + "-a" * 17}, "INVALID_PAYLOAD", "template.locale"),
        ({"id": "nosuch"}, "INVALID_PAYLOAD", "template.id"),
        ({"version": 99}, "INVALID_PAYLOAD", "template.id"),
        *(
            ({"variables": VARIABLES | {"other": value}}, "INVALID_PAYLOAD", "template.variables")
            for value in ("\x00", {"a": ["\ud800"]}, "a" * 65_536, float("inf"))
        ),
        ({"variables": VARIABLES | {"manageUrl": "javascript:x"}}, "INVALID_TEMPLATE", "template"),
    ]
    for changes, code, place in wrong:
        refused = by_template(alice, **changes)

        assert (refused.status, refused.body["code"]) == (422, code), changes
        assert refused.body["errors"][0]["place"].startswith(place), changes
    both = alice.send(template=TEMPLATE)
    assert (both.status, both.body["errors"][0]["place"]) == (422, "template")


def test_extra_variables_are_allowed_and_named_in_up_to_20_warnings_of_each_mail(
    alice: Caller,
) -> None:
    many = {"x" * 1_000 + str(n): n for n in range(50)}
    mails = [
        {"to": "alice@example.com", "template": {**TEMPLATE, "variables": VARIABLES | extra}}
        for extra in ({}, {"other": [1, {"a": None}], "name": "Al"}, many)
    ]

    taken = alice.post("/v1/email/batch", {"mails": mails})

    assert taken.status == 202
    none, [warning], hostile = (mail["warnings"] for mail in taken.body["mails"])
    assert none == []
    assert (warning["code"], warning["place"]) == ("unknown_variable", "template.variables.other")
    assert len(hostile) == 20
    assert all(len(each["place"]) < 100 for each in hostile)


def test_a_repeat_gets_the_warnings_of_the_first_answer_whatever_became_of_the_template(
    alice: Caller,
) -> None:
    def add_version(*optional: str) -> None:
        text = Source("Hello", "Hello **{{ name }}**.", Format.MARKDOWN)
        version = Version((), optional, "en", (text,))
        templates.add_version(alice.workspace_id, key="hello", version=version, actor="alice")

    def send() -> Reply:
        template = {"id": "hello", "locale": "en", "variables": {"nmae": "Alice"}}
        return alice.send("key", subject=None, html=None, template=template)

    templates.create(alice.workspace_id, key="hello", name="Hello", actor="alice")
    add_version()
    first = send()
    add_version("nmae")
    declared = send()
    templates.archive(alice.workspace_id, key="hello", actor="alice")
    archived = send()

    assert [warning["place"] for warning in first.body["warnings"]] == ["template.variables.nmae"]
    assert first.body == declared.body == archived.body
    assert archived.headers["Idempotency-Replayed"] == "true"


def test_a_stored_mail_can_be_made_again_from_its_letter(alice: Caller) -> None:
    mail = read_stored_body(by_template(alice))

    letter = letters.find(alice.workspace_id, digest=mail.letter)

    assert letter
    filled = letter.fill({"name": "", **VARIABLES, "email": "alice@example.com"})
    assert (filled.subject, *letter.join(filled)) == (mail.subject, mail.html, mail.text)


def add_template(who: Caller, body: str) -> None:
    """A template `welcome` with a variable `list`."""
    templates.create(who.workspace_id, key="welcome", name="Welcome", actor="alice")
    version = Version((), ("list",), "en", (Source("Hello", body, Format.HTML),))
    templates.add_version(who.workspace_id, key="welcome", version=version, actor="alice")


def send_batch(who: Caller, count: int, **template: Any) -> Reply:
    mail = {"to": "alice@example.com", "template": {"id": "welcome", "locale": "en", **template}}
    return who.post("/v1/email/batch", {"mails": [mail] * count})


def test_variables_that_cannot_be_stored_are_refused_before_anything_is_filled_in(
    alice: Caller,
) -> None:
    add_template(alice, "<p>{{ list }}</p>" * 1_990)

    refused = by_template(alice, id="welcome", variables={"list": [""] * 99_000})

    assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD")
    assert refused.body["errors"][0]["place"] == "template.variables"


@pytest.mark.slow
def test_a_batch_of_costly_mails_is_refused_as_a_whole(alice: Caller) -> None:
    body = "<p>{% for i in (1..900) %}{% for j in list %}{{ j }}{% endfor %}{% endfor %}</p>"
    add_template(alice, body)
    assert send_batch(alice, 1, variables={"list": list("abcde")}).status == 202

    refused = send_batch(alice, 500, variables={"list": list("abcde")})

    assert (refused.status, refused.body["code"]) == (422, "content_too_costly")
    assert len(alice.get("/v1/email").body["mails"]) == 1


def test_a_repeat_under_a_key_is_told_apart_by_its_variables(alice: Caller) -> None:
    def send(**variables: str) -> Reply:
        template = {**TEMPLATE, "variables": VARIABLES | variables}
        return alice.send("key", subject=None, html=None, template=template)

    first, again, other = send(), send(), send(notes="Hurry")

    assert first.body == again.body
    assert (other.status, other.body["code"]) == (409, "idempotency_key_reused")


@pytest.mark.slow
def test_a_full_batch_of_bills_is_no_costly_request(alice: Caller) -> None:
    line = (
        "<tr><td>{{ item.name | upcase }}</td><td>{{ item.price | times: 2 | round: 2 }}</td></tr>"
    )
    body = "<p>Dear {{ name | default: 'customer' }}</p>" + "<p class='a'>Thank you.</p>" * 500
    add_template(alice, f"{body}<table>{{% for item in list %}}{line}{{% endfor %}}</table>")
    items = [{"name": f"Thing {number}", "price": number / 7} for number in range(10)]

    assert send_batch(alice, 500, variables={"list": items}).status == 202


@pytest.fixture
def footer(alice: Caller, settings: LazySettings) -> str:
    settings.UNSUBSCRIBE_SECRET = SECRET
    organisation = Organisation("Acme Ltd", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(alice.workspace_id, organisation, actor="alice")
    token = unsubscribe_links.sign_token(
        UnsubscribeRequest("alice@example.com", "news"), secret=SECRET.encode()
    )
    return f"https://acme.example/unsubscribe?token={token}"


def test_only_a_mail_that_names_a_list_gets_its_footer_and_its_headers(
    alice: Caller, footer: str, settings: LazySettings
) -> None:
    mail = read_stored_body(alice.send(list_key="news", text="Thank you."))
    of_text = read_stored_body(alice.send(list_key="news", html=None, text="Thank you."))
    without = read_stored_body(alice.send())
    settings.UNSUBSCRIBE_SECRET = ""
    refused = alice.send(list_key="news")

    end = f'<hr><p>Acme Ltd — 1 Main St</p><p><a href="{footer}">Unsubscribe</a></p>'
    assert mail.html == f"<p>Thank you.</p>{end}"
    assert of_text.html == f'<p dir="auto">Thank you.</p>{end}'
    text = f"Thank you.\n--\nAcme Ltd — 1 Main St\nUnsubscribe: {footer}"
    assert mail.text == of_text.text == text
    assert mail.headers == {
        "List-Unsubscribe": f"<{footer}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    assert (without.html, without.headers or {}) == ("<p>Thank you.</p>", {})
    assert footer not in without.text
    assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD")
    assert refused.body["errors"][0]["place"] == "list_key"


def test_a_test_key_gets_no_link_that_unsubscribes_somebody(alice: Caller, footer: str) -> None:
    add_template(alice, '<p>Hello {{ name }}: <a href="{{ unsubscribe_url }}">stop</a></p>')
    template = {"id": "welcome", "locale": "en"}
    tester = caller("acme", is_test=True)

    live, test = (
        read_stored_body(who.send(subject=None, html=None, template=template, list_key="news"))
        for who in (alice, tester)
    )

    assert live.html.count(footer) == 2
    assert test.html.count('"https://acme.example/unsubscribe"') == 2
    assert test.headers
    assert "token=" not in f"{test.subject}{test.html}{test.text}{test.headers}"
