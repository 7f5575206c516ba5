"""Why Supabase did not do what it was asked for, and what to do about it."""

from postledger.lib.errors import RefusedError


class NotSetUpError(RefusedError):
    code = "supabase_not_set_up"


class BusyError(RefusedError):
    code = "supabase_busy"


class UnreachableError(RefusedError):
    code = "supabase_unreachable"


class UnauthorizedError(RefusedError):
    code = "supabase_unauthorized"


class TableUnknownError(RefusedError):
    code = "supabase_table_unknown"


class RateLimitedError(RefusedError):
    code = "supabase_rate_limited"


class RequestRefusedError(RefusedError):
    code = "supabase_request_refused"
