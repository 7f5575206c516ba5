"""Authenticates API keys and checks their scopes."""

from collections.abc import Collection
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic
from typing import override

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from postledger.accounts import keys
from postledger.accounts.keys import Caller, Scope
from postledger.lib.errors import ForbiddenError
from postledger.observability import context
from postledger.web.shared import bodies, guesses, request_log, throttle


class ScopeMissingError(ForbiddenError):
    code = "scope_missing"


class LiveKeyRequiredError(ForbiddenError):
    code = "live_key_required"


# A process trusts a key for so many seconds before it looks it up again: a key that is used a
# hundred times a second costs one query. A revoked key works that much longer.
CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000


class _CallerCache:
    """Callers by the hash of their token; safe for threads."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[float, Caller]] = {}

    def recognise(self, request: HttpRequest, token: str) -> Caller | None:
        digest = sha256(token.encode()).digest()
        valid_until, caller = self._entries.get(digest, (0.0, None))
        if caller is None or valid_until < monotonic():
            caller = _look_up(request, token)
            if len(self._entries) >= _CACHE_SIZE:
                self._entries.clear()
            if caller is not None:
                self._entries[digest] = (monotonic() + CACHE_SECONDS, caller)
        return caller


def _look_up(request: HttpRequest, token: str) -> Caller | None:
    """Asks the database, unless too many keys were wrong."""
    network = throttle.client_network(request.META)
    guesses.KEYS.check(token, network)
    caller = keys.recognise(token, now=datetime.now(UTC))
    if caller is None:
        guesses.KEYS.note_wrong(token, network)
    else:
        guesses.KEYS.note_right(token)
    return caller


_callers = _CallerCache()


class ApiKeyAuth(HttpBearer):
    """Accepts a valid key that has the scopes and keeps to its rate; a test key only if told."""

    def __init__(self, scopes: Collection[Scope], *, is_open_to_test_keys: bool) -> None:
        super().__init__()
        self._scopes = scopes
        self._is_open_to_test_keys = is_open_to_test_keys

    @override
    def authenticate(self, request: HttpRequest, token: str) -> Caller | None:
        caller = _callers.recognise(request, token)
        if caller is None:
            return None
        context.bind(workspace_id=caller.workspace_id)
        request.META[bodies.KEY_ID] = caller.key_id
        request_log.remember_caller(request, caller)
        if not request.META.get(bodies.IS_COUNTED):
            throttle.with_rate(settings.API_RATE).take(caller.key_id)
        if caller.is_test and not self._is_open_to_test_keys:
            raise live_key_required()
        require_scopes(caller.scopes, self._scopes)
        return caller


def live_key_required() -> LiveKeyRequiredError:
    return LiveKeyRequiredError(
        "A test key sends to the sandbox, reads the mail and the runs of test keys, reads"
        " templates, and previews content without contacts. Use a live key for everything else."
    )


def require_scopes(granted: Collection[str], required: Collection[Scope]) -> None:
    missing = [scope for scope in required if scope not in granted]
    if missing:
        raise ScopeMissingError(
            f"The API key lacks the scope {' and the scope '.join(missing)}."
            " Use another key, or create one with it."
        )
