"""The metrics page lists every metric with its kind, its labels and its meaning."""

import re
from pathlib import Path

import pytest

from postledger.observability import metrics
from postledger.observability.metrics import Metric

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


@pytest.mark.parametrize("metric", metrics.CATALOGUE, ids=lambda metric: metric.name)
def test_a_metric_is_documented(metric: Metric) -> None:
    kind, labels, meaning = ROWS[metric.name]

    assert kind == type(metric).__name__.lower()
    assert re.findall(r"`(\w+)`", labels) == [*metric.labels]
    assert metric.meaning in meaning


def test_no_documented_metric_is_unknown() -> None:
    assert set(ROWS) == {metric.name for metric in metrics.CATALOGUE}


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("state", metrics.STATES),
        ("code", metrics.VALIDATION_CODES),
        ("reason", metrics.REASONS),
        ("category", metrics.CATEGORIES),
    ],
)
def test_every_value_of_a_label_is_documented(label: str, values: tuple[str, ...]) -> None:
    assert VALUES[label] == set(values)
