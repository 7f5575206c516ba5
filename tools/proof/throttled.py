"""`python -m tools.proof.throttled`: an account that throttles, and no limit that a person set.

An SMTP server takes 14 mails in a second and says "450 too much mail" to all others. Two workers
send one campaign for five minutes: after the first minute at least 0.8 of the rate is used, no
throttled try is an attempt, nothing is in doubt, and the books balance.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.drill import stage
from tools.drill.saying import say
from tools.drill.waiting import until

if TYPE_CHECKING:
    from tools.drill.drill import Drill

_RATE = 14
_SECONDS = 300.0
_LEARNING = 60.0
_LEAST_USE = 0.8
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Tries:
    """What the ledger has of a campaign."""

    most_attempts: int  # of one mail
    try_later: int
    throttled: int
    in_doubt: int

    @property
    def are_free(self) -> bool:
        """Whether no attempt was used but the accepted one, and nothing is in doubt."""
        return self.most_attempts <= 1 and not self.try_later and not self.in_doubt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.throttled")
    parser.add_argument("--rate", type=int, default=_RATE)
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    parser.add_argument("--learning", type=float, default=_LEARNING)
    options = parser.parse_args()
    with stage.put_up(workers=2) as drill, drill.smtp.in_mood(f"{options.rate}/s"):
        is_shown = _prove(drill, options.rate, options.seconds, options.learning)
    return 0 if is_shown else 1


def _prove(drill: "Drill", rate: int, seconds: float, learning: float) -> bool:
    from postledger.deliveries import audit, queries
    from postledger.deliveries.states import State
    from tools.drill import tenants
    from tools.proof import campaigns

    workspace_id, _ = tenants.create("throttled", drill.smtp.port)
    campaign_id = campaigns.write(workspace_id, "news", contacts=int(rate * (seconds + 60)))
    stream_id = campaigns.start(workspace_id, campaign_id).stream_id
    until(lambda: _read_times(drill), seconds=_PATIENCE)
    [first, *_] = _read_times(drill)
    time.sleep(max(0.0, first + seconds - time.time()))
    campaigns.cancel(stream_id)
    until(lambda: _is_settled(stream_id), seconds=_PATIENCE)

    times = [at - first for at in _read_times(drill)]
    mean = sum(learning <= at < seconds for at in times) / (seconds - learning)
    early = sum(at < learning for at in times) / learning
    books = queries.read_books([stream_id])[stream_id]
    accepted, tries = books.counts[State.ACCEPTED], _read_tries(stream_id)
    is_balanced = not audit.audit(stream_id).discrepancies
    say(
        f"{rate}/s taken, {seconds:.0f} s: mean {mean:.2f}/s after {learning:.0f} s"
        f" ({mean / rate:.2f} of the rate), {early:.2f}/s before; {len(times)} taken,"
        f" {accepted} booked; {tries}; tuned to {_read_tuned(workspace_id):.2f}/s;"
        f" books balance: {is_balanced}"
    )
    is_used, is_matched = mean >= _LEAST_USE * rate, accepted == len(times)
    return is_used and tries.are_free and is_balanced and is_matched


def _read_times(drill: "Drill") -> list[float]:
    """When the server took each mail."""
    from tools.drill import reading

    taken = reading.journal(drill.smtp.lines())
    return sorted(mail.at.timestamp() for mail in taken if mail.at is not None)


def _is_settled(stream_id: int) -> bool:
    from postledger.deliveries import queries

    return queries.read_books([stream_id])[stream_id].waiting == 0


def _read_tries(stream_id: int) -> Tries:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(attempts), count(*) FILTER (WHERE state = 'in_doubt')"
            " FROM deliveries_delivery WHERE stream_id = %s",
            [stream_id],
        )
        [(most_attempts, in_doubt)] = cursor.fetchall()
        cursor.execute(
            "SELECT count(*) FILTER (WHERE outcome = 'try_later'),"
            " count(*) FILTER (WHERE outcome = 'throttled')"
            " FROM deliveries_attempt WHERE stream_id = %s",
            [stream_id],
        )
        [(try_later, throttled)] = cursor.fetchall()
    return Tries(most_attempts, try_later, throttled, in_doubt)


def _read_tuned(workspace_id: int) -> float:
    from postledger.accounts.models import ProviderAccount

    return ProviderAccount.objects.get(workspace_id=workspace_id).tuned_rate or 0.0


if __name__ == "__main__":
    sys.exit(main())
