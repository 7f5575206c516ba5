"""Counts in the metrics what verbs have stored, once it is committed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.states import State
from postledger.observability import metrics

# The results of `booked` (state, outcome), as `count_results` takes them. A failed validation has
# a name of its own in the metrics.
RESULTS: LiteralString = """(
    SELECT coalesce(array_agg(
        CASE WHEN state = 'failed' AND outcome = 'invalid' THEN 'validation_failed' ELSE state END
    ), '{}') FROM booked
)"""


def count_results(
    results: Iterable[str], *, doubt_cause: str = "", is_untouched: bool = False
) -> None:
    """Counts each delivery that reached a result; one that waits again has none.

    `doubt_cause` says why those in doubt are; without it an older doubt came back. `is_untouched`
    says that no worker had them: their processing took no time.
    """
    counts = Counter(results)
    del counts[State.WAITING.value]
    if counts:
        transaction.on_commit(partial(_add, counts, doubt_cause, is_untouched=is_untouched))


def _add(counts: Mapping[str, int], doubt_cause: str, *, is_untouched: bool) -> None:
    for result, count in counts.items():
        name = "SENT" if result == State.ACCEPTED else result.upper()
        metrics.STATE_TRANSITIONS.add(count, state=name)
        metrics.FINAL_STATES.add(count, state=name)
        if result == State.IN_DOUBT and doubt_cause:
            metrics.NEW_DOUBTS.add(count, cause=doubt_cause)
        if is_untouched:
            metrics.PROCESSING_DURATION.observe(0.0, count=count, state=name)
