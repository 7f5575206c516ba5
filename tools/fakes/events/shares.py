"""Which recipients meet which outcome, drawn by their addresses; pure."""

from dataclasses import dataclass, fields
from typing import ClassVar

from pydantic import ConfigDict

from tools.fakes.http.draws import draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How many of the recipients meet each outcome, from 0 to 1; all others get their mail.

    A vendor adds one field for each outcome. The same seed and address always meet the same
    outcome, as a dead mailbox does.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    seed: int = 0

    def __post_init__(self) -> None:
        shares = [share for _, share in self._list()]
        if any(share < 0 for share in shares) or sum(shares) > 1:
            raise ValueError("Shares are at least 0, and at most 1 together")

    def choose(self, address: str) -> str | None:
        """The name of an outcome; None if the mail arrives."""
        drawn = draw(self.seed, address.lower())
        for name, share in self._list():
            if drawn < share:
                return name
            drawn -= share
        return None

    def _list(self) -> list[tuple[str, float]]:
        names = (field.name for field in fields(self) if field.name != "seed")
        return [(name, getattr(self, name)) for name in names]
