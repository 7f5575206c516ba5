"""`python -m tools.proof.shares`: equal limits get equal shares, and single mails do not wait.

Twenty workspaces with a rate of 5 mails a second each send a campaign with two workers for a
minute: by the journal of the fake SES, none is more than 10 % off their mean. Then a campaign uses
all of its account's rate that bulk mail may have; a single mail is asked for every 2 seconds, and
the fake has accepted each within 2 seconds of its request.
"""

import argparse
import json
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from statistics import mean, median
from typing import TYPE_CHECKING

from tools.drill import stage
from tools.drill.saying import say
from tools.drill.waiting import until

if TYPE_CHECKING:
    from tools.drill.drill import Drill

_WORKSPACES = 20
_RATE = 5.0
_SECONDS = 60.0
_MOST_OFF = 0.1
_ACCOUNT_RATE = 20.0
_BULK_SHARE = 0.8  # of the account's rate; the remainder is kept for single mails
_LEAST_USE = 0.95  # of that share: else the run proves nothing about single mails
_EVERY = 2.0
_LONGEST = 2.0
_SETTLING = 10.0  # the second worker has to hear of every run
_PATIENCE = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.shares")
    parser.add_argument("--workspaces", type=int, default=_WORKSPACES)
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    options = parser.parse_args()
    with stage.put_up(workers=2) as drill:
        drill.ses.limit_rate(-1)
        is_fair = _prove_equal_shares(drill, options.workspaces, options.seconds)
        is_prompt = _prove_prompt_singles(drill, options.seconds)
    return 0 if is_fair and is_prompt else 1


def _prove_equal_shares(drill: "Drill", workspaces: int, seconds: float) -> bool:
    from postledger.accounts.models import Sender
    from tools.proof import campaigns

    tenants = [campaigns.create_tenant(drill, f"share{n}") for n in range(workspaces)]
    Sender.objects.filter(pk__in=[one.sender_id for one in tenants]).update(rate_per_second=_RATE)
    contacts = int(_RATE * (seconds + 60))
    drafts = [
        (one.workspace_id, campaigns.write(one.workspace_id, "news", contacts=contacts))
        for one in tenants
    ]
    runs = [campaigns.start(*draft) for draft in drafts]
    addresses = {one.address for one in tenants}
    until(lambda: _count_by_sender(drill).keys() >= addresses, seconds=_PATIENCE, every=0.5)
    time.sleep(_SETTLING)
    since = time.time()
    time.sleep(seconds)
    taken = _count_by_sender(drill, since, since + seconds)
    for run in runs:
        campaigns.cancel(run.stream_id)
    rates = [taken[address] / seconds for address in addresses]
    average = mean(rates)
    say(
        f"{workspaces} workspaces, {seconds:.0f} s: mean {average:.2f}/s of {_RATE:g}/s, from"
        f" {min(rates):.2f}/s ({min(rates) / average - 1:+.1%}) to {max(rates):.2f}/s"
        f" ({max(rates) / average - 1:+.1%})"
    )
    return all(abs(rate / average - 1) <= _MOST_OFF for rate in rates)


def _prove_prompt_singles(drill: "Drill", seconds: float) -> bool:
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope
    from postledger.accounts.models import ProviderAccount
    from tools.proof import campaigns

    tenant = campaigns.create_tenant(drill, "prompt")
    accounts = ProviderAccount.objects.filter(workspace_id=tenant.workspace_id)
    accounts.update(rate_per_second=_ACCOUNT_RATE)
    key = keys.create_key(tenant.workspace_id, name="proof", scopes=[Scope.SEND], actor="proof")
    contacts = int(_ACCOUNT_RATE * (seconds + 60))
    draft_id = campaigns.write(tenant.workspace_id, "news", contacts=contacts)
    run = campaigns.start(tenant.workspace_id, draft_id)
    until(lambda: _count_by_sender(drill)[tenant.address] > 0, seconds=_PATIENCE, every=0.5)
    time.sleep(_SETTLING)
    since = time.time()
    asked = _ask_for_singles(drill, key.token, seconds)
    accepted = _wait_for(drill, asked)
    bulk = _count_by_sender(drill, since, since + seconds)[tenant.address] - len(asked)
    campaigns.cancel(run.stream_id)
    waits = [accepted.get(address, float("inf")) - at for address, at in asked.items()]
    say(
        f"{len(waits)} single mails beside a run at {bulk / seconds:.2f}/s on an account with"
        f" {_ACCOUNT_RATE:g}/s: median {median(waits):.2f} s, worst {max(waits):.2f} s"
    )
    is_busy = bulk / seconds >= _LEAST_USE * _BULK_SHARE * _ACCOUNT_RATE
    return is_busy and max(waits) <= _LONGEST


def _ask_for_singles(drill: "Drill", token: str, seconds: float) -> dict[str, float]:
    """Asks for a mail every two seconds; when each was asked for, by its recipient."""
    asked: dict[str, float] = {}
    began = time.time()
    for number in range(int(seconds / _EVERY)):
        time.sleep(max(0.0, began + number * _EVERY - time.time()))
        address = f"single{number}@drill.example"
        asked[address] = time.time()
        _ask(drill, token, address)
    time.sleep(max(0.0, began + seconds - time.time()))
    return asked


def _ask(drill: "Drill", token: str, address: str) -> None:
    body = {"to": address, "subject": "Order", "html": "<p>Thanks</p>", "text": "Thanks"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{drill.fleet.web_port}/v1/email/send",
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Idempotency-Key": address,
        },
    )
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310  see above
        pass


def _wait_for(drill: "Drill", asked: dict[str, float]) -> dict[str, float]:
    """When the fake accepted each; those that it has not after a while are left out."""
    end = time.monotonic() + 10 * _LONGEST
    while True:
        accepted = {to: at for _, to, at in _read_journal(drill) if to in asked}
        if len(accepted) == len(asked) or time.monotonic() > end:
            return accepted
        time.sleep(0.2)


def _count_by_sender(
    drill: "Drill", since: float = 0.0, until_: float = float("inf")
) -> Counter[str]:
    return Counter(sender for sender, _, at in _read_journal(drill) if since <= at < until_)


def _read_journal(drill: "Drill") -> Iterator[tuple[str, str, float]]:
    """The sender and the recipient of each mail, and when it was accepted."""
    from email.utils import parseaddr

    from tools.fakes.http import journal

    for entry in journal.read_mails(drill.ses.journal):
        at = datetime.fromisoformat(entry["time"]).timestamp()
        yield parseaddr(entry["from"])[1], entry["destination"][0], at


if __name__ == "__main__":
    sys.exit(main())
