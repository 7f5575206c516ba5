"""Breadth-first exploration of every reachable world, so the first violation is a shortest one."""

import gc
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from tools.model import claims
from tools.model.faults import faults
from tools.model.moves import machine
from tools.model.people import people
from tools.model.rules import Rule
from tools.model.windows import Step
from tools.model.world import World


class Result(NamedTuple):
    states: int
    violation: str  # empty if every claim held in every world
    trace: tuple[str, ...]


def explore(starts: Iterable[World], rules: frozenset[Rule]) -> Result:
    """Visit every world within the budgets, or stop at the nearest one that breaks a claim."""
    with _no_collector():
        worlds = list(starts)
        numbers = {world: number for number, world in enumerate(worlds)}
        parents = array("l", [-1] * len(worlds))
        # Pairs of worlds the machine alone can step between, once faults and people have stopped.
        work = array("l")
        for number, world in enumerate(worlds):
            for after, is_work in _steps(rules, world):
                reached = numbers.setdefault(after, len(worlds))
                if reached == len(worlds):
                    worlds.append(after)
                    parents.append(number)
                    fault = claims.broken(after)
                    if fault:
                        return Result(len(worlds), fault, _trace(rules, worlds, parents, reached))
                if is_work:
                    work.extend((number, reached))
        stuck = _stuck(worlds, work)
        if stuck is None:
            return Result(len(worlds), "", ())
        trace = _trace(rules, worlds, parents, stuck)
        return Result(len(worlds), "from here the machine cannot finish what waits", trace)


def _steps(rules: frozenset[Rule], world: World) -> Iterator[tuple[World, bool]]:
    for _, after in machine(rules, world):
        yield after, True
    for _, after in faults(rules, world):
        yield after, False
    for _, after in people(rules, world):
        yield after, False


def _stuck(worlds: list[World], work: array[int]) -> int | None:
    """The nearest world from which the machine alone cannot bring every delivery to a result."""
    before: list[list[int]] = [[] for _ in worlds]
    for index in range(0, len(work), 2):
        before[work[index + 1]].append(work[index])
    can_rest = [claims.is_at_rest(world) for world in worlds]
    todo = [number for number, rests in enumerate(can_rest) if rests]
    while todo:
        for number in before[todo.pop()]:
            if not can_rest[number]:
                can_rest[number] = True
                todo.append(number)
    return next((number for number, rests in enumerate(can_rest) if not rests), None)


def _trace(
    rules: frozenset[Rule], worlds: list[World], parents: array[int], end: int
) -> tuple[str, ...]:
    """Name the steps from the start; the labels are made anew, as keeping them costs memory."""
    labels: list[str] = []
    while parents[end] >= 0:
        labels.append(_label(rules, worlds[parents[end]], worlds[end]))
        end = parents[end]
    return tuple(reversed(labels))


def _label(rules: frozenset[Rule], before: World, after: World) -> str:
    steps: Iterator[Step] = chain(
        machine(rules, before), faults(rules, before), people(rules, before)
    )
    return next(label for label, world in steps if world == after)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Worlds hold no cycles, and walking millions of them for garbage took half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
