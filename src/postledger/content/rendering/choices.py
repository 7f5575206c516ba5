"""Conditions that ask only whether texts are there, decided once for each case.

`{% if link and link != blank %}<a href="{{ link }}">Stop</a>{% endif %}` is the same branch for
every reader who has a link, so Liquid is not run for each of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from liquid import BoundTemplate
from liquid.ast import BlockNode, Node
from liquid.builtin.content import ContentNode
from liquid.builtin.expressions import BooleanExpression, FilteredExpression, Path
from liquid.builtin.expressions.logical import (
    EqExpression,
    LogicalAndExpression,
    LogicalOrExpression,
    NeExpression,
)
from liquid.builtin.expressions.primitive import Blank, Empty, Nil
from liquid.builtin.output import OutputNode
from liquid.builtin.tags.if_tag import IfNode
from liquid.expression import Expression

from postledger.content.rendering.liquid.liquid import Budget, BudgetedContext

_MOST_TESTED = 3  # names; each doubles the cases, and more
_LONGEST_TESTED = 2_000  # characters; Liquid decides about longer texts, and may refuse them
_COMPUTED = frozenset({"size", "first", "last"})  # of a list; only Liquid knows them
_OPERATORS = (BooleanExpression, LogicalAndExpression, LogicalOrExpression)


@dataclass(frozen=True, slots=True)
class Branch:
    """Fixed texts, and the paths of the values between them."""

    literals: Sequence[str]
    paths: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The branches of one `if`; the last one is taken where no condition holds."""

    template: BoundTemplate
    conditions: Sequence[Expression]
    branches: Sequence[Branch]
    tested: Sequence[str]  # the names of the values that decide
    _decided: dict[Sequence[str | None], tuple[Branch, int]] = field(default_factory=dict)

    def decide(self, values: Mapping[str, object]) -> tuple[Branch, int] | None:
        """The branch, and what it costs to decide; None where Liquid has to decide."""
        cases = tuple([_find_case(values.get(name, _MISSING)) for name in self.tested])
        if _OTHER in cases:
            return None
        decision = self._decided.get(cases)
        if decision is None:
            decision = self._decided[cases] = self._decide(cases)
        return decision

    def _decide(self, cases: Sequence[str | None]) -> tuple[Branch, int]:
        values = dict(zip(self.tested, cases, strict=True))
        budget = Budget()
        context = BudgetedContext(
            self.template,
            values={name: case for name, case in values.items() if case != _ABSENT},
            budget=budget,
        )
        holding = (number for number, each in enumerate(self.conditions) if each.evaluate(context))
        branch = self.branches[next(holding, len(self.conditions))]
        budget.charge_text(sum(map(len, branch.literals)))
        return branch, budget.spent


_MISSING = object()
_ABSENT = "absent"
_OTHER = "other"


def _find_case(value: object) -> str | None:
    """What a condition can tell of a value: a text that stands for all like it."""
    if value is None:
        return None
    if value is _MISSING:
        return _ABSENT
    if type(value) is not str or len(value) > _LONGEST_TESTED:
        return _OTHER
    return "" if not value else " " if value.isspace() else "text"


def find_choice(template: BoundTemplate, node: Node) -> Choice | None:
    """None for a node that is no `if`, tests more than whether texts are there, or prints more
    than values.
    """
    if not isinstance(node, IfNode):
        return None
    conditions = [node.condition, *(each.expression for each in node.alternatives)]
    blocks = [node.consequence, *(each.block for each in node.alternatives), node.default]
    branches = [_find_branch(block) for block in blocks]
    tested = _find_tested(conditions)
    if tested is None or None in branches:
        return None
    return Choice(template, conditions, [each for each in branches if each], tested)


def _find_tested(conditions: Iterable[Expression]) -> Sequence[str] | None:
    names: set[str] = set()
    for leaf in _list_leaves(conditions):
        match leaf:
            case Path(path=[str(name)]):
                names.add(name)
            case _:
                return None
    return sorted(names) if len(names) <= _MOST_TESTED else None


def _list_leaves(expressions: Iterable[Expression]) -> Iterator[Expression]:
    for expression in expressions:
        match expression:
            case EqExpression() | NeExpression() if isinstance(expression.right, _NOTHINGS):
                yield from _list_leaves([expression.left])
            case _ if isinstance(expression, _OPERATORS):
                yield from _list_leaves(expression.children())
            case _:
                yield expression


_NOTHINGS = (Blank, Empty, Nil)


def _find_branch(block: BlockNode | None) -> Branch | None:
    literals, paths = [""], list[tuple[str, ...]]()
    # Of a branch without any text, Liquid prints nothing, not even the spaces.
    for node in () if block is None or block.blank else block.nodes:
        path = find_path(node)
        if isinstance(node, ContentNode):
            literals[-1] += node.text
        elif path is not None:
            paths.append(path)
            literals.append("")
        else:
            return None
    return Branch(literals, paths)


def find_path(node: Node) -> tuple[str, ...] | None:
    """The path of a value that is printed as it is: no filter, no index, nothing computed."""
    match node:
        case OutputNode(expression=FilteredExpression(left=Path(path=path), filters=filters)) if (
            not filters
            and all(isinstance(step, str) for step in path)
            and not _COMPUTED.intersection(path[1:])
        ):
            return tuple(str(step) for step in path)
    return None
