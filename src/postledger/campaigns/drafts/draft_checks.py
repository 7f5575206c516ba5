"""What the parts of a draft must be: to be stored, and still when it is launched.

A draft that was right becomes wrong by itself: its list or its sender is archived, its time passes.
Then it can be changed all the same, and its launch is refused.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from postledger.accounts import constraints
from postledger.accounts import queries as accounts
from postledger.contacts import lists
from postledger.contacts.filters import expressions, parsing
from postledger.content.rendering.html import checks
from postledger.lib import values
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.mailing import send_times
from postledger.mailing.content_source import ContentSource, InlineSource
from postledger.mailing.send_times import SendTime

TAG = "[a-z0-9-]{1,200}"

_TAG = re.compile(TAG)


class InvalidTagError(RefusedError):
    code = "invalid_campaign_tag"


def check_parts(workspace_id: int, parts: Mapping[str, Any], *, now: datetime) -> None:
    """Refuses parts of a draft, by their names, with which it could not be launched."""
    for name, check in _CHECKS.items():
        if name in parts:
            check(workspace_id, parts[name], now)


def list_flaws(
    workspace_id: int, parts: Mapping[str, Any], *, now: datetime
) -> Mapping[str, RefusedError]:
    """The parts of a stored draft that would refuse its launch, each with the refusal."""
    flaws: dict[str, RefusedError] = {}
    for name in _PERISHABLE:
        try:
            _CHECKS[name](workspace_id, parts[name], now)
        except RefusedError as refusal:
            flaws[name] = refusal
    return flaws


def _check_tag(_workspace_id: int, tag: str, _now: datetime) -> None:
    if not _TAG.fullmatch(tag):
        raise InvalidTagError(
            say(
                "'%(tag)s' cannot be the tag of a campaign: use up to 200 lowercase letters,"
                " digits and hyphens.",
                tag=tag[:64],
            )
        )


def _check_name(_workspace_id: int, name: str, _now: datetime) -> None:
    constraints.check_name("a campaign", name)


def _check_timing(_workspace_id: int, timing: SendTime, now: datetime) -> None:
    send_times.check(timing, now=now)


def _check_content(_workspace_id: int, content: ContentSource | None, _now: datetime) -> None:
    if isinstance(content, InlineSource):
        for field in ("subject", "preheader", "body", "text"):
            checks.refuse_unstorable(field, getattr(content, field))


def _check_list(workspace_id: int, list_key: str | None, _now: datetime) -> None:
    if list_key is None:
        return
    if not values.is_storable(list_key):
        raise lists.unknown_list_error(list_key)
    lists.get_active_id(workspace_id, list_key)


def _check_audience(workspace_id: int, audience: Mapping[str, Any] | None, now: datetime) -> None:
    parsed = parsing.parse(dict(audience or {}), now=now)
    lists.get_ids(workspace_id, expressions.list_keys(parsed))


def _check_sender(workspace_id: int, address: str | None, _now: datetime) -> None:
    accounts.select_sender(workspace_id, address=address)


# In the order in which refusals are said.
_CHECKS: Mapping[str, Callable[[int, Any, datetime], None]] = {
    "tag": _check_tag,
    "name": _check_name,
    "timing": _check_timing,
    "content": _check_content,
    "kept_text": _check_content,
    "list_key": _check_list,
    "audience": _check_audience,
    "sender": _check_sender,
}
# What becomes wrong by itself; nothing else of a stored draft does.
_PERISHABLE = ("timing", "list_key", "audience", "sender")
