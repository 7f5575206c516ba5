"""Who is calling: a program with an API key, and whether it may do what it asks for."""

from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic
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


# How long a process believes that a key is still valid: a key that is used a hundred times a
# second is looked up once. A revoked one works that much longer, in the processes that know it.
KNOWN_FOR = 1.0
_MOST_KNOWN = 10_000


class _Callers:
    """Who was recognised a moment ago, by the hash of the token; safe to use from many threads."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[float, Caller]] = {}

    def recognise(self, token: str) -> Caller | None:
        name = sha256(token.encode()).digest()
        until, caller = self._known.get(name, (0.0, None))
        if caller is None or until < monotonic():
            caller = keys.recognise(token, now=datetime.now(UTC))
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if caller is not None:
                self._known[name] = (monotonic() + KNOWN_FOR, caller)
        return caller


_callers = _Callers()


class ApiKey(HttpBearer):
    """Lets in whoever has a valid key with the scope, no faster than its rate."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    @override
    def authenticate(self, request: HttpRequest, token: str) -> Caller | None:
        caller = _callers.recognise(token)
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
