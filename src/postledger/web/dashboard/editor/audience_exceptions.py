"""Whom a filter leaves out beside the conditions of the builder, such as a segment. Pure.

The filter of such people stands negated among the parts that must all hold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from postledger.web.dashboard.editor import conditions


def split_filter(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The filter without its exceptions, and these; a condition with a "not" is none of them."""
    parts = stored["all"] if [*stored] == ["all"] else []
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
    parts = people["all"] if [*people] == ["all"] else [people] if people else []
    return {"all": [*parts, *map(_deny, excepted)]}


def _deny(excepted: Mapping[str, Any]) -> dict[str, Any]:
    """In a group of its own where it would be a condition of the builder."""
    denied = {"not": dict(excepted)}
    return denied if _is_exception(denied) else {"not": {"all": [dict(excepted)]}}


def _is_exception(part: Mapping[str, Any]) -> bool:
    return "not" in part and conditions.read_filter({"all": [part]}) is None
