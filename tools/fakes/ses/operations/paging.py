"""Pages of a list; the token of the next page is the position where it begins."""

from collections.abc import Sequence
from typing import Any

from tools.fakes.ses.errors import SesError, bad_request

MAX_PAGE = 1000


def cut_page[T](
    items: Sequence[T], token: str, size: str | int | None
) -> tuple[Sequence[T], dict[str, Any]]:
    """The items of one page, and the member NextToken if more follow."""
    if size is not None and not str(size).isdecimal():
        raise bad_request("PageSize must be a number.")
    if token and not token.isdecimal():
        raise SesError("InvalidNextTokenException")
    page_size = int(size or MAX_PAGE)
    if page_size > MAX_PAGE:
        raise bad_request(f"PageSize can be no more than {MAX_PAGE}.")
    begin = int(token or 0)
    end = begin + page_size
    return items[begin:end], {"NextToken": str(end)} if end < len(items) else {}
