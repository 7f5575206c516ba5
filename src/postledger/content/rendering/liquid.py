"""The Liquid that authors may use: tags and filters that only read values, and limits on each.

Every limit is a count, not a time: a template that is refused here is refused everywhere, and one
that is not gives the same text on every machine.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import override

from liquid import BoundTemplate, Environment, RenderContext
from liquid.exceptions import ResourceLimitError
from liquid.undefined import FalsyStrictUndefined
from liquid.utils import ReadOnlyChainMap

MOST_OUTPUT = 1_048_576
MOST_TAGS = 2_000

_LARGEST_VALUE = 65_536
_LARGEST_INT = 512  # bits
_MOST_NAMESPACE = 262_144
_MOST_ITERATIONS = 10_000
_MOST_STEPS = 100_000  # iterations times tags of the template: some tenths of a second
_FUEL = 2_000_000  # characters and items that pass through filters

# Without `include` and `render`: there is nothing to include. Without `liquid`: its lines are tags
# that our checks of tags do not see.
# fmt: off
_TAGS = frozenset({
    "content", "output", "illegal", "#", "assign", "break", "capture", "case", "comment",
    "continue", "cycle", "decrement", "doc", "echo", "for", "if", "ifchanged", "increment",
    "tablerow", "unless",
})
# fmt: on
# Left out are `safe`, which would let any value be markup, `strip_html`, whose time is quadratic,
# and `date`, which reads the clock; ours does not.
# fmt: off
_FILTERS = frozenset({
    "abs", "append", "at_least", "at_most", "capitalize", "ceil", "compact", "concat", "default",
    "divided_by", "downcase", "escape", "escape_once", "find", "find_index", "first", "floor",
    "has", "join", "last", "lstrip", "map", "minus", "modulo", "newline_to_br", "plus", "prepend",
    "reject", "remove", "remove_first", "remove_last", "replace", "replace_first", "replace_last",
    "reverse", "round", "rstrip", "size", "slice", "sort", "sort_natural", "split", "squish",
    "strip", "strip_newlines", "sum", "times", "truncate", "truncatewords", "uniq", "upcase",
    "url_decode", "url_encode", "where",
})
# fmt: on


class Missing(FalsyStrictUndefined):
    """A value that is not there: may be asked for, may have a default, may not be printed."""

    force_liquid_default = True


class BudgetedContext(RenderContext):
    """What one rendering may still cost; knows no clock."""

    __slots__ = ("_fuel", "_iterations")

    def __init__(
        self, template: BoundTemplate, *, values: Mapping[str, object], tag_count: int
    ) -> None:
        super().__init__(template, globals=values)
        # Without python-liquid's own names, which are `now` and `today`.
        self.scope = ReadOnlyChainMap(self.locals, self.globals, self.counters)
        self._fuel = _FUEL
        self._iterations = min(_MOST_ITERATIONS, _MOST_STEPS // max(1, tag_count))

    @override
    def raise_for_loop_limit(self, length: int = 1) -> None:
        self._iterations -= length
        if self._iterations < 0:
            raise ResourceLimitError("it loops too often", token=None)

    @override
    def stopindex(self, key: str, index: int | None = None) -> int:
        # Asked before a loop's items are skipped or turned round, which takes time and room.
        if index is not None and index > _MOST_ITERATIONS:
            raise ResourceLimitError("it loops too often", token=None)
        return super().stopindex(key, index)

    def charge(self, cost: int) -> None:
        self._fuel -= cost
        if self._fuel < 0:
            raise ResourceLimitError("its filters have too much to do", token=None)


class _Environment(Environment):
    context_depth_limit = 30
    block_nesting_limit = 30
    local_namespace_limit = _MOST_NAMESPACE
    output_stream_limit = MOST_OUTPUT

    @override
    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        super().setup_tags_and_filters(extra=extra)
        self.tags = {name: tag for name, tag in self.tags.items() if name in _TAGS}
        given = {name: self.filters[name] for name in _FILTERS}
        given["date"] = _date
        self.filters = {name: _guarded(name, function) for name, function in given.items()}


def _guarded(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """A filter that is charged for what it reads, and may not make anything large."""
    named = [
        passed
        for passed in ("context", "environment")
        if getattr(function, f"with_{passed}", False)
    ]

    @wraps(function)
    def guarded(left: object, *args: object, context: BudgetedContext, **kwargs: object) -> object:
        context.charge(1 + _size(left) + sum(map(_size, args)))
        if name in {"replace", "replace_first", "replace_last"}:
            _refuse_growth(left, *args)
        own: dict[str, object] = {"context": context, "environment": context.env}
        result = function(left, *args, **{key: own[key] for key in named}, **kwargs)
        _size(result)
        return result

    # How python-liquid asks what else to pass.
    guarded.with_context = True  # type: ignore[attr-defined]
    guarded.with_environment = False  # type: ignore[attr-defined]
    return guarded


def _size(value: object) -> int:
    """How much there is of a value; raises when it is more than anybody needs."""
    match value:
        case Missing():
            size = 0
        case str() | range():
            size = len(value)
        case list() | tuple():
            size = len(value) + (sum(map(_size, value)) if len(value) <= _LARGEST_VALUE else 0)
        case Mapping():
            size = len(value) + sum(map(_size, value.values()))
        case int() if value.bit_length() > _LARGEST_INT:
            size = _LARGEST_VALUE + 1
        case _:
            size = 1
    if size > _LARGEST_VALUE:
        raise ResourceLimitError("it makes a value that is too large", token=None)
    return size


def _refuse_growth(left: object, *args: object) -> None:
    old, new = (str(arg) for arg in (*args, "", "")[:2])
    if str(left).count(old) * len(new) > _LARGEST_VALUE:
        raise ResourceLimitError("it makes a value that is too large", token=None)


_DIRECTIVES = re.compile(r"%(?:[-_0^#]?[aAbBdDeFHIjklmMnpPrRStTuUwyYzZ%])|[^%]")


def _date(left: object, pattern: object = "%Y-%m-%d") -> object:
    """An ISO 8601 moment in another form; what is none stays as it is, as in Liquid elsewhere."""
    if not isinstance(left, str):
        return left
    try:
        moment = datetime.fromisoformat(left)
    except ValueError:
        return left
    return moment.strftime("".join(_DIRECTIVES.findall(str(pattern)[:200])))


def environment(*, is_html: bool) -> Environment:
    return _Environment(undefined=Missing, strict_filters=True, autoescape=is_html)
