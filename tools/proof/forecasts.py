"""`python -m tools.proof.forecasts`: forecasts of real runs, and when these really ended.

Two workspaces send at the same time for three minutes: one with a sender's rate, and one whose
account has a rate that two campaigns share. `GET /v1/runs/{id}` is asked ten seconds after the
start; the last mail of each run may miss the time it names by 5 % of what was left.
"""

import argparse
import json
import sys
import time
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tools.drill import stage
from tools.drill.saying import say
from tools.drill.waiting import until

if TYPE_CHECKING:
    from postledger.campaigns.models import Run
    from tools.drill.drill import Drill
    from tools.proof.feedback_tenants import Tenant

_SECONDS = 180.0
_SENDER_RATE = 20
_ACCOUNT_RATE = 100
_BULK_SHARE = 0.8  # of an account's rate; the remainder is kept for single mails
_SMALLER_SHARE = 0.375  # of the mails of the two campaigns; the other one goes on alone
_ASKED_AFTER = 10.0
_MOST_OFF = 0.05


@dataclass(frozen=True, slots=True)
class Watched:
    """A run, and the key of its workspace."""

    name: str
    run: "Run"
    token: str


@dataclass(frozen=True, slots=True)
class Predicted:
    watched: Watched
    asked_at: datetime
    ends_at: datetime
    waiting: int
    binding: str

    def find_error(self, real_end: datetime) -> float:
        """How far it was off, as a share of the time that was left; later than foreseen is more."""
        return (real_end - self.ends_at) / (self.ends_at - self.asked_at)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.forecasts")
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    parser.add_argument("--smaller-share", type=float, default=_SMALLER_SHARE)
    parser.add_argument("--asked-after", type=float, default=_ASKED_AFTER)
    options = parser.parse_args()
    with stage.put_up(workers=2) as drill:
        drill.ses.limit_rate(-1)
        watched = _launch(drill, options.seconds, options.smaller_share)
        until(lambda: all(map(_is_planned, watched)), seconds=60)
        time.sleep(options.asked_after)
        predicted = [_ask(drill, one) for one in watched]
        results = [_compare(one, seconds=3 * options.seconds + 60) for one in predicted]
    return 0 if all(results) else 1


def _launch(drill: "Drill", seconds: float, smaller_share: float) -> list[Watched]:
    from postledger.accounts.models import ProviderAccount, Sender
    from tools.proof import campaigns

    alone = campaigns.create_tenant(drill, "alone")
    shared = campaigns.create_tenant(drill, "shared")
    Sender.objects.filter(pk=alone.sender_id).update(rate_per_second=_SENDER_RATE)
    accounts = ProviderAccount.objects.filter(workspace_id=shared.workspace_id)
    accounts.update(rate_per_second=_ACCOUNT_RATE)
    mails = int(_ACCOUNT_RATE * _BULK_SHARE * seconds)
    smaller = int(mails * smaller_share)
    planned = [
        (alone, "sender", int(_SENDER_RATE * seconds)),
        (shared, "smaller", smaller),
        (shared, "larger", mails - smaller),
    ]
    drafts = [
        (tenant, name, campaigns.write(tenant.workspace_id, name, contacts=contacts))
        for tenant, name, contacts in planned
    ]
    tokens = {tenant.name: _create_key(tenant) for tenant in (alone, shared)}
    return [
        Watched(name, campaigns.start(tenant.workspace_id, campaign_id), tokens[tenant.name])
        for tenant, name, campaign_id in drafts
    ]


def _create_key(tenant: "Tenant") -> str:
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope

    scopes = [Scope.CAMPAIGNS_READ]
    return keys.create_key(tenant.workspace_id, name="proof", scopes=scopes, actor="proof").token


def _is_planned(watched: Watched) -> bool:
    watched.run.refresh_from_db()
    return watched.run.planned_at is not None


def _ask(drill: "Drill", watched: Watched) -> Predicted:
    request = urllib.request.Request(
        f"http://127.0.0.1:{drill.fleet.web_port}/v1/runs/{watched.run.pk}",
        headers={"Authorization": f"Bearer {watched.token}"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  see above
        forecast: dict[str, Any] = json.load(answer)["forecast"]
    return Predicted(
        watched,
        datetime.fromisoformat(forecast["as_of"]),
        datetime.fromisoformat(forecast["ends_at"]),
        forecast["waiting"],
        forecast["binding"],
    )


def _compare(predicted: Predicted, *, seconds: float) -> bool:
    from postledger.deliveries import audit, queries

    stream_id = predicted.watched.run.stream_id
    until(lambda: not queries.read_books([stream_id])[stream_id].waiting, seconds=seconds, every=1)
    real_end = _find_end(stream_id)
    error = predicted.find_error(real_end)
    is_balanced = not audit.audit(stream_id).discrepancies
    say(
        f"{predicted.watched.name}: {predicted.waiting} mails left, predicted"
        f" {(predicted.ends_at - predicted.asked_at).total_seconds():.1f} s"
        f" ({predicted.binding}), took {(real_end - predicted.asked_at).total_seconds():.1f} s:"
        f" {error:+.1%}; books balance: {is_balanced}"
    )
    return abs(error) <= _MOST_OFF and is_balanced


def _find_end(stream_id: int) -> datetime:
    from postledger.deliveries.ledger import sql

    end: datetime
    [(end,)] = sql.rows(
        "SELECT max(settled_at) FROM deliveries_delivery WHERE stream_id = %(stream)s",
        {"stream": stream_id},
    )
    return end


if __name__ == "__main__":
    sys.exit(main())
