"""Templates over HTTP: made, filled with versions, looked at, archived, and seen as readers do."""

from typing import Any

from tests.web.callers import Caller, Reply

ENGLISH = {
    "locale": "en",
    "subject": "Hello {{ name }}",
    "format": "markdown",
    "body": "Hello, **{{ name }}**.",
}
BRAZILIAN = {
    "locale": "pt-br",
    "subject": "Olá {{ name }}",
    "format": "html",
    "body": "<p>Olá, {{ name }}.</p>",
    "text": "Olá, {{ name }}.",
}


def make_template(who: Caller, key: str = "welcome") -> Reply:
    return who.post("/v1/templates", {"id": key, "name": "Welcome"})


def add(who: Caller, *texts: dict[str, Any], key: str = "welcome", **more: Any) -> Reply:
    body = {"required": ["name"], "texts": list(texts or (ENGLISH,)), **more}
    return who.post(f"/v1/templates/{key}/versions", body)


def preview_template(who: Caller, key: str = "welcome", **asked: Any) -> Reply:
    body = {"locale": "en", "variables": {"name": "Bob"}, **asked}
    return who.post(f"/v1/templates/{key}/preview", body)


def test_a_template_is_made_and_listed_beside_those_of_the_product_and_its_id_taken_once(
    alice: Caller,
) -> None:
    reply = make_template(alice)
    refused = make_template(alice)
    listed = alice.get("/v1/templates").body["templates"]

    assert reply.status == 201
    assert reply.body == {
        "id": "welcome",
        "name": "Welcome",
        "newest_version": None,
        "is_builtin": False,
        "created_at": reply.body["created_at"],
        "archived_at": None,
    }
    assert alice.get("/v1/templates/welcome").body == reply.body
    assert (refused.status, refused.body["code"]) == (409, "template_exists")
    assert listed == [alice.get("/v1/templates/open-seat").body, reply.body]
    assert (listed[0]["is_builtin"], listed[0]["newest_version"]) == (True, 1)


def test_versions_are_numbered_and_come_back_as_they_were_written(alice: Caller) -> None:
    make_template(alice)

    first = add(alice)
    brazilian = {**BRAZILIAN, "preheader": "Olá & {{ name }}"}
    second = add(alice, ENGLISH, brazilian, optional=["notes"], fallback_locale="en")

    assert (first.status, first.body) == (201, {"version": 1, "findings": []})
    assert (second.status, second.body["version"]) == (201, 2)
    listed = alice.get("/v1/templates/welcome/versions").body["versions"]
    assert [version["version"] for version in listed] == [2, 1]
    assert listed[0] == {
        "version": 2,
        "required": ["name"],
        "optional": ["notes"],
        "fallback_locale": "en",
        "locales": ["en", "pt-BR"],
        "created_at": listed[0]["created_at"],
    }
    assert listed[1]["fallback_locale"] is None
    assert alice.get("/v1/templates/welcome/versions/2").body == {
        **listed[0],
        "texts": [
            {**ENGLISH, "text": "", "preheader": ""},
            {**BRAZILIAN, "locale": "pt-BR", "preheader": "Olá & {{ name }}"},
        ],
    }
    assert alice.get("/v1/templates/welcome").body["newest_version"] == 2


def test_a_version_that_is_not_there_is_not_found(alice: Caller) -> None:
    make_template(alice)
    add(alice)

    for number in ("0", "2", "99999999999", "9" * 5000, "x", "-1", "1.0"):
        missing = alice.get(f"/v1/templates/welcome/versions/{number}")
        assert (missing.status, missing.body["code"]) == (404, "not_found"), number


def test_faults_refuse_a_version_each_under_its_locale(alice: Caller) -> None:
    make_template(alice)

    refused = add(
        alice,
        ENGLISH,
        {**BRAZILIAN, "body": "<p>{{ nmae }}</p>\n<script>1</script>"},
        {**ENGLISH, "locale": "ru", "subject": "", "body": " \n"},
    )

    assert (refused.status, refused.body["code"]) == (422, "INVALID_TEMPLATE")
    faults = [
        (fault["index"], fault["place"].partition(":")[0], fault["detail"].partition(":")[0])
        for fault in refused.body["errors"]
    ]
    assert (1, "pt-br", "unknown_variable") in faults
    assert faults[-2:] == [(2, "ru", "subject_missing"), (2, "ru", "html_missing")]
    assert not [index for index, *_ in faults if index == 0]
    assert alice.get("/v1/templates/welcome").body["newest_version"] is None


# code, what is changed
WRONG_VERSIONS: list[tuple[str, dict[str, Any]]] = [
    ("INVALID_PAYLOAD", {"texts": []}),
    ("INVALID_PAYLOAD", {"texts": [{**ENGLISH, "locale": f"en-a{n}"} for n in range(21)]}),
    ("INVALID_PAYLOAD", {"texts": [{**ENGLISH, "format": "word"}]}),
    ("INVALID_PAYLOAD", {"texts": [{**ENGLISH, "body": "x" * 524_289}]}),
    ("INVALID_PAYLOAD", {"texts": [{**ENGLISH, "body": "\ud800"}]}),
    ("INVALID_PAYLOAD", {"texts": [{**ENGLISH, "locale": "?"}]}),
    ("INVALID_PAYLOAD", {"required": ["a-b"]}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
    ("INVALID_TEMPLATE", {"texts": [{**ENGLISH, "body": "é" * 262_145}]}),
    ("INVALID_TEMPLATE", {"texts": [{**ENGLISH, "body": "a\x00"}]}),
    ("invalid_template_version", {"texts": [ENGLISH, {**ENGLISH, "locale": "EN"}]}),
    ("invalid_template_version", {"fallback_locale": "ru"}),
]


def test_a_wrong_version_is_refused(alice: Caller) -> None:
    make_template(alice)
    for code, changes in WRONG_VERSIONS:
        version = {"required": ["name"], "texts": [ENGLISH], **changes}
        refused = alice.post("/v1/templates/welcome/versions", version)
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert alice.get("/v1/templates/welcome/versions").body == {"versions": []}


# code, what is changed
WRONG_TEMPLATES: list[tuple[str, dict[str, Any]]] = [
    *(("INVALID_PAYLOAD", {"id": id_}) for id_ in ("", "-a", "A", "a\n", "é", "a" * 65, 5)),
    *(("INVALID_PAYLOAD", {"name": name}) for name in ("", "x" * 101, None)),
    ("invalid_name", {"name": "a\nb"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
]


def test_a_wrong_template_is_refused(alice: Caller) -> None:
    for code, changes in WRONG_TEMPLATES:
        refused = alice.post("/v1/templates", {"id": "welcome", "name": "Welcome", **changes})
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert len(alice.get("/v1/templates").body["templates"]) == 1


def test_an_archived_template_is_shown_and_used_no_more(alice: Caller) -> None:
    make_template(alice)
    add(alice)

    archived = alice.post("/v1/templates/welcome/archive", None)

    assert (archived.status, archived.body["archived_at"] is None) == (200, False)
    assert alice.get("/v1/templates/welcome").body == archived.body
    assert preview_template(alice).status == add(alice).status == 404
    assert alice.post("/v1/templates/welcome/archive", None).status == 404

    restored = alice.post("/v1/templates/welcome/restore", None)

    assert (restored.status, restored.body["archived_at"]) == (200, None)
    assert preview_template(alice).status == 200
    assert alice.post("/v1/templates/welcome/restore", None).status == 404
    # An own template stands before that of the product while it is in use.
    make_template(alice, "open-seat")
    add(alice, key="open-seat")
    assert preview_template(alice, "open-seat").body["subject"] == "Hello Bob"
    alice.post("/v1/templates/open-seat/archive", None)
    assert alice.get("/v1/templates/open-seat").body["is_builtin"]


def test_a_preview_is_the_mail_that_would_be_sent(alice: Caller) -> None:
    make_template(alice)
    add(alice, ENGLISH, BRAZILIAN)

    shown = preview_template(
        alice, locale="pt_BR", variables={"name": "Bob <b>", "extra": [1]}
    ).body
    sent = alice.send(
        subject=None,
        html=None,
        template={"id": "welcome", "locale": "pt-BR", "variables": {"name": "Bob <b>"}},
    )

    assert (shown["version"], shown["locale"], shown["findings"]) == (1, "pt-BR", [])
    assert shown["subject"] == alice.get(sent.body["links"]["self"]).body["subject"]
    assert "Olá, Bob &lt;b&gt;.</p>" in shown["html"]
    assert shown["text"] == "Olá, Bob <b>."


def test_a_preview_shows_the_version_that_is_asked_for_and_names_what_is_missing(
    alice: Caller,
) -> None:
    make_template(alice)
    add(alice)
    add(alice, {**ENGLISH, "subject": "Good day"})

    assert preview_template(alice).body["subject"] == "Good day"
    assert preview_template(alice, version=1).body["subject"] == "Hello Bob"
    assert preview_template(alice, version=3).status == 404
    refused = preview_template(alice, locale="ru")
    assert (refused.status, refused.body["code"]) == (422, "template_missing_locale")
    add(alice, {**ENGLISH, "body": "{{ order.total }}"}, required=["name", "order"])
    shown = preview_template(alice).body
    [fault] = shown["findings"]
    assert (fault["code"], fault["place"]) == ("template_missing_variable", "order")
    assert not fault["is_warning"]
    assert (shown["subject"], shown["html"], shown["text"]) == (None, None, None)
