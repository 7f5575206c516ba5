"""What an operator may decide about a dispatcher."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from postledger.deliveries.entries import Kind
from postledger.dispatch import retry
from postledger.dispatch.retry import Policy
from postledger.dispatch.room import Limits


@dataclass(frozen=True, slots=True)
class Rules:
    shortest_lease: timedelta = timedelta(seconds=120)
    largest_window: int = 50
    grace: timedelta = timedelta(seconds=45)  # for calls under way when the process is to stop
    policies: Mapping[Kind, Policy] = field(default_factory=lambda: retry.DEFAULTS)
    limits: Limits = field(default_factory=Limits)
