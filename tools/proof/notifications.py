"""`python -m tools.proof.notifications`: one event, 100,000 subscriptions, two workers.

Shows how long the fan-out takes, alone and beside workers that send already, and how long a mail
takes from the event to the sandbox's answer. A PostgreSQL of its own, everything durable.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.bench import cluster, work

if TYPE_CHECKING:
    from postledger.notifications.models import Event, Topic

MATCH = {"termId": "92026", "campusCode": "NB", "indexNumber": "10001"}
DATA = {
    **MATCH,
    "statusAfter": "Open",
    "courseTitle": "Data Structures",
    "courseString": "01:198:112",
    "sectionIndex": "10001",
    "sectionNumber": "01",
    "meetingSummary": "Mon 10:20",
    "manageUrl": "https://acme.example/manage",
}
SECRET = "for this proof only, and long enough"
MOST_TO_PLAN, MOST_ON_AVERAGE, MOST_FOR_ONE = 5.0, 30.0, 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        prefix = os.environ["QUEUE_PREFIX"] = f"proof-{os.getpid()}"
        os.environ["UNSUBSCRIBE_SECRET"] = SECRET
        work.connect(address)
        topic = furnish(options.subscriptions, Path(folder))
        plan_alone(topic, options.subscriptions)
        from tests.journeys import rig

        extra = {"UNSUBSCRIBE_SECRET": SECRET}
        with rig.installation(Path(folder), address, prefix=prefix, **extra) as installed:
            for number in range(options.workers):
                installed.worker(*["--beat"][: not number])
            time.sleep(5)
            hand_over(topic, options.subscriptions)


def furnish(count: int, folder: Path) -> "Topic":
    """A topic whose subscribers read three languages, in four zones; every tenth has a window."""
    from django.core.management import call_command
    from django.db import connection

    from postledger.accounts import provider_accounts, senders, workspaces
    from postledger.accounts.queries import Organisation
    from postledger.contacts.models import List
    from postledger.notifications.models import Topic
    from postledger.notifications.topics import matching

    call_command("migrate", verbosity=0)
    acme = workspaces.create_workspace("acme", actor="proof")
    footer = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(acme, footer, actor="proof")
    account = provider_accounts.create_account(
        acme,
        name="main",
        kind="sandbox",
        settings={"journal": str(folder / "journal")},
        actor="proof",
    )
    senders.create_sender(
        acme, address="news@acme.example", name="Acme", account_id=account, actor="proof"
    )
    consents = List.objects.create(workspace_id=acme, key="seats", name="Seats", kind="topic")
    topic = Topic.objects.create(
        workspace_id=acme, list=consents, template="open-seat", match_fields=[*MATCH]
    )
    params: dict[str, Any] = {
        "workspace": acme,
        "list": consents.pk,
        "topic": topic.pk,
        "count": count,
        "digest": matching.digest_match(MATCH),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CONTACTS, params)
        cursor.execute(_CONSENTS, params)
        cursor.execute(_SUBSCRIPTIONS, params)
        cursor.execute("VACUUM ANALYZE")
    return Topic.objects.get(pk=topic.pk)


_CONTACTS = """
INSERT INTO contacts_contact (workspace_id, address, name, time_zone)
SELECT %(workspace)s, md5(n::text) || '@' || left(md5('x' || n), 8) || '.example', 'Reader ' || n,
       (ARRAY['Europe/Lisbon', 'America/New_York', 'Asia/Kathmandu', NULL])[1 + n %% 4]
FROM generate_series(1, %(count)s) AS n
"""
_CONSENTS = """
INSERT INTO contacts_subscription (contact_id, list_id, state)
SELECT id, %(list)s, 'active' FROM contacts_contact
"""
# The windows are open: 00:00 to 24:00.
_SUBSCRIPTIONS = """
INSERT INTO notifications_topicsubscription (
    topic_id, contact_id, match_digest, locale, window_from, window_until
)
SELECT %(topic)s, id, %(digest)s, (ARRAY['en', 'pt', 'ru'])[1 + id %% 3],
       CASE WHEN id %% 10 = 0 THEN 0 END, CASE WHEN id %% 10 = 0 THEN 1440 END
FROM contacts_contact ORDER BY id
"""


def publish(topic: "Topic", dedupe_key: str) -> "Event":
    """An event that is received now, by the database's clock."""
    from datetime import timedelta

    from django.db import connection

    from postledger.notifications.models import Event
    from postledger.notifications.topics import matching

    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now = cursor.fetchone()[0]
    return Event.objects.create(
        topic=topic,
        data=DATA,
        digest=b"",
        dedupe_key=dedupe_key,
        occurred_at=now,
        received_at=now,
        expires_at=now + timedelta(days=1),
        actor="proof",
        match_digests=matching.list_match_digests(topic.match_fields, DATA),
    )


def plan_alone(topic: "Topic", count: int) -> None:
    """Plans one event in this process, while nobody sends; its mail is cancelled."""
    from postledger.deliveries import ledger
    from postledger.notifications.fan_out import planner

    event = publish(topic, "alone")
    began = time.perf_counter()
    planner.plan_all()
    seconds = time.perf_counter() - began
    event.refresh_from_db()
    if event.stream_id is None or event.planned_at is None:
        raise SystemExit(f"The event was not planned: {event.trouble}")
    ledger.cancel(event.stream_id, actor="proof")
    while ledger.drain(event.stream_id):
        pass
    _tell(f"{count:,} subscriptions planned, nobody sends", seconds, MOST_TO_PLAN)


def hand_over(topic: "Topic", count: int) -> None:
    """Publishes one event to workers that wait for it, until its last mail is settled."""
    from django.db import connection

    from postledger.notifications.models import Event
    from tests.journeys import rig, stage

    event = publish(topic, "sent")
    rig.until(lambda: Event.objects.filter(pk=event.pk).exclude(stream_id=None).exists())
    event.refresh_from_db()
    stream_id = event.stream_id
    if stream_id is None:
        raise SystemExit("The event has no stream.")
    rig.until(lambda: stage.count(stream_id) == count, seconds=300, every=0.2)
    event.refresh_from_db()
    if event.planned_at is None:
        raise SystemExit("The event was not planned to its end.")
    planned = (event.planned_at - event.received_at).total_seconds()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT avg(extract(epoch FROM settled_at - %(since)s))::float8,"
            " max(extract(epoch FROM settled_at - %(since)s))::float8"
            " FROM deliveries_delivery WHERE stream_id = %(stream)s",
            {"since": event.received_at, "stream": stream_id},
        )
        mean, worst = cursor.fetchone()
    _tell("from the event to its last chunk, workers send", planned, None)
    _tell("from the event to the provider's answer, mean", mean, MOST_ON_AVERAGE)
    _tell("the same, the last mail", worst, MOST_FOR_ONE)


def _tell(what: str, seconds: float, most: float | None) -> None:
    verdict = "" if most is None else f"  (at most {most:g}: {'yes' if seconds <= most else 'NO'})"
    sys.stdout.write(f"{what:52}{seconds:8.2f} s{verdict}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
