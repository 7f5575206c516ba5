"""When a launch is agreed to: one click alone never launches.

It is confirmed by an answer to a question that names what goes; for a large audience, the answer
has its number.
"""

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.http import QueryDict

from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.web.dashboard import typed_numbers

# From so many recipients on, a person types their number.
MANY = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person sent to launch."""

    typed: str  # as it was written
    shown: int | None  # the number that the question showed
    is_sure: bool  # answers the question

    def agrees(self, counts: RecipientCounts) -> bool:
        """Whether it agrees to so many recipients, or to a number that grew a little since."""
        if not asks_number(counts):
            return self.is_sure and _is_near(self.shown, counts.number)
        typed = read_digits(self.typed)
        is_right = typed in {self.shown, counts.number} and _is_near(typed, counts.number)
        return self.is_sure and is_right


def read_answer(posted: QueryDict) -> Answer:
    shown = read_digits(posted.get("shown", ""))
    return Answer(posted.get("typed", ""), shown, "sure" in posted)


def asks_number(counts: RecipientCounts) -> bool:
    """Whether a launch has to be confirmed by its number; an estimate may be far too low."""
    return counts.number >= MANY or not counts.is_exact


def read_digits(text: str) -> int | None:
    """A number, however its groups are separated."""
    try:
        return int(typed_numbers.spell_whole(text))
    except ValidationError:
        return None


def _is_near(agreed: int | None, number: int) -> bool:
    return agreed is not None and number * 10 <= agreed * 11
