"""The paths under /_fake that are about SES: its account and identities."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal

from pydantic import TypeAdapter

from tools.fakes.http.control import ControlPath, answer_json
from tools.fakes.http.exchanges import Answer, Request
from tools.fakes.ses.account import Account, Identity, Status
from tools.fakes.ses.service import Service


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


_ACCOUNT_CHANGES = TypeAdapter(AccountChanges)
_IDENTITY_STATE = TypeAdapter(IdentityState)


def _account(service: Service, request: Request, _: Sequence[str]) -> Answer:
    account = service.account
    if request.method == "PATCH":
        changes = _ACCOUNT_CHANGES.validate_json(request.body)
        for field in fields(changes):
            value = getattr(changes, field.name)
            if value is not None:
                owner = account.quota if hasattr(account.quota, field.name) else account
                setattr(owner, field.name, value)
    return answer_json(_describe(account))


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


def _identity(service: Service, request: Request, names: Sequence[str]) -> Answer:
    account = service.account
    [name] = (name.lower() for name in names)
    if request.method == "PUT":
        state = _IDENTITY_STATE.validate_json(request.body or b"{}")
        account.identities[name] = Identity(name, **asdict(state))
    elif request.method == "DELETE":
        account.identities.pop(name, None)
    return answer_json(_describe(account))


PATHS: Mapping[str, ControlPath[Service]] = {
    "account": ControlPath("GET or PATCH /_fake/account", _account),
    "identities": ControlPath("PUT or DELETE /_fake/identities/NAME", _identity),
}
