"""Generated requests get only what the description in OpenAPI promises."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django import conf
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, settings
from schemathesis import APIOperation, Case, HookContext, SerializationContext
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.transport.serialization import serialize_binary

from postledger.web.api import openapi
from tests.web.callers import Caller, caller

pytestmark = pytest.mark.slow

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
type Operation = APIOperation[Any, Any, Any, Any]

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


def _read_operations() -> Iterator[Operation]:
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        yield result.ok()


@pytest.fixture
def program(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Alice's, in a database that outlives each request's connection, and never too fast."""
    monkeypatch.setattr(conf.settings, "API_RATE", "1000000/second")
    monkeypatch.setattr(conf.settings, "ALLOWED_HOSTS", ["localhost"])
    return caller("acme")


# Each run makes others. A long look by hand: GENERATED_EXAMPLES=500.
_EXAMPLES = int(os.environ.get("GENERATED_EXAMPLES", "6"))


@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def _call(case: Case[Any], program: Caller) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {program.token}"})


@pytest.mark.parametrize("operation", [*_read_operations()], ids=lambda operation: operation.label)
def test_generated_requests_get_what_the_description_promises(
    operation: Operation, program: Caller
) -> None:
    """Its cases are made here, as `schema.parametrize` makes those of all operations where tests
    are collected: that takes seconds, and every worker collects.
    """
    load_all_checks()
    run = build_operation_test(
        config=schema.config,
        operation=operation,
        test_func=_call,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(schema)),
    )
    run(program=program)
