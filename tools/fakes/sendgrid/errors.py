"""The errors of SendGrid: their statuses and their usual messages.

SendGrid gives errors no names; those here are for rules of faults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from tools.fakes.http.errors import VendorError

_HELP = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html#message."
_UNVERIFIED = (
    "The from address does not match a verified Sender Identity. Mail cannot be sent until this"
    " error is resolved. Visit"
    " https://sendgrid.com/docs/for-developers/sending-email/sender-identity/ to see the Sender"
    " Identity requirements"
)
_KNOWN: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "bad_request": (400, "Bad Request"),
        "no_key": (401, "authorization required"),
        "unauthorized": (401, "The provided authorization grant is invalid, expired, or revoked"),
        "credits_exceeded": (401, "Maximum credits exceeded"),
        "forbidden": (403, "access forbidden"),
        "unverified_sender": (403, _UNVERIFIED),
        "not_found": (404, "not found"),
        "method_not_allowed": (405, "method not allowed"),
        "too_large": (413, "content too large"),
        "too_many_requests": (429, "too many requests"),
        "internal_error": (500, "internal server error"),
        "unavailable": (503, "service unavailable"),
    }
)


@dataclass(frozen=True, slots=True)
class Issue:
    message: str
    field: str | None = None  # such as personalizations.0.to

    def to_document(self) -> Mapping[str, object]:
        if self.field is None:
            return {"message": self.message, "field": None, "help": None}
        words = (word for word in self.field.split(".") if not word.isdecimal())
        return {"message": self.message, "field": self.field, "help": _HELP + ".".join(words)}


class SendGridError(VendorError):
    known: ClassVar = _KNOWN
    issues: Sequence[Issue] = ()  # empty: the error itself is the only one

    def to_document(self) -> Mapping[str, object]:
        issues = self.issues or (Issue(self.message or ""),)
        return {"errors": [issue.to_document() for issue in issues]}


def bad_request(*issues: Issue) -> SendGridError:
    error = SendGridError("bad_request")
    error.issues = issues
    return error


def unverified_sender() -> SendGridError:
    error = SendGridError("unverified_sender")
    error.issues = (Issue(error.message or "", "from"),)
    return error
