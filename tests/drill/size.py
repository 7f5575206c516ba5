"""How much of everything a drill does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    workers: int
    kills_of_a_point: int
    latest_pass: int  # of a point, on which a process dies
    random_kills: int
    deploys: int
    broker_rounds: int  # of each fault of each broker
    is_gentle: bool  # whether brokers are also stopped politely, and frozen
    database_rounds: int
    cuts: int  # of each mode
    skews: tuple[int, ...]  # seconds by which clocks are wrong
    pause: float  # seconds that a fault lasts


QUICK = Size(
    workers=2,
    kills_of_a_point=1,
    latest_pass=2,
    random_kills=4,
    deploys=1,
    broker_rounds=1,
    is_gentle=False,
    database_rounds=1,
    cuts=8,
    skews=(600,),
    pause=2.0,
)
FULL = Size(
    workers=3,
    kills_of_a_point=20,
    latest_pass=8,
    random_kills=200,
    deploys=6,
    broker_rounds=5,
    is_gentle=True,
    database_rounds=5,
    cuts=100,
    skews=(600, -600, 3600, -3600),
    pause=4.0,
)
