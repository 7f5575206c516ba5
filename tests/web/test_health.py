"""What watchers are told: live, ready, and the metrics of the whole installation."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections
from django.test import Client
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families as parse
from pytest_django import DjangoDbBlocker, Settings

from postledger.deliveries import backlog, ledger, partitions
from postledger.deliveries.reasons import Reason
from postledger.dispatch.models import Worker
from postledger.lib import ids
from postledger.observability import metrics, metrics_store
from postledger.observability.metrics import PENDING
from tests import cast

NOW = datetime.now(UTC)
TOKEN = "only-for-prometheus"
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def empty_tally() -> Iterator[None]:
    before = PENDING.take()
    yield
    PENDING.take()
    PENDING.add(before.items())


@pytest.fixture(autouse=True)
def token(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN


@contextmanager
def dead_database() -> Iterator[None]:
    """Points the connection at a port where nobody listens."""
    ours = connections["default"]
    ours.close()
    before = ours.settings_dict
    ours.settings_dict = {**before, "HOST": "127.0.0.1", "PORT": "1"}
    try:
        yield
    finally:
        ours.close()
        ours.settings_dict = before


def families(client: Client) -> dict[str, Metric]:
    answer = client.get("/metrics", headers=HEADERS)
    assert answer.status_code == 200
    return {family.name: family for family in parse(answer.content.decode())}


def values(family: Metric) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value for sample in family.samples if sample.value
    }


def execute(statement: str, *params: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


@pytest.mark.django_db
def test_a_whole_installation_is_ready_and_says_how_often_it_was_forwarded(client: Client) -> None:
    answer = client.get("/ready")
    forwarded = client.get("/ready", headers={"x-forwarded-for": "192.0.2.1, 10.0.0.1"})

    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "missing": [], "forwarded": 0}
    assert forwarded.json()["forwarded"] == 2
    assert client.post("/ready").status_code == client.post("/metrics").status_code == 405


def test_without_a_database_it_is_not_ready_and_has_no_metrics(
    client: Client, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock(), dead_database():
        answer = client.get("/ready")
        of_metrics = client.get("/metrics", headers=HEADERS)

    assert (answer.status_code, of_metrics.status_code) == (503, 503)
    assert answer.json() == {
        "ready": False,
        "missing": [{"what": "the database does not answer", "do": "Run postledger doctor."}],
        "forwarded": 0,
    }


@pytest.mark.django_db
def test_without_this_months_partitions_or_a_migration_it_is_not_ready(client: Client) -> None:
    month = ids.month_of(NOW)
    for table in partitions.TABLES:
        execute(f"DROP TABLE {partitions.partition(table, month)}")
    unparted = client.get("/ready")
    execute("DELETE FROM django_migrations WHERE app = 'observability'")
    unmigrated = client.get("/ready")

    for answer, what in (
        (unparted, f"the ledger has no partitions for {ids.month_name(month)}"),
        (unmigrated, "the migration observability.0001_initial was not run"),
    ):
        assert answer.status_code == 503, what
        assert [each["what"] for each in answer.json()["missing"]] == [what]


@pytest.mark.django_db(transaction=True)
def test_metrics_are_valid_prometheus_text_with_all_of_the_catalogue(client: Client) -> None:
    metrics.STATE_TRANSITIONS.add(7, state="SENT")
    metrics.VALIDATION_FAILURES.add(2, code="INVALID_EMAIL")
    metrics.RETRIES.add(3, category="QUOTA_ERROR")
    metrics.FINAL_STATES.add(5, state="no such state")
    metrics_store.flush()

    exposed = families(client)
    answer = client.get("/metrics", headers={**HEADERS, "accept": "application/openmetrics-text"})

    assert answer["Content-Type"].startswith("application/openmetrics-text")
    states = {sample.labels["state"] for sample in exposed["pipeline_final_state"].samples}
    assert states >= set(metrics.STATES), "a counter is there before its first increment"
    assert {name.removesuffix("_total") for name in exposed} == {
        metric.name.removesuffix("_total") for metric in metrics.CATALOGUE
    }
    assert values(exposed["pipeline_state_transitions"]) == {("SENT",): 7}
    assert values(exposed["pipeline_validation_failures"]) == {("INVALID_EMAIL",): 2}
    assert values(exposed["pipeline_retry_count"]) == {("QUOTA_ERROR",): 3}
    assert values(exposed["pipeline_final_state"]) == {("other",): 5}


@pytest.mark.django_db(transaction=True)
def test_a_histogram_is_cumulative_with_count_and_sum(client: Client) -> None:
    metrics.PROCESSING_DURATION.observe(0.02, count=4, state="SENT")
    metrics.PROCESSING_DURATION.observe(0.3, count=2, state="SENT")
    metrics.PROCESSING_DURATION.observe(900, state="SENT")
    metrics_store.flush()

    family = families(client)["pipeline_processing_duration_seconds"]

    assert family.type == "histogram"
    buckets = {s.labels["le"]: s.value for s in family.samples if s.name.endswith("_bucket")}
    assert (buckets["0.01"], buckets["0.025"], buckets["0.25"], buckets["0.5"]) == (0, 4, 4, 6)
    assert (buckets["600.0"], buckets["+Inf"]) == (6, 7)
    rest = {s.name.rpartition("_")[2]: s.value for s in family.samples if "le" not in s.labels}
    assert rest == {"count": 7, "sum": pytest.approx(900.68)}


@pytest.mark.django_db(transaction=True)
def test_gauges_tell_what_waits_and_since_when(client: Client) -> None:
    due, held = cast.stream(mails=3), cast.stream(mails=2, workspace="globex")
    execute(
        "UPDATE deliveries_batch SET due_at = clock_timestamp() - interval '90 seconds'"
        " WHERE stream_id = %s",
        due,
    )
    execute(
        "UPDATE deliveries_batch SET due_at = clock_timestamp() - interval '1 day'"
        " WHERE stream_id = %s",
        held,
    )
    ledger.hold(held, reason=Reason.PAUSED, actor="alice")

    exposed = families(client)

    [oldest] = values(exposed["postledger_due_oldest_seconds"]).values()
    assert 89 < oldest < 100
    assert values(exposed["postledger_waiting_batches"]) == {("ready",): 2}
    assert values(exposed["postledger_held_streams"]) == {(): 1}
    assert values(exposed["postledger_held_senders"]) == {}


@pytest.mark.django_db(transaction=True)
def test_work_that_is_leased_is_not_the_oldest_and_doubts_are_counted_wherever_they_stand(
    client: Client,
) -> None:
    cast.claim(cast.stream(mails=3))
    first, second = cast.stream(mails=3), cast.stream(mails=2)
    cast.lose(first, size=3)
    cast.lose(second, size=2)
    ledger.fold()

    exposed = families(client)

    assert values(exposed["postledger_due_oldest_seconds"]) == {}
    assert values(exposed["postledger_waiting_batches"]) == {}
    assert values(exposed["postledger_in_doubt"]) == {(): 5}
    assert backlog.count_in_doubt() == 5


@pytest.mark.django_db(transaction=True)
def test_a_worker_counts_while_it_shows_signs_of_life(client: Client) -> None:
    for name, age in (("a", 1), ("b", 15), ("c", 40)):
        seen = datetime.now(UTC) - timedelta(seconds=age)
        Worker.objects.create(name=name, started_at=seen, seen_at=seen, busy_streams=0)

    assert values(families(client)["postledger_workers_alive"]) == {(): 2}


@pytest.mark.django_db(transaction=True)
def test_a_token_opens_the_metrics(client: Client) -> None:
    for header, status in (
        ("Bearer only-for-prometheus", 200),
        ("Bearer only-for-prometheu", 401),
        ("bearer only-for-prometheus", 401),
        ("Basic only-for-prometheus", 401),
        ("Bearer ünknown", 401),
        ("", 401),
    ):
        answer = client.get("/metrics", headers={"authorization": header} if header else {})

        assert answer.status_code == status, header
        assert ("pipeline_" in answer.content.decode()) == (status == 200), header


def test_without_a_token_nobody_reads_the_metrics(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    for header in ({}, {"authorization": "Bearer "}):
        assert client.get("/metrics", headers=header).status_code == 404, header
