"""Calls Notion's API at the rate that it allows, and says what its failures mean.

Only the library gets the token: no error, log line or traceback shows it.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus

import httpx
from notion_client import Client
from notion_client.errors import HTTPResponseError, RequestTimeoutError

from postledger.content.notion.fields import Record
from postledger.lib.errors import RefusedError
from postledger.lib.remote_calls import (
    FailedCall,
    call_with_retries,
    fits_header,
    parse_retry_after,
)

VERSION = "2026-03-11"

_GAP = 1 / 3  # Notion allows three requests a second
_PAUSES = (1.0, 2.0, 4.0, 8.0)
_LONGEST_WAIT = 60.0


class NotionUnreachableError(RefusedError):
    code = "notion_unreachable"


class NotionUnauthorizedError(RefusedError):
    code = "notion_unauthorized"


class NotionPageNotFoundError(RefusedError):
    code = "notion_page_not_found"


class NotionRateLimitedError(RefusedError):
    code = "notion_rate_limited"


class NotionRequestRefusedError(RefusedError):
    code = "notion_request_refused"


class NotionPageTooLargeError(RefusedError):
    code = "notion_page_too_large"


class NotionTooSlowError(RefusedError):
    code = "notion_too_slow"


class Api:
    def __init__(  # noqa: PLR0913  the parts of a connection, each by its name
        self,
        token: str,
        *,
        base_url: str,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        seconds: float,
        patience: float,
    ) -> None:
        self._client = Client(
            auth=_checked(token),
            base_url=base_url,
            notion_version=VERSION,
            retry=False,
            # By default the library adds a handler for every client and logs Notion's messages.
            logger=logging.getLogger("notion_client"),
            log_level=logging.CRITICAL,
        )
        self._sleep = sleep
        self._clock = clock
        self._next_at = clock()
        self._seconds, self._patience = seconds, patience
        self._deadline = clock() + patience

    def close(self) -> None:
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: dict[str, object] | None = None,
        is_repeatable: bool = True,
    ) -> Record:
        """The answer's JSON; raises RefusedError when Notion gives none.

        A call that creates something is not repeatable: a second one would create it twice.
        """
        return call_with_retries(
            partial(self._request, method, path, query, body),
            pauses=_PAUSES,
            longest_wait=min(_LONGEST_WAIT, self._deadline - self._clock()),
            sleep=self._wait,
            is_repeatable=is_repeatable,
        )

    def _request(
        self, method: str, path: str, query: dict[str, str] | None, body: dict[str, object] | None
    ) -> Record | FailedCall:
        self._wait(max(0.0, self._next_at - self._clock()))
        self._next_at = self._clock() + _GAP
        self._client.client.timeout = min(self._seconds, self._deadline - self._clock())
        try:
            answer = self._client.request(path, method, query, body)
        except HTTPResponseError as error:
            return _status_failure(error.status, headers=error.headers, path=path)
        except (httpx.HTTPError, RequestTimeoutError) as error:
            return _no_answer(type(error).__name__)
        except ValueError:
            return _no_answer("its answer is not JSON")
        return answer if isinstance(answer, dict) else _no_answer("its answer is no object")

    def _wait(self, seconds: float) -> None:
        """Raises NotionTooSlowError in place of waiting until the deadline."""
        if self._clock() + seconds >= self._deadline:
            raise NotionTooSlowError(
                f"Notion did not give the whole page within {self._patience:.0f} seconds, so"
                " reading it was given up. Try again in a minute. If the page is long, split it in"
                " Notion; a launch waits longer."
            )
        if seconds:
            self._sleep(seconds)


def _checked(token: str) -> str:
    token = token.strip()
    if not fits_header(token):
        raise NotionUnauthorizedError(
            "The Notion token is empty, or contains characters that no token has."
            " Copy the integration's token from Notion again."
        )
    return token


def _no_answer(reason: str) -> FailedCall:
    """No answer, or one that only a broken connection or a broken server gives."""
    error = NotionUnreachableError(
        f"Notion could not be reached, or did not answer as it should ({reason})."
        " Check that this machine reaches Notion's API and that Notion reports no outage,"
        " then try again."
    )
    return FailedCall(error, is_transient=True)


_ERRORS: Mapping[int, type[RefusedError]] = {
    HTTPStatus.UNAUTHORIZED: NotionUnauthorizedError,
    HTTPStatus.FORBIDDEN: NotionUnauthorizedError,
    HTTPStatus.NOT_FOUND: NotionPageNotFoundError,
    HTTPStatus.TOO_MANY_REQUESTS: NotionRateLimitedError,
}
_MESSAGES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Notion does not accept the token. It was copied incompletely, or it"
    " was revoked. Copy the integration's token from Notion again.",
    HTTPStatus.FORBIDDEN: "Notion accepts the token, but the integration may not do this. Give it"
    " the capabilities to read, update and insert content in its settings in Notion.",
    HTTPStatus.NOT_FOUND: "Notion shows this integration no {kind} {id}. It does not exist, or it"
    " is not shared: open the page in Notion and add the integration to its connections; do so also"
    " for pages from which it shows synced blocks.",
    HTTPStatus.TOO_MANY_REQUESTS: "Notion received too many requests, perhaps also from other"
    " programs of the same workspace. Try again {when}.",
}
_REFUSED = (
    "Notion refused the request with status {status}, and would refuse it again. Check that the"
    " address of Notion's API is right and that this version of Postledger is not too old for it."
)


def _status_failure(status: int, *, headers: Mapping[str, str], path: str) -> FailedCall:
    """Leaves out Notion's own message: it may quote the request."""
    wait = parse_retry_after(headers.get("retry-after", ""))
    if status == HTTPStatus.CONFLICT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return replace(_no_answer(f"status {status}"), retry_after=wait)
    kind, object_id, *_ = [*path.split("/"), ""]
    when = "in some minutes" if wait is None else f"in {wait:.0f} seconds"
    message = _MESSAGES.get(status, _REFUSED).format(
        kind=kind.removesuffix("s"), id=object_id, when=when, status=status
    )
    error = _ERRORS.get(status, NotionRequestRefusedError)(message)
    is_limited = status == HTTPStatus.TOO_MANY_REQUESTS
    return FailedCall(error, is_transient=is_limited, retry_after=wait, was_not_executed=is_limited)
