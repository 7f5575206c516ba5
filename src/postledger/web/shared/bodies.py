"""How large the body of a request may be, and what a view reads where no body is.

The front reads small bodies before it takes a thread. A larger body is read only once a view asks
for it: by then the caller is recognised, has the scope and keeps to the rate. Only where providers
post events a stranger may have it read, because the signature is over the body.
"""

import errno
import re
from collections.abc import Mapping
from http import HTTPStatus
from io import RawIOBase
from typing import Any, BinaryIO, override

type Body = BinaryIO | RawIOBase

KIB = 1024
MIB = 1024 * KIB

# Read before anybody is recognised, so strangers can make a process hold this much for each
# connection, and more only for a few that post events.
SMALL = 64 * KIB

# Notes of the front and of the authentication for each other, in the environment of a request:
# the key that sent it, and that it was counted before it ran again with its body.
KEY_ID = "postledger.key_id"
IS_COUNTED = "postledger.is_counted"

# Where providers post events. SNS repeats a request only after 5xx, so nothing that may pass is
# answered with 4xx there.
_SES_EVENTS = "/ses-events"
_SENDGRID_EVENTS = "/sendgrid-events/"  # and the account
_UPLOAD = "/v1/imports"
LARGEST_UPLOAD = 50 * MIB
# The dashboard asks who somebody is before it reads one of these.
_UPLOAD_FORM = re.compile(r"/w/[0-9]+/imports/upload/")
_DRAFT = re.compile(
    r"/w/[0-9]+/(?:campaigns/[0-9]+/edit/|content/articles/[a-z0-9-]+/slices/[a-z0-9]+/)"
)
_LARGEST_DRAFT = 2 * MIB
_TEMPLATE = re.compile(r"/w/[0-9]+/content/templates/[a-z0-9-]+/(?:write|try)/")
_LARGEST_TEMPLATE = 8 * MIB  # twenty texts
_PICTURE = re.compile(r"/w/[0-9]+/(?:campaigns/[0-9]+/edit/picture/|content/branding/save/)")
_LARGEST_PICTURE = 6 * MIB  # one of 5 MiB, and the other fields
# By the beginning of the path; the first that fits counts.
_LARGEST = (
    ("/v1/campaigns/send", 16 * KIB),  # accepts a password, so strangers send bodies here
    ("/v1/email/", 16 * MIB),  # attachments in base64, HTML and text as JSON
    ("/v1/articles", 8 * MIB),
    ("/v1/campaigns", 8 * MIB),
    ("/v1/content", 8 * MIB),
    ("/v1/templates", 8 * MIB),
    ("/v1/sources/", 8 * MIB),  # a snapshot of all items
    ("/v1/topics/", 8 * MIB),  # a thousand events
    ("/v1/", MIB),
    (_SES_EVENTS, 512 * KIB),
    (_SENDGRID_EVENTS, MIB),  # a post has 768 KB, and the event that exceeds them
)


class BodyWanted(BaseException):
    """A view asks for a body that the front has not read yet.

    No `except Exception` catches it, so it ends the view wherever that is; the front reads the body
    and runs the view again.
    """


def find_largest(path: str) -> int:
    """The size that the body of a request to this path may have, in bytes."""
    if path == _UPLOAD:
        return LARGEST_UPLOAD
    if _UPLOAD_FORM.fullmatch(path):
        return LARGEST_UPLOAD + SMALL  # the other fields of the form, and what separates them
    if _DRAFT.fullmatch(path):
        return _LARGEST_DRAFT
    if _PICTURE.fullmatch(path):
        return _LARGEST_PICTURE
    if _TEMPLATE.fullmatch(path):
        return _LARGEST_TEMPLATE
    return next((size for beginning, size in _LARGEST if path.startswith(beginning)), SMALL)


def is_for_events(path: str) -> bool:
    return path == _SES_EVENTS or path.startswith(_SENDGRID_EVENTS)


def is_for_imports(path: str) -> bool:
    """Whether the body is a file that is read to its end before the request is answered."""
    return path == _UPLOAD or _UPLOAD_FORM.fullmatch(path) is not None


class UnreadBody(RawIOBase):
    """Stands for a body that is still to come."""

    @override
    def read(self, size: int = -1, /) -> bytes:
        raise BodyWanted


class FailedBody(RawIOBase):
    """Stands for a body that cannot be read. Django passes the number of the error on."""

    def __init__(self, number: int) -> None:
        self.number = number

    @override
    def read(self, size: int = -1, /) -> bytes:
        raise OSError(self.number, errno.errorcode[self.number])


def too_large() -> FailedBody:
    return FailedBody(errno.EFBIG)


def too_late() -> FailedBody:
    return FailedBody(errno.ETIMEDOUT)


# What to answer where a body cannot be read; another number means a connection that broke.
STATUSES: Mapping[int, HTTPStatus] = {
    errno.EFBIG: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errno.ETIMEDOUT: HTTPStatus.REQUEST_TIMEOUT,
}


def find_failure(environ: Mapping[str, Any]) -> HTTPStatus | None:
    """How to answer a request whose body the front did not pass on."""
    body = environ.get("wsgi.input")
    return STATUSES[body.number] if isinstance(body, FailedBody) else None
