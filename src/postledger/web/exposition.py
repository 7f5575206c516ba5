"""Writes the metrics of the whole installation in the form Prometheus reads."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import override

from django.db import connection, transaction
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from postledger.deliveries import backlog
from postledger.dispatch import heartbeat
from postledger.observability import metrics, metrics_store
from postledger.observability.metrics import Counter, Gauge, Histogram, Series

type Totals = Mapping[Series, float]
type Values = Mapping[tuple[str, ...], float]


def render(accept: str) -> tuple[bytes, str]:
    """The metrics in the newest form that the asking side accepts, and that form's name."""
    encode, content_type = choose_encoder(accept)
    return encode(_Installation()), content_type


class _Installation(Collector):
    @override
    def collect(self) -> Iterator[Metric]:
        with transaction.atomic():
            with connection.cursor() as cursor:
                # Who asks asks again soon: better no answer than many slow ones side by side.
                cursor.execute("SET LOCAL statement_timeout = '5s'")
            totals = metrics_store.totals()
            readings = _readings()
        for counter in metrics.COUNTERS:
            yield _counter(counter, totals)
        for histogram in metrics.HISTOGRAMS:
            yield _histogram(histogram, totals)
        for gauge, values in readings.items():
            yield _gauge(gauge, values)


def _readings() -> dict[Gauge, Values]:
    holds = backlog.holds()
    waiting = {(reason.value,): float(n) for reason, n in backlog.waiting_batches().items()}
    return {
        metrics.DUE_OLDEST: {(): backlog.due_oldest_seconds() or 0.0},
        metrics.WAITING_BATCHES: _zeros(metrics.WAITING_BATCHES) | waiting,
        metrics.HELD_STREAMS: {(): holds.stream_count},
        metrics.HELD_SENDERS: {(): holds.sender_count},
        metrics.WORKERS_ALIVE: {(): heartbeat.alive().count()},
        metrics.IN_DOUBT: {(): backlog.in_doubt()},
    }


def _zeros(metric: metrics.Metric) -> dict[tuple[str, ...], float]:
    """Every known series from the start: one that appears only with its first value hides it."""
    [known] = metric.labels.values()
    return {(value,): 0.0 for value in known}


def _counter(counter: Counter, totals: Totals) -> Metric:
    stored = {labels: value for (name, labels), value in totals.items() if name == counter.name}
    family = CounterMetricFamily(counter.name, counter.meaning, labels=[*counter.labels])
    for labels, value in (_zeros(counter) | stored).items():
        family.add_metric(labels, value)
    return family


def _histogram(histogram: Histogram, totals: Totals) -> Metric:
    family = HistogramMetricFamily(histogram.name, histogram.meaning, labels=[*histogram.labels])
    sums = {labels: value for (name, labels), value in totals.items() if name == histogram.sum}
    for labels, total in sums.items():
        counts = [
            totals.get((histogram.bucket, (*labels, bound)), 0.0) for bound in histogram.bounds
        ]
        # Each bucket counts what the smaller ones count, too.
        buckets = list(zip(histogram.bounds, accumulate(counts), strict=True))
        family.add_metric(labels, buckets=buckets, sum_value=total)
    return family


def _gauge(gauge: Gauge, values: Values) -> Metric:
    family = GaugeMetricFamily(gauge.name, gauge.meaning, labels=[*gauge.labels])
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
