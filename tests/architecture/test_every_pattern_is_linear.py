"""No regular expression of the source takes quadratic time, whatever text it is applied to.

The engine runs in C and holds the interpreter: one slow pattern stops every tenant.
"""

import re
import time
from collections.abc import Callable

import pytest

from tests.architecture import patterns
from tests.architecture.pattern_attacks import ATTACKS, Attack
from tests.architecture.patterns import FoundPattern

pytestmark = pytest.mark.slow

# Processor time that can be compared; where even the largest text takes less, it is linear: in
# quadratic time that text would take minutes.
MEASURABLE = 0.03
SMALLEST, LARGEST = 1_000, 1_000_000
MOST_GROWTH = 3.0


def test_every_pattern_has_an_attack_and_every_attack_a_pattern() -> None:
    assert {pattern.key for pattern in patterns.find_patterns()} == set(ATTACKS)


def test_no_module_hides_its_patterns_under_another_name() -> None:
    assert patterns.find_other_imports() == []


# Not by the patterns: every worker would read the whole source before its first test.
@pytest.mark.parametrize("key", ATTACKS)
def test_twice_the_text_takes_less_than_three_times_as_long(key: str) -> None:
    attack = ATTACKS[key]
    for pattern in patterns.find_patterns():
        if pattern.key == key:
            for apply in _applications(pattern, attack):
                assert _growth(apply, attack) < MOST_GROWTH


def test_a_quadratic_pattern_is_noticed() -> None:
    quadratic = re.compile("a+b").search

    # A busy machine disturbs some measurements, and not all of them.
    assert any(_growth(quadratic, Attack("a", end="")) > MOST_GROWTH for _ in range(5))


def _applications(pattern: FoundPattern, attack: Attack) -> list[Callable[[str], object]]:
    if attack.through:
        return [attack.through]
    compiled = pattern.compiled(attack.names)
    return [_application(compiled, method) for method in sorted(pattern.methods)]


def _application(
    pattern: "re.Pattern[str] | re.Pattern[bytes]", method: str
) -> Callable[[str], object]:
    is_bytes = isinstance(pattern.pattern, bytes)
    applied = getattr(pattern, method)

    def apply(text: str) -> object:
        subject = text.encode("latin-1") if is_bytes else text
        if method in {"sub", "subn"}:
            return applied(subject[:0], subject)
        return list(applied(subject)) if method == "finditer" else applied(subject)

    return apply


def _growth(apply: Callable[[str], object], attack: Attack) -> float:
    """How many times as long the double text takes; 0 where no text takes long."""
    size = SMALLEST
    while _processor_time(apply, attack.text(size)) < MEASURABLE:
        size *= 2
        if size > LARGEST:
            return 0.0
    growth = _ratio(apply, attack, size)
    for _ in range(4):
        if growth < MOST_GROWTH:
            break
        # A busy machine disturbs some measurements, and not all of them.
        growth = min(growth, _ratio(apply, attack, size))
    return growth


def _ratio(apply: Callable[[str], object], attack: Attack, size: int) -> float:
    once, twice = attack.text(size), attack.text(2 * size)
    times = [(_processor_time(apply, once), _processor_time(apply, twice)) for _ in range(2)]
    return min(long for _, long in times) / min(short for short, _ in times)


def _processor_time(apply: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    apply(text)
    return time.process_time() - began
