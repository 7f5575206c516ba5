"""The description in OpenAPI is complete, and its examples are accepted."""

import json
from typing import Any

import pytest
from django.test import Client

from postledger.web.api import openapi
from postledger.web.shared import problems
from tests.web.callers import Caller


def test_the_description_is_served() -> None:
    response = Client().get("/v1/openapi.json")

    assert response.status_code == 200
    assert json.loads(response.content) == openapi.build_document()
    assert openapi.build_document()["openapi"].startswith("3.1")


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in openapi.build_document()["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.mark.parametrize(("name", "operation"), operations())
def test_every_operation_declares_every_problem_and_its_key(
    name: str, operation: dict[str, Any]
) -> None:
    responses = operation["responses"]
    declared = {int(status) for status in responses if int(status) >= 400}

    assert declared == set(problems.DEFAULTS)
    assert all(set(responses[str(s)]["content"]) == {problems.MEDIA_TYPE} for s in declared)
    assert operation["security"] == [{"ApiKeyAuth": []}]
    assert operation["operationId"]


def test_the_example_of_a_mail_is_taken(alice: Caller) -> None:
    [example] = openapi.build_document()["components"]["schemas"]["MailIn"]["examples"]

    assert alice.post("/v1/email/send", example).status == 202
