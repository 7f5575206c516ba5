"""What a page of Notion is told of its runs, decided from their books."""

from collections.abc import Sequence
from dataclasses import dataclass

from postledger.deliveries.queries import Books
from postledger.deliveries.states import State

# Notion's words for what became of a mailout.
SENT = "Send"
FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Result:
    sent_count: int
    failed_count: int  # also those in doubt: nobody knows that they were sent
    word: str

    @property
    def counts(self) -> tuple[int, int]:
        return self.sent_count, self.failed_count


def result(books: Sequence[Books], *, is_left_out: bool = False) -> Result:
    """Of runs that rest, the newest one last; sent only if nothing failed, or is in doubt.

    Nor may the newest have been cancelled, or an older one have left somebody out for good: whom
    else it left out was the newest one's rest.
    """
    sent, failed, doubted = (
        sum(found.counts[state] for found in books)
        for state in (State.ACCEPTED, State.FAILED, State.IN_DOUBT)
    )
    is_cancelled = bool(books[-1].counts[State.CANCELLED])
    word = FAILED if failed or doubted or is_cancelled or is_left_out else SENT
    return Result(sent, failed + doubted, word)
