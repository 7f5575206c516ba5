"""`python -m tools.proof.feedback_guard`: a campaign stops itself before all its mail is out.

10,000 contacts, of which 6 in 100 bounce; SES takes 200 mails a second and posts its events to a
real web process. The run has to hold itself while at least 5,000 mails wait, and everybody who asks
is told why.
"""

import subprocess
import sys
import time
from typing import TYPE_CHECKING
from uuid import UUID

import httpx

from tools.drill import stage
from tools.drill.saying import say
from tools.drill.services import is_open
from tools.drill.waiting import until

if TYPE_CHECKING:
    from tools.drill.drill import Drill
    from tools.proof.feedback_tenants import Tenant

_CONTACTS = 10_000
_BOUNCED = 0.06
_RATE = 200
_LEAST_WAITING = 5_000
_PATIENCE = 180.0


def main() -> int:
    with stage.put_up(workers=1) as drill:
        return 0 if _prove(drill) else 1


def _prove(drill: "Drill") -> bool:
    from tools.proof import feedback_tenants

    until(lambda: is_open(drill.fleet.web_port), seconds=60)
    url = f"http://127.0.0.1:{drill.fleet.web_port}"
    tenant = feedback_tenants.create(drill, "guarded", url=f"{url}/ses-events")
    until(lambda: feedback_tenants.is_confirmed(tenant), seconds=60)
    drill.ses.limit_rate(_RATE)
    drill.ses.set_reports({"bounced": _BOUNCED, "seed": 20261118})
    started = time.monotonic()
    run_id = _launch(tenant)
    until(lambda: _find_hold(run_id) is not None, seconds=_PATIENCE, every=0.1)
    seconds = time.monotonic() - started
    # What was with SES when the run stopped ends first.
    books = _read_settled_books(run_id)
    comparison = feedback_tenants.compare(drill, tenant)
    say(
        f"stopped {seconds:.1f} s after the launch: {books['waiting']:,} of {_CONTACTS:,} wait,"
        f" {comparison.mails:,} went to SES"
    )
    is_told = all(_list_answers(tenant, run_id, url))
    return _find_hold(run_id) == "bounce_rate" and books["waiting"] >= _LEAST_WAITING and is_told


def _launch(tenant: "Tenant") -> UUID:
    from datetime import UTC, datetime

    from django.db import connection

    from postledger.campaigns.drafts import drafts
    from postledger.campaigns.drafts.drafts import Draft
    from postledger.campaigns.launches import launching
    from postledger.content.rendering.source import Format
    from postledger.mailing.content_source import InlineSource

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes, created_at)"
            " SELECT %s, 'r' || n || '@drill.example', 'Reader', '{}', now()"
            " FROM generate_series(1, %s) AS n",
            [tenant.workspace_id, _CONTACTS],
        )
    source = InlineSource("News", "News for {{ email }}", Format.MARKDOWN)
    draft = Draft("news", "News", source, audience={})
    now = datetime.now(UTC)
    campaign_id = drafts.create_campaign(tenant.workspace_id, draft, actor="proof", now=now)
    return launching.launch_campaign(tenant.workspace_id, campaign_id, actor="proof", now=now)


def _find_stream_id(run_id: UUID) -> int:
    from postledger.campaigns.models import Run

    return Run.objects.get(pk=run_id).stream_id


def _find_hold(run_id: UUID) -> str | None:
    from postledger.deliveries import queries

    stream = queries.find_stream(_find_stream_id(run_id))
    return stream.holds[0].reason.value if stream and stream.holds else None


def _read_settled_books(run_id: UUID) -> dict[str, int]:
    """The mails by state, when no worker has a lease of them any more."""
    from django.db import connection

    stream_id = _find_stream_id(run_id)

    def is_settled() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM deliveries_batch WHERE stream_id = %s AND lease IS NOT NULL",
                [stream_id],
            )
            [(count,)] = cursor.fetchall()
            return int(count) == 0

    until(is_settled, seconds=60)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, count(*) FROM deliveries_delivery WHERE stream_id = %s GROUP BY state",
            [stream_id],
        )
        return dict(cursor.fetchall())


def _list_answers(tenant: "Tenant", run_id: UUID, url: str) -> list[bool]:
    """Whether each who is asked names the reason; all answers are printed."""
    stream_id = str(_find_stream_id(run_id))
    answers = {
        "why": _run("why", stream_id),
        "stream list": _run("stream", "list", "--workspace", tenant.name),
        "API": _ask_api(tenant, run_id, url),
    }
    for name, answer in answers.items():
        say(f"--- {name}\n{answer}")
    return ["bounce" in answer for answer in answers.values()]


def _run(*arguments: str) -> str:
    done = subprocess.run(["postledger", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


def _ask_api(tenant: "Tenant", run_id: UUID, url: str) -> str:
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope

    key = keys.create_key(tenant.workspace_id, name="proof", scopes=list(Scope), actor="proof")
    headers = {"Authorization": f"Bearer {key.token}"}
    return httpx.get(f"{url}/v1/runs/{run_id}", headers=headers, timeout=30).text


if __name__ == "__main__":
    sys.exit(main())
