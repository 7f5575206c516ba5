"""`python -m tools.proof.pace`: the rate of a sender, by the journal of the provider.

Two workers send through the fake SES at 14, 100 and 500 mails a second, for a minute each; then the
same while Redis is emptied, restarted and replaced ten times. No second may have more mails than
the rate, its mean may miss the rate by 3 % while nothing is disturbed, and nothing is lost.
"""

import argparse
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.drill import stage
from tools.drill.saying import say
from tools.drill.waiting import until

if TYPE_CHECKING:
    from tools.drill.drill import Drill
    from tools.proof.feedback_tenants import Tenant

_RATES = (14, 100, 500)
_SECONDS = 60.0
_DISTURBANCES = 10
_MOST_OFF = 0.03


@dataclass(frozen=True, slots=True)
class Measured:
    """The mails of one run between two moments, by the provider's clock."""

    rate: int
    times: Sequence[float]

    @property
    def fullest(self) -> int:
        """The most mails in any second."""
        ends = (bisect_left(self.times, start + 1.0) for start in self.times)
        return max(end - at for at, end in enumerate(ends))

    @property
    def mean(self) -> float:
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    @property
    def is_kept(self) -> bool:
        return self.fullest <= self.rate + max(1, int(0.02 * self.rate))

    @property
    def is_used(self) -> bool:
        return abs(self.mean / self.rate - 1) <= _MOST_OFF


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.pace")
    parser.add_argument("--rates", type=int, nargs="*", default=_RATES)
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    parser.add_argument("--only", choices=("quiet", "disturbed"), help="with or without Redis")
    options = parser.parse_args()
    with stage.put_up(workers=2) as drill:
        drill.ses.limit_rate(-1)
        results = [
            _prove(drill, rate, options.seconds, is_disturbed=is_disturbed)
            for is_disturbed in (False, True)
            if options.only is None or is_disturbed == (options.only == "disturbed")
            for rate in options.rates
        ]
    return 0 if all(results) else 1


def _prove(drill: "Drill", rate: int, seconds: float, *, is_disturbed: bool) -> bool:
    from postledger.deliveries import audit, queries
    from tools.proof import campaigns

    name = f"{'disturbed' if is_disturbed else 'rate'}{rate}"
    tenant, stream_id = campaigns.launch(
        drill, name, contacts=int(rate * (seconds + 30)), limits={"rate_per_second": float(rate)}
    )
    until(lambda: _count(drill, tenant) > 0, seconds=120)
    time.sleep(2)
    since = time.time()
    if is_disturbed:
        _disturb(drill, seconds)
    else:
        time.sleep(seconds)
    measured = Measured(rate, _read_times(drill, tenant, since, time.time()))
    campaigns.cancel(stream_id)
    books = queries.read_books([stream_id])[stream_id]
    is_balanced = not audit.audit(stream_id).discrepancies
    say(
        f"{name}: {len(measured.times)} mails in {seconds:.0f} s, mean {measured.mean:.2f}/s,"
        f" fullest second {measured.fullest}; {books.counts}, books balance: {is_balanced}"
    )
    return measured.is_kept and is_balanced and (measured.is_used or is_disturbed)


def _disturb(drill: "Drill", seconds: float) -> None:
    """Empties, restarts and replaces Redis in turn."""
    deeds = _list_deeds(drill)
    for _ in range(_DISTURBANCES):
        time.sleep(seconds / _DISTURBANCES)
        next(deeds)()


def _list_deeds(drill: "Drill") -> Iterator[Callable[[], object]]:
    def restart() -> None:
        drill.redis.end()
        drill.redis.start()
        until(drill.redis.answers, seconds=30)

    def replace() -> None:
        """A server that never saw a mail takes over the port."""
        drill.redis.client().flushall()
        restart()

    while True:
        yield drill.redis.client().flushall
        yield restart
        yield replace


def _count(drill: "Drill", tenant: "Tenant") -> int:
    return len(_read_times(drill, tenant, 0, time.time()))


def _read_times(drill: "Drill", tenant: "Tenant", since: float, until_: float) -> list[float]:
    from datetime import datetime

    from tools.fakes.http import journal

    times = [
        datetime.fromisoformat(entry["time"]).timestamp()
        for entry in journal.read_mails(drill.ses.journal)
        if tenant.address in entry["from"]
    ]
    return sorted(at for at in times if since <= at < until_)


if __name__ == "__main__":
    sys.exit(main())
