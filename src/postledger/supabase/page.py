"""What a page of subscribers changes here, and which of its rows failed."""

from dataclasses import dataclass, field

from postledger.supabase.models import RowFailure
from postledger.supabase.rows import SubscriberRow


@dataclass(frozen=True, slots=True)
class RowIssue:
    email: str
    failure: RowFailure
    problem: str


@dataclass(slots=True)
class ClassifiedPage:
    """What must change here for the rows of one page."""

    after: str  # the cursor of the page
    last: str
    row_count: int = 0
    addresses: list[str] = field(default_factory=list)  # of all rows that have one
    new: list[SubscriberRow] = field(default_factory=list)
    to_restore: list[tuple[int, SubscriberRow]] = field(default_factory=list)  # with the contact
    to_rename: list[SubscriberRow] = field(default_factory=list)  # with another From name
    to_confirm: list[SubscriberRow] = field(default_factory=list)  # known by a form alone so far
    to_end: list[SubscriberRow] = field(default_factory=list)  # unsubscribed or bounced there
    written_count: int = 0  # our states that were written to Supabase
    issues: list[RowIssue] = field(default_factory=list)
