"""Reads the JSON documents of requests."""

import json

from tools.fakes.http.routing import Document
from tools.fakes.sendgrid.errors import SendGridError


def parse(body: bytes) -> Document:
    try:
        document = json.loads(body)
    except ValueError:
        raise SendGridError("bad_request") from None
    if not isinstance(document, dict):
        raise SendGridError("bad_request")
    return document
