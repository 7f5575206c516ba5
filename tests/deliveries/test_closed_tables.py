"""Nobody but the service sees a row, whatever a GRANT says."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection

from postledger.campaigns.models import Campaign, Run
from postledger.deliveries import entries, ledger, partitions
from postledger.deliveries.entries import Body, NewDelivery, SeenDelivery, StreamKind
from postledger.deliveries.reasons import Reason
from postledger.lib import ids
from tests import cast
from tests.deliveries import views
from tests.notifications import cast as topics
from tests.notifications import queue

pytestmark = pytest.mark.django_db

LATER = ids.month_of(datetime(2031, 1, 1, tzinfo=UTC))

# Every table, partition and view but the framework's own: read from the catalogue, so that a new
# one is tested without being listed.
RELATIONS = """
SELECT c.oid::regclass::text, c.relkind FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace
  AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relname NOT LIKE 'django\\_%'
ORDER BY 1
"""


def query(statement: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def relations(*kinds: str) -> list[str]:
    return [name for name, kind in query(RELATIONS) if kind in kinds]


def without(where: str, kinds: tuple[str, ...]) -> list[str]:
    """The relations for which a condition on pg_class does not hold."""
    good = {name for (name,) in query(f"SELECT oid::regclass::text FROM pg_class c WHERE {where}")}
    return [name for name in relations(*kinds) if name not in good]


@pytest.fixture
def story() -> None:
    """Mail with something in every table of the ledger."""
    now = datetime.now(UTC)
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    body = Body(subject="Hi", html="<p>Hi</p>")
    lines = [NewDelivery(f"r{number}@example.com", body=body) for number in range(4)]
    positions = ledger.enqueue(stream_id, lines, due_at=now)
    cast.book(stream_id, lambda place: entries.accepted(place, message_id="m"))
    cast.book(stream_id, lambda place: entries.refused(place, code="NO"))
    ledger.requeue(stream_id, [SeenDelivery(positions[1], 1)], actor="bob")
    cast.book(stream_id, lambda place: entries.exhausted(place, code="BUSY"))
    views.report(stream_id, positions[0], "opened")
    _campaign()
    _notification()
    ledger.hold_sender(cast.sender().pk, reason=Reason.PAUSED, actor="bob")


def _campaign() -> None:
    """One that mailed somebody, for the views that tell of campaigns."""
    sender = cast.sender()
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda place: entries.accepted(place, message_id="c"))
    campaign = Campaign.objects.create(
        workspace_id=sender.workspace_id, tag="may", name="May", sender=sender, content={}
    )
    Run.objects.create(
        workspace_id=sender.workspace_id,
        campaign=campaign,
        launch_id=uuid4(),
        input_digest=b"",
        stream_id=stream_id,
        is_test=False,
        is_sandboxed=False,
        launched_at=datetime.now(UTC),
        letter_choice={},
        audience={},
        waves=[],
        actor="alice",
    )


def _notification() -> None:
    """One that was sent, for the views that tell of topics."""
    row = queue.planned(topics.add_topic(cast.sender().workspace_id))
    cast.book(queue.stream_of(row), lambda place: entries.accepted(place, message_id="n"))


@pytest.fixture
def stranger() -> Iterator[str]:
    """A role that was granted everything an administrator can grant by mistake."""
    name = f"stranger_{connection.settings_dict['NAME']}"
    query(
        f"CREATE ROLE {name};"
        f" GRANT ALL ON ALL TABLES IN SCHEMA public TO {name};"
        f" GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}"
    )
    query(f"SET LOCAL ROLE {name}")
    yield name
    query("RESET ROLE")


def test_every_table_and_partition_has_row_level_security_that_lets_nobody_in() -> None:
    partitions.create(LATER)

    only_closed = """
        c.relrowsecurity
        AND 1 = (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid)
        AND EXISTS (
            SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*'
              AND pg_get_expr(p.polqual, p.polrelid) = 'false'
              AND p.polwithcheck IS NULL
        )
    """
    assert f"deliveries_delivery_{ids.month_name(LATER).replace('-', '_')}" in relations("r")
    assert without(only_closed, ("r", "p")) == []


def test_every_view_reads_as_its_reader() -> None:
    assert relations("v")
    assert without("'security_invoker=true' = ANY(c.reloptions)", ("v", "m")) == []


def test_the_service_sees_its_own_rows_in_every_table_and_view(story: None) -> None:
    empty = [name for name in relations("p", "v") if not query(f"SELECT 1 FROM {name} LIMIT 1")]

    assert empty == []


def test_a_stranger_with_every_grant_sees_and_changes_no_row(story: None, stranger: str) -> None:
    names = relations("r", "p", "v", "m")

    seen = [name for name in names if query(f"SELECT 1 FROM {name} LIMIT 1")]

    assert len(names) > 20
    assert seen == []
    assert query("UPDATE deliveries_delivery SET state = 'accepted' RETURNING 1") == []
    assert query("DELETE FROM deliveries_batch RETURNING 1") == []


def test_a_stranger_sees_nothing_of_a_month_made_later(stranger: str) -> None:
    query("RESET ROLE")
    stream_id = cast.stream(mails=1, now=datetime(2031, 1, 1, tzinfo=UTC))
    part = partitions.partition("deliveries_delivery", LATER)
    query(f"GRANT ALL ON {part} TO {stranger}")
    rows = f"SELECT position FROM {part} WHERE stream_id = {stream_id}"
    service = query(rows)

    query(f"SET LOCAL ROLE {stranger}")

    assert len(service) == 1
    assert query(rows) == []
