"""What it means when Notion does not answer as wished, and whether to ask again."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from postledger.content.notion import refusals
from postledger.lib.errors import RefusedError

_LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Trouble:
    refusal: RefusedError
    is_passing: bool = False
    retry_after: float | None = None
    is_undone: bool = False  # Notion did not do what it was asked for, for sure

    def pause(self, usual: float | None) -> float | None:
        """How long to wait before the next try; None when there should be none."""
        if not self.is_passing or usual is None:
            return None
        wanted = usual if self.retry_after is None else self.retry_after
        return wanted if wanted <= _LONGEST_WAIT else None


def silence(what: str) -> Trouble:
    """There was no answer, or one that only a broken line or a broken server gives."""
    return Trouble(_unreachable(what), is_passing=True)


def of_status(status: int, *, headers: Mapping[str, str], path: str) -> Trouble:
    """What Notion says in its own words is left out: it may quote what it was sent."""
    retry_after = _seconds(headers.get("retry-after", ""))
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return Trouble(refusals.UnauthorizedError(_NOT_ACCEPTED))
        case HTTPStatus.FORBIDDEN:
            return Trouble(refusals.UnauthorizedError(_NO_CAPABILITY))
        case HTTPStatus.NOT_FOUND:
            return Trouble(refusals.PageNotFoundError(_not_found(path)))
        case HTTPStatus.TOO_MANY_REQUESTS:
            refusal = refusals.RateLimitedError(_too_many(retry_after))
            return Trouble(refusal, is_passing=True, retry_after=retry_after, is_undone=True)
        case _ if status == HTTPStatus.CONFLICT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            refused = _unreachable(f"status {status}")
            return Trouble(refused, is_passing=True, retry_after=retry_after)
        case _:
            return Trouble(refusals.RequestRefusedError(_refused(status)))


def _seconds(retry_after: str) -> float | None:
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None


_NOT_ACCEPTED = (
    "Notion does not accept the token. It was copied incompletely, or it was revoked."
    " Copy the integration's token from Notion again."
)
_NO_CAPABILITY = (
    "Notion accepts the token, but the integration may not do this."
    " Give it the capabilities to read, update and insert content in its settings in Notion."
)


def _not_found(path: str) -> str:
    kind, _, rest = path.partition("/")
    block_id = rest.partition("/")[0]
    return (
        f"Notion shows this integration no {kind.removesuffix('s')} {block_id}."
        " It does not exist, or it is not shared: open the page in Notion and add the integration"
        " to its connections; do so also for pages from which it shows synced blocks."
    )


def _too_many(retry_after: float | None) -> str:
    after = f"in {retry_after:.0f} seconds" if retry_after is not None else "in some minutes"
    return (
        "Notion was asked too often, perhaps also by other programs of the same workspace."
        f" Try again {after}."
    )


def _unreachable(what: str) -> RefusedError:
    return refusals.UnreachableError(
        f"Notion could not be reached, or did not answer as it should ({what})."
        " Check that this machine reaches Notion's API and that Notion reports no outage,"
        " then try again."
    )


def _refused(status: int) -> str:
    return (
        f"Notion refused the request with status {status}, and would refuse it again."
        " Check that the address of Notion's API is right and that this version of Postledger is"
        " not too old for it."
    )
