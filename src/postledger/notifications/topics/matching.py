"""Which topic subscriptions an event is for.

A subscription matches if the event has all of the fields of its match, with the same values. Both
sides have digests of matches, so the ones that match are found by equality, however many there are.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import combinations

MOST_MATCH_FIELDS = 6  # an event has a digest for each subset: 64 of them


def read_match_value(value: object) -> str | None:
    """Return the text by which a field is compared; None for what nothing can match.

    Numbers match by their digits: publishers write 10023 where people type "10023".
    """
    match value:
        case str():
            return value
        case bool():
            return None
        case int():
            return str(value)
        case _:
            return None


def read_match(match_fields: Iterable[str], data: Mapping[str, object]) -> dict[str, str]:
    """Return the values of the match fields that an event has."""
    values = {field: read_match_value(data.get(field)) for field in match_fields}
    return {field: value for field, value in values.items() if value is not None}


def digest_match(match: Mapping[str, str]) -> bytes:
    """Return the digest of a match, whatever the order of its fields."""
    text = json.dumps(dict(match), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def list_match_digests(match_fields: Iterable[str], data: Mapping[str, object]) -> list[bytes]:
    """Return the digests of all matches that an event satisfies, the empty one included."""
    values = sorted(read_match(match_fields, data).items())
    return [
        digest_match(dict(chosen))
        for size in range(len(values) + 1)
        for chosen in combinations(values, size)
    ]
