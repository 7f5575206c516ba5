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
from postledger.lib.sentences import Sentence, say

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
            return _no_answer(say("its answer is not JSON"))
        return answer if isinstance(answer, dict) else _no_answer(say("its answer is no object"))

    def _wait(self, seconds: float) -> None:
        """Raises NotionTooSlowError in place of waiting until the deadline."""
        if self._clock() + seconds >= self._deadline:
            raise NotionTooSlowError(
                say(
                    "Notion did not give the whole page within %(patience)s seconds, so"
                    " reading it was given up. Try again in a minute. If the page is long,"
                    " split it in Notion; a launch waits longer.",
                    patience=f"{self._patience:.0f}",
                )
            )
        if seconds:
            self._sleep(seconds)


def _checked(token: str) -> str:
    token = token.strip()
    if not fits_header(token):
        raise NotionUnauthorizedError(
            say(
                "The Notion token is empty, or contains characters that no token has. Copy the"
                " integration's token from Notion again."
            )
        )
    return token


def _no_answer(reason: str) -> FailedCall:
    """No answer, or one that only a broken connection or a broken server gives."""
    error = NotionUnreachableError(
        say(
            "Notion could not be reached, or did not answer as it should (%(reason)s). Check"
            " that this machine reaches Notion's API and that Notion reports no outage, then"
            " try again.",
            reason=reason,
        )
    )
    return FailedCall(error, is_transient=True)


_ERRORS: Mapping[int, type[RefusedError]] = {
    HTTPStatus.UNAUTHORIZED: NotionUnauthorizedError,
    HTTPStatus.FORBIDDEN: NotionUnauthorizedError,
    HTTPStatus.NOT_FOUND: NotionPageNotFoundError,
    HTTPStatus.TOO_MANY_REQUESTS: NotionRateLimitedError,
}


def _explain(status: int, *, path: str, wait: float | None) -> Sentence:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return say(
                "Notion does not accept the token. It was copied incompletely, or it was revoked."
                " Copy the integration's token from Notion again."
            )
        case HTTPStatus.FORBIDDEN:
            return say(
                "Notion accepts the token, but the integration may not do this. Give it the"
                " capabilities to read, update and insert content in its settings in Notion."
            )
        case HTTPStatus.NOT_FOUND:
            kind, object_id, *_ = [*path.split("/"), ""]
            return say(
                "Notion shows this integration no %(kind)s %(id)s. It does not exist, or it is not"
                " shared: open the page in Notion and add the integration to its connections; do so"
                " also for pages from which it shows synced blocks.",
                kind=_KINDS.get(kind, kind),
                id=object_id,
            )
        case HTTPStatus.TOO_MANY_REQUESTS:
            return say(
                "Notion received too many requests, perhaps also from other programs of the same"
                " workspace. Try again %(when)s.",
                when=say("in some minutes") if wait is None else _say_seconds(wait),
            )
        case _:
            return say(
                "Notion refused the request with status %(status)s, and would refuse it again."
                " Check that the address of Notion's API is right and that this version of"
                " Postledger is not too old for it.",
                status=str(status),
            )


def _say_seconds(wait: float) -> Sentence:
    return say("in %(seconds)s seconds", seconds=f"{wait:.0f}")


# What the paths of the API name.
_KINDS: Mapping[str, Sentence] = {
    "pages": say("page"),
    "blocks": say("block"),
    "databases": say("database"),
    "data_sources": say("data source"),
}


def _status_failure(status: int, *, headers: Mapping[str, str], path: str) -> FailedCall:
    """Leaves out Notion's own message: it may quote the request."""
    wait = parse_retry_after(headers.get("retry-after", ""))
    if status == HTTPStatus.CONFLICT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason = say("status %(status)s", status=str(status))
        return replace(_no_answer(reason), retry_after=wait)
    message = _explain(status, path=path, wait=wait)
    error = _ERRORS.get(status, NotionRequestRefusedError)(message)
    is_limited = status == HTTPStatus.TOO_MANY_REQUESTS
    return FailedCall(error, is_transient=is_limited, retry_after=wait, was_not_executed=is_limited)
