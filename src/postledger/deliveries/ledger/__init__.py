"""The only writer of the ledger's tables: every change of a delivery is one of these verbs."""

from postledger.deliveries.ledger.arming import arm
from postledger.deliveries.ledger.bodies import SHARED, add_letters, shared
from postledger.deliveries.ledger.claiming import claim, wait
from postledger.deliveries.ledger.decisions import requeue, resolve
from postledger.deliveries.ledger.enqueueing import enqueue
from postledger.deliveries.ledger.evidence import record
from postledger.deliveries.ledger.forgetting import ERASED, Forgotten, forget, forget_again
from postledger.deliveries.ledger.holds import (
    cancel,
    hold,
    hold_sender,
    release,
    release_sender,
)
from postledger.deliveries.ledger.lanes import retire_lanes, turns
from postledger.deliveries.ledger.months import MonthInUseError, drop_month
from postledger.deliveries.ledger.opening import StreamClosedError, open_stream
from postledger.deliveries.ledger.planning import Planned, plan
from postledger.deliveries.ledger.settling import settle
from postledger.deliveries.ledger.upkeep import Swept, drain, fold, sweep

__all__ = [
    "ERASED",
    "SHARED",
    "Forgotten",
    "MonthInUseError",
    "Planned",
    "StreamClosedError",
    "Swept",
    "add_letters",
    "arm",
    "cancel",
    "claim",
    "drain",
    "drop_month",
    "enqueue",
    "fold",
    "forget",
    "forget_again",
    "hold",
    "hold_sender",
    "open_stream",
    "plan",
    "record",
    "release",
    "release_sender",
    "requeue",
    "resolve",
    "retire_lanes",
    "settle",
    "shared",
    "sweep",
    "turns",
    "wait",
]
