"""Which messages a worker takes from the broker: those that Postledger itself sends.

A broker is shared, and its queues outlive versions. A message of any other kind is dropped and
logged without its content; nothing is lost by that, because workers poll too.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kombu.message import Message

_JSON = "application/json"
_MOST_BYTES = 10_000
_LONGEST_ID = 100
_LARGEST_STREAM_ID = 2**63 - 1
_WAKE = "postledger.wake"
# What Celery can be asked to do around a task. Nothing of ours asks for any of it.
_UNUSED_HEADERS = ("eta", "shadow", "group", "chord", "stamps", "stamped_headers", "compression")


def find_fault(message: Message, tasks: frozenset[str]) -> str:
    """Why the message is none of ours; empty if it is one. `tasks` are the names of our tasks."""
    if message.content_type != _JSON:
        return "its content type is not JSON"
    if len(message.body or b"") > _MOST_BYTES:
        return "its body is too long"
    fault = _find_header_fault(message.headers, tasks)
    if fault:
        return fault
    try:
        body = message.decode()
    except Exception as error:  # noqa: BLE001  whatever the bytes are
        return f"its body cannot be decoded: {type(error).__name__}"
    return _find_body_fault(body, message.headers["task"])


def _find_header_fault(headers: object, tasks: frozenset[str]) -> str:
    if not isinstance(headers, Mapping):
        return "it has no headers"
    task, task_id = headers.get("task"), headers.get("id")
    if not isinstance(task, str) or task not in tasks:
        return "its task is unknown"
    if not isinstance(task_id, str) or len(task_id) > _LONGEST_ID:
        return "its id is not a short text"
    if not _is_time(headers.get("expires")):
        return "its expiry is not a time"
    if headers.get("timelimit") not in (None, [None, None]):
        return "it has a time limit"
    used = [name for name in _UNUSED_HEADERS if headers.get(name)]
    return f"its header {used[0]} is not empty" if used else ""


def _is_time(expires: object) -> bool:
    """Whether Celery can read an expiry; it logs one that it cannot read."""
    if not isinstance(expires, str):
        return expires is None
    try:
        datetime.fromisoformat(expires)
    except ValueError:
        return False
    return True


def _find_body_fault(body: Any, task: str) -> str:
    match body:
        case [list(args), {**kwargs}, {**embedded}] if not kwargs and not any(embedded.values()):
            return "" if _are_arguments(args, task) else "its arguments are not those of its task"
        case _:
            return "its body is not that of a task"


def _are_arguments(args: list[Any], task: str) -> bool:
    match args:
        case [int(stream_id)] if task == _WAKE and not isinstance(stream_id, bool):
            return 0 <= stream_id <= _LARGEST_STREAM_ID
        case _:
            return not args and task != _WAKE
