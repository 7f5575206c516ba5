"""The totals: what processes flush at the same time adds up, and a lost database loses nothing."""

import os
import subprocess
import sys
from threading import Thread

import psycopg
import pytest
from django.db import connection, connections, transaction

from postledger.observability import metrics, metrics_store
from postledger.observability.metrics import PENDING, STATES, Series

SENT: Series = ("pipeline_final_state_total", ("SENT",))

pytestmark = pytest.mark.django_db(transaction=True)

PROCESS = """
import sys, time
import django
django.setup()
from postledger.observability import metrics, metrics_store
{}
"""


def own_url() -> str:
    """The address of the database that this test runs in."""
    own = connection.settings_dict
    return f"postgresql://{own['USER']}@{own['HOST']}:{own['PORT']}/{own['NAME']}"


def start(body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS.format(body)],
        env={
            **os.environ,
            "DATABASE_URL": own_url(),
            "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        },
        stdout=subprocess.PIPE,
        text=True,
    )


def test_flushing_adds_to_what_is_there() -> None:
    metrics.FINAL_STATES.add(2, state="SENT")
    metrics_store.flush()
    metrics.FINAL_STATES.add(3, state="SENT")
    metrics.FINAL_STATES.add(1, state="FAILED")
    metrics_store.flush()

    assert metrics_store.totals() == {SENT: 5, ("pipeline_final_state_total", ("FAILED",)): 1}
    assert PENDING.take() == {}


def test_flushing_nothing_asks_nobody() -> None:
    connection.close()

    metrics_store.flush()

    assert connection.connection is None


def test_flushes_in_opposite_orders_add_up_and_never_deadlock() -> None:
    amounts: dict[Series, float] = {("pipeline_final_state_total", (s,)): 1.0 for s in STATES}
    orders = [amounts, dict(reversed(amounts.items()))]
    caught: list[Exception] = []

    def flush(order: dict[Series, float]) -> None:
        try:
            for _ in range(100):
                metrics_store._add(order)
        except Exception as error:  # noqa: BLE001  handed to the test
            caught.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=flush, args=(orders[n % 2],)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert caught == []
    assert metrics_store.totals() == dict.fromkeys(amounts, 600.0)


@pytest.mark.slow
def test_processes_that_flush_at_once_add_up() -> None:
    body = """
for _ in range(200):
    metrics.FINAL_STATES.add(1, state="SENT")
    metrics.PROCESSING_DURATION.observe(0.5, state="SENT")
    metrics_store.flush()
"""
    processes = [start(body) for _ in range(3)]

    assert [process.wait(300) for process in processes] == [0, 0, 0]
    for process in processes:
        process.communicate()
    assert metrics_store.totals() == {
        SENT: 600,
        ("pipeline_processing_duration_seconds_bucket", ("SENT", "0.5")): 600,
        ("pipeline_processing_duration_seconds_sum", ("SENT",)): 300,
    }


def test_a_lost_connection_keeps_the_tally_for_the_next_flush() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(own_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    metrics.FINAL_STATES.add(2, state="SENT")

    metrics_store.flush()
    assert metrics_store.totals() == {}
    metrics.FINAL_STATES.add(1, state="SENT")
    metrics_store.flush()

    assert metrics_store.totals() == {SENT: 3}


def test_a_flush_inside_a_transaction_is_refused_and_keeps_the_tally() -> None:
    metrics.FINAL_STATES.add(2, state="SENT")

    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        metrics_store.flush()

    assert PENDING.take() == {SENT: 2}


@pytest.mark.slow
def test_a_process_in_the_background_mode_flushes_by_itself_with_no_thread_while_idle() -> None:
    process = start("""
import threading
metrics_store.flush_in_background(interval=0.2)
print(threading.active_count())
metrics.FINAL_STATES.add(1, state="SENT")
end = time.monotonic() + 60
while time.monotonic() < end and not (metrics_store.totals() and threading.active_count() == 1):
    time.sleep(0.1)
print(threading.active_count(), metrics_store.totals()[("pipeline_final_state_total", ("SENT",))])
""")

    output, _ = process.communicate(timeout=120)

    assert output.splitlines() == ["1", "1 1.0"]


@pytest.mark.slow
def test_a_process_flushes_the_rest_at_its_end() -> None:
    process = start("""
metrics_store.flush_in_background()
metrics.FINAL_STATES.add(4, state="SENT")
""")

    process.communicate(timeout=120)

    assert metrics_store.totals() == {SENT: 4}


@pytest.mark.slow
def test_a_web_process_flushes_in_the_background() -> None:
    process = start("""
from postledger.config import asgi; asgi.load(1)
metrics.FINAL_STATES.add(4, state="SENT")
""")

    process.communicate(timeout=120)

    assert metrics_store.totals() == {SENT: 4}
