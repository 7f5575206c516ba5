"""Programs that call the API: each has a key, and speaks JSON."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.test import Client

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.web.shared import throttle
from tests import cast

MAIL: Mapping[str, Any] = {
    "to": "alice@example.com",
    "subject": "Your receipt",
    "html": "<p>Thank you.</p>",
}


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Caller:
    workspace_id: int
    key_id: int
    token: str

    def get(self, path: str, **query: str) -> Reply:
        return reply(Client().get(path, query, headers=self._headers({})))

    def post(self, path: str, body: object, **headers: str) -> Reply:
        return self.ask("POST", path, body, **headers)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = "" if body is None else json.dumps(body)
        return reply(
            Client().generic(method, path, data, "application/json", headers=self._headers(named))
        )

    def send(self, idempotency_key: str | None = None, **changes: Any) -> Reply:
        """Sends a sound mail with some fields changed, or left out where they are None."""
        mail = {name: value for name, value in {**MAIL, **changes}.items() if value is not None}
        named = {"Idempotency_Key": idempotency_key} if idempotency_key else {}
        return self.post("/v1/email/send", mail, **named)

    def batch(self, *mails: Mapping[str, Any], **headers: str) -> Reply:
        body = {"mails": [{**MAIL, **mail} for mail in mails]}
        return self.post("/v1/email/batch", body, **headers)

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **more}


def caller(
    workspace: str,
    *,
    scopes: Collection[Scope] = tuple(Scope),
    is_test: bool = False,
    member_id: int | None = None,
) -> Caller:
    workspace_id = cast.sender(workspace).workspace_id
    return of_workspace(workspace_id, scopes=scopes, is_test=is_test, member_id=member_id)


def of_workspace(
    workspace_id: int,
    *,
    scopes: Collection[Scope] = tuple(Scope),
    is_test: bool = False,
    member_id: int | None = None,
) -> Caller:
    made = keys.create_key(
        workspace_id,
        name="program",
        scopes=scopes,
        is_test=is_test,
        member_id=member_id,
        actor="alice",
    )
    return Caller(workspace_id, made.key_id, made.token)


def reply(response: Any) -> Reply:
    """An answer with its JSON read; any other body is text."""
    text = response.getvalue().decode()
    is_json = "json" in response.headers.get("Content-Type", "")
    body = json.loads(text) if text and is_json else text or None
    return Reply(response.status_code, body, response.headers)


def forget_visits(rate: str, *parts: str) -> None:
    """Redis remembers those of earlier runs."""
    counted = throttle.with_rate(rate)
    counted._shared.clear(counted._rate, str(throttle._visitor_id(parts)))
