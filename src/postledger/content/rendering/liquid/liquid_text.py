"""Texts with Liquid in them, divided at its tags and values."""

import re

_OPENING = re.compile(r"\{[{%]")


def without_liquid(source: str, *, value: str = "x") -> str:
    """The text with `value` in place of each value, and nothing in place of tags."""
    parts = split_liquid(source)
    parts[1::2] = [value if tag.startswith("{{") else "" for tag in parts[1::2]]
    return "".join(parts)


def split_liquid(source: str) -> list[str]:
    """Texts and tags in turn, the first and the last a text.

    A pattern with both ends would search to the end again for each tag that has none.
    """
    parts, written, at = list[str](), 0, 0
    ends = {"{{": "}}", "{%": "%}"}
    while opening := _OPENING.search(source, at):
        end = source.find(ends[opening[0]], opening.end()) if opening[0] in ends else -1
        if end < 0:
            ends.pop(opening[0], None)  # no later one has an end either
            at = opening.start() + 1
        else:
            parts += (source[written : opening.start()], source[opening.start() : end + 2])
            written = at = end + 2
    return [*parts, source[written:]]
