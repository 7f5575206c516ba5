"""Sets up at a provider that it reports to us: the steps, the names of what is made, the URL."""

import re
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

_PREFIX = "postledger"
_LONGEST_PART = 20  # the whole name has at most 64 characters: that of a configuration set of SES
_VISIBLE = re.compile(r"[!-~]+")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


class InvalidUrlError(RefusedError):
    code = "invalid_url"


class StepState(StrEnum):
    DONE = "done"
    PRESENT = "already there"
    WAITING = "waiting"  # for somebody else
    ABSENT = "not there"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Step:
    subject: str  # one word
    state: StepState
    message: str  # one sentence


def name_resources(workspace: str, account: str, tag: str) -> str:
    """The name of everything that we create for an account.

    The tag tells installations apart that use one account of the provider.
    """
    parts = [_FOREIGN.sub("-", part)[:_LONGEST_PART] for part in (workspace, account)]
    return "-".join([_PREFIX, *parts, tag])


def check_url(url: str, *, poster: str, path: str, is_here: bool) -> None:
    """Raises InvalidUrlError; plain HTTP is for a fake on this machine."""
    schemes = {"https", "http"} if is_here else {"https"}
    if not _can_be_posted_to(url, schemes):
        raise InvalidUrlError(
            say(
                "%(poster)s posts over HTTPS only: write the URL as"
                " https://mail.acme.example%(path)s.",
                poster=poster,
                path=path,
            )
        )


def _can_be_posted_to(url: str, schemes: Container[str]) -> bool:
    try:
        parts = urlsplit(url)
        is_port = parts.port != 0
    except ValueError:  # brackets that are not closed, or a port above 65535
        return False
    is_host = bool(parts.hostname) and "@" not in parts.netloc
    # urlsplit drops line breaks, and leaves spaces where they are.
    return parts.scheme in schemes and is_host and is_port and _VISIBLE.fullmatch(url) is not None
