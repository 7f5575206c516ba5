"""The query protocol of SNS: requests are forms, answers and errors are XML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from tools.fakes.http.exchanges import Answer
from tools.fakes.ses.errors import SesError

_NAMESPACE = "http://sns.amazonaws.com/doc/2010-03-31/"
# The gate of a query service has other names for the same errors.
_QUERY_NAMES = {
    "IncompleteSignatureException": "IncompleteSignature",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "MissingAuthenticationTokenException": "MissingAuthenticationToken",
    "UnrecognizedClientException": "InvalidClientTokenId",
    "ExpiredTokenException": "ExpiredToken",
    "UnknownOperationException": "InvalidAction",
}
_SERVER_ERRORS = 500

type Field = str | Mapping[str, Field] | Items
type Form = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Items:
    """A list: each of its items is an element with this name."""

    name: str
    fields: Sequence[Field]


def parse_form(text: str) -> Form:
    return dict(parse_qsl(text, keep_blank_values=True))


def read_map(form: Form, prefix: str, key: str = "key", value: str = "value") -> dict[str, str]:
    """A map or a list of pairs, such as Attributes.entry.1.key."""
    pairs = {}
    number = 1
    while (name := form.get(f"{prefix}.{number}.{key}")) is not None:
        pairs[name] = form.get(f"{prefix}.{number}.{value}", "")
        number += 1
    return pairs


def answer_result(action: str, result: Mapping[str, Field], request_id: str) -> Answer:
    fields = _write(result)
    body = (
        f'<{action}Response xmlns="{_NAMESPACE}"><{action}Result>{fields}</{action}Result>'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
        f"</{action}Response>"
    )
    return _answer(200, body, request_id)


def answer_error(error: SesError, request_id: str) -> Answer:
    side = "Receiver" if error.status >= _SERVER_ERRORS else "Sender"
    name = _QUERY_NAMES.get(error.name, error.name)
    body = (
        f'<ErrorResponse xmlns="{_NAMESPACE}"><Error><Type>{side}</Type><Code>{escape(name)}</Code>'
        f"<Message>{escape(error.message or '')}</Message></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    )
    return _answer(error.status, body, request_id)


def list_members(fields: Sequence[Field]) -> Items:
    return Items("member", fields)


def list_entries(entries: Mapping[str, str]) -> Items:
    return Items("entry", [{"key": key, "value": value} for key, value in entries.items()])


def _answer(status: int, body: str, request_id: str) -> Answer:
    return Answer(status, body.encode(), "text/xml", {"x-amzn-RequestId": request_id})


def _write(field: Field) -> str:
    match field:
        case str():
            return escape(field)
        case Items(name=name, fields=fields):
            return "".join(f"<{name}>{_write(item)}</{name}>" for item in fields)
        case _:
            return "".join(f"<{name}>{_write(value)}</{name}>" for name, value in field.items())
