"""What it means when Supabase does not answer as wished, and whether to ask again."""

from dataclasses import dataclass
from http import HTTPStatus

from postledger.contacts.supabase import refusals
from postledger.lib.errors import RefusedError

_LONGEST_WAIT = 15.0  # beyond it, the next pass of the schedule comes as soon


@dataclass(frozen=True, slots=True)
class Trouble:
    refusal: RefusedError
    is_passing: bool = False
    retry_after: float | None = None

    def pause(self, usual: float | None) -> float | None:
        """How long to wait before the next try; None when there should be none."""
        if not self.is_passing or usual is None:
            return None
        wanted = usual if self.retry_after is None else self.retry_after
        return wanted if wanted <= _LONGEST_WAIT else None


def silence(what: str) -> Trouble:
    """There was no answer, or one that only a broken line or a broken server gives."""
    return Trouble(_unreachable(what), is_passing=True)


def of_status(status: int, *, retry_after: str) -> Trouble:
    """What Supabase says in its own words is left out: it may quote what it was sent."""
    seconds = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return Trouble(refusals.UnauthorizedError(_NOT_ACCEPTED))
        case HTTPStatus.NOT_FOUND:
            return Trouble(refusals.TableUnknownError(_NO_TABLE))
        case HTTPStatus.TOO_MANY_REQUESTS:
            refused = refusals.RateLimitedError(_TOO_MANY)
            return Trouble(refused, is_passing=True, retry_after=seconds)
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Trouble(_unreachable(f"status {status}"), is_passing=True, retry_after=seconds)
        case _:
            return Trouble(refusals.RequestRefusedError(_refused(status)))


_NOT_ACCEPTED = (
    "Supabase does not accept the key. It was copied incompletely, was replaced, or is not that of"
    " the service role. Copy the service role's key from the project's settings, under API keys,"
    f" to a file, and run {refusals.SET_KEY}."
)
_NO_TABLE = (
    "Supabase has no table subscribers there. Check that the table is in a schema that the API of"
    f" the project shows. If the address is of another project, run {refusals.SET_URL}."
)
_TOO_MANY = (
    "Supabase was asked too often, perhaps also by other programs. Nothing is lost: the sync goes"
    " on by itself in some minutes."
)


def _unreachable(what: str) -> RefusedError:
    return refusals.UnreachableError(
        f"Supabase could not be reached, or did not answer as it should ({what})."
        " Check that this machine reaches the project, and that it is not paused: the sync then"
        " goes on by itself where it stopped. If the address is of another project, run"
        f" {refusals.SET_URL}."
    )


def _refused(status: int) -> str:
    return (
        f"Supabase refused the request with status {status}, and would refuse it again."
        " Check that the table subscribers has the columns email, status, bounce_type,"
        " bounce_subtype, status_updated_at and from_name, and that they take these values."
    )
