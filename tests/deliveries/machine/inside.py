"""What the machine expects of the database; a restore takes it back."""

from collections import Counter
from dataclasses import dataclass, field

from tests.deliveries.machine.rows import Attempt, Fact, Place


@dataclass
class Inside:
    """What the machine expects to read; a backup has a copy of it."""

    facts: dict[Place, Fact] = field(default_factory=dict)
    counted: set[Attempt] = field(default_factory=set)
    by_word: set[Place] = field(default_factory=set)  # closed by a person, who may be wrong
    erased: set[Place] = field(default_factory=set)  # whose address is erased
    held: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    is_sender_held: bool = False
    is_block_overdue: bool = False  # nobody acted on the block of the sender in time
    cancelled_while_blocked: set[int] = field(default_factory=set)
    suspects: set[int] = field(default_factory=set)  # batches
    lone_deaths: Counter[int] = field(default_factory=Counter)  # by batch
    lone_leases: set[int] = field(default_factory=set)

    def forgive(self, batch_id: int) -> None:
        """The batch was armed or passed over: no worker dies of what was composed."""
        self.suspects.discard(batch_id)
        del self.lone_deaths[batch_id]
