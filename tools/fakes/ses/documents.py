"""Reads the JSON documents of requests; a value of another type than the API's is a SesError."""

import json
from typing import cast

from tools.fakes.http.routing import Document
from tools.fakes.ses.errors import SesError, bad_request


def parse(body: bytes) -> Document:
    if not body:
        return {}
    try:
        document = json.loads(body)
    except ValueError:
        raise SesError("SerializationException") from None
    if not isinstance(document, dict):
        raise SesError("SerializationException", "Expected an object.")
    return cast("Document", document)


def text(document: Document, name: str) -> str:
    """A text, empty where it is missing."""
    return _typed(document, name, str, "")


def required_text(document: Document, name: str) -> str:
    value = text(document, name)
    if not value:
        raise bad_request(f"{name} must not be empty.")
    return value


def structure(document: Document, name: str) -> Document:
    return _typed(document, name, dict, {})


def texts(document: Document, name: str) -> list[str]:
    values: list[object] = _typed(document, name, list, [])
    if not all(isinstance(value, str) for value in values):
        raise SesError("SerializationException", f"{name} must have texts only.")
    return cast("list[str]", values)


def structures(document: Document, name: str) -> list[Document]:
    values: list[object] = _typed(document, name, list, [])
    if not all(isinstance(value, dict) for value in values):
        raise SesError("SerializationException", f"{name} must have objects only.")
    return cast("list[Document]", values)


def _typed[T](document: Document, name: str, kind: type[T], missing: T) -> T:
    value = document.get(name)
    if value is None:
        return missing
    if not isinstance(value, kind):
        raise SesError("SerializationException", f"{name} has a value of the wrong type.")
    return value
