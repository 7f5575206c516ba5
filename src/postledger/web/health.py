"""Endpoints for monitoring: readiness and Prometheus metrics. The front answers `/live`."""

import hmac
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import accumulate
from typing import override

import structlog
from django.conf import settings
from django.db import Error, connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from postledger.deliveries import backlog, partitions
from postledger.dispatch import heartbeat
from postledger.feedback import event_flow
from postledger.lib import ids
from postledger.observability import metrics as metric_names
from postledger.observability import metrics_store, schema
from postledger.observability.metrics import Counter, Gauge, Histogram, Series
from postledger.web.shared import throttle

type Totals = Mapping[Series, float]
type Values = Mapping[tuple[str, ...], float]

_log = structlog.get_logger(__name__)


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Requests can be served; otherwise 503 with what is missing and what to do."""
    missing = list(_find_missing())
    body = {
        "ready": not missing,
        "missing": [{"what": what, "do": do} for what, do in missing],
        # `postledger doctor` compares it with PROXY_COUNT.
        "forwarded": len(throttle.forwarded_addresses(request.META)),
    }
    return JsonResponse(body, status=503 if missing else 200)


def _find_missing() -> Iterator[tuple[str, str]]:
    try:
        unapplied = schema.unapplied()
        if unapplied:
            yield f"the migration {unapplied[0]} was not run", "Run postledger migrate."
        elif not partitions.exists(this := partitions.this_month()):
            month = ids.month_name(this)
            yield f"the ledger has no partitions for {month}", "Run postledger partitions."
    except Error as error:
        _log.warning("not ready", error=error)
        yield "the database does not answer", "Run postledger doctor."


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics of the whole installation, in the newest format that the client accepts."""
    if not settings.METRICS_TOKEN:
        return HttpResponse("The metrics are off: set METRICS_TOKEN.\n", status=404)
    if not _has_token(request):
        refusal = HttpResponse("Send the METRICS_TOKEN as a bearer token.\n", status=401)
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    try:
        text = encode(_InstallationCollector())
    except Error as error:
        _log.warning("no metrics", error=error)
        return HttpResponse("The database does not answer. Run postledger doctor.\n", status=503)
    return HttpResponse(text, content_type=content_type)


def _has_token(request: HttpRequest) -> bool:
    header = request.headers.get("Authorization", "")
    return hmac.compare_digest(header.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())


class _InstallationCollector(Collector):
    @override
    def collect(self) -> Iterator[Metric]:
        with transaction.atomic():
            with connection.cursor() as cursor:
                # Prometheus asks again soon: no answer is better than many slow ones at once.
                cursor.execute("SET LOCAL statement_timeout = '5s'")
            totals = metrics_store.totals()
            gauges = _read_gauges()
        for counter in metric_names.COUNTERS:
            yield _counter(counter, totals)
        for histogram in metric_names.HISTOGRAMS:
            yield _histogram(histogram, totals)
        for gauge, values in gauges.items():
            yield _gauge(gauge, values)


def _read_gauges() -> dict[Gauge, Values]:
    holds = backlog.count_holds()
    waiting = {(reason.value,): float(n) for reason, n in backlog.count_waiting_batches().items()}
    return {
        metric_names.DUE_OLDEST: {(): backlog.due_oldest_seconds() or 0.0},
        metric_names.WAITING_BATCHES: _zeros(metric_names.WAITING_BATCHES) | waiting,
        metric_names.HELD_STREAMS: {(): holds.stream_count},
        metric_names.HELD_SENDERS: {(): holds.sender_count},
        metric_names.WORKERS_ALIVE: {(): heartbeat.count_alive()},
        metric_names.IN_DOUBT: {(): backlog.count_in_doubt()},
        **_read_event_gauges(),
    }


def _read_event_gauges() -> dict[Gauge, Values]:
    summary = event_flow.summarise(datetime.now(UTC))
    return {
        metric_names.UNREPORTED: {(): summary.unreported_count},
        metric_names.SILENT_SENDERS: {(): summary.silent_count},
    }


def _zeros(metric: metric_names.Metric) -> dict[tuple[str, ...], float]:
    """Every series from the start: one that appears with its first value would hide it."""
    [values] = metric.labels.values()
    return {(value,): 0.0 for value in values}


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
        # Prometheus wants cumulative buckets.
        buckets = list(zip(histogram.bounds, accumulate(counts), strict=True))
        family.add_metric(labels, buckets=buckets, sum_value=total)
    return family


def _gauge(gauge: Gauge, values: Values) -> Metric:
    family = GaugeMetricFamily(gauge.name, gauge.meaning, labels=[*gauge.labels])
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
