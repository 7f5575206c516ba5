"""What is wrong with a request is said in words for its caller, and never in Pydantic's."""

from typing import Any

import pytest
from django.test import Client
from pydantic import BaseModel, ValidationError, field_validator

from postledger.web.api.common import schema_errors
from tests.web import newsroom
from tests.web.callers import MAIL, Caller, Reply

UNKNOWN = "Is not a field of this request."


def issue(reply: Reply) -> tuple[str, str]:
    assert (reply.status, reply.body["code"]) == (422, "INVALID_PAYLOAD"), reply.body
    [found] = reply.body["errors"]
    assert reply.body["detail"] == f"{found['place']}: {found['detail']}"
    return found["place"], found["detail"]


# What is changed, the place, and the sentence: one of each kind.
WRONG_MAILS: list[tuple[dict[str, Any], str, str]] = [
    ({"cc": ["b@example.com"]}, "cc", f"{UNKNOWN} One recipient per mail; use /v1/email/batch."),
    ({"sbject": "a"}, "sbject", f"{UNKNOWN} Use `subject`."),
    (
        {"recipient": {"email": "alice@example.com", "nmae": "Alice"}},
        "recipient.nmae",
        f"{UNKNOWN} Remove it, or correct its name.",
    ),
    ({"to": ["alice@example.com"]}, "to", "One recipient per mail; use /v1/email/batch."),
    (
        {"to": "Åsa <a@example.com>"},
        "to",
        'Write the name beside the address: {"email": "a@example.com", "name": "Åsa"}.',
    ),
    ({"to": {"name": "Alice"}}, "to.email", "Is required."),
    ({"subject": 5}, "subject", "Must be a text, not a number."),
    ({"subject": None}, "subject", "Is required without a template."),
    ({"html": None}, "text", "Give `html`, `text` or both, or a `template`."),
    ({"tags": [1]}, "tags.0", "Must be a text, not a number."),
    (
        {"send_at": "tomorrow"},
        "send_at",
        "Write a time with its zone, such as 2026-01-31T12:00:00Z.",
    ),
    ({"recipient": {"email": "a@example.com", "id": 0}}, "recipient.id", "Must be at least 1."),
]


def test_a_wrong_mail_is_told_what_to_write(alice: Caller) -> None:
    for changes, place, sentence in WRONG_MAILS:
        assert issue(alice.send(**changes)) == (place, sentence)


WRONG_BODIES: list[tuple[str, object, str, str]] = [
    ("/v1/email/send", [], "body", "Must be an object, not a list."),
    ("/v1/email/send", None, "body", "Is required."),
    ("/v1/email/batch", {"mails": []}, "mails", "Must not be empty."),
    (
        "/v1/email/batch",
        {"mails": [MAIL] * 501},
        "mails",
        "Must have at most 500 items, and has 501.",
    ),
    (
        "/v1/lists",
        {"key": "news", "name": "x" * 101},
        "name",
        "Must have at most 100 characters.",
    ),
    (
        "/v1/lists",
        {"key": "news", "name": "News", "kind": "x"},
        "kind",
        "Must be `list` or `topic`.",
    ),
    (
        "/v1/campaigns",
        {**newsroom.NEW, "content": {"kind": "mail"}},
        "content",
        "Its `kind` must be `inline`, `template`, `article`, `page`.",
    ),
    (
        "/v1/campaigns/send",
        {"campaign_tag": "a", "article_key": "a", "send_batch_id": "x"},
        "send_batch_id",
        "Must be a UUID, such as 5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11.",
    ),
    (
        "/v1/imports/1/start",
        {"mapping": {"x" * 1_001: "email"}},
        f"mapping.{'x' * 100}",
        "Its name is wrong: Must have at most 1000 characters.",
    ),
]


def test_a_wrong_body_is_told_what_to_write(alice: Caller) -> None:
    for path, body, place, sentence in WRONG_BODIES:
        assert issue(alice.post(path, body)) == (place, sentence)


def test_a_wrong_query_is_told_what_to_write(alice: Caller) -> None:
    for query, place, sentence in (
        ({"limit": "x"}, "limit", "Must be a whole number."),
        ({"limit": "0"}, "limit", "Must be at least 1."),
        ({"limit": "101"}, "limit", "Must be at most 100."),
        ({"cursor": "?"}, "cursor", "Give `next` of the previous page."),
        ({"stat": "failed"}, "stat", "Unknown query parameter. Use `state`."),
    ):
        assert issue(alice.get("/v1/email", **query)) == (place, sentence)

    place, sentence = issue(alice.get("/v1/email", state="sent"))
    assert place == "state"
    assert sentence.startswith("Must be `waiting`, `accepted`, ")


def test_a_wrong_header_is_told_what_to_write(alice: Caller) -> None:
    for key in ("x" * 256, "é", "a\x7f"):
        place, sentence = issue(alice.send(key))
        assert (place, "255" in sentence) == ("Idempotency-Key", True), key


def test_a_body_that_is_no_json_is_told_where(alice: Caller) -> None:
    headers = {"Authorization": f"Bearer {alice.token}"}
    body = '{\n  "a": 1,\n}'
    response = Client().post("/v1/email/send", body, "application/json", headers=headers)

    assert response.status_code == 400
    assert "line 2, column 9" in response.json()["detail"]


def test_what_cannot_be_written_is_refused_and_not_shown(alice: Caller) -> None:
    mail = {**MAIL, "to": "A\ud800 <a@example.com>"}

    named = alice.post("/v1/email/send", {**MAIL, "to\ud800": 1})
    single = alice.post("/v1/email/send", mail)
    batch = alice.post("/v1/email/batch", {"mails": [MAIL, mail, 5]})

    assert issue(named) == ("body", "Contains an unpaired surrogate; remove it.")
    found = [
        (reply.status, each["index"], each["place"])
        for reply in (single, batch)
        for each in reply.body["errors"]
    ]
    assert found == [(422, 0, "to"), (422, 1, "to"), (422, 2, "mails")]


class _Decoded(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def _encode(cls, value: str) -> str:
        return value.encode("ascii").decode()


def test_the_words_of_python_are_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        _Decoded(text="é")

    assert schema_errors.describe_errors(caught.value, _Decoded) == [("text", "Is not valid.")]


def test_a_value_that_is_nested_too_deeply_is_said_to_be_so(alice: Caller) -> None:
    values: dict[str, Any] = {}
    for _ in range(900):
        values = {"a": values}
    template = {"id": "open-seat", "locale": "en", "variables": values}

    place, sentence = issue(alice.send(subject=None, html=None, template=template))

    assert place.startswith("template.variables.a.")
    assert len(place) < 100
    assert sentence == "Is nested too deeply."
