"""Content that is stored nowhere: checked, and seen as a reader would."""

from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from tests.web.callers import Caller, Reply

WORDS = {"subject": "Hello {{ name }}", "format": "markdown", "body": "Hello, **{{ name }}**."}
MJML = """
<mjml><mj-body><mj-section><mj-column>
  <mj-text>Hello, <strong>{{ name }}</strong>.</mj-text>
</mj-column></mj-section></mj-body></mjml>
"""


def check_content(who: Caller, **changes: Any) -> Reply:
    return who.post("/v1/content/check", {**WORDS, **changes})


def preview_content(who: Caller, **changes: Any) -> Reply:
    return who.post("/v1/content/preview", {**WORDS, **changes})


def test_faults_come_before_warnings_and_without_them_content_can_be_sent(alice: Caller) -> None:
    reply = check_content(
        alice, format="html", body='<p>{{ nmae }}</p><img src="https://a.example/b.png">'
    )

    assert reply.body["can_be_sent"] is False
    assert [(finding["code"], finding["is_warning"]) for finding in reply.body["findings"]] == [
        ("unknown_variable", False),
        ("alt_missing", True),
    ]
    assert set(reply.body["findings"][0]) == {"code", "place", "remedy", "is_warning"}
    assert check_content(alice).body == {"findings": [], "can_be_sent": True}


# what is changed, code
FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"subject": ""}, "subject_missing"),
    ({"body": " \n", "format": "html"}, "html_missing"),
    ({"body": "{% if name %}"}, "liquid_invalid"),
    ({"body": "<mjml>", "format": "mjml"}, "mjml_invalid"),
    ({"body": "é" * 262_145}, "html_too_large"),
    ({"text": "é" * 262_145}, "text_too_large"),
    ({"body": "a\x00"}, "text_unstorable"),
    (
        {"body": "<html><body><script>1</script></body></html>", "format": "html"},
        "script_element",
    ),
    ({"required": ["order"], "values": {}}, "template_missing_variable"),
    (
        {"body": "[a]({{ url }})", "required": ["url"], "values": {"url": "javascript:x"}},
        "template_failed",
    ),
]


def test_a_fault_is_found_and_nothing_is_shown(alice: Caller) -> None:
    nothing = dict.fromkeys(("subject", "preheader", "html", "text"))
    for changes, code in FAULTY:
        reply, shown = check_content(alice, **changes), preview_content(alice, **changes)

        assert (reply.status, reply.body["can_be_sent"]) == (200, False), code
        assert code in [finding["code"] for finding in reply.body["findings"]]
        assert shown.body == {**reply.body, **nothing}, code


def test_what_is_no_content_is_an_invalid_payload(alice: Caller) -> None:
    wrong: list[dict[str, Any]] = [
        {"format": "word"},
        {"subject": "x" * 2001},
        {"body": "x" * 524_289},
        {"body": "\ud800"},
        {"text": "x" * 524_289},
        {"locale": "?"},
        {"locale": "en" + "-a" * 20},
        {"required": ["a b"]},
        *({"values": {"a": value}} for value in ("x" * 65_536, float("nan"), ["\0"], ["\ud800"])),
        {"has_footer": "yes"},
        {"surprise": 1},
    ]
    for changes in wrong:
        for refused in (check_content(alice, **changes), preview_content(alice, **changes)):
            assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), changes


def test_values_that_nest_deeply_are_no_fault_of_the_server(alice: Caller) -> None:
    values: dict[str, Any] = {}
    for _ in range(900):
        values = {"a": values}

    assert preview_content(alice, values=values).status in {200, 422}


def test_content_without_values_is_checked_but_not_filled_in(alice: Caller) -> None:
    asked = {"body": "{{ order.total }}", "required": ["order"]}

    assert check_content(alice, **asked).body["can_be_sent"] is True
    assert check_content(alice, **asked, values={"order": {}}).body["can_be_sent"] is False
    assert check_content(alice, **asked, values={"order": {"total": 7}}).body["can_be_sent"] is True


def test_every_format_is_shown_as_a_reader_gets_it(alice: Caller) -> None:
    for format_, body in (
        ("markdown", "Hello, **{{ name }}**."),
        ("html", "<p>Hello, <strong>{{ name }}</strong>.</p>"),
        ("mjml", MJML),
    ):
        shown = preview_content(alice, format=format_, body=body, values={"name": "Bob & Co"}).body

        assert (shown["subject"], shown["can_be_sent"]) == ("Hello Bob & Co", True), format_
        assert "Hello, <strong>Bob &amp; Co</strong>." in shown["html"], format_
        assert shown["html"].lower().startswith("<!doctype html>"), format_
        assert "Bob & Co" in shown["text"], format_


@pytest.fixture
def acme(alice: Caller, settings: LazySettings) -> Caller:
    """Alice's program, in a workspace that has all that a footer needs."""
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    organisation = Organisation("Acme", "1 Road", "https://acme.example/leave")
    workspaces.set_organisation(alice.workspace_id, organisation, actor="alice")
    return alice


def test_the_footer_of_a_preview_is_there_when_asked_for_and_has_no_token(acme: Caller) -> None:
    shown = preview_content(acme, has_footer=True).body
    plain = preview_content(acme).body
    linked = preview_content(acme, body="{{ unsubscribe_url }}").body

    assert (shown["can_be_sent"], shown["findings"]) == (True, [])
    assert "<p>Acme — 1 Road</p>" in shown["html"]
    assert 'href="https://acme.example/leave"' in shown["html"]
    assert shown["text"].endswith("\n--\nAcme — 1 Road\nUnsubscribe: https://acme.example/leave")
    assert "token" not in shown["html"] + shown["text"]
    assert "1 Road" not in plain["html"]
    assert [finding["place"] for finding in linked["findings"]] == ["unsubscribe_url"]
    asked = preview_content(acme, body="{{ unsubscribe_url }}", has_footer=True).body
    assert asked["can_be_sent"] is True


def test_a_workspace_without_a_footer_is_told_what_it_lacks(alice: Caller) -> None:
    reply, shown = check_content(alice, has_footer=True), preview_content(alice, has_footer=True)

    assert reply.body["can_be_sent"] is False
    assert [finding["code"] for finding in reply.body["findings"]] == [
        "footer_env_missing",
        "footer_missing",
    ]
    assert "Hello, <strong>[name]</strong>." in shown.body["html"]
