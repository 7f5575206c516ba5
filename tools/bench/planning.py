"""`just bench planning`: a campaign's audience written into the ledger, beside a bare INSERT."""

import argparse
import os
import statistics
import time
from datetime import UTC, datetime

from tools.bench import cluster, work

# The same rows, values and keys, in one statement without a cursor: what the engine allows.
_BARE = """
INSERT INTO deliveries_delivery (
    stream_id, position, planned_at, address, dedupe_key, contact_id, variables, letter
)
SELECT %(stream)s, row_number() OVER (ORDER BY lower(address) COLLATE "C") - 1,
       statement_timestamp(), address, lower(address), id,
       jsonb_strip_nulls(jsonb_build_object('name', name, 'from_name', from_name)), 0
FROM contacts_contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL AND state = 'active'
ORDER BY lower(address) COLLATE "C"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--statements", action="store_true", help="show what takes the time")
    options = parser.parse_args()
    with cluster.running() as address:
        work.connect(address)
        _measure(options.size, options.rounds)
        if options.statements:
            _show_statements()


def _measure(size: int, rounds: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    from tools.bench import crowd

    call_command("migrate", verbosity=0)
    print(f"{size:,} contacts are made …", flush=True)
    workspace_id = crowd.gather("bench", size=size, now=datetime.now(UTC))
    _prepare(workspace_id)
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_stat_statements_reset()")
    ratios: list[float] = []
    for number in range(rounds):
        ours, planned = _planned(workspace_id, f"news-{number}")
        bare, written = _bare(workspace_id)
        ratios.append((planned / ours) / (written / bare))
        print(
            f"planned {planned:,} in {ours:.1f} s: {planned / ours:,.0f}/s;"
            f" bare INSERT … SELECT {written / bare:,.0f}/s; ratio {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


def _show_statements() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT round(total_exec_time), calls, left(translate(query, chr(10), ' '), 90)"
            " FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 12"
        )
        for milliseconds, calls, query in cursor.fetchall():
            print(f"{milliseconds:>8} ms {calls:>6} calls of {query}")


def _prepare(workspace_id: int) -> None:
    from django.conf import settings

    from postledger.accounts import senders, workspaces
    from postledger.accounts.queries import Organisation

    settings.UNSUBSCRIBE_SECRET = os.urandom(16).hex()
    footer = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, footer, actor="bench")
    senders.create_sender(workspace_id, address="news@acme.example", actor="bench")


def _planned(workspace_id: int, tag: str) -> tuple[float, int]:
    from postledger.campaigns.drafts import drafts
    from postledger.campaigns.drafts.drafts import Draft
    from postledger.campaigns.launches import launching
    from postledger.campaigns.models import Run
    from postledger.campaigns.planning import planning
    from postledger.content.rendering.source import Format
    from postledger.deliveries import queries
    from postledger.mailing.content_source import InlineSource

    now = datetime.now(UTC)
    words = InlineSource("News", "Hello, {{ name }}.", Format.MARKDOWN)
    draft = Draft(tag, "News", words)
    campaign_id = drafts.create_campaign(workspace_id, draft, actor="bench", now=now)
    began = time.perf_counter()
    run_id = launching.launch_campaign(workspace_id, campaign_id, actor="bench", now=now)
    planning.plan_run(run_id)
    seconds = time.perf_counter() - began
    stream_id = Run.objects.values_list("stream_id", flat=True).get(pk=run_id)
    return seconds, queries.read_books([stream_id])[stream_id].planned


def _bare(workspace_id: int) -> tuple[float, int]:
    from django.db import connection

    from postledger.accounts.models import Sender

    sender_id = Sender.objects.values_list("pk", flat=True).get(workspace_id=workspace_id)
    stream_id = work.open_stream(sender_id)
    with connection.cursor() as cursor:
        began = time.perf_counter()
        cursor.execute(_BARE, {"stream": stream_id, "workspace": workspace_id})
        return time.perf_counter() - began, cursor.rowcount


if __name__ == "__main__":
    main()
