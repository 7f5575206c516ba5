"""The description in OpenAPI tells the truth: generated requests get only what it promises."""

import json
from typing import Any

import pytest
import schemathesis
from django import conf
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, settings
from schemathesis import Case, HookContext, SerializationContext
from schemathesis.config import SchemathesisConfig
from schemathesis.transport.serialization import serialize_binary

from postledger.web.api import openapi
from postledger.web.shared import problems
from tests.web.callers import Caller, caller

# A schema can say what an address looks like, but not which senders and contacts a workspace has:
# a request that is right in form may be refused for what it says.
CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "409", "422"]},
            # What is wrong may also be too large to be looked at.
            "negative_data_rejection": {
                "expected-statuses": ["400", "401", "403", "404", "405", "409", "413", "415", "422"]
            },
        }
    }
)
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@schemathesis.serializer(WORKBOOK)
def _bytes(_context: SerializationContext, value: Any) -> bytes:
    """Any bytes that are called a workbook."""
    return serialize_binary(value)


schema = schemathesis.openapi.from_dict(openapi.build_document(), config=CONFIG)
schema.app = get_wsgi_application()


@schema.hook
def filter_query(_context: HookContext, query: dict[str, Any] | None) -> bool:
    """An empty list is not written into an address: what was meant to be wrong by it is right."""
    return all(value not in ([], {}) for value in (query or {}).values())


@pytest.fixture
def program(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Alice's, in a database that outlives each request's connection, and never too fast."""
    monkeypatch.setattr(conf.settings, "API_RATE", "1000000/second")
    monkeypatch.setattr(conf.settings, "ALLOWED_HOSTS", ["localhost"])
    return caller("acme")


@pytest.mark.slow
@schema.parametrize()
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_generated_requests_get_what_the_description_promises(
    case: Case[Any], program: Caller
) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {program.token}"})


@pytest.mark.slow
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
