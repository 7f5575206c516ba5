"""Every state and every reason is explained, in the code and on its page."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State

PAGE = (Path(__file__).parents[2] / "docs/reference/states.md").read_text()


def rows(heading: str) -> dict[str, str]:
    """The first two columns of the table under a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z_]+)` \| (.+?) \|", section, re.MULTILINE))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_says_why_and_what_will_move_it(reason: Reason) -> None:
    explanation = explain_reason(reason)

    assert explanation.why
    assert explanation.moved_by


@pytest.mark.parametrize("reason", Reason)
def test_an_explanation_fits_into_a_sentence(reason: Reason) -> None:
    for words in (explain_reason(reason).why, explain_reason(reason).moved_by):
        assert words == words.strip().rstrip(".")
        assert words[0].islower()


@pytest.mark.parametrize(
    ("heading", "vocabulary"),
    [("States", State), ("Outcomes", AttemptOutcome), ("Reasons", Reason)],
)
def test_the_page_lists_exactly_the_vocabulary(heading: str, vocabulary: type[StrEnum]) -> None:
    assert list(rows(heading)) == [word.value for word in vocabulary]


@pytest.mark.parametrize("reason", Reason)
def test_the_page_explains_a_reason_as_the_commands_do(reason: Reason) -> None:
    assert rows("Reasons")[reason] == explain_reason(reason).why
