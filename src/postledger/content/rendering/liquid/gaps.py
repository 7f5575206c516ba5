"""Which values leave a gap in a text where they are missing.

`{% if city %}From {{ city }}{% endif %}` and `{{ city | default: "there" }}` do without the city.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from liquid import BoundTemplate, RenderContext
from liquid.ast import BlockNode, Node
from liquid.builtin.expressions import BooleanExpression, FilteredExpression, Path
from liquid.builtin.expressions.logical import (
    LogicalAndExpression,
    LogicalOrExpression,
)
from liquid.builtin.tags.case_tag import CaseNode, MultiExpressionBlockNode
from liquid.builtin.tags.if_tag import IfNode
from liquid.builtin.tags.unless_tag import UnlessNode
from liquid.exceptions import LiquidError
from liquid.expression import Expression

from postledger.content.rendering.liquid.liquid import Budget, BudgetedContext


def find_gaps(template: BoundTemplate, names: Iterable[str]) -> frozenset[str]:
    """The names that are more than tested where their values may be missing."""
    used = dict[int, set[str]]()
    for node in template.nodes:
        _note_names(node, RenderContext(template), used)
    gaps = set[str]()
    for name in names:
        # As a mail is filled whose reader lacks a value that may be empty.
        context = BudgetedContext(template, values={name: None}, budget=Budget())
        if any(_has_gap(node, name, context, used) for node in template.nodes):
            gaps.add(name)
    return frozenset(gaps)


def _note_names(node: Node, context: RenderContext, used: dict[int, set[str]]) -> set[str]:
    """The names in a node, noted by its identity: most are in few of the nodes."""
    paths = (path for expression in node.expressions() for path in _list_paths(expression))
    names = {str(path.path[0]) for path in paths}
    for part in node.children(context):
        names |= _note_names(part, context, used)
    used[id(node)] = names
    return names


def _has_gap(node: Node, name: str, context: BudgetedContext, used: Mapping[int, set[str]]) -> bool:
    if name not in used[id(node)]:
        return False
    match node:
        case IfNode() | UnlessNode():
            parts: Iterable[Node] = _list_reachable(node, name, context)
        case CaseNode() | MultiExpressionBlockNode() | BlockNode():
            parts = node.children(context)
        case _:
            if any(_uses(expression, name) for expression in node.expressions()):
                return True
            parts = node.children(context)
    return any(_has_gap(part, name, context, used) for part in parts)


def _list_reachable(
    node: IfNode | UnlessNode, name: str, context: BudgetedContext
) -> Iterator[BlockNode]:
    """The branches that may be taken while the value is missing."""
    first = _decide(node.condition, name, context)
    if isinstance(node, UnlessNode) and first is not None:
        first = not first
    branches: Sequence[tuple[bool | None, BlockNode]] = [
        (first, node.consequence),
        *((_decide(each.expression, name, context), each.block) for each in node.alternatives),
        *([(True, node.default)] if node.default else []),
    ]
    for holds, block in branches:
        if holds is not False:
            yield block
        if holds:
            return


def _decide(condition: Expression, name: str, context: BudgetedContext) -> bool | None:
    """Whether a condition holds while the value is missing; None if others decide."""
    match condition:
        case BooleanExpression(expression=inner):
            return _decide(inner, name, context)
        case LogicalAndExpression() | LogicalOrExpression():
            decisive = isinstance(condition, LogicalOrExpression)
            sides = {_decide(side, name, context) for side in (condition.left, condition.right)}
            return decisive if decisive in sides else None if None in sides else not decisive
        case _:
            pass
    if not all(path.path[0] == name for path in _list_paths(condition)):
        return None
    try:
        return bool(BooleanExpression(condition.token, condition).evaluate(context))
    except LiquidError:
        return None


def _uses(expression: Expression, name: str) -> bool:
    """Whether an expression needs the value; the filter `default`, as its first, does without."""
    if isinstance(expression, FilteredExpression) and expression.filters:
        first, *_others = expression.filters
        if first.name == "default" and isinstance(expression.left, Path):
            others = [child for child in expression.children() if child is not expression.left]
            return any(_uses(child, name) for child in others)
    return any(path.path[0] == name for path in _list_paths(expression))


def _list_paths(expression: Expression) -> Iterator[Path]:
    if isinstance(expression, Path):
        yield expression
    for child in expression.children():
        yield from _list_paths(child)
