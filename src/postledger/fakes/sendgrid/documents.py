"""Reads the JSON documents of requests."""

import json

from postledger.fakes.http.routing import Document
from postledger.fakes.sendgrid.errors import SendGridError


def parse(body: bytes) -> Document:
    try:
        document = json.loads(body)
    except ValueError:
        raise SendGridError("bad_request") from None
    if not isinstance(document, dict):
        raise SendGridError("bad_request")
    return document
