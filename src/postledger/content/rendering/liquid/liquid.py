"""The Liquid that authors may use: tags and filters that only read values, and limits on each.

Every limit is a count, not a time: a template that is refused here is refused everywhere, and one
that is not gives the same text on every machine.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import wraps
from io import StringIO
from typing import TextIO, override

from liquid import BoundTemplate, Environment, RenderContext, Token
from liquid.ast import Node
from liquid.builtin.expressions.logical import LogicalAndExpression, LogicalOrExpression
from liquid.builtin.expressions.primitive import RangeLiteral
from liquid.builtin.tags.case_tag import MultiExpressionBlockNode
from liquid.builtin.tags.cycle_tag import CycleNode
from liquid.exceptions import LiquidValueError, ResourceLimitError
from liquid.expression import Expression
from liquid.filter import sequence_filter
from liquid.output import LimitedStringIO
from liquid.undefined import FalsyStrictUndefined
from liquid.utils import ReadOnlyChainMap

from postledger.lib.sentences import say

MOST_OUTPUT = 1_048_576
MOST_TAGS = 2_000

_LARGEST_VALUE = 65_536
_LARGEST_INT = 512  # bits
_MOST_NAMESPACE = 262_144
_MOST_ITERATIONS = 10_000
# What one mail may cost: some tenths of a second. A unit is one character that a value, a filter or
# a comparison walks through; the other costs are in units of that.
_MOST_UNITS = 2_000_000
_NODE_COST = 20
_OPERATION_COST = 5
_ITEM_COST = 10  # of a list, an empty text too: each is an object to look at
_CHARACTERS_PER_UNIT = 8  # of written text

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


class Budget:
    """What the texts of one mail may still cost together; knows no clock."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def charge(self, cost: int) -> None:
        self.spent += cost
        if self.spent > _MOST_UNITS:
            raise ResourceLimitError(say("it has too much to do"), token=None)

    def charge_value(self, value: object) -> None:
        """Charges for a value by its size: whatever reads it may walk through all of it."""
        self.charge(_OPERATION_COST + _cost_of(value))

    def charge_text(self, length: int) -> None:
        """Charges for text that is written, and will be checked."""
        self.charge(length // _CHARACTERS_PER_UNIT)


class BudgetedContext(RenderContext):
    """A rendering that is charged to a budget for whatever it does."""

    __slots__ = ("_iterations", "budget")

    def __init__(
        self, template: BoundTemplate, *, values: Mapping[str, object], budget: Budget
    ) -> None:
        self.budget = budget
        self._iterations = _MOST_ITERATIONS
        super().__init__(template, globals=values)
        # Without python-liquid's own names, which are `now` and `today`.
        self.scope = ReadOnlyChainMap(self.locals, self.globals, self.counters)

    @property  # type: ignore[explicit-override]  # a value there, a property here
    def disabled_tags(self) -> list[str]:
        """None. Every node asks before it is rendered, and each time it is charged."""
        self.budget.charge(_NODE_COST)
        return []

    @disabled_tags.setter
    def disabled_tags(self, _names: list[str]) -> None:
        pass

    @override
    def get(self, path: list[object], *, token: Token | None, default: object = ...) -> object:
        given = {} if default is ... else {"default": default}
        value = super().get(path, token=token, **given)
        self.budget.charge_value(value)
        return value

    @override
    def assign(self, key: str, val: object) -> None:
        self.budget.charge(len(self.locals))  # the base adds up the sizes of all
        super().assign(key, val)

    @override
    def raise_for_loop_limit(self, length: int = 1) -> None:
        self._iterations -= length
        if self._iterations < 0:
            raise ResourceLimitError(say("it loops too often"), token=None)

    @override
    def stopindex(self, key: str, index: int | None = None) -> int:
        # Asked before a loop's items are skipped or turned round, which takes time and room.
        if index is not None and index > _MOST_ITERATIONS:
            raise ResourceLimitError(say("it loops too often"), token=None)
        return super().stopindex(key, index)

    @override
    def get_buffer(self, buf: TextIO | None = None) -> StringIO:
        room = buf.limit - buf.size if isinstance(buf, LimitedStringIO) else MOST_OUTPUT
        return Buffer(self.budget, room)


class Buffer(LimitedStringIO):
    """Text that is charged when it is written, also where it is captured and never printed."""

    def __init__(self, budget: Budget, limit: int) -> None:
        super().__init__(limit, newline="")
        self._budget = budget

    @override
    def write(self, text: str, /) -> int:
        self._budget.charge_text(len(text))
        return super().write(text)


class _Range(RangeLiteral):
    """A range of few numbers: `contains` would search a long one in a single call."""

    __slots__ = ()

    @override
    def evaluate(self, context: RenderContext) -> range:
        numbers = super().evaluate(context)
        # Not by its length, which may be larger than any that Python has.
        if numbers.stop - numbers.start > _MOST_ITERATIONS:
            raise ResourceLimitError(say("its range is too long"), token=None)
        _charge(context, len(numbers))
        return numbers


class _And(LogicalAndExpression):
    __slots__ = ()

    @override
    def evaluate(self, context: RenderContext) -> object:
        _charge(context, _OPERATION_COST)
        return super().evaluate(context)


class _Or(LogicalOrExpression):
    __slots__ = ()

    @override
    def evaluate(self, context: RenderContext) -> object:
        _charge(context, _OPERATION_COST)
        return super().evaluate(context)


class _When(MultiExpressionBlockNode):
    """Compares with each of its values, also after the first that is equal."""

    __slots__ = ()

    @override
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        _charge(context, _OPERATION_COST * len(self.expression.expressions))
        return super().render_to_output(context, buffer)


class _Cycle(CycleNode):
    """Evaluates all its values to print one."""

    __slots__ = ()

    @override
    def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
        _charge(context, _OPERATION_COST * len(self.args))
        return super().render_to_output(context, buffer)


_CHARGED: dict[type, type] = {
    charged.__base__: charged for charged in (_Range, _And, _Or, _When, _Cycle) if charged.__base__
}


def charge_all(template: BoundTemplate) -> None:
    """Has every part of a parsed template charged for what it does.

    The parser makes its own classes, and offers no way to give it others.
    """
    for part in walk(template):
        charged = _CHARGED.get(type(part))
        if charged is not None:
            part.__class__ = charged


def walk(template: BoundTemplate) -> Iterator[Node | Expression]:
    """All parts of a parsed template, whatever they are nested in."""
    context, nodes = RenderContext(template), list(template.nodes)
    while nodes:
        node = nodes.pop()
        yield node
        expressions = list(node.expressions())
        while expressions:
            expression = expressions.pop()
            yield expression
            expressions += expression.children()
        nodes += node.children(context)


def _charge(context: RenderContext, cost: int) -> None:
    if isinstance(context, BudgetedContext):
        context.budget.charge(cost)


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
        given |= {"date": _date, "uniq": _uniq}
        self.filters = {name: _guarded(name, function) for name, function in given.items()}


def _guarded(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """A filter that is charged for what it reads, and may not make anything large."""
    both = ("context", "environment")
    named = [passed for passed in both if getattr(function, f"with_{passed}", False)]

    @wraps(function)
    def guarded(left: object, *args: object, context: BudgetedContext, **kwargs: object) -> object:
        given = (left, *args, *kwargs.values())
        context.budget.charge(_OPERATION_COST + sum(map(_cost_of, given)))
        if name in _GROWING:
            _refuse_size(_GROWING[name](left, *args))
        own: dict[str, object] = {"context": context, "environment": context.env}
        result = function(left, *args, **{key: own[key] for key in named}, **kwargs)
        if isinstance(result, float) and not math.isfinite(result):
            raise LiquidValueError(say("%(name)s does not give a number", name=name), token=None)
        context.budget.charge(_cost_of(result))
        return result

    # How python-liquid asks what else to pass.
    guarded.with_context = True  # type: ignore[attr-defined]
    guarded.with_environment = False  # type: ignore[attr-defined]
    return guarded


def _cost_of(value: object) -> int:
    """What it costs to walk through a value; raises when it is larger than anybody needs."""
    match value:
        case str() | range():
            _refuse_size(len(value))
            return len(value)
        case Missing():
            return 0
        case list() | tuple() | dict():
            _refuse_size(len(value))
            items = value.values() if isinstance(value, dict) else value
            cost = _ITEM_COST * len(value) + sum(map(_cost_of, items))
            _refuse_size(cost // _ITEM_COST)
            return cost
        case int() if value.bit_length() > _LARGEST_INT:
            raise _too_large()
        case _:
            return 1


def _refuse_size(size: int) -> None:
    if size > _LARGEST_VALUE:
        raise _too_large()


def _too_large() -> ResourceLimitError:
    return ResourceLimitError(say("it has or makes a value that is too large"), token=None)


def _replaced_size(left: object, *args: object) -> int:
    old, new = (str(arg) for arg in (*args, "", "")[:2])
    return str(left).count(old) * len(new)


def _joined_size(left: object, separator: object = " ", *_: object) -> int:
    return _count(left) * len(str(separator))


def _count(value: object) -> int:
    """The items of a list and of the lists in it."""
    match value:
        case list() | tuple():
            return sum(map(_count, value))
        case range():
            return len(value)
        case _:
            return 1


# Filters that can make much out of little, and a bound of what they would make.
_GROWING: dict[str, Callable[..., int]] = {
    "join": _joined_size,
    "replace": _replaced_size,
    "replace_first": _replaced_size,
    "replace_last": _replaced_size,
}


@sequence_filter
def _uniq(items: Iterable[object], key: object = None) -> list[object]:
    """Each item once, in linear time; with a key, the first item of each of its values."""
    first: dict[object, object] = {}
    for item in items:
        first.setdefault(_frozen(item if key is None else _value_of(item, key)), item)
    return list(first.values())


_NOTHING = object()


def _value_of(item: object, key: object) -> object:
    try:
        return item[key]  # type: ignore[index]  # an item without values is an error of the author
    except KeyError:
        return _NOTHING


def _frozen(value: object) -> object:
    """Something that can be hashed, and is equal for values that are equal."""
    match value:
        case dict():
            return dict, frozenset((key, _frozen(inner)) for key, inner in value.items())
        case list() | tuple():
            return type(value), tuple(map(_frozen, value))
        case _ if type(value).__hash__ is None:
            return None  # what `map` gives for a missing value
        case _:
            return value


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
