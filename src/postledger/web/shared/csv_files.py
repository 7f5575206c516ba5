"""CSV files, sent while their lines are read."""

from collections.abc import Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

_CHUNK_SIZE = 64 * 1024  # bytes


def csv_response(lines: Iterator[str], *, file_name: str) -> StreamingHttpResponse:
    """Sends the lines while they are read."""
    disposition = content_disposition_header(as_attachment=True, filename=file_name)
    return StreamingHttpResponse(
        _join_lines(lines),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": str(disposition)},
    )


def _join_lines(lines: Iterator[str]) -> Iterator[bytes]:
    """Chunks of some kilobytes, however long a line is."""
    chunk = bytearray()
    for line in lines:
        chunk += line.encode()
        if len(chunk) >= _CHUNK_SIZE:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)
