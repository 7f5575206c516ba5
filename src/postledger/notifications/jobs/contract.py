"""The document of a mail job, version 1.0: one notification, as another program hands it over.

Its JSON Schema is the file beside this module, and every document passes it, those that we write
too. A later minor version only adds fields: it is read as 1.0, without what 1.0 does not know.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from postledger.lib import values
from postledger.lib.errors import MOST_ISSUES, RefusedError

VERSION = "1.0"
TEMPLATE = "open-seat"
DEFAULT_TEMPLATE_VERSION = "v1"

_FILE = "mail_job.schema.json"
_VERSION = re.compile(r"(?P<major>0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)")
_MAJOR = "1"
_TEMPLATE_VERSION = re.compile(r"v(?P<number>[1-9][0-9]{0,8})")
_MAX_BYTES = 65_536  # of JSON, as for the variables of a single mail
# The schema has no upper limits.
_MOST_ATTEMPTS = 20  # a provider that refuses a mail so often will not take it
# What the columns of a notification take.
_LONGEST = 2_147_483_647  # of a lock's time in seconds, and of a delay in milliseconds
_MOST_DELAYS = 100


@dataclass(frozen=True, slots=True)
class JobIssue:
    """One thing that is wrong with a document: the path of the field, and the sentence."""

    field: str
    detail: str


class InvalidJobError(RefusedError):
    code = "invalid_mail_job"

    def __init__(self, issues: Sequence[JobIssue]) -> None:
        first = issues[0]
        super().__init__(f"{first.field}: {first.detail}" if first.field else first.detail)
        self.issues = issues


class UnsupportedJobVersionError(RefusedError):
    code = "unsupported_mail_job_version"


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How often and when a job is tried; None: as for other notifications."""

    max_attempts: int | None = None
    lock_ttl_seconds: int | None = None
    retry_schedule_ms: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class MailJob:
    notification_id: int
    event_id: int
    subscription_id: int
    dedupe_key: str
    locale: str
    email: str
    name: str
    template_version: int
    variables: Mapping[str, object]  # with the links, where they have none of the same name
    policy: DeliveryPolicy


def read_schema() -> bytes:
    """The schema as it is served, byte for byte."""
    return files(__package__).joinpath(_FILE).read_bytes()


def parse_job(document: object) -> MailJob:
    """The job in a document; raises InvalidJobError with all that is wrong with it."""
    job: dict[str, Any] = validate_job(document)
    issues = [*_check_template_version(job), *_check_policy(job)]
    if issues:
        raise InvalidJobError(issues)
    template, recipient, policy = job["template"], job["recipient"], job.get("deliveryPolicy", {})
    delays = policy.get("retryScheduleMs")
    return MailJob(
        notification_id=int(job["notificationId"]),
        event_id=int(job["openEventId"]),
        subscription_id=int(job["subscriptionId"]),
        dedupe_key=job["dedupeKey"],
        locale=job["locale"],
        email=recipient["email"],
        name=recipient.get("name", ""),
        template_version=_read_template_version(job),
        variables={**job["links"], **template["variables"]},
        policy=DeliveryPolicy(
            _integer(policy.get("maxAttempts")),
            _integer(policy.get("lockTtlSeconds")),
            None if delays is None else [int(delay) for delay in delays],
        ),
    )


def validate_job(document: object) -> dict[str, Any]:
    """The document as version 1.0 has it, valid by the schema, and fit to be stored."""
    if not isinstance(document, dict):
        raise InvalidJobError([JobIssue("", "Is not a JSON object; send one mail job.")])
    flaw = values.find_flaw(document, most=_MAX_BYTES)
    if flaw:
        raise InvalidJobError([JobIssue("", flaw)])
    job = _convert_to_known_version(document)
    errors = list(_compile().iter_errors(job))
    if errors:
        raise InvalidJobError([_describe(error) for error in errors[:MOST_ISSUES]])
    return job


def _convert_to_known_version(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1.x as 1.0; one without a version is left to the schema."""
    version = document.get("version")
    if not isinstance(version, str) or version == VERSION:
        return document
    match = _VERSION.fullmatch(version)
    if match is None:
        raise UnsupportedJobVersionError(
            f"The version {version[:20]!r} is not MAJOR.MINOR, such as {VERSION}."
            f" Send mail jobs of version {VERSION}."
        )
    if match["major"] != _MAJOR:
        raise UnsupportedJobVersionError(
            f"Mail jobs of version {version[:20]} mean something else than those of {VERSION},"
            f" which this server reads. Send version {_MAJOR}.x until it is upgraded."
        )
    known: dict[str, Any] = _drop_unknown(document, _load_schema())
    return known | {"version": VERSION}


def _drop_unknown(value: Any, schema: Mapping[str, Any]) -> Any:
    """Leaves out the fields that the schema forbids, at every depth."""
    if not isinstance(value, dict):
        return value
    properties: Mapping[str, Any] = schema.get("properties", {})
    is_closed = schema.get("additionalProperties") is False
    return {
        name: _drop_unknown(item, properties.get(name, {}))
        for name, item in value.items()
        if name in properties or not is_closed
    }


def _check_template_version(job: Mapping[str, Any]) -> list[JobIssue]:
    if _TEMPLATE_VERSION.fullmatch(_get_template_version(job)):
        return []
    return [JobIssue("template.version", 'Is not a version of a template, such as "v1".')]


def _read_template_version(job: Mapping[str, Any]) -> int:
    return int(_get_template_version(job).removeprefix("v"))


def _get_template_version(job: Mapping[str, Any]) -> str:
    return str(job["template"].get("version", DEFAULT_TEMPLATE_VERSION))


def _check_policy(job: Mapping[str, Any]) -> list[JobIssue]:
    policy = job.get("deliveryPolicy", {})
    delays = policy.get("retryScheduleMs", [])
    sizes = (
        ("maxAttempts", policy.get("maxAttempts", 1), _MOST_ATTEMPTS),
        ("lockTtlSeconds", policy.get("lockTtlSeconds", 30), _LONGEST),
        ("retryScheduleMs", max(delays, default=0), _LONGEST),
    )
    issues = [
        JobIssue(f"deliveryPolicy.{name}", f"Has {value}; at most {most} is possible.")
        for name, value, most in sizes
        if value > most
    ]
    if len(delays) > _MOST_DELAYS:
        detail = f"Has {len(delays)} delays; at most {_MOST_DELAYS} are possible."
        issues.append(JobIssue("deliveryPolicy.retryScheduleMs", detail))
    return issues


def _integer(number: float | None) -> int | None:
    """JSON Schema counts 3.0 as an integer."""
    return None if number is None else int(number)


@cache
def _compile() -> Draft202012Validator:
    return Draft202012Validator(_load_schema(), validate_formats=True)


@cache
def _load_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(read_schema())
    return schema


def _describe(error: ValidationError) -> JobIssue:
    path = [str(part) for part in error.instance_path]
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            return JobIssue(".".join([*path, name]), "Is missing.")
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            return JobIssue(".".join(path), f"Has unknown fields: {', '.join(names)[:200]}.")
        case ValidationErrorKind.Format(format=name):
            # The value itself may be an address.
            return JobIssue(".".join(path), f"Is not a valid {name}.")
        case _:
            return JobIssue(".".join(path), f"{error.message[:200]}.")
