"""Why Notion did not do what it was asked for, and what to do about it."""

from postledger.lib.errors import RefusedError


class UnreachableError(RefusedError):
    code = "notion_unreachable"


class UnauthorizedError(RefusedError):
    code = "notion_unauthorized"


class PageNotFoundError(RefusedError):
    code = "notion_page_not_found"


class RateLimitedError(RefusedError):
    code = "notion_rate_limited"


class RequestRefusedError(RefusedError):
    code = "notion_request_refused"


class PageTooLargeError(RefusedError):
    code = "notion_page_too_large"
