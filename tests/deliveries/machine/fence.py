"""What the machine expects of the fence in the current epoch."""

from dataclasses import dataclass, field

from tests.deliveries.machine.rows import Place


@dataclass
class Fence:
    """What the machine expects of the current epoch."""

    epoch: int = 1
    closed: set[int] = field(default_factory=set)  # streams for which it was not lifted
    due: set[Place] = field(default_factory=set)  # waiting lines that must become in doubt
    failed: set[Place] = field(default_factory=set)  # as before the fall; perhaps sent since
    # Numbers that the lost time may have given to tries of a line, by the highest of them.
    lost_tries: dict[Place, int] = field(default_factory=dict)
    is_grace_over: bool = True
    with_late_bytes: set[Place] = field(default_factory=set)  # which may still leave

    def note_change(self, place: Place) -> None:
        """The line has changed since the fall: what was expected of it has come."""
        for places in (self.due, self.failed, self.with_late_bytes):
            places.discard(place)

    def note_doubt(self, place: Place) -> None:
        if not self.is_grace_over:
            self.with_late_bytes.add(place)

    def let_grace_pass(self) -> None:
        self.is_grace_over = True
        self.with_late_bytes.clear()
