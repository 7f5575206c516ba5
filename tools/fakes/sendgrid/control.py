"""The paths under /_fake that are about SendGrid: its account, keys, identities and webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from tools.fakes.http.control import ControlPath, answer_json
from tools.fakes.http.exchanges import Answer, Request
from tools.fakes.sendgrid.account import Account, ApiKey
from tools.fakes.sendgrid.service import Service


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """What may be changed of the account; None leaves it."""

    credits: int | None = None  # in all; -1 is unlimited
    credits_used: int | None = None
    allows_overage: bool | None = None
    rate_limit: int | None = None  # requests in `rate_seconds`
    rate_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class KeyState:
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class IdentityState:
    is_verified: bool = True


_ACCOUNT_CHANGES = TypeAdapter(AccountChanges)
_KEY_STATE = TypeAdapter(KeyState)
_IDENTITY_STATE = TypeAdapter(IdentityState)


def _account(service: Service, request: Request, _: Sequence[str]) -> Answer:
    if request.method == "PATCH":
        _change(service.account, _ACCOUNT_CHANGES.validate_json(request.body))
    return answer_json(_describe(service.account))


def _change(account: Account, changes: AccountChanges) -> None:
    if changes.credits is not None:
        account.credits.total = None if changes.credits < 0 else changes.credits
    if changes.credits_used is not None:
        account.credits.used = changes.credits_used
    if changes.allows_overage is not None:
        account.credits.allows_overage = changes.allows_overage
    if changes.rate_limit is not None:
        account.rate_limit.limit = changes.rate_limit
    if changes.rate_seconds is not None:
        account.rate_limit.seconds = changes.rate_seconds


def _key(service: Service, request: Request, names: Sequence[str]) -> Answer:
    [value] = names
    if request.method == "PUT":
        scopes = _KEY_STATE.validate_json(request.body).scopes
        service.account.keys[value] = ApiKey(scopes)
    elif request.method == "DELETE":
        service.account.keys.pop(value, None)
    return answer_json(_describe(service.account))


def _identity(service: Service, request: Request, names: Sequence[str]) -> Answer:
    [name] = (name.lower() for name in names)
    identities = service.account.senders if "@" in name else service.account.domains
    if request.method == "PUT":
        identities[name] = _IDENTITY_STATE.validate_json(request.body or b"{}").is_verified
    elif request.method == "DELETE":
        identities.pop(name, None)
    return answer_json(_describe(service.account))


def _webhooks(service: Service, request: Request, names: Sequence[str]) -> Answer:
    """GET lists them with their public keys; POST ID/keys replaces the keys of one."""
    match request.method, *names:
        case "POST", id_, "keys" if id_ in service.account.webhooks:
            service.account.webhooks[id_].make_keys()
        case ("GET",):
            pass
        case _:
            return answer_json({"message": "There is no such webhook."}, 404)
    webhooks = service.account.webhooks.values()
    return answer_json([webhook.to_document() for webhook in webhooks])


def _describe(account: Account) -> Mapping[str, object]:
    return {
        "credits": -1 if account.credits.total is None else account.credits.total,
        "credits_used": account.credits.used,
        "allows_overage": account.credits.allows_overage,
        "rate_limit": account.rate_limit.limit,
        "rate_seconds": account.rate_limit.seconds,
        "identities": {**account.senders, **account.domains},
        "keys": {value: sorted(key.scopes) for value, key in account.keys.items()},
    }


PATHS: Mapping[str, ControlPath[Service]] = {
    "account": ControlPath("GET or PATCH /_fake/account", _account),
    "identities": ControlPath("PUT or DELETE /_fake/identities/NAME", _identity),
    "keys": ControlPath("PUT or DELETE /_fake/keys/KEY", _key),
    "webhooks": ControlPath(
        "GET /_fake/webhooks; POST /_fake/webhooks/ID/keys", _webhooks, is_set_up=True
    ),
}
