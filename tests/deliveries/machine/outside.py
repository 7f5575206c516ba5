"""What is known outside the database, which no restore takes back."""

from collections import Counter
from dataclasses import dataclass, field

from postledger.deliveries.entries import SeenDelivery
from tests.deliveries.machine.rows import Attempt, Place

# A mail that must not reach its recipient twice: in a run it is the recipient's, however often
# the run is planned; else it is one line.
type Mail = tuple[int, str] | Place


@dataclass
class Outside:
    """What providers, workers and people have seen."""

    taken: Counter[Place] = field(default_factory=Counter)
    mails_taken: Counter[Mail] = field(default_factory=Counter)
    mails_asked_again: Counter[Mail] = field(default_factory=Counter)
    tries: dict[Attempt, int] = field(default_factory=dict)  # every one armed, with its epoch
    tries_taken: set[Attempt] = field(default_factory=set)
    addresses: dict[Place, str] = field(default_factory=dict)  # of every line there ever was
    handed_over: set[Place] = field(default_factory=set)  # of which a provider may have something
    moved: set[Place] = field(default_factory=set)  # whose recipients got another address
    tokens: set[int] = field(default_factory=set)
    pages: list[tuple[int, SeenDelivery]] = field(default_factory=list)  # that a person has open
    keys: int = 0
    minutes: int = 0  # that have passed
    # The witness of the dispatcher: the highest token of an arm, and the highest epoch.
    token: int = 0
    epoch: int = 1

    def note_token(self, token: int) -> None:
        assert token not in self.tokens, f"token {token} was given out twice"
        self.tokens.add(token)

    def note_arm(self, token: int) -> None:
        self.note_token(token)
        self.token = max(self.token, token)

    def note_line(self, place: Place, address: str) -> None:
        assert place not in self.addresses, f"position {place} was given out twice"
        self.addresses[place] = address

    def note_try(self, attempt: Attempt, epoch: int) -> None:
        assert attempt not in self.tries, f"try {attempt} was given out twice"
        self.tries[attempt] = epoch

    def note_taken(self, attempt: Attempt, mail: Mail) -> None:
        stream_id, position, _ = attempt
        self.taken[stream_id, position] += 1
        self.tries_taken.add(attempt)
        self.mails_taken[mail] += 1
        allowed = 1 + self.mails_asked_again[mail]
        assert self.mails_taken[mail] <= allowed, f"{mail} was sent twice, at last as {attempt}"
