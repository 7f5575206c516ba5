"""A text with Liquid in it, compiled once: fixed literals, and the holes between them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, override

from liquid import BoundTemplate
from liquid.ast import BlockNode, ConditionalBlockNode, Node
from liquid.builtin.content import ContentNode
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

from postledger.content.rendering.choices import Choice, find_choice, find_path
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import gaps, liquid
from postledger.content.rendering.liquid.liquid import Budget, BudgetedContext
from postledger.content.rendering.liquid.liquid_errors import describe_error
from postledger.content.rendering.liquid.liquid_text import split_liquid
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

type Values = Mapping[str, object]

_LONGEST_KEPT = 4_000  # characters of the texts and of the values that they follow from


class MissingVariableError(RefusedError):
    code = "template_missing_variable"

    def __init__(self, name: str) -> None:
        super().__init__(
            say("The variable %(name)s has no value. Give it one, and send again.", name=name)
        )
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
        self.code, self.line, self.remedy = code, line, remedy  # line 0: the parser knows none

    def finding(self, place: str) -> Finding:
        where = f"{place}, line {self.line}" if self.line else place
        return Finding(self.code, where, self.remedy)


@dataclass(frozen=True, slots=True)
class Variable:
    """A hole that one value fills as it is."""

    path: tuple[str, ...]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A hole that Liquid fills, or where it can be done without, one of its branches."""

    node: Node
    names: Sequence[str] | None  # of the values that decide; None: something else does too
    choice: Choice | None = None

    def render(self, context: BudgetedContext, most: int) -> str:
        buffer = liquid.Buffer(context.budget, most)
        self.node.render(context, buffer)
        return buffer.getvalue()


type Hole = Variable | Block


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Kept:
    """The texts of an earlier mail, the values that they follow from, and what each of them cost.

    Mails of one event or one campaign have most values in common, and are charged alike.
    """

    values: Values  # texts and None; another may be equal and printed differently, as 1 and true
    texts: Sequence[str]
    costs: Sequence[int]

    def find_changed(self, values: Values) -> set[str]:
        return {
            name
            for name, kept in self.values.items()
            if (value := values.get(name, _ABSENT)) is not kept
            and not (type(value) is str and value == kept)
        }

    @property
    def length(self) -> int:
        kept = (value for value in self.values.values() if type(value) is str)
        return sum(map(len, self.texts)) + sum(map(len, kept))


class CompiledTemplate:
    """Filling the holes is pure: the same values give the same texts."""

    def __init__(self, source: str, *, is_html: bool) -> None:
        self._template = template = _parsed(source, is_html=is_html)
        liquid.charge_all(template)
        self._write: Callable[[str], str] = _escape if is_html else str
        analysis = template.analyze()
        for name, spans in analysis.filters.items():
            if name not in template.env.filters:
                remedy = say(
                    "There is no filter '%(name)s'; use one of the documented ones.",
                    name=name[:100],
                )
                raise _bad("liquid_invalid", source, spans[0].index, remedy)
        self.names = frozenset(analysis.globals)
        self.literals, self.holes = _split(template, assigned=frozenset(analysis.locals))
        self._length = sum(map(len, self.literals))
        # About its bytes in memory: a parsed tag takes a hundred for each of its characters.
        self.memory = 4 * self._length + 100 * (len(source) - self._length)
        self.memory += 4 * _LONGEST_KEPT
        self._kept: _Kept | None = None
        self.is_plain = all(isinstance(hole, Variable) for hole in self.holes)

    def find_gaps(self) -> frozenset[str]:
        """The names of the values without which the text has a gap."""
        return gaps.find_gaps(self._template, self.names)

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
            raise RenderError(
                say("The template is too costly: %(reason)s.", reason=describe_error(error))
            ) from None
        except Exception as error:  # noqa: BLE001  filters fail in many ways with values of people
            raise RenderError(
                say("The template cannot be rendered: %(reason)s.", reason=describe_error(error))
            ) from None

    def text(self, values: Values, budget: Budget | None = None) -> str:
        return join(self.literals, self.fill(values, budget))

    def _fill_holes(self, values: Values, budget: Budget) -> list[str]:
        budget.charge_text(self._length)
        kept = self._kept
        changed = kept.find_changed(values) if kept else self.names
        context: BudgetedContext | None = None
        remaining = liquid.MOST_OUTPUT
        texts: list[str] = []
        costs: list[int] = []
        for number, hole in enumerate(self.holes):
            spent = budget.spent
            if kept and hole.names is not None and changed.isdisjoint(hole.names):
                budget.charge(kept.costs[number])
                text = kept.texts[number]
            elif isinstance(hole, Variable):
                text = self._write(_print(_find_value(hole.path, values), budget))
            else:
                chosen = self._choose(hole, values, budget)
                if chosen is None:
                    # A template without conditions and filters needs none.
                    context = context or self._make_context(values, budget)
                    chosen = hole.render(context, remaining)
                text = chosen
            remaining -= len(text)
            if remaining < 0:
                raise _too_much_output()
            texts.append(text)
            costs.append(budget.spent - spent)
        # What each reader has of their own is no reason to keep the rest anew.
        if 2 * len(changed) > len(self.names):
            self._keep(values, texts, costs)
        return texts

    def _choose(self, block: Block, values: Values, budget: Budget) -> str | None:
        decision = block.choice.decide(values) if block.choice else None
        if decision is None:
            return None
        branch, cost = decision
        budget.charge(cost)
        texts = [self._write(_print(_find_value(path, values), budget)) for path in branch.paths]
        return join(branch.literals, texts)

    def _keep(self, values: Values, texts: Sequence[str], costs: Sequence[int]) -> None:
        given = {name: values.get(name, _ABSENT) for name in self.names}
        for name, value in given.items():
            if value is not None and value is not _ABSENT and type(value) is not str:
                given[name] = object()  # the same as no other
        kept = _Kept(given, texts, costs)
        self._kept = kept if kept.length <= _LONGEST_KEPT else None

    def _make_context(self, values: Values, budget: Budget) -> BudgetedContext:
        return BudgetedContext(self._template, values=values, budget=budget)


def _too_much_output() -> ResourceLimitError:
    return ResourceLimitError(
        say("it prints more than %(most)s characters", most=liquid.MOST_OUTPUT),
        token=None,
    )


def join(literals: Sequence[str], texts: Sequence[str]) -> str:
    pieces = [literals[0]]
    for text, literal in zip(texts, literals[1:], strict=True):
        pieces += (text, literal)
    return "".join(pieces)


def _parsed(source: str, *, is_html: bool) -> BoundTemplate:
    _refuse_costly(source)
    try:
        template = _ENVIRONMENTS[is_html].from_string(source)
    except RecursionError:
        raise InvalidTemplateError("liquid_too_deep", 1, say("Nest fewer conditions.")) from None
    except LiquidError as error:
        context = error.context()
        message = describe_error(error)
        line = context[0] if context else _find_line(source, message)
        remedy = say("Liquid does not understand this: %(message)s.", message=message)
        raise InvalidTemplateError("liquid_invalid", line, remedy) from None
    return template


def _find_line(source: str, message: str) -> int:
    """The line of a block without an end, or of a tag that lacks a part: the parser does not say.

    0 if it is neither.
    """
    block = message.removeprefix("expected tag end").partition(",")[0]
    line, opened = 1, list[int]()
    for number, part in enumerate(split_liquid(source)):
        name = _name_tag(part) if number % 2 else ""
        if name == block:
            opened.append(line)
        elif name == f"end{block}" and opened:
            opened.pop()
        elif number % 2 and _fails_with(part, message):
            return line
        line += part.count("\n")
    return opened[-1] if opened else 0


def _name_tag(tag: str) -> str:
    words = tag.strip("{%-}").split(maxsplit=1)
    return words[0] if words and tag.startswith("{%") else ""


def _fails_with(tag: str, message: str) -> bool:
    try:
        _ENVIRONMENTS[False].from_string(tag)
    except LiquidError as error:
        return describe_error(error) == message
    return False


_LONGEST_TAG = 4_000
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
            raise _bad(
                "liquid_unclosed",
                source,
                start,
                say("%(opening)s has no end; close it.", opening=opening),
            )
    if _count_tags(source) > liquid.MOST_TAGS:
        remedy = say(
            "It has %(number)s Liquid tags; use at most %(most)s.",
            number=_count_tags(source),
            most=liquid.MOST_TAGS,
        )
        raise _bad("liquid_too_many", source, 0, remedy)
    for tag in split_liquid(source)[1::2]:
        if len(tag) > _LONGEST_TAG:
            offset = source.index(tag)
            raise _bad("liquid_too_long", source, offset, say("Write several shorter tags."))


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
    path = find_path(node)
    if path is not None and path[0] not in assigned:
        return Variable(path, path[:1])
    names = None if assigned else _find_decisive(template, node)
    return Block(node, names, None if names is None else find_choice(template, node))


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
