"""The catalogue of metrics: every number that can be watched, its labels and their values.

Counting happens in memory and knows no database, so every package may count; `metrics_store`
adds what a process tallied to the totals of the installation.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from threading import Lock

# The label for values outside the vocabulary: input cannot create new series.
OTHER = "other"

STATES = (
    *("RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT", "FAILED"),
    *("RETRY_SCHEDULED", "VALIDATION_FAILED"),
    *("SUPPRESSED", "SKIPPED", "EXPIRED", "CANCELLED", "IN_DOUBT"),
)
VALIDATION_CODES = (
    *("INVALID_PAYLOAD", "OUTBOX_NOT_FOUND", "RECIPIENT_NOT_FOUND"),
    *("INVALID_EMAIL", "INVALID_TEMPLATE"),
    *("template_missing_locale", "template_missing_variable"),
)
REASONS = (
    *("ready", "scheduled", "retry", "throttled", "not_sent", "handed_back", "lease_lost"),
    *("requeued", "sent_again", "disproved", "rate_per_second", "rate_per_hour", "daily_limit"),
    *("quota_exhausted", "outside_hours", "limits_settling", "limits_unknown"),
    *("provider_down", "provider_broken", "no_memory", "work_failed", "content_broken"),
    *("paused", "sender_blocked", "bounce_rate", "complaint_rate", "audience_syncing"),
)
# Of what a provider failed with; a mail that was not handed over has none.
CATEGORIES = (
    *("PERMANENT_ERROR", "CONFIGURATION_ERROR", "QUOTA_ERROR"),
    *("TRANSIENT_ERROR", "TIMEOUT_ERROR"),
)
GUARDED_REPORTS = ("bounces", "complaints")
FEEDBACK_OUTCOMES = (
    *("stored", "repeated", "test", "confirmed", "ended", "faulty"),
    *("raw_delivery", "invalid_envelope", "too_large", "topic_unknown", "signature_invalid"),
    *("not_now",),
)
DOUBT_CAUSES = ("no_answer", "worker_lost", "lost_time")
# An SMTP server may take ten minutes for its answer; nothing that is handed over takes longer.
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)

type Series = tuple[str, tuple[str, ...]]  # a sample's name and the values of its labels


class Tally:
    """Counts of this process that are not stored yet; thread-safe."""

    def __init__(self) -> None:
        self._on_first: Callable[[], None] = _ignore
        self.forget()

    def forget(self) -> None:
        """Starts empty, with a new lock."""
        self._lock = Lock()
        self._amounts: dict[Series, float] = {}

    def add(self, amounts: Iterable[tuple[Series, float]]) -> None:
        with self._lock:
            was_empty = not self._amounts
            for series, amount in amounts:
                self._amounts[series] = self._amounts.get(series, 0.0) + amount
            is_first = was_empty and bool(self._amounts)
        if is_first:
            self._on_first()

    def take(self) -> dict[Series, float]:
        """Returns all amounts, and starts empty."""
        with self._lock:
            taken, self._amounts = self._amounts, {}
        return taken

    def on_first(self, callback: Callable[[], None]) -> None:
        """Calls back whenever the first amount is added to an empty tally."""
        self._on_first = callback


def _ignore() -> None:
    """Commands, tests and shells flush explicitly, or never."""


PENDING = Tally()
# A child process would count its parent's increments a second time, perhaps behind a held lock.
os.register_at_fork(after_in_child=PENDING.forget)


class Metric:
    """A name, what it means, and labels from closed vocabularies."""

    def __init__(self, name: str, meaning: str, **labels: Iterable[str]) -> None:
        self.name = name
        self.meaning = meaning
        self.labels: Mapping[str, tuple[str, ...]] = {
            label: tuple(values) for label, values in labels.items()
        }

    def values(self, given: Mapping[str, str]) -> tuple[str, ...]:
        if given.keys() != self.labels.keys():
            raise TypeError(f"{self.name} has the labels {[*self.labels]}, not {[*given]}")
        return tuple(
            str(given[label]) if given[label] in vocabulary else OTHER
            for label, vocabulary in self.labels.items()
        )


class Counter(Metric):
    """Only rises; its name ends with _total."""

    def add(self, amount: int = 1, **labels: str) -> None:
        if amount:
            PENDING.add([((self.name, self.values(labels)), amount)])


class Histogram(Metric):
    """How often something took how long, kept as one number for each bucket, and the sum."""

    buckets = SECONDS

    @property
    def bucket(self) -> str:
        return f"{self.name}_bucket"

    @property
    def sum(self) -> str:
        return f"{self.name}_sum"

    @property
    def bounds(self) -> tuple[str, ...]:
        """The buckets' upper ends as they are written; the last one takes everything."""
        return (*(str(bound) for bound in self.buckets), "+Inf")

    def observe(self, seconds: float, *, count: int = 1, **labels: str) -> None:
        """Counts `count` of them, all of which took this long."""
        if not count:
            return
        values = self.values(labels)
        bound = self.bounds[bisect_left(self.buckets, seconds)]
        PENDING.add(
            [((self.bucket, (*values, bound)), count), ((self.sum, values), seconds * count)]
        )


class Gauge(Metric):
    """Rises and falls; read from the database on request, never counted."""


STATE_TRANSITIONS = Counter(
    "pipeline_state_transitions_total", "Mails that reached a step.", state=STATES
)
VALIDATION_FAILURES = Counter(
    "pipeline_validation_failures_total",
    "Mails that a validation refused, by its code.",
    code=VALIDATION_CODES,
)
PROCESSING_DURATION = Histogram(
    "pipeline_processing_duration_seconds",
    "Seconds of the hand-over or, without one, since a worker read the mail; by its state then."
    " Mail that ended while no worker had it, cancelled or given up, counts with 0 seconds.",
    state=STATES,
)
RETRIES = Counter(
    "pipeline_retry_count_total",
    "Mails put back to be tried again, by the category of the provider's failure.",
    category=CATEGORIES,
)
FINAL_STATES = Counter(
    "pipeline_final_state_total", "Mails that reached a final state, by state.", state=STATES
)
NEW_DOUBTS = Counter(
    "postledger_new_doubts_total", "Mails that became in doubt, by cause.", cause=DOUBT_CAUSES
)
GUARD_STOPS = Counter(
    "postledger_guard_stops_total",
    "Runs that stopped themselves, by the reports that were too many.",
    reports=GUARDED_REPORTS,
)

FEEDBACK_MESSAGES = Counter(
    "postledger_feedback_messages_total",
    "Messages of providers about mail, by what became of them.",
    outcome=FEEDBACK_OUTCOMES,
)

DUE_OLDEST = Gauge(
    "postledger_due_oldest_seconds",
    "How long the oldest work that a worker could take has been due; 0 when there is none.",
)
WAITING_BATCHES = Gauge(
    "postledger_waiting_batches", "Batches that nobody has taken, by reason.", reason=REASONS
)
HELD_STREAMS = Gauge("postledger_held_streams", "Streams with work that are held.")
HELD_SENDERS = Gauge(
    "postledger_held_senders", "Senders that are held; not archived ones without work."
)
WORKERS_ALIVE = Gauge(
    "postledger_workers_alive", "Worker processes that were seen in the last 30 seconds."
)
IN_DOUBT = Gauge("postledger_in_doubt", "Mails in doubt that nothing has ended.")
UNREPORTED = Gauge(
    "postledger_unreported_mails",
    "Accepted mails of this month and the last without an event of their provider, of senders whose"
    " events are expected.",
)
SILENT_SENDERS = Gauge(
    "postledger_silent_senders",
    "Senders of which mail was accepted for an hour without any event.",
)

COUNTERS = (
    *(STATE_TRANSITIONS, VALIDATION_FAILURES, RETRIES, FINAL_STATES, NEW_DOUBTS),
    *(GUARD_STOPS, FEEDBACK_MESSAGES),
)
HISTOGRAMS = (PROCESSING_DURATION,)
GAUGES = (
    *(DUE_OLDEST, WAITING_BATCHES, HELD_STREAMS, HELD_SENDERS, WORKERS_ALIVE, IN_DOUBT),
    *(UNREPORTED, SILENT_SENDERS),
)
CATALOGUE: tuple[Metric, ...] = (*COUNTERS, *HISTOGRAMS, *GAUGES)
