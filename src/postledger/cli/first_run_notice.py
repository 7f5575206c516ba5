"""What an operator is told while nobody can sign in: where the first run is, and its code."""

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from postledger.accounts.people import first_run
from postledger.cli import database_errors
from postledger.lib.errors import RefusedError

_PATH = "/first-run"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  no address to visit


def find_url(*, host: str = "127.0.0.1", port: int = 8000) -> str:
    """The page of the first run, at the public address if there is one."""
    base = settings.PUBLIC_URL.rstrip("/") or f"http://{_EVERYWHERE.get(host, host)}:{port}"
    return base + _PATH


def invite(url: str) -> str | None:
    """A new code with its URL; None if somebody can sign in already."""
    code = first_run.issue_code()
    if code is None:
        return None
    return f"Nobody can sign in yet. Open {url} and enter the code {code}"


def invite_if_possible(url: str) -> str | None:
    """As `invite`; how to get a code later, if the database is away or not set up."""
    try:
        return invite(url)
    except RefusedError as refused:
        reason = str(refused)
    except (DatabaseError, InterfaceError) as error:
        reason = database_errors.explain(error) or "The database refused the question."
    return f"{reason} Once that is done, postledger first-run prints the code of the first run."
