"""Decides about each request to SNS: who signed it, which fault it meets, and what follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tools.fakes.http.exchanges import Answer, Request
from tools.fakes.http.faults import AnswerError, Fault, Operation, Script, Stage, is_refusal
from tools.fakes.ses import sigv4
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.sigv4 import Credential
from tools.fakes.ses.sns import operations
from tools.fakes.ses.sns.certificate import process_signer
from tools.fakes.ses.sns.operations import READING, UNSIGNED, Confirmation, Query
from tools.fakes.ses.sns.queries import answer_error, answer_result, parse_form
from tools.fakes.ses.sns.topics import Topics

_CERTIFICATES = "/SimpleNotificationService-"


@dataclass(frozen=True, slots=True)
class HandledQuery:
    answer: Answer | None  # None: the fault leaves nothing to answer
    fault: Fault | None = None
    confirmations: Sequence[Confirmation] = ()
    is_change: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """What a request to SNS is judged by."""

    topics: Topics
    credentials: Mapping[str, Credential]
    script: Script


def is_query(request: Request) -> bool:
    return request.raw_path == "/"


def is_certificate(request: Request) -> bool:
    return request.target.startswith(_CERTIFICATES)


def answer_certificate(request: Request) -> Answer:
    signer = process_signer()
    if request.target != signer.path:
        return Answer(404, b"There is no such certificate.\n", "text/plain")
    return Answer(200, signer.pem, "application/x-pem-file")


def handle(request: Request, gate: Gate, request_id: str, now: datetime) -> HandledQuery:
    try:
        return _run(request, gate, request_id, now)
    except SesError as error:
        return HandledQuery(answer_error(error, request_id))


def _run(request: Request, gate: Gate, request_id: str, now: datetime) -> HandledQuery:
    is_link = request.method == "GET"
    form = parse_form(request.raw_query if is_link else request.body.decode("utf-8", "replace"))
    action = form.get("Action", "")
    is_signed = "authorization" in request.headers
    if is_signed or action not in UNSIGNED:
        sigv4.verify(request, gate.credentials, gate.topics.region, now, "sns")
    fault = gate.script.choose(Stage.REQUEST, Operation(action))
    if isinstance(fault, AnswerError):
        raise SesError(fault.name, fault.message, fault.status)
    if fault is not None and is_refusal(fault):
        return HandledQuery(None, fault)
    try:
        result = operations.run(Query(gate.topics, form, is_signed))
    except SesError as error:
        return HandledQuery(answer_error(error, request_id), fault)
    return HandledQuery(
        answer_result(action, result.fields, request_id),
        fault,
        result.confirmations,
        is_change=not action.startswith(READING),
    )
