"""Runs of campaigns over contacts, planned by workers that die of it."""

from datetime import UTC, datetime
from functools import partial
from itertools import count
from uuid import UUID

from django.db import connection

from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.content.rendering.source import Format
from postledger.lib.crashpoints import Point
from postledger.mailing.content_source import InlineSource
from tools.drill import books, processes, smtp_server
from tools.drill.drill import Drill
from tools.drill.oracle import Rule
from tools.drill.size import Size

_CONTACTS = 2_000
_DEATHS = 2
_PATIENCE = 240.0
_numbers = count(1)


def launch(drill: Drill, tag: str, *, contacts: int, word: str = "") -> UUID:
    """Launches a campaign to new contacts, who are told apart by an attribute."""
    return books.persistently(lambda: _launch(drill, tag, contacts, word))


def _launch(drill: Drill, tag: str, contacts: int, word: str) -> UUID:
    load, name = drill.load, f"{tag}-{next(_numbers)}"
    first = load.reserve(contacts)
    load.campaigns += 1
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes, created_at)"
            " SELECT %s, CASE WHEN n %% 10 = 0 THEN %s ELSE '' END || 'r' || n"
            " || '@drill.example', 'Reader', jsonb_build_object('group', %s::text), now()"
            " FROM generate_series(%s, %s) AS n",
            [load.workspace_id, word, name, first, first + contacts - 1],
        )
    words = InlineSource("News", f"News {smtp_server.mark('{{ email }}')}", Format.MARKDOWN)
    audience = {"group": name}
    draft = Draft(name, "News", words, audience=audience)
    now = datetime.now(UTC)
    campaign_id = drafts.create_campaign(load.workspace_id, draft, actor="drill", now=now)
    return launching.launch_campaign(load.workspace_id, campaign_id, actor="drill", now=now)


def planned(drill: Drill, size: Size) -> None:
    for _ in range(size.runs):
        run_id = _plan_among_deaths(drill)
        drill.faults["run planned by planners that died"] += 1
        drill.pass_time_until(partial(_is_planned, run_id), seconds=_PATIENCE)
        _check(drill, run_id)


def _plan_among_deaths(drill: Drill) -> UUID:
    """Every worker dies in the middle of a chunk, until enough did."""
    fleet = drill.fleet
    wanted = fleet.kills[Point.IN_PLAN_CHUNK] + _DEATHS
    drill.load.is_fed = False  # the drill's own planning would not die of it
    fleet.next_crash = lambda role: None if role == "web" else f"{Point.IN_PLAN_CHUNK}:1"
    processes.replace_workers(drill)
    run_id = launch(drill, "run", contacts=_CONTACTS)
    drill.pass_time_until(lambda: fleet.kills[Point.IN_PLAN_CHUNK] >= wanted, seconds=_PATIENCE)
    fleet.next_crash = lambda _role: None
    processes.replace_workers(drill)
    drill.load.is_fed = True
    return run_id


def _is_planned(run_id: UUID) -> bool:
    return books.persistently(
        lambda: Run.objects.filter(pk=run_id, planned_at__isnull=False).exists()
    )


def _check(drill: Drill, run_id: UUID) -> None:
    """Each contact has one delivery: nobody was left out or planned twice."""

    def count() -> tuple[int, int]:
        stream_id = Run.objects.get(pk=run_id).stream_id
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), count(DISTINCT address) FROM deliveries_delivery"
                " WHERE stream_id = %s",
                [stream_id],
            )
            row = cursor.fetchone()
        return int(row[0]), int(row[1])

    counts = books.persistently(count)
    if counts != (_CONTACTS, _CONTACTS):
        drill.violate(
            Rule.PROMISE_KEPT,
            f"of {_CONTACTS} contacts, {counts[1]} were planned, in {counts[0]} deliveries",
        )
