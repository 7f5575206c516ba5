"""The windows of one round, and those of them that may be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from postledger.deliveries import ledger
from postledger.deliveries.entries import Window
from postledger.dispatch.rounds.compose import ComposedMail, ComposedRound


@dataclass(frozen=True, slots=True)
class ArmedRound:
    windows: ledger.Armed
    requested: Sequence[Window]
    composed: ComposedRound
    requested_at: float  # before the arm was sent, by `boottime`

    @property
    def mails(self) -> Sequence[ComposedMail]:
        if len(self.windows) == len(self.requested):
            return self.composed.mails
        return [mail for mail in self.composed.mails if covers(self.windows, mail.position)]


def covers(windows: Sequence[Window], position: int) -> bool:
    return any(window.batch.lo <= position < window.to for window in windows)
