"""What processes do whose sender somebody blocks and releases, until their stream is cancelled."""

import sys
import time

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Claim
from postledger.deliveries.reasons import Reason
from tests.races import collide


def work(stream: int) -> None:
    """Hands mail over, and prints the positions."""
    while not _is_cancelled(stream):
        claim = collide.claim(stream)
        if claim is None:
            time.sleep(0.002)
        else:
            _hand_over(claim)


def _hand_over(claim: Claim) -> None:
    windows = collide.whole(claim)
    armed = collide.arm(claim)
    sys.stdout.writelines(f"{window.batch.lo}\n" for window in armed)
    assert ledger.settle(claim, armed, results=collide.accept_all(*armed)).lost == []
    refused = [window.batch for window in windows if window not in armed]
    ledger.wait(claim, refused, reason=Reason.HANDED_BACK)


def give_up(stream: int) -> None:
    while not _is_cancelled(stream):
        if not ledger.give_up(stream):
            time.sleep(0.002)


def _is_cancelled(stream: int) -> bool:
    return queries.is_cancelled(queries.find_stream(stream))
