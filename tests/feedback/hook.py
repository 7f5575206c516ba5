"""Posts to the endpoint for events as SNS does."""

from collections.abc import Mapping
from typing import Any

from django.test import Client

from tests.feedback import sns


def post(body: bytes | Mapping[str, object], **headers: str) -> Any:
    content = body if isinstance(body, bytes) else sns.as_body(body)
    return Client().post(
        "/ses-events", content, content_type="text/plain; charset=UTF-8", headers=headers
    )
