"""A folder of pictures copied from Notion, each named by the digest of its bytes."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

import httpx

from postledger.content import picture_types
from postledger.content.picture_types import ENDINGS, MOST_BYTES
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

NOTION_ORIGINS = frozenset(
    {
        "https://prod-files-secure.s3.us-west-2.amazonaws.com",
        "https://s3.us-west-2.amazonaws.com",
        "https://s3-us-west-2.amazonaws.com",
    }
)

_SECONDS = 10.0
_READABLE = 0o644


class UnavailableError(RefusedError):
    code = "picture_unavailable"


class NotCopiedError(UnavailableError):
    """Nothing is wrong with the picture: it is copied when it is needed."""

    code = "picture_not_copied"


class Album:
    """Keeps pictures for good, because mails that were sent still show them.

    Fetches only from the origins, such as https://files.example, and follows no redirects: a URL in
    a page must not make this machine send requests to its own network.
    """

    def __init__(
        self,
        folder: Path,
        *,
        base_url: str,
        origins: frozenset[str] = NOTION_ORIGINS,
        seconds: float = _SECONDS,
    ) -> None:
        self._folder = folder
        self._base_url = base_url.rstrip("/")
        self._origins = origins
        self._seconds = seconds
        self._tls = httpx.create_ssl_context()  # takes a tenth of a second

    def keep(self, url: str) -> str:
        """The URL of the copy; the same bytes always have the same one."""
        content, content_type = self._fetch(url)
        if picture_types.find_type(content) != content_type:
            raise _unavailable(say("Its content does not match its type."))
        name = f"{sha256(content).hexdigest()}.{ENDINGS[content_type]}"
        self._write(self._folder / name, content)
        return f"{self._base_url}/{name}"

    def _fetch(self, url: str) -> tuple[bytes, str]:
        try:
            return self._download(self._permitted(url))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _unavailable(
                say("Fetching it failed (%(name)s).", name=type(error).__name__)
            ) from None

    def _permitted(self, url: str) -> httpx.URL:
        parsed = httpx.URL(url)
        origin = f"{parsed.scheme}://{parsed.netloc.decode()}"
        if parsed.userinfo or origin not in self._origins:
            raise _unavailable(say("It is on a host that is not one of Notion's."))
        return parsed

    def _download(self, url: httpx.URL) -> tuple[bytes, str]:
        """Avoids httpx's client, which logs URLs: these contain a signature."""
        deadline = time.monotonic() + self._seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._seconds)
        request = httpx.Request("GET", url, extensions={"timeout": timeouts})
        with httpx.HTTPTransport(verify=self._tls) as transport:
            response = transport.handle_request(request)
            with closing(response):
                content_type = _content_type(response)
                return b"".join(_limited(response.iter_raw(), deadline)), content_type

    def _write(self, path: Path, content: bytes) -> None:
        """Writes the file completely or not at all, even if the machine stops."""
        if path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as temporary:
            draft = Path(temporary, path.name)
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(_READABLE)
            draft.replace(path)


def _content_type(response: httpx.Response) -> str:
    if response.status_code != HTTPStatus.OK:
        raise _unavailable(
            say(
                "Fetching it was answered with status %(status)s.",
                status=str(response.status_code),
            )
        )
    header = str(response.headers.get("content-type", ""))
    content_type = header.partition(";")[0].strip().lower()
    if content_type not in ENDINGS:
        raise _unavailable(say("It is not a PNG, JPEG, GIF or WebP."))
    return content_type


def _limited(chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise _unavailable(say("It has more than %(most)s MB.", most=MOST_BYTES // 1024**2))
        if time.monotonic() > deadline:
            raise _unavailable(say("Fetching it took too long."))
        yield chunk


def _unavailable(reason: str) -> UnavailableError:
    return UnavailableError(
        say(
            "%(reason)s Its description is shown instead. Try again, or put a smaller PNG or"
            " JPEG into the page.",
            reason=reason,
        )
    )
