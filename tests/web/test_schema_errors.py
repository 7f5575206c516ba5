"""What is wrong with a request is said in words for its caller, and never in Pydantic's."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.test import Client
from pydantic import BaseModel, ValidationError, field_validator

from postledger.web.api.api import OUTSIDE, api
from postledger.web.api.common import schema_errors
from tests.web import newsroom
from tests.web.callers import MAIL, Caller, Reply


def issue(reply: Reply) -> tuple[str, str]:
    assert (reply.status, reply.body["code"]) == (422, "INVALID_PAYLOAD"), reply.body
    [found] = reply.body["errors"]
    assert reply.body["detail"] == f"{found['place']}: {found['detail']}"
    return found["place"], found["detail"]


# What is changed, the place, and the sentence.
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"from": "a@acme.example"}, "from", "Is not a field of this request. Use `sender`."),
    (
        {"cc": ["b@example.com"]},
        "cc",
        "Is not a field of this request. One recipient per mail; use /v1/email/batch.",
    ),
    ({"replyTo": "a@b.example"}, "replyTo", "Is not a field of this request. Use `reply_to`."),
    ({"sbject": "a"}, "sbject", "Is not a field of this request. Use `subject`."),
    (
        {"surprise": 1},
        "surprise",
        "Is not a field of this request. Remove it, or correct its name.",
    ),
    (
        {"recipient": {"email": "alice@example.com", "nmae": "Alice"}},
        "recipient.nmae",
        "Is not a field of this request. Remove it, or correct its name.",
    ),
    ({"to": ["alice@example.com"]}, "to", "One recipient per mail; use /v1/email/batch."),
    (
        {"to": "Åsa <a@example.com>"},
        "to",
        'Write the name beside the address: {"email": "a@example.com", "name": "Åsa"}.',
    ),
    ({"to": 5}, "to", "Give an address, or an object with `email` and `name`."),
    ({"to": {"name": "Alice"}}, "to.email", "Is required."),
    ({"to": {"email": 5}}, "to.email", "Must be a text, not a number."),
    ({"to": None}, "to", "Is required."),
    ({"subject": 5}, "subject", "Must be a text, not a number."),
    ({"subject": True}, "subject", "Must be a text, not true or false."),
    ({"subject": None}, "subject", "Is required without a template."),
    ({"html": None}, "text", "Give `html`, `text` or both, or a `template`."),
    ({"tags": "a"}, "tags", "Must be a list, not a text."),
    ({"tags": [1]}, "tags.0", "Must be a text, not a number."),
    ({"headers": []}, "headers", "Must be an object, not a list."),
    ({"template": []}, "template", "Must be an object, not a list."),
    (
        {"list_key": "No"},
        "list_key",
        "Use up to 64 lowercase letters, digits and hyphens; the first is no hyphen.",
    ),
    (
        {"send_at": "tomorrow"},
        "send_at",
        "Write a time with its zone, such as 2026-01-31T12:00:00Z.",
    ),
    (
        {"recipient": {"email": "alice@example.com", "id": 0}},
        "recipient.id",
        "Must be at least 1.",
    ),
    (
        {"recipient": {"email": "alice@example.com", "id": 1.5}},
        "recipient.id",
        "Must be a whole number, not a number.",
    ),
]


@pytest.mark.parametrize(("changes", "place", "sentence"), WRONG)
def test_a_wrong_mail_is_told_what_to_write(
    changes: dict[str, Any], place: str, sentence: str, alice: Caller
) -> None:
    assert issue(alice.send(**changes)) == (place, sentence)


@pytest.mark.parametrize(
    ("path", "body", "place", "sentence"),
    [
        ("/v1/email/send", [], "body", "Must be an object, not a list."),
        ("/v1/email/send", None, "body", "Is required."),
        ("/v1/email/batch", {"mails": []}, "mails", "Must not be empty."),
        (
            "/v1/email/batch",
            {"mails": [MAIL] * 501},
            "mails",
            "Must have at most 500 items, and has 501.",
        ),
        ("/v1/lists", {"key": "news", "name": ""}, "name", "Must not be empty."),
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
            "/v1/lists",
            {"key": "news", "name": "News", "is_public": "yes"},
            "is_public",
            "Must be true or false, not a text.",
        ),
        ("/v1/contacts", {"address": "a@b.c", "locale": "\ud800"}, "locale", None),
        (
            "/v1/campaigns",
            {**newsroom.NEW, "content": {"subject": "a"}},
            "content",
            "Has no `kind`. Set it to `inline`, `template`, `article` or `page`.",
        ),
        (
            "/v1/campaigns",
            {**newsroom.NEW, "content": {"kind": "mail"}},
            "content",
            "Its `kind` must be `inline`, `template`, `article`, `page`.",
        ),
        (
            "/v1/campaigns",
            {**newsroom.NEW, "content": {"kind": "article", "key": "A"}},
            "content.key",
            "Use up to 200 lowercase letters, digits and hyphens.",
        ),
        (
            "/v1/campaigns",
            {
                **newsroom.NEW,
                "timing": {"at": "2036-01-31T12:00:00Z", "local_time": "2036-01-31T09:00"},
            },
            "timing",
            "Give at or local_time, not both.",
        ),
        (
            "/v1/campaigns",
            {**newsroom.NEW, "delivery_window": {"opens": "9 am", "closes": "20:00"}},
            "delivery_window.opens",
            "Write a time of the day, such as 09:00; midnight is 00:00.",
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
        (
            "/v1/contacts",
            {"address": "a@example.com", "ocd_ids": "x"},
            "ocd_ids",
            "Must be a list, not a text.",
        ),
    ],
)
def test_a_wrong_body_is_told_what_to_write(
    path: str, body: object, place: str, sentence: str | None, alice: Caller
) -> None:
    found, said = issue(alice.post(path, body))

    assert found == place
    assert said == (sentence or said)


@pytest.mark.parametrize(
    ("query", "place", "sentence"),
    [
        ({"limit": "x"}, "limit", "Must be a whole number."),
        ({"limit": "0"}, "limit", "Must be at least 1."),
        ({"limit": "101"}, "limit", "Must be at most 100."),
        ({"cursor": "?"}, "cursor", "Give `next` of the previous page."),
        ({"tag": "a b"}, "tag", "Use 1 to 64 letters, digits, hyphens and _."),
        ({"stat": "failed"}, "stat", "Unknown query parameter. Use `state`."),
        (
            {"colour": "red"},
            "colour",
            "Unknown query parameter. Remove it, or correct its name.",
        ),
    ],
)
def test_a_wrong_query_is_told_what_to_write(
    query: dict[str, str], place: str, sentence: str, alice: Caller
) -> None:
    assert issue(alice.get("/v1/email", **query)) == (place, sentence)


def test_a_wrong_state_is_told_the_states(alice: Caller) -> None:
    place, sentence = issue(alice.get("/v1/email", state="sent"))

    assert place == "state"
    assert sentence.startswith("Must be `waiting`, `accepted`, ")


@pytest.mark.parametrize("key", ["x" * 256, "é"])
def test_a_wrong_header_is_told_what_to_write(key: str, alice: Caller) -> None:
    place, sentence = issue(alice.send(key))

    assert place == "Idempotency-Key"
    assert "255" in sentence


@pytest.mark.parametrize(
    ("body", "where"),
    [("{", "line 1, column 2"), ('{\n  "a": 1,\n}', "line 2, column 9"), ("{'a': 1}", "line 1")],
)
def test_a_body_that_is_no_json_is_told_where(body: str, where: str, alice: Caller) -> None:
    headers = {"Authorization": f"Bearer {alice.token}"}
    response = Client().post("/v1/email/send", body, "application/json", headers=headers)

    assert response.status_code == 400
    assert where in response.json()["detail"]


def test_a_name_that_cannot_be_written_is_not_shown(alice: Caller) -> None:
    reply = alice.post("/v1/email/send", {**MAIL, "to\ud800": 1})

    assert issue(reply) == ("body", "Contains an unpaired surrogate; remove it.")


def test_a_recipient_that_cannot_be_written_is_refused_as_such(alice: Caller) -> None:
    mail = {**MAIL, "to": "A\ud800 <a@example.com>"}

    single = alice.post("/v1/email/send", mail)
    batch = alice.post("/v1/email/batch", {"mails": [MAIL, mail]})

    sentence = "Contains a NUL byte or an unpaired surrogate; remove it."
    for reply, index in ((single, 0), (batch, 1)):
        [found] = reply.body["errors"]
        assert (reply.status, found["place"], found["detail"]) == (422, "to", sentence)
        assert found["index"] == index


def test_a_mail_of_a_batch_that_is_no_object_has_its_place(alice: Caller) -> None:
    [found] = alice.post("/v1/email/batch", {"mails": [MAIL, 5]}).body["errors"]

    assert (found["index"], found["place"]) == (1, "mails")
    assert found["detail"] == "Must be an object, not a number."


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


def schemas() -> list[type[BaseModel]]:
    """The parameters and the body of every operation, but those of paths: they are a 404."""
    return [
        model
        for part in (api, *OUTSIDE.values())
        for router in part._get_bound_routers()
        for path_view in router.path_operations.values()
        for operation in path_view.operations
        for model in operation.models
        if model.__ninja_param_source__ != "path"
    ]


ANY_JSON = "JsonValue"
INNER = ("schema", "items_schema", "keys_schema", "values_schema", "python_schema")


def parts(schema: Any) -> Iterator[Any]:
    """Every part of what Pydantic built, but JSON of any form: all that JSON has is valid there."""
    yield schema
    inner = [schema[name] for name in INNER if name in schema]
    inner += schema.get("steps", [])
    inner += [part for part in schema.get("definitions", []) if ANY_JSON not in part["ref"]]
    for choices in (schema.get("choices"), schema.get("fields")):
        inner += choices.values() if choices else []
    for part in inner:
        yield from parts(part)


def errors_of(schema: Any) -> set[str]:
    """The types of the errors that one part of a schema can have by itself."""
    match schema["type"]:
        case "str":
            errors = {"max_length": "string_too_long", "min_length": "string_too_short"}
            limited = {error for name, error in errors.items() if name in schema}
            return {"string_type", *limited, *(["string_unicode"] if limited else [])}
        case "int" | "float" as kind:
            errors = {
                "ge": "greater_than_equal",
                "gt": "greater_than",
                "le": "less_than_equal",
            }
            return {*NUMBERS[kind], *(error for name, error in errors.items() if name in schema)}
        case "list" | "dict" as kind:
            errors = {"max_length": "too_long", "min_length": "too_short"}
            return {f"{kind}_type", *(error for name, error in errors.items() if name in schema)}
        case "function-after" if isinstance(schema["function"]["function"], partial):
            validator = schema["function"]["function"].func.__name__
            return {LENGTHS[validator]}
        case "definition-ref":
            return {"recursion_depth_exceeded"} if ANY_JSON in schema["schema_ref"] else set()
        case kind:
            return ERRORS[kind]


LENGTHS = {"max_length_validator": "too_long", "min_length_validator": "too_short"}
NUMBERS = {
    "int": {"int_type", "int_parsing", "int_parsing_size", "int_from_float"},
    "float": {"float_type", "float_parsing", "finite_number"},
}
ERRORS: dict[str, set[str]] = {
    "any": set(),
    "bool": {"bool_type"},
    "chain": set(),
    "custom-error": {schema_errors.WRONG_FORM},
    "default": set(),
    "definitions": set(),
    "enum": {"enum"},
    "function-after": {"value_error"},
    "function-before": {"value_error"},
    "function-plain": {"value_error"},
    "function-wrap": set(),  # of a batch: it keeps the errors of its mails
    "json": {"json_invalid", "json_type"},
    "literal": {"literal_error"},
    "model": {"model_type"},
    "model-field": set(),
    "model-fields": {"missing", "extra_forbidden"},
    "nullable": set(),
    "tagged-union": {"union_tag_invalid", "union_tag_not_found", "model_attributes_type"},
    "uuid": {"uuid_parsing", "uuid_type"},
}


def test_every_error_that_a_request_can_have_has_its_sentence_and_no_other() -> None:
    possible = {
        error
        for schema in schemas()
        for part in parts(schema.__pydantic_core_schema__)
        for error in errors_of(part)
    }

    assert possible == set(schema_errors.SENTENCES)
