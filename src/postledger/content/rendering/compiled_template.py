"""A text with Liquid in it, compiled once: fixed literals, and the holes between them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, override

from liquid import BoundTemplate
from liquid.ast import BlockNode, ConditionalBlockNode, Node
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.builtin.tags.if_tag import IfNode
from liquid.exceptions import (
    LiquidError,
    ResourceLimitError,
    UndefinedError,
)
from liquid.expression import Expression
from liquid.stringify import to_liquid_string
from markupsafe import escape

from postledger.content.rendering import liquid
from postledger.content.rendering.checks import Finding
from postledger.content.rendering.liquid import Budget, BudgetedContext
from postledger.lib.errors import RefusedError

type Values = Mapping[str, object]

_LONGEST_KEPT = 2_000  # characters of a block's text and of the values that decide it


class MissingVariableError(RefusedError):
    code = "template_missing_variable"

    def __init__(self, name: str) -> None:
        super().__init__(f"The variable {name} has no value. Give it one, and send again.")
        self.name = name

    @override
    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.name,)


class RenderError(RefusedError):
    code = "template_failed"


class InvalidTemplateError(Exception):
    """The text is not Liquid that authors may use; its finding says where and why."""

    def __init__(self, code: str, line: int, remedy: str) -> None:
        super().__init__(remedy)
        self.code, self.line, self.remedy = code, line, remedy

    def finding(self, place: str) -> Finding:
        return Finding(self.code, f"{place}, line {self.line}", self.remedy)


@dataclass(frozen=True, slots=True)
class Variable:
    """A hole that one value fills as it is."""

    path: tuple[str, ...]


@dataclass(slots=True)
class Block:
    """A hole that Liquid fills.

    Where its text follows from a few values alone, the last one is kept with what it cost: mails
    of one event or one campaign often share it. It is charged like the first time.
    """

    node: Node
    names: Sequence[str] | None  # of the values that decide; None: keep nothing
    _last: tuple[Sequence[str | None], str, int] | None = None

    def recall(self, values: Values, budget: Budget) -> str | None:
        """The kept text, if the values that decide are the same once more."""
        last = self._last
        if last is None or last[0] != self._read_decisive(values):
            return None
        budget.charge(last[2])
        return last[1]

    def render(self, context: BudgetedContext, values: Values, most: int) -> str:
        spent = context.budget.spent
        buffer = liquid.Buffer(context.budget, most)
        self.node.render(context, buffer)
        text, decisive = buffer.getvalue(), self._read_decisive(values)
        self._last = None
        if decisive is not None and len(text) + _count_characters(decisive) <= _LONGEST_KEPT:
            self._last = decisive, text, context.budget.spent - spent
        return text

    def _read_decisive(self, values: Values) -> Sequence[str | None] | None:
        """Texts alone: other values may be equal and printed differently, such as 1 and true."""
        if self.names is None:
            return None
        decisive: list[str | None] = []
        for name in self.names:
            value = values.get(name, 0)  # a value that is missing is not the same as none
            if value is not None and type(value) is not str:
                return None
            decisive.append(value)
        return decisive


def _count_characters(texts: Iterable[str | None]) -> int:
    return sum(len(text) for text in texts if text)


type Hole = Variable | Block


class CompiledTemplate:
    """Filling the holes is pure: the same values give the same texts."""

    def __init__(self, source: str, *, is_html: bool) -> None:
        self._template = template = _parsed(source, is_html=is_html)
        liquid.charge_all(template)
        self._write: Callable[[str], str] = _escape if is_html else str
        analysis = template.analyze()
        for name, spans in analysis.filters.items():
            if name not in template.env.filters:
                remedy = f"There is no filter {name[:100]!r}; use one of the documented ones."
                raise _bad("liquid_invalid", source, spans[0].index, remedy)
        self.names = frozenset(analysis.globals)
        self.literals, self.holes = _split(template, assigned=frozenset(analysis.locals))
        self._length = sum(map(len, self.literals))
        # About its bytes in memory: a parsed tag takes a hundred for each of its characters.
        self.memory = 4 * self._length + 100 * (len(source) - self._length)
        self.memory += 4 * _LONGEST_KEPT * sum(isinstance(hole, Block) for hole in self.holes)
        self.is_plain = all(isinstance(hole, Variable) for hole in self.holes)

    def fill(self, values: Values, budget: Budget | None = None) -> list[str]:
        """One text for each hole. Whatever goes wrong, it raises RefusedError.

        A value can be missing, too large, or of a kind that a filter fails with.
        """
        try:
            return self._fill_holes(values, budget or Budget())
        except (RefusedError, MemoryError):
            raise
        except UndefinedError as error:
            name = str(error.message).removesuffix(" is undefined").strip("'")
            raise MissingVariableError(name) from None
        except ResourceLimitError as error:
            raise RenderError(f"The template is too costly: {error.message}.") from None
        except Exception as error:  # noqa: BLE001  filters fail in many ways with values of people
            raise RenderError(f"The template cannot be rendered: {_describe(error)}.") from None

    def text(self, values: Values, budget: Budget | None = None) -> str:
        return join(self.literals, self.fill(values, budget))

    def _fill_holes(self, values: Values, budget: Budget) -> list[str]:
        budget.charge_text(self._length)
        context: BudgetedContext | None = None
        remaining = liquid.MOST_OUTPUT
        texts: list[str] = []
        for hole in self.holes:
            if isinstance(hole, Variable):
                text = self._write(_print(_find_value(hole.path, values), budget))
            else:
                recalled = hole.recall(values, budget)
                if recalled is None:
                    # A template that only substitutes values needs none.
                    context = context or self._make_context(values, budget)
                    recalled = hole.render(context, values, remaining)
                text = recalled
            remaining -= len(text)
            if remaining < 0:
                raise _too_much_output()
            texts.append(text)
        return texts

    def _make_context(self, values: Values, budget: Budget) -> BudgetedContext:
        return BudgetedContext(self._template, values=values, budget=budget)


def _too_much_output() -> ResourceLimitError:
    return ResourceLimitError(f"it prints more than {liquid.MOST_OUTPUT} characters", token=None)


def join(literals: Sequence[str], texts: Sequence[str]) -> str:
    pieces = [literals[0]]
    for text, literal in zip(texts, literals[1:], strict=True):
        pieces += (text, literal)
    return "".join(pieces)


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


def _parsed(source: str, *, is_html: bool) -> BoundTemplate:
    _refuse_costly(source)
    try:
        template = _ENVIRONMENTS[is_html].from_string(source)
    except RecursionError:
        raise InvalidTemplateError("liquid_too_deep", 1, "Nest fewer conditions.") from None
    except LiquidError as error:
        context = error.context()
        line = context[0] if context else 1
        remedy = f"Liquid does not understand this: {_describe(error)}."
        raise InvalidTemplateError("liquid_invalid", line, remedy) from None
    return template


_LONGEST_TAG = 4_000
_OPENING = re.compile(r"\{[{%]")
_END_OF_VALUE = re.compile(r"\}\}")
_END_OF_TAG = re.compile(r"%\}")
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}")
_ENDRAW = re.compile(r"\{%-?\s*endraw\s*-?%\}")


def _refuse_costly(source: str) -> None:
    """Refuses texts that take the parser very long: it searches for each end by itself."""
    for opening, start, closing in (
        ("{{", source.rfind("{{"), _END_OF_VALUE),
        ("{%", source.rfind("{%"), _END_OF_TAG),
        ("{% raw %}", max((raw.start() for raw in _RAW.finditer(source)), default=-1), _ENDRAW),
    ):
        # The end of the last one is enough: an earlier one without an end would take it.
        if start >= 0 and not closing.search(source, start):
            raise _bad("liquid_unclosed", source, start, f"{opening} has no end; close it.")
    if _count_tags(source) > liquid.MOST_TAGS:
        remedy = f"It has {_count_tags(source)} Liquid tags; use at most {liquid.MOST_TAGS}."
        raise _bad("liquid_too_many", source, 0, remedy)
    for tag in split_liquid(source)[1::2]:
        if len(tag) > _LONGEST_TAG:
            offset = source.index(tag)
            raise _bad("liquid_too_long", source, offset, "Write several shorter tags.")


def _bad(code: str, source: str, offset: int, remedy: str) -> InvalidTemplateError:
    return InvalidTemplateError(code, source.count("\n", 0, offset) + 1, remedy)


_ENVIRONMENTS = {is_html: liquid.environment(is_html=is_html) for is_html in (True, False)}


def _count_tags(source: str) -> int:
    return source.count("{{") + source.count("{%")


def _split(
    template: BoundTemplate, *, assigned: frozenset[str]
) -> tuple[tuple[str, ...], tuple[Hole, ...]]:
    literals, holes = [""], list[Hole]()
    for node in template.nodes:
        if isinstance(node, ContentNode):
            literals[-1] += node.text
        else:
            holes.append(_hole(template, node, assigned))
            literals.append("")
    return tuple(literals), tuple(holes)


def _hole(template: BoundTemplate, node: Node, assigned: frozenset[str]) -> Hole:
    """A variable where there is no filter, no index, and no name that the template assigns."""
    match node:
        case OutputNode(expression=FilteredExpression(left=Path(path=path), filters=filters)) if (
            not filters and all(isinstance(step, str) for step in path) and path[0] not in assigned
        ):
            return Variable(tuple(str(step) for step in path))
    return Block(node, None if assigned else _find_decisive(template, node))


def _find_decisive(template: BoundTemplate, node: Node) -> Sequence[str] | None:
    """The names of all values that a node can read; None where something else matters too, such as
    a counter or the rounds that loops may still take.
    """
    alone = BoundTemplate(template.env, [node])
    if not all(isinstance(part, _STATELESS) for part in liquid.walk(alone)):
        return None
    return sorted(alone.analyze().globals)


def _find_value(path: tuple[str, ...], values: Values) -> object:
    value: object = values
    for step in path:
        try:
            value = value[step]  # type: ignore[index]  # a value without items has no such value
        except (KeyError, TypeError, IndexError):
            raise MissingVariableError(".".join(path)) from None
    return value


def _print(value: object, budget: Budget) -> str:
    if type(value) is str:
        budget.charge_text(len(value))
        return value
    budget.charge_value(value)
    return to_liquid_string(value, autoescape=False)


_STATELESS = (Expression, BlockNode, ConditionalBlockNode, ContentNode, IfNode, OutputNode)
_MARKUP = re.compile("[<>&\"']")


def _escape(text: str) -> str:
    # Most values have nothing to escape, and looking is faster than a new Markup.
    return str(escape(text)) if _MARKUP.search(text) else text


def _describe(error: BaseException) -> str:
    return str(getattr(error, "message", None) or type(error).__name__)[:200]
