"""The paths under /_fake, which SES does not have; they need no signature."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from postledger.fakes.ses.account import Account, Identity, Status
from postledger.fakes.ses.events.disturbances import Disturbances
from postledger.fakes.ses.events.outcomes import Shares
from postledger.fakes.ses.faults import IdleLimit, Rule, Script
from postledger.fakes.ses.http import Answer, Request
from postledger.fakes.ses.service import Handled, Service

_NAMES = (
    "GET, PUT, POST or DELETE /_fake/faults; PUT or DELETE /_fake/idle-limit;"
    " GET or PUT /_fake/events and /_fake/reports; GET /_fake/messages and /_fake/messages/ID;"
    " GET or PATCH /_fake/account; PUT or DELETE /_fake/identities/NAME"
)


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """What may be changed of the account; None leaves it."""

    has_production_access: bool | None = None
    is_sending_enabled: bool | None = None
    enforcement_status: Literal["HEALTHY", "PROBATION", "SHUTDOWN"] | None = None
    max_24_hour_send: float | None = None
    max_send_rate: float | None = None
    sent_by_others: int | None = None
    report_lag: float | None = None
    new_identities: Status | None = None


@dataclass(frozen=True, slots=True)
class IdentityState:
    verification: Status = Status.SUCCESS
    dkim: Status = Status.SUCCESS
    mail_from_domain: str = ""
    mail_from: Status = Status.SUCCESS
    rejects_on_mail_from_failure: bool = False
    configuration_set: str = ""


_RULES: TypeAdapter[list[Rule]] = TypeAdapter(list[Rule])
_IDLE_LIMIT = TypeAdapter(IdleLimit)
_ACCOUNT_CHANGES = TypeAdapter(AccountChanges)
_IDENTITY_STATE = TypeAdapter(IdentityState)
_DISTURBANCES = TypeAdapter(Disturbances)
_SHARES = TypeAdapter(Shares)
_SET_UP = ("events", "reports")  # what a restart must find again


def is_control(request: Request) -> bool:
    return request.target.startswith("/_fake/")


def handle(service: Service, request: Request) -> Handled:
    segments = request.segments[1:]
    is_set_up = request.method == "PUT" and segments[0] in _SET_UP
    return Handled(answer(service, request), is_set_up=is_set_up)


def answer(service: Service, request: Request) -> Answer:
    try:
        return _answer(service, request, request.segments[1:])
    except ValidationError as error:
        issues = error.errors(include_url=False, include_context=False, include_input=False)
        return _answer_json({"message": "The JSON does not fit.", "issues": issues}, 400)


def _answer(service: Service, request: Request, segments: tuple[str, ...]) -> Answer:
    match segments:
        case ("messages", *ids):
            return _messages(service, ids)
        case ("identities", name):
            return _identity(service.account, request, name.lower())
        case (name,) if name in _PATHS:
            return _PATHS[name](service, request)
        case _:
            return _answer_json({"message": f"Unknown path. There are: {_NAMES}."}, 404)


def _faults(service: Service, request: Request) -> Answer:
    """PUT replaces all rules, POST adds some, DELETE removes all; each shows what is set then."""
    match request.method:
        case "PUT":
            service.script = Script(tuple(_RULES.validate_json(request.body)))
        case "POST":
            service.script.add(*_RULES.validate_json(request.body))
        case "DELETE":
            service.script = Script()
        case _:
            pass
    script = service.script
    rules = zip(script.rules, script.strikes, strict=True)
    return _answer_json([{**asdict(rule), "strikes": strikes} for rule, strikes in rules])


def _idle_limit(service: Service, request: Request) -> Answer:
    is_set = request.method == "PUT"
    service.idle_limit = _IDLE_LIMIT.validate_json(request.body) if is_set else None
    return _answer_json(asdict(service.idle_limit) if service.idle_limit else {})


def _events(service: Service, request: Request) -> Answer:
    publisher = service.publisher
    if request.method == "PUT":
        publisher.disturb(_DISTURBANCES.validate_json(request.body))
    counts = {**publisher.counts, "waiting": publisher.waiting}
    return _answer_json({**asdict(publisher.disturbances), "counts": counts})


def _reports(service: Service, request: Request) -> Answer:
    publisher = service.publisher
    if request.method == "PUT":
        publisher.shares = _SHARES.validate_json(request.body)
    return _answer_json(asdict(publisher.shares))


def _messages(service: Service, ids: list[str]) -> Answer:
    if not ids:
        return _answer_json([accepted.to_entry() for accepted in service.kept])
    for accepted in service.kept:
        if accepted.message_id == ids[0]:
            return Answer(200, accepted.mail.raw, "message/rfc822")
    return _answer_json({"message": "This message was never accepted, or is no longer kept."}, 404)


def _account(service: Service, request: Request) -> Answer:
    account = service.account
    if request.method == "PATCH":
        changes = _ACCOUNT_CHANGES.validate_json(request.body)
        for field in fields(changes):
            value = getattr(changes, field.name)
            if value is not None:
                owner = account.quota if hasattr(account.quota, field.name) else account
                setattr(owner, field.name, value)
    return _answer_json(_describe(account))


def _describe(account: Account) -> Mapping[str, object]:
    return {
        "region": account.region,
        "has_production_access": account.has_production_access,
        "is_sending_enabled": account.is_sending_enabled,
        "enforcement_status": account.enforcement_status,
        "max_24_hour_send": account.quota.max_24_hour_send,
        "max_send_rate": account.quota.max_send_rate,
        "sent_by_others": account.quota.sent_by_others,
        "report_lag": account.quota.report_lag,
        "new_identities": account.new_identities,
        "identities": [asdict(identity) for identity in account.identities.values()],
        "configuration_sets": sorted(account.configuration_sets),
    }


def _identity(account: Account, request: Request, name: str) -> Answer:
    if request.method == "PUT":
        state = _IDENTITY_STATE.validate_json(request.body or b"{}")
        account.identities[name] = Identity(name, **asdict(state))
    elif request.method == "DELETE":
        account.identities.pop(name, None)
    return _answer_json(_describe(account))


def _answer_json(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document, indent=2).encode() + b"\n")


_PATHS: Mapping[str, Callable[[Service, Request], Answer]] = {
    "account": _account,
    "events": _events,
    "faults": _faults,
    "idle-limit": _idle_limit,
    "reports": _reports,
}
