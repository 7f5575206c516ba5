"""Reads and writes the table `subscribers` of a Supabase project, by PostgREST's protocol.

Only the HTTP client has the key: no error, log line or traceback shows it.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TypeGuard

import httpx

from postledger.lib.remote_calls import FailedCall, call_with_retries, fits_header
from postledger.supabase import errors
from postledger.supabase.rows import Record

PAGE_SIZE = 1_000  # the most that a project returns, unless it is configured otherwise

_TABLE = "rest/v1/subscribers"
_COLUMNS = "email,status,bounce_type,bounce_subtype,status_updated_at,from_name"
_PAUSES = (1.0, 2.0, 4.0)
_LONGEST_WAIT = 15.0  # seconds; beyond it, the next scheduled pass comes as soon


@contextmanager
def connect(
    url: str,
    key: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
    seconds: float = 30.0,
) -> Iterator["SubscribersTable"]:
    """The table while the block lasts; `seconds` is the timeout of one request."""
    key = key.strip()
    if not fits_header(key):
        raise errors.invalid_key()
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Accept": "application/json"}
    with httpx.Client(base_url=url, headers=headers, timeout=seconds, verify=_trusted()) as http:
        yield SubscribersTable(http, sleep)


@cache
def _trusted() -> ssl.SSLContext:
    """Loads the authorities once: that costs more than a request."""
    return httpx.create_ssl_context()


class SubscribersTable:
    def __init__(self, http: httpx.Client, sleep: Callable[[float], None]) -> None:
        self._http = http
        self._sleep = sleep

    def read_after(self, email: str, *, limit: int = PAGE_SIZE) -> list[Record]:
        """The next rows in the order of their emails; only an empty list means the end.

        A project may return fewer rows at a time than were requested.
        """
        query = {
            "select": _COLUMNS,
            "email": f"gt.{email}",
            "order": "email.asc",
            "limit": str(limit),
        }
        return self._request("GET", query)

    def update_if_same(self, row: Record, values: Record) -> bool:
        """Writes to a row unless it changed since it was read; returns whether it wrote."""
        query = {
            "select": "email",
            "email": f"eq.{row['email']}",
            "status": _equals(row.get("status")),
            "status_updated_at": _equals(row.get("status_updated_at")),
        }
        return bool(self._request("PATCH", query, values))

    def _request(
        self, method: str, query: Mapping[str, str], body: Record | None = None
    ) -> list[Record]:
        return call_with_retries(
            lambda: self._try(method, query, body),
            pauses=_PAUSES,
            longest_wait=_LONGEST_WAIT,
            sleep=self._sleep,
        )

    def _try(
        self, method: str, query: Mapping[str, str], body: Record | None
    ) -> list[Record] | FailedCall:
        headers = {} if body is None else {"Prefer": "return=representation"}
        try:
            answer = self._http.request(
                method, _TABLE, params=dict(query), json=body, headers=headers
            )
            if not answer.is_success:
                wait = answer.headers.get("retry-after", "")
                return errors.status_failure(answer.status_code, retry_after=wait)
            rows = answer.json()
        except httpx.HTTPError as error:
            return errors.no_usable_answer(type(error).__name__)
        except ValueError:
            return errors.no_usable_answer("its answer is not JSON")
        return rows if _are_rows(rows) else errors.no_usable_answer("its answer is not a list")


def _are_rows(answer: object) -> TypeGuard[list[Record]]:
    """The email of the last row is the cursor of the next page."""
    return isinstance(answer, list) and all(
        isinstance(row, dict) and isinstance(row.get("email"), str) and row["email"]
        for row in answer
    )


def _equals(value: object) -> str:
    return "is.null" if value is None else f"eq.{value}"
