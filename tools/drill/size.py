"""How much of everything a drill does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Amount:
    """Of what is done to a vendor that is talked to by HTTP."""

    kills: int
    faults: int  # of the network between a worker and the vendor
    mails: int


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
    ses: Amount
    sendgrid: Amount
    has_queue: bool  # SES reports to SQS, which costs time; else it posts to the web process
    skews: tuple[int, ...]  # seconds by which clocks are wrong
    pause: float  # seconds that a fault lasts
    freezes: int  # of the database, and as many locks
    standstill: float  # seconds that a frozen database, or a lock, lasts
    stops: int  # of workers, short and long ones
    steps: tuple[int, ...]  # seconds by which the database's clock is set on or back
    moods: int  # rounds of a provider that throttles and blocks
    deeds: int  # of people
    runs: int  # of campaigns
    events: int  # of a topic
    fan_out_deaths: int  # of workers in the middle of a chunk
    gaps: int  # restores, and as many promotions
    restarts: int  # of each service, and of all together


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
    ses=Amount(kills=1, faults=10, mails=150),
    sendgrid=Amount(kills=1, faults=10, mails=150),
    has_queue=False,
    skews=(600,),
    pause=2.0,
    freezes=1,
    standstill=15.0,
    stops=2,
    steps=(60, 1200),
    moods=1,
    deeds=12,
    runs=1,
    events=5,
    fan_out_deaths=0,
    gaps=1,
    restarts=2,
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
    ses=Amount(kills=100, faults=300, mails=5_000),
    sendgrid=Amount(kills=50, faults=150, mails=3_000),
    has_queue=True,
    skews=(600, -600, 3600, -3600),
    pause=4.0,
    freezes=5,
    standstill=70.0,
    stops=20,
    steps=(30, -20, 1200, 90, -45, 1800),
    moods=12,
    deeds=200,
    runs=5,
    events=400,
    fan_out_deaths=20,
    gaps=5,
    restarts=50,
)
