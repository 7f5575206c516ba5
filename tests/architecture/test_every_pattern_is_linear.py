"""No regular expression of the source takes quadratic time, whatever text it is applied to.

The engine runs in C and holds the interpreter: one slow pattern stops every tenant.
"""

import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from re import _parser  # the shape of a pattern
from typing import Any

import pytest

import postledger
from postledger.content.rendering.html import html_tokens

pytestmark = pytest.mark.slow

type Nodes = Sequence[tuple[object, Any]]

SIZES = (1_000, 5_000, 20_000)
# Less processor time is linear: in quadratic time the largest size takes more on any machine.
SHORT = 0.02
MOST_GROWTH = 3.0
METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
APPLIED_AS = {"finditer": "findall", "sub": "findall", "subn": "findall"}
CLASSES = {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
OTHERS = "a0 <"


@dataclass(frozen=True)
class FoundPattern:
    name: str
    compiled: re.Pattern[Any]
    methods: frozenset[str]

    def applications(self) -> list[Callable[[str], object]]:
        if self.compiled is html_tokens._ANY_TAG:  # it is applied up to the first match of a kind
            return [lambda text: list(html_tokens.tags_of_every_reading(text))]
        methods = [getattr(self.compiled, name) for name in self.methods]
        if isinstance(self.compiled.pattern, str):
            return methods
        return [partial(_apply_to_bytes, method) for method in methods]


def _apply_to_bytes(method: Callable[[bytes], object], text: str) -> object:
    return method(text.encode("latin-1", "replace"))


def list_patterns() -> Iterator[FoundPattern]:
    """Constants of modules, with the methods by which their modules apply them."""
    for found in pkgutil.walk_packages(postledger.__path__, "postledger."):
        if "__main__" in found.name:
            continue
        module = import_module(found.name)
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            used = re.findall(rf"\b{name}\.({'|'.join(METHODS)})\b", source) or ["search"]
            methods = frozenset(APPLIED_AS.get(method, method) for method in used)
            for pattern in value if isinstance(value, tuple | list) else [value]:
                if isinstance(pattern, re.Pattern):
                    yield FoundPattern(f"{found.name}.{name}", pattern, methods)


def list_attacks(pattern: re.Pattern[Any]) -> set[tuple[str, str]]:
    """A start, and what to repeat after it: what the pattern repeats, or all that leads there."""
    found = set(_repetitions(_parser.parse(pattern.pattern, pattern.flags), ""))
    return found | {("", start + pump) for start, pump in found} | {("", s) for s, _ in found if s}


def _repetitions(nodes: Nodes, start: str) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if str(node[0]).endswith("_REPEAT") and node[1][1] > 100:
            yield from ((start, pump) for pump in _examples(node) if pump)
        for inner in _parts(*node):
            yield from _repetitions(inner, start)
        start += _examples(node)[0]


def _parts(kind: object, value: Any) -> Sequence[Nodes]:
    match str(kind):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [value[2]]
        case "SUBPATTERN":
            return [value[3]]
        case "BRANCH":
            return list(value[1])
        case "ATOMIC_GROUP":
            return [value]
        case _:
            return []


def _examples(node: tuple[object, Any]) -> list[str]:
    """Texts that a part of a pattern matches: one for each member of its first class."""
    kind, value = node
    match str(kind):
        case "LITERAL":
            return [chr(value)]
        case "ANY" | "NOT_LITERAL":
            return [letter for letter in OTHERS if ord(letter) != value]
        case "IN" if str(value[0][0]) == "NEGATE":
            excluded = {member for each in value for member in _members(*each)}
            return [letter for letter in OTHERS if letter not in excluded] or ["\x01"]
        case "IN":
            return [_members(*each)[0] for each in value]
        case _:
            pass
    texts = [text for part in _parts(kind, value) for text in _sequences(part)]
    return texts or [""]


def _members(kind: object, value: Any) -> str:
    match str(kind):
        case "RANGE":
            return "".join(map(chr, range(value[0], value[1] + 1)))
        case "CATEGORY":
            return CLASSES.get(str(value), "-")
        case "LITERAL":
            return chr(value)
        case _:
            return ""


def _sequences(nodes: Nodes) -> list[str]:
    first, *others = nodes or [("", None)]
    rest = "".join(_examples(node)[0] for node in others)
    return [text + rest for text in _examples(first)]


def grows_too_fast(apply: Callable[[str], object], start: str, pump: str) -> bool:
    def processor_time(size: int) -> float:
        text = start + pump * (size // len(pump)) + "!"
        began = time.process_time()
        apply(text)
        return time.process_time() - began

    for size in SIZES:
        if processor_time(size) > SHORT:
            # A busy machine disturbs some measurements, and not all of them.
            ratios = (processor_time(2 * size) / processor_time(size) for _ in range(5))
            return all(ratio > MOST_GROWTH for ratio in ratios)
    return False


def test_twice_the_text_never_takes_three_times_as_long() -> None:
    slow = [
        (pattern.name, *attack)
        for pattern in list_patterns()
        for attack in list_attacks(pattern.compiled)
        if any(grows_too_fast(apply, *attack) for apply in pattern.applications())
    ]

    assert slow == []


def test_a_quadratic_pattern_is_noticed() -> None:
    for text in ("a+b", "<!--.*?-->", r"^id=[a-z.]*[.0-9]*\s"):
        pattern = re.compile(text)
        attacks = list_attacks(pattern)
        assert any(grows_too_fast(pattern.search, *attack) for attack in attacks), text
