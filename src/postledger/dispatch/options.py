"""What an operator may set of a dispatcher."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from postledger.deliveries.entries import Kind
from postledger.dispatch import retry
from postledger.dispatch.capacity import Limits
from postledger.dispatch.retry import Policy


@dataclass(frozen=True, slots=True)
class Options:
    shortest_lease: timedelta = timedelta(seconds=120)
    largest_window: int = 50
    stop_within: timedelta = timedelta(seconds=45)  # for calls under way when the process stops
    policies: Mapping[Kind, Policy] = field(default_factory=lambda: retry.DEFAULTS)
    limits: Limits = field(default_factory=Limits)
    is_sending: bool = True  # off: nothing is claimed, whatever is due
    redis_url: str = ""  # where the witness is kept, and in a file in the folder
    state_folder: Path | None = None
