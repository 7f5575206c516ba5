"""What the carriers of one process share."""

import asyncio
from dataclasses import dataclass, field

from postledger.dispatch.desk import Desk
from postledger.dispatch.holds import Holds
from postledger.dispatch.routes import Routes
from postledger.dispatch.rules import Rules


@dataclass(frozen=True, slots=True)
class Crew:
    """`stop` ends turns after their round; `stop_now` also ends the calls under way."""

    name: str
    rules: Rules
    desk: Desk
    routes: Routes
    holds: Holds
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stop_now: asyncio.Event = field(default_factory=asyncio.Event)
