"""Who is calling: a program with an API key, and whether it may do what it asks for."""

from datetime import UTC, datetime
from typing import ClassVar, cast, override

from django.http import HttpRequest
from ninja.security import HttpBearer

from postledger.accounts import keys
from postledger.accounts.keys import Caller, Scope
from postledger.lib.errors import RefusedError
from postledger.observability import context
from postledger.web.shared import throttle


class ScopeMissingError(RefusedError):
    code: ClassVar[str] = "scope_missing"


class ApiKey(HttpBearer):
    """Lets in whoever has a valid key with the scope, no faster than its rate."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    @override
    def authenticate(self, request: HttpRequest, token: str) -> Caller | None:
        caller = keys.recognise(token, now=datetime.now(UTC))
        if caller is None:
            return None
        context.bind(workspace_id=caller.workspace_id)
        throttle.throttle().take(caller.key_id)
        if self._scope not in caller.scopes:
            raise ScopeMissingError(
                f"The key {caller.prefix} lacks the scope {self._scope}."
                " Use another key, or make one with this scope."
            )
        return caller


def caller(request: HttpRequest) -> Caller:
    """Who made a request that was let in."""
    return cast("Caller", request.auth)  # type: ignore[attr-defined]  # ninja puts it there
