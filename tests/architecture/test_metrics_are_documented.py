"""The metrics page lists every metric with its kind, its labels and its meaning."""

import re
from pathlib import Path

from postledger.observability import metrics

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/metrics.md").read_text()
ROWS = {
    name: (kind, labels, meaning)
    for name, kind, labels, meaning in re.findall(
        r"^\| `([a-z_]+)` \| (\w+) \| (.*?) \| (.*) \|$", PAGE, re.MULTILINE
    )
}
VALUES = {
    name: set(re.findall(r"`([^`]+)`", values))
    for name, values in re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", PAGE, re.MULTILINE)
}


def test_every_metric_is_documented_and_no_other() -> None:
    assert set(ROWS) == {metric.name for metric in metrics.CATALOGUE}
    for metric in metrics.CATALOGUE:
        kind, labels, meaning = ROWS[metric.name]
        assert kind == type(metric).__name__.lower(), metric
        assert re.findall(r"`(\w+)`", labels) == [*metric.labels], metric
        assert metric.meaning in meaning, metric


def test_every_value_of_a_label_is_documented() -> None:
    for label, values in {
        "state": metrics.STATES,
        "code": metrics.VALIDATION_CODES,
        "reason": metrics.REASONS,
        "category": metrics.CATEGORIES,
    }.items():
        assert VALUES[label] == set(values), label
