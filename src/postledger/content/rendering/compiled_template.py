"""A text with Liquid in it, compiled once: fixed literals, and the holes between them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from liquid import BoundTemplate
from liquid.ast import Node
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import FilteredExpression, Path
from liquid.builtin.output import OutputNode
from liquid.exceptions import (
    LiquidError,
    LiquidInterrupt,
    ResourceLimitError,
    UndefinedError,
)
from liquid.output import LimitedStringIO
from liquid.stringify import to_liquid_string
from markupsafe import escape

from postledger.content.rendering import liquid
from postledger.content.rendering.checks import Finding
from postledger.lib.errors import RefusedError

type Values = Mapping[str, object]


class MissingVariableError(RefusedError):
    code = "template_missing_variable"

    def __init__(self, name: str) -> None:
        super().__init__(f"The variable {name} has no value. Give it one, and send again.")
        self.name = name


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


type Hole = Variable | Node


class CompiledTemplate:
    """Filling the holes is pure: the same values give the same texts."""

    def __init__(self, source: str, *, is_html: bool) -> None:
        self._template = template = _parsed(source, is_html=is_html)
        self._tag_count = _count_tags(source)
        self._write: Callable[[str], str] = _escape if is_html else str
        analysis = template.analyze()
        for name, spans in analysis.filters.items():
            if name not in template.env.filters:
                remedy = f"There is no filter {name[:100]!r}; use one of the documented ones."
                raise _bad("liquid_invalid", source, spans[0].index, remedy)
        self.names = frozenset(analysis.globals)
        self.literals, self.holes = _split(template.nodes, assigned=frozenset(analysis.locals))
        # A template that only substitutes values needs no Liquid any more.
        self.is_plain = all(isinstance(hole, Variable) for hole in self.holes)

    def fill(self, values: Values) -> list[str]:
        """One text for each hole; raises RefusedError where a value is missing or too large."""
        if self.is_plain:
            return [_substitute(hole.path, values, self._write) for hole in self.holes]  # type: ignore[union-attr]  # all are Variable
        try:
            return self._run(values)
        except UndefinedError as error:
            name = str(error.message).removesuffix(" is undefined").strip("'")
            raise MissingVariableError(name) from None
        except ResourceLimitError as error:
            raise RenderError(f"The template is too costly: {error.message}.") from None
        except (LiquidError, LiquidInterrupt, RecursionError, OverflowError) as error:
            raise RenderError(f"The template cannot be rendered: {_describe(error)}.") from None

    def text(self, values: Values) -> str:
        return join(self.literals, self.fill(values))

    def _run(self, values: Values) -> list[str]:
        context = liquid.BudgetedContext(self._template, values=values, tag_count=self._tag_count)
        remaining = liquid.MOST_OUTPUT
        texts: list[str] = []
        for hole in self.holes:
            if isinstance(hole, Variable):
                text = _substitute(hole.path, values, self._write)
            else:
                buffer: StringIO = LimitedStringIO(limit=remaining, newline="")
                hole.render(context, buffer)
                text = buffer.getvalue()
            remaining -= len(text)
            texts.append(text)
        return texts


def join(literals: Sequence[str], texts: Sequence[str]) -> str:
    pieces = [literals[0]]
    for text, literal in zip(texts, literals[1:], strict=True):
        pieces += (text, literal)
    return "".join(pieces)


def without_liquid(source: str, *, value: str = "x") -> str:
    """The text with `value` in place of each value, and nothing in place of tags."""
    return _TAG.sub(lambda tag: value if tag[0].startswith("{{") else "", source)


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
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}")
_ENDRAW = re.compile(r"\{%-?\s*endraw\s*-?%\}")


def _refuse_costly(source: str) -> None:
    """Refuses texts that take the parser very long: it searches for each end by itself."""
    for opening, start, closing in (
        ("{{", source.rfind("{{"), re.compile(r"\}\}")),
        ("{%", source.rfind("{%"), re.compile(r"%\}")),
        ("{% raw %}", max((raw.start() for raw in _RAW.finditer(source)), default=-1), _ENDRAW),
    ):
        # The end of the last one is enough: an earlier one without an end would take it.
        if start >= 0 and not closing.search(source, start):
            raise _bad("liquid_unclosed", source, start, f"{opening} has no end; close it.")
    if _count_tags(source) > liquid.MOST_TAGS:
        remedy = f"It has {_count_tags(source)} Liquid tags; use at most {liquid.MOST_TAGS}."
        raise _bad("liquid_too_many", source, 0, remedy)
    for tag in _TAG.finditer(source):
        if len(tag[0]) > _LONGEST_TAG:
            raise _bad("liquid_too_long", source, tag.start(), "Write several shorter tags.")


def _bad(code: str, source: str, offset: int, remedy: str) -> InvalidTemplateError:
    return InvalidTemplateError(code, source.count("\n", 0, offset) + 1, remedy)


_ENVIRONMENTS = {is_html: liquid.environment(is_html=is_html) for is_html in (True, False)}


def _count_tags(source: str) -> int:
    return source.count("{{") + source.count("{%")


def _split(
    nodes: Sequence[Node], *, assigned: frozenset[str]
) -> tuple[tuple[str, ...], tuple[Hole, ...]]:
    literals, holes = [""], list[Hole]()
    for node in nodes:
        if isinstance(node, ContentNode):
            literals[-1] += node.text
        else:
            holes.append(_hole(node, assigned))
            literals.append("")
    return tuple(literals), tuple(holes)


def _hole(node: Node, assigned: frozenset[str]) -> Hole:
    """A variable where there is no filter, no index, and no name that the template assigns."""
    match node:
        case OutputNode(expression=FilteredExpression(left=Path(path=path), filters=filters)) if (
            not filters and all(isinstance(step, str) for step in path) and path[0] not in assigned
        ):
            return Variable(tuple(str(step) for step in path))
    return node


def _substitute(path: tuple[str, ...], values: Values, write: Callable[[str], str]) -> str:
    value: object = values
    for step in path:
        try:
            value = value[step]  # type: ignore[index]  # a value without items has no such value
        except (KeyError, TypeError, IndexError):
            raise MissingVariableError(".".join(path)) from None
    if type(value) is str:
        return write(value)
    return write(to_liquid_string(value, autoescape=False))


_MARKUP = re.compile("[<>&\"']")


def _escape(text: str) -> str:
    # Most values have nothing to escape, and looking is faster than a new Markup.
    return str(escape(text)) if _MARKUP.search(text) else text


def _describe(error: BaseException) -> str:
    return str(getattr(error, "message", None) or type(error).__name__)[:200]
