"""Why Supabase did not do what it was asked for, and what to do about it."""

from postledger.lib.errors import RefusedError

_SET = "postledger integration set WORKSPACE supabase"
SET_KEY = f"{_SET} --secret api_key=FILE"
SET_URL = f"{_SET} --set url=URL"


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


class RowsMissingError(RefusedError):
    code = "supabase_rows_missing"


def not_set_up() -> NotSetUpError:
    return NotSetUpError(
        "There is nothing to sync with: the first workspace has no Supabase project. Run"
        f" {SET_KEY} --set url=URL."
    )


def overtaken() -> BusyError:
    return BusyError(
        "Another process syncs the same subscribers, and was faster. Let it finish; nothing was"
        " taken twice."
    )


def rows_missing(count: int, *, of: int) -> RowsMissingError:
    return RowsMissingError(
        f"{count} of {of} subscribers that were in Supabase are missing there, so nobody was"
        " deleted here: a table whose rows are hidden, by a policy or a key that is not that of"
        " the service role, or another project looks the same. Mend that, and the next pass finds"
        " them. If they are really gone, run postledger supabase sync --accept-missing, which"
        " deletes them here, too."
    )
