"""Reads the elements of a JSON array one by one, so that a bad one does not lose the others."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r'[^\s,"\[\]{}]++')  # a number or a name, also one that JSON does not have
# A text, whole or cut off by the end, or a bracket.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
# The decoder counts the lines before each one that it cannot read.
_MOST_UNREADABLE = 100


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An element that has an end, and which is no JSON that all readers read alike."""

    text: str


def read_elements(text: str) -> Iterator[object]:
    """Gives every element, and Unreadable for each that cannot be read; raises ValueError.

    Unreadable are those with two members of one name, with NaN or another name that JSON does not
    have, with an integer of thousands of digits, or nested too deeply.
    """
    unreadable_count = 0
    at = _skip_space(text, 0)
    if not text.startswith("[", at):
        raise ValueError("the body is not a JSON array")
    at = _skip_space(text, at + 1)
    while not text.startswith("]", at):
        element, at = _read_element(text, at)
        unreadable_count += isinstance(element, Unreadable)
        if unreadable_count > _MOST_UNREADABLE:
            raise ValueError(f"the JSON array has more than {_MOST_UNREADABLE} unreadable elements")
        yield element
        at = _skip_space(text, at)
        if text.startswith(",", at):
            at = _skip_space(text, at + 1)
        elif not text.startswith("]", at):
            raise ValueError("the JSON array is cut off or broken")
    if _skip_space(text, at + 1) != len(text):
        raise ValueError("something follows the JSON array")


def _skip_space(text: str, at: int) -> int:
    spaces = _SPACE.match(text, at)
    return spaces.end() if spaces else at


def _read_element(text: str, at: int) -> tuple[object, int]:
    try:
        return _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        end = _find_end(text, at)
        return Unreadable(text[at:end]), end


def _find_end(text: str, at: int) -> int:
    """Where the element that begins here ends, by its brackets alone."""
    if word := _WORD.match(text, at):
        return word.end()
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if token.start() > at and not depth:
            break
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if not depth:
                    return token.end()
            case _:
                pass
    raise ValueError("the JSON array is cut off or broken")


def _refuse_repeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Readers disagree about which of two equal names counts."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name occurs twice")
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON does not have {name}")


_decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated, parse_constant=_refuse_constant)
