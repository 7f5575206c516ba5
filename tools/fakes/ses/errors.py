"""The errors of SES: their names, their HTTP statuses and their usual messages."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from tools.fakes.http.errors import VendorError

_UNKNOWN_CLIENT = "The security token included in the request is invalid."
_WRONG_SIGNATURE = (
    "The request signature we calculated does not match the signature you provided. Check your AWS"
    " Secret Access Key and signing method. Consult the service documentation for details."
)
# The first part are those of the API itself; the second are said by the gate before every AWS
# service. SES v2 says UnrecognizedClientException and InvalidSignatureException where v1 says
# InvalidClientTokenId and SignatureDoesNotMatch; all can be scripted.
_KNOWN: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "AccountSuspendedException": (400, "Sending has been permanently disabled."),
        "AlreadyExistsException": (400, "The resource already exists."),
        "BadRequestException": (400, "The request is not valid."),
        "ConcurrentModificationException": (500, "The resource is being modified."),
        "ConflictException": (409, "The resource is in use."),
        "InternalServiceErrorException": (500, "An internal error occurred."),
        "InvalidNextTokenException": (400, "The next token is not valid."),
        "LimitExceededException": (400, "A limit was exceeded."),
        "MailFromDomainNotVerifiedException": (400, "The MAIL FROM domain is not verified."),
        "MessageRejected": (400, "Email was rejected."),
        "NotFoundException": (404, "The resource does not exist."),
        "SendingPausedException": (400, "Sending is paused for this account."),
        "TooManyRequestsException": (429, "Maximum sending rate exceeded."),
        "AccessDeniedException": (403, "The user is not authorized to perform this operation."),
        "ExpiredTokenException": (403, "The security token included in the request is expired"),
        "IncompleteSignatureException": (403, "The Authorization header is incomplete."),
        "InvalidClientTokenId": (403, _UNKNOWN_CLIENT),
        "InvalidSignatureException": (403, _WRONG_SIGNATURE),
        "MissingAuthenticationTokenException": (403, "Missing Authentication Token"),
        "RequestEntityTooLarge": (413, "The request is too large."),
        "SerializationException": (400, "The request is not valid JSON."),
        "ServiceUnavailable": (503, "Service is unable to handle request."),
        "SignatureDoesNotMatch": (403, _WRONG_SIGNATURE),
        "ThrottlingException": (400, "Rate exceeded"),
        "UnknownOperationException": (404, "There is no such operation."),
        "UnrecognizedClientException": (403, _UNKNOWN_CLIENT),
    }
)


class SesError(VendorError):
    known: ClassVar = _KNOWN


def bad_request(message: str | None) -> SesError:
    return SesError("BadRequestException", message)
