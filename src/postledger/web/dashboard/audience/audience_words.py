"""Whom an audience is for, in words: its conditions, and the segments that have them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postledger.contacts import segments
from postledger.web.dashboard.audience import condition_words
from postledger.web.dashboard.editor import audience_exceptions, choices, conditions


@dataclass(frozen=True, slots=True)
class Conditions:
    words: str  # JSON, where the builder cannot show them
    segment: str  # that has them now; empty: none


@dataclass(frozen=True, slots=True)
class AudienceWords:
    people: Conditions | None  # None: everybody on the list
    excepted: Sequence[Conditions]


def describe_audience(workspace_id: int, stored: Mapping[str, Any]) -> AudienceWords:
    if not stored:
        return AudienceWords(None, ())
    labels, names = choices.name_fields(workspace_id), name_segments(workspace_id)
    people, excepted = audience_exceptions.split_filter(stored)
    return AudienceWords(
        describe_conditions(people, labels, names) if people else None,
        [describe_conditions(one, labels, names) for one in excepted],
    )


def name_segments(workspace_id: int) -> Mapping[str, str]:
    """The names of segments by the digests of their filters."""
    saved = segments.list_segments(workspace_id)
    return {segments.digest_filter(one.filter): one.name for one in saved}


def describe_conditions(
    stored: Mapping[str, Any], labels: Mapping[str, str], names: Mapping[str, str]
) -> Conditions:
    is_json = conditions.read_filter(stored) is None
    words = (
        json.dumps(stored, ensure_ascii=False)
        if is_json
        else condition_words.describe_filter(stored, labels)
    )
    return Conditions(words, names.get(segments.digest_filter(stored), ""))
