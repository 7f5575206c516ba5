"""Whom a filter leaves out beside the conditions of the builder, such as a segment. Pure.

The filter of such people stands negated among the parts that must all hold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from postledger.web.dashboard.editor import conditions


def split_filter(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The filter without its exceptions, and these; a condition with a "not" is none of them."""
    parts = _list_parts(stored)
    excepted = [part["not"] for part in parts if _is_exception(part)]
    if not excepted:
        return stored, []
    match [part for part in parts if not _is_exception(part)]:
        case []:
            return {}, excepted
        case [{"any": _} as alternatives]:
            return alternatives, excepted
        case rest:
            return {"all": rest}, excepted


def join_filter(people: Mapping[str, Any], excepted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The filter that selects these people except those."""
    if not excepted:
        return dict(people)
    read = conditions.read_filter(people)
    people = conditions.build_filter(*read) if read else people  # the short form written out
    parts = _list_parts(people) or ([people] if people else [])
    return {"all": [*parts, *map(_deny, excepted)]}


def _list_parts(stored: Mapping[str, Any]) -> list[Any]:
    """Those that must all hold; what was typed as JSON is not checked yet."""
    parts = stored["all"] if [*stored] == ["all"] else []
    return parts if isinstance(parts, list) else []


def _deny(excepted: Mapping[str, Any]) -> dict[str, Any]:
    """In a group of its own where it would be a condition of the builder."""
    denied = {"not": dict(excepted)}
    return denied if _is_exception(denied) else {"not": {"all": [dict(excepted)]}}


def _is_exception(part: object) -> bool:
    is_denied = isinstance(part, Mapping) and isinstance(part.get("not"), Mapping)
    return is_denied and conditions.read_filter({"all": [part]}) is None
