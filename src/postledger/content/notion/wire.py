"""Asks Notion's API, no faster than it allows, and again where that may help.

The token is given to the library and to nobody else: no refusal, log line or traceback shows it.
"""

import logging
from collections.abc import Callable, Mapping

import httpx
from notion_client import Client
from notion_client.errors import HTTPResponseError, RequestTimeoutError

from postledger.content.notion import refusals, troubles
from postledger.content.notion.fields import Record
from postledger.content.notion.troubles import Trouble

type Json = dict[str, object]

VERSION = "2026-03-11"

_GAP = 1 / 3  # Notion allows three requests a second
_PAUSES = (1.0, 2.0, 4.0, 8.0)


class Wire:
    def __init__(
        self,
        token: str,
        *,
        base_url: str,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        seconds: float,
    ) -> None:
        self._client = Client(
            auth=_checked(token),
            base_url=base_url,
            notion_version=VERSION,
            timeout_ms=round(seconds * 1000),
            retry=False,
            # Left alone, the library adds a handler for every client and logs what Notion says.
            logger=logging.getLogger("notion_client"),
            log_level=logging.CRITICAL,
        )
        self._sleep = sleep
        self._clock = clock
        self._next_at = clock()

    def get(self, path: str, *, query: Mapping[str, str] | None = None) -> Record:
        """The answer's JSON; raises RefusedError when none is to be had."""
        return self._insist(lambda: self._ask("GET", path, query=dict(query or {})))

    def patch(self, path: str, body: Json) -> Record:
        return self._insist(lambda: self._ask("PATCH", path, body=body))

    def query(self, path: str, body: Json) -> Record:
        """A question that is too long for an address; it changes nothing."""
        return self._insist(lambda: self._ask("POST", path, body=body))

    def create(self, path: str, body: Json) -> Record:
        """Asks again only where Notion said that it did nothing: there may be two otherwise."""
        return self._insist(lambda: self._ask("POST", path, body=body), may_repeat=False)

    def _insist(self, ask: Callable[[], Record | Trouble], *, may_repeat: bool = True) -> Record:
        pauses = iter(_PAUSES)
        while isinstance(answer := ask(), Trouble):
            pause = answer.pause(next(pauses, None))
            if pause is None or not (may_repeat or answer.is_undone):
                raise answer.refusal
            self._sleep(pause)
        return answer

    def close(self) -> None:
        self._client.close()

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | None = None,
    ) -> Record | Trouble:
        self._keep_pace()
        try:
            answer = self._client.request(path, method, query, body)
        except HTTPResponseError as error:
            return troubles.of_status(error.status, headers=error.headers, path=path)
        except (httpx.HTTPError, RequestTimeoutError) as error:
            return troubles.silence(type(error).__name__)
        except ValueError:
            return troubles.silence("its answer is not JSON")
        return answer if isinstance(answer, dict) else troubles.silence("its answer is no object")

    def _keep_pace(self) -> None:
        early = self._next_at - self._clock()
        if early > 0:
            self._sleep(early)
        self._next_at = self._clock() + _GAP


def _checked(token: str) -> str:
    """What cannot be a header would be quoted, secret and all, by the library that refuses it."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise refusals.UnauthorizedError(
            "There is no usable Notion token: it is empty, or holds characters that no token has."
            " Copy the integration's token from Notion again."
        )
    return token
