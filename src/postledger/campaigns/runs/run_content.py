"""What a run sends, and whom it is for, as it was fixed at its launch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from postledger.campaigns.runs.run_lookup import find_run
from postledger.deliveries import queries
from postledger.mailing import snapshot
from postledger.mailing.snapshot import ByLocale

_MOST_SUBJECTS = 10


@dataclass(frozen=True, slots=True)
class RunSubject:
    """The subject of a letter, with its variables as they were written."""

    text: str
    locale: str  # empty: the reader's places choose the letter


@dataclass(frozen=True, slots=True)
class RunContent:
    audience: Mapping[str, Any]  # the filter
    subjects: Sequence[RunSubject]  # each once
    has_more: bool  # letters whose subjects are not listed


def read_content(workspace_id: int, run_id: UUID) -> RunContent:
    """Two queries."""
    run = find_run(workspace_id, run_id)
    choice = snapshot.from_json(run.letter_choice)
    numbers = choice.numbers if isinstance(choice, ByLocale) else {}
    locales = {number: locale for locale, number in numbers.items()}
    listed = queries.list_subjects(run.stream_id, most=_MOST_SUBJECTS + 1)
    subjects = [
        RunSubject(text, locales.get(number, "")) for number, text in listed[:_MOST_SUBJECTS]
    ]
    return RunContent(
        run.audience, list(dict.fromkeys(subjects)), has_more=len(listed) > _MOST_SUBJECTS
    )
