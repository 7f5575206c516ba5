"""A mail job is what its schema says: the same schema that is served."""

from typing import Any

import pytest

from postledger.lib.errors import RefusedError
from postledger.notifications.jobs import contract
from postledger.notifications.jobs.contract import (
    DeliveryPolicy,
    InvalidJobError,
    UnsupportedJobVersionError,
)
from tests.notifications.mail_job_corpus import ACCEPTED, LEAST, REFUSED, make_job


def test_the_schema_accepts() -> None:
    for name in ACCEPTED:
        job = contract.validate_job(make_job(ACCEPTED[name]))

        assert job["version"] == "1.0"
        assert contract.parse_job(job).dedupe_key == job["dedupeKey"], name


def test_the_schema_refuses() -> None:
    for name in REFUSED:
        with pytest.raises(RefusedError) as refusal:
            contract.parse_job(make_job(REFUSED[name]))

        assert str(refusal.value).endswith("."), name


def fields_of(changes: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidJobError) as refusal:
        contract.parse_job(make_job(changes))
    return [issue.field for issue in refusal.value.issues]


def test_all_that_is_wrong_is_named_at_once_and_no_address_repeated() -> None:
    changes = {"notificationId": 0, "recipient.email": "al ice@x", "links.manageUrl": "manage"}

    with pytest.raises(InvalidJobError) as refusal:
        contract.parse_job(make_job(changes))

    wrong = sorted(issue.field for issue in refusal.value.issues)
    assert wrong == ["links.manageUrl", "notificationId", "recipient.email"]
    assert "al ice" not in str(refusal.value)
    assert fields_of({"recipient.pronouns": "she"}) == ["recipient"]


def test_a_job_is_read_with_what_it_leaves_out_and_its_links_are_variables() -> None:
    job = contract.parse_job(dict(LEAST))

    assert (job.notification_id, job.event_id, job.subscription_id) == (1, 1, 1)
    assert (job.email, job.name, job.template_version) == ("alice@example.com", "", 1)
    assert job.variables == LEAST["template"]["variables"]
    assert job.policy == DeliveryPolicy(None, None, None)
    leave = "https://example.com/leave"
    links = {"links.manageUrl": "https://example.com/other", "links.unsubscribeUrl": leave}
    variables = contract.parse_job(make_job(links)).variables
    assert variables["manageUrl"] == "https://example.com/manage"
    assert variables["unsubscribeUrl"] == leave
    no_jobs: list[object] = [None, [], "{}", 1, [make_job({})]]
    for document in no_jobs:
        with pytest.raises(InvalidJobError, match="not a JSON object"):
            contract.parse_job(document)


def test_a_later_minor_version_loses_only_what_the_schema_forbids() -> None:
    changes = {
        "version": "1.7",
        "priority": "high",
        "recipient.pronouns": "she",
        "event.instructor": "Dr. Knuth",
        "template.variables.room": {"building": "Hill"},
        "subscription": {"status": "active", "contactType": "email", "since": "2026"},
    }

    job = contract.validate_job(make_job(changes))

    assert job == make_job(
        {
            "event.instructor": "Dr. Knuth",
            "template.variables.room": {"building": "Hill"},
            "subscription": {"status": "active", "contactType": "email", "since": "2026"},
        }
    )


def test_another_major_version_is_refused_and_says_which_is_read() -> None:
    for version in ("2.0", "0.1", "10.0"):
        with pytest.raises(UnsupportedJobVersionError, match=r"Send version 1\.x"):
            contract.parse_job(make_job({"version": version}))
    for version in ("1", "1.", "01.0", "1.0.0", "v1.0", "1.x", "", "1.0 "):
        with pytest.raises(UnsupportedJobVersionError, match=r"is not MAJOR\.MINOR"):
            contract.parse_job(make_job({"version": version}))


def test_a_delivery_policy_is_read_in_whole_numbers() -> None:
    policy = {"maxAttempts": 5.0, "lockTtlSeconds": 60, "retryScheduleMs": [0, 1000.0]}

    job = contract.parse_job(make_job({"deliveryPolicy": policy}))

    assert job.policy == DeliveryPolicy(5, 60, [0, 1000])
    assert repr(job.policy).count(".0") == 0


def test_what_cannot_be_stored_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"deliveryPolicy": {"maxAttempts": 21}}, "deliveryPolicy.maxAttempts"),
        ({"deliveryPolicy": {"lockTtlSeconds": 2**31}}, "deliveryPolicy.lockTtlSeconds"),
        ({"deliveryPolicy": {"retryScheduleMs": [2**31]}}, "deliveryPolicy.retryScheduleMs"),
        ({"deliveryPolicy": {"retryScheduleMs": [1] * 101}}, "deliveryPolicy.retryScheduleMs"),
        ({"template.version": "1"}, "template.version"),
        ({"template.version": "v0"}, "template.version"),
        ({"template.variables.notes": "\0"}, ""),
        ({"template.variables.notes": "x" * 70_000}, ""),
    ]
    for changes, field in cases:
        assert fields_of(changes) == [field], changes
