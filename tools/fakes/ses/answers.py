"""The answers of SES: JSON with the id of the request, and errors that name their type."""

import json

from tools.fakes.http.exchanges import Answer
from tools.fakes.ses.errors import SesError


def answer_document(document: object, request_id: str, status: int = 200) -> Answer:
    body = json.dumps(document).encode()
    return Answer(status, body, headers={"x-amzn-RequestId": request_id})


def answer_error(error: SesError, request_id: str) -> Answer:
    headers = {"x-amzn-RequestId": request_id, "x-amzn-ErrorType": error.name}
    return Answer(error.status, json.dumps({"message": error.message}).encode(), headers=headers)
