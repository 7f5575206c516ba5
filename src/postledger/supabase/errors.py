"""Errors of the sync with Supabase: what went wrong, what to do, and whether to try again."""

from http import HTTPStatus

from postledger.lib.errors import RefusedError
from postledger.lib.remote_calls import FailedCall, parse_retry_after

_SET = "postledger integration set WORKSPACE supabase"
SET_KEY = f"{_SET} --secret api_key=FILE"
SET_URL = f"{_SET} --set url=URL"


class SupabaseNotSetUpError(RefusedError):
    code = "supabase_not_set_up"


class SupabaseBusyError(RefusedError):
    code = "supabase_busy"


class SupabaseUnreachableError(RefusedError):
    code = "supabase_unreachable"


class SupabaseUnauthorizedError(RefusedError):
    code = "supabase_unauthorized"


class SupabaseTableUnknownError(RefusedError):
    code = "supabase_table_unknown"


class SupabaseRateLimitedError(RefusedError):
    code = "supabase_rate_limited"


class SupabaseRequestRefusedError(RefusedError):
    code = "supabase_request_refused"


class SupabaseRowsMissingError(RefusedError):
    code = "supabase_rows_missing"


def not_set_up() -> SupabaseNotSetUpError:
    return SupabaseNotSetUpError(
        f"The first workspace has no Supabase project. Run {SET_KEY} --set url=URL."
    )


def overtaken() -> SupabaseBusyError:
    return SupabaseBusyError(
        "Another process is already doing this. Let it finish; no row was applied twice."
    )


def rows_missing(count: int, *, of: int) -> SupabaseRowsMissingError:
    return SupabaseRowsMissingError(
        f"{count} of {of} subscribers are missing in Supabase, so no contact was deleted: a table"
        " whose rows are hidden by a policy or by a wrong key, or another project, looks the same."
        " Correct that, and the next pass finds them. If they are really gone, run postledger"
        " supabase sync --accept-missing, which deletes their contacts."
    )


def invalid_key() -> SupabaseUnauthorizedError:
    return SupabaseUnauthorizedError(
        "The key of the service role is empty, or contains characters that no key has. Copy it from"
        f" the project's settings to a file again, and run {SET_KEY}."
    )


def no_usable_answer(cause: str) -> FailedCall:
    """There was no answer, or one that only a broken connection or server gives."""
    return FailedCall(_unreachable(cause), is_transient=True)


def status_failure(status: int, *, retry_after: str) -> FailedCall:
    """Supabase's own message is left out: it may quote the request."""
    seconds = parse_retry_after(retry_after)
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return FailedCall(SupabaseUnauthorizedError(_NOT_ACCEPTED))
        case HTTPStatus.NOT_FOUND:
            return FailedCall(SupabaseTableUnknownError(_NO_TABLE))
        case HTTPStatus.TOO_MANY_REQUESTS:
            too_many = SupabaseRateLimitedError(_TOO_MANY)
            return FailedCall(too_many, is_transient=True, retry_after=seconds)
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            unreachable = _unreachable(f"status {status}")
            return FailedCall(unreachable, is_transient=True, retry_after=seconds)
        case _:
            return FailedCall(SupabaseRequestRefusedError(_refused(status)))


_NOT_ACCEPTED = (
    "Supabase does not accept the key. It was copied incompletely, was replaced, or is not that of"
    " the service role. Copy the service role's key from the project's settings, under API keys,"
    f" to a file, and run {SET_KEY}."
)
_NO_TABLE = (
    "The Supabase project has no table subscribers. Check that the table is in a schema that the"
    f" API of the project exposes. If the URL is that of another project, run {SET_URL}."
)
_TOO_MANY = (
    "Supabase got too many requests, perhaps also from other programs. Nothing is lost: the sync"
    " continues by itself in some minutes."
)


def _unreachable(cause: str) -> RefusedError:
    return SupabaseUnreachableError(
        f"Supabase could not be reached, or gave no usable answer ({cause}). Check that this"
        " machine reaches the project, and that the project is not paused: the sync then continues"
        f" by itself where it stopped. If the URL is that of another project, run {SET_URL}."
    )


def _refused(status: int) -> str:
    return (
        f"Supabase refused the request with status {status}, and would refuse it again."
        " Check that the table subscribers has the columns email, status, bounce_type,"
        " bounce_subtype, status_updated_at and from_name, and that they accept these values."
    )
