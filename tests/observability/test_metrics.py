"""The catalogue: labels stay inside their vocabulary, and nothing counted is lost or doubled."""

import subprocess
import sys
from threading import Thread

import pytest

from postledger.deliveries.reasons import Reason
from postledger.observability import metrics
from postledger.observability.metrics import PENDING, Counter, Gauge, Histogram
from postledger.providers.base import Category

STATE = "pipeline_state_transitions_total"
DURATION = "pipeline_processing_duration_seconds"

FORKED = """
import os
from postledger.observability import metrics

metrics.RETRIES.add(3, category="TRANSIENT_ERROR")
metrics.PENDING._lock.acquire()
if child := os.fork():
    metrics.PENDING._lock.release()
    os.waitpid(child, 0)
else:
    metrics.RETRIES.add(1, category="QUOTA_ERROR")
print(sorted(metrics.PENDING.take().items()), flush=True)
"""


def test_what_is_added_comes_together_by_label() -> None:
    metrics.STATE_TRANSITIONS.add(2, state="SENT")
    metrics.STATE_TRANSITIONS.add(state="SENT")
    metrics.STATE_TRANSITIONS.add(5, state="FAILED")

    assert PENDING.take() == {(STATE, ("SENT",)): 3, (STATE, ("FAILED",)): 5}
    assert PENDING.take() == {}


def test_a_value_outside_the_vocabulary_becomes_other() -> None:
    metrics.STATE_TRANSITIONS.add(1, state="alice@example.com")
    metrics.STATE_TRANSITIONS.add(1, state="sent")

    assert PENDING.take() == {(STATE, ("other",)): 2}


def test_a_label_that_the_catalogue_does_not_have_is_refused() -> None:
    cases: list[dict[str, str]] = [{}, {"tenant": "acme"}, {"state": "SENT", "tenant": "acme"}]
    for labels in cases:
        with pytest.raises(TypeError, match="has the labels"):
            metrics.STATE_TRANSITIONS.add(1, **labels)


def test_nothing_is_kept_of_nothing() -> None:
    metrics.STATE_TRANSITIONS.add(0, state="SENT")
    metrics.PROCESSING_DURATION.observe(1.0, count=0, state="SENT")

    assert PENDING.take() == {}


def test_a_duration_falls_into_the_smallest_bucket_that_holds_it() -> None:
    for seconds, bound in [
        (0.0, "0.01"),
        (0.01, "0.01"),
        (0.011, "0.025"),
        (600.0, "600.0"),
        (601.0, "+Inf"),
    ]:
        metrics.PROCESSING_DURATION.observe(seconds, count=3, state="SENT")

        assert PENDING.take() == {
            (f"{DURATION}_bucket", ("SENT", bound)): 3,
            (f"{DURATION}_sum", ("SENT",)): seconds * 3,
        }, seconds


def test_threads_lose_no_increment() -> None:
    def count() -> None:
        for _ in range(5000):
            metrics.RETRIES.add(1, category="TRANSIENT_ERROR")

    threads = [Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert PENDING.take() == {("pipeline_retry_count_total", ("TRANSIENT_ERROR",)): 40_000}


def test_a_forked_process_counts_only_its_own_and_waits_for_no_lock_of_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=20, check=True
    )

    child, parent = done.stdout.splitlines()
    assert child == "[(('pipeline_retry_count_total', ('QUOTA_ERROR',)), 1.0)]"
    assert parent == "[(('pipeline_retry_count_total', ('TRANSIENT_ERROR',)), 3.0)]"


def test_every_reason_work_can_wait_for_is_a_label_value() -> None:
    assert set(metrics.REASONS) == {reason.value for reason in Reason}


def test_every_category_of_a_failure_is_a_label_value() -> None:
    assert set(metrics.CATEGORIES) == {category.value for category in Category}


def test_names_follow_prometheus_and_are_unique() -> None:
    names = [metric.name for metric in metrics.CATALOGUE]

    assert len(names) == len(set(names))
    for metric in metrics.CATALOGUE:
        assert metric.name.endswith("_total") == isinstance(metric, Counter)
        if isinstance(metric, Histogram):
            assert metric.name.endswith("_seconds")


def test_every_metric_of_the_module_stands_in_the_catalogue() -> None:
    made = {
        metric
        for metric in vars(metrics).values()
        if isinstance(metric, Counter | Histogram | Gauge)
    }

    assert made == set(metrics.CATALOGUE)
