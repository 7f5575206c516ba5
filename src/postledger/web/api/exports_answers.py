"""Answers that are CSV files, sent while they are read."""

from collections.abc import Iterator
from itertools import batched
from typing import Any

from django.http import StreamingHttpResponse

# So many lines are sent together.
_TOGETHER = 500

# Ninja knows JSON alone.
DESCRIBED: dict[str, Any] = {
    "responses": {
        200: {
            "description": "OK",
            "content": {"text/csv": {"schema": {"type": "string"}}},
        }
    }
}


def answer(lines: Iterator[str], *, file_name: str) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        ("".join(some) for some in batched(lines, _TOGETHER)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )
