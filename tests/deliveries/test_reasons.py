"""Every state and every reason is explained, in the code and on its page."""

import re
from enum import StrEnum
from pathlib import Path

from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State

PAGE = (Path(__file__).parents[2] / "docs/reference/states.md").read_text()


def rows(heading: str) -> dict[str, str]:
    """The first two columns of the table under a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z_]+)` \| (.+?) \|", section, re.MULTILINE))


def test_every_reason_says_why_and_what_will_move_it_in_words_that_fit_into_a_sentence() -> None:
    for reason in Reason:
        for words in (explain_reason(reason).why, explain_reason(reason).moved_by):
            assert words, reason
            assert words == words.strip().rstrip("."), reason
            assert words[0].islower(), reason


def test_the_page_lists_exactly_the_vocabulary_and_explains_a_reason_as_the_commands_do() -> None:
    vocabularies: dict[str, type[StrEnum]] = {
        "States": State,
        "Outcomes": AttemptOutcome,
        "Reasons": Reason,
    }
    for heading, vocabulary in vocabularies.items():
        assert list(rows(heading)) == [word.value for word in vocabulary]
    assert rows("Reasons") == {reason: explain_reason(reason).why for reason in Reason}
