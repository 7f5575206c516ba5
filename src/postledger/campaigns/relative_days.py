"""Filters that count days back from now, fixed at a moment: later they mean the same days."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from postledger.contacts.filters import Op


def fixed(audience: Mapping[str, Any], *, now: datetime) -> Mapping[str, Any]:
    """A filter that can be read, as contacts.filter_parsing reads it at `now`."""
    match audience:
        case {"field": field, Op.WITHIN_DAYS.value: int(days)}:
            return {"field": field, Op.SINCE.value: (now - timedelta(days=days)).isoformat()}
        case {"field": _}:
            return audience
        case {"all": [*parts]}:
            return {"all": [fixed(part, now=now) for part in parts]}
        case {"any": [*parts]}:
            return {"any": [fixed(part, now=now) for part in parts]}
        case {"not": part}:
            return {"not": fixed(part, now=now)}
        case _:
            return audience
