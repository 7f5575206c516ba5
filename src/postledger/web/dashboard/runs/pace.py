"""The pace of a run as a chart: accepted mails over its whole time."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.deliveries.figures.pace import PaceSeries
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import charts
from postledger.web.dashboard.components.charts import Chart, Row

_COUNTED = gettext_lazy("Accepted")
_UNIT = gettext_lazy("Accepted per minute")
_MINUTE = timedelta(minutes=1)
# Of a shorter time, a rate per minute would be more than all that was accepted.
_SHORTEST = timedelta(minutes=2)


def draw_pace(series: PaceSeries, *, now: datetime) -> Chart | None:
    """None while there are too few results for a line, or for too short a time."""
    rows = [
        Row(point.at, point.accepted, point.accepted * (_MINUTE / series.width))
        for point in series.points
        # The slot that is not over yet would look like a fall.
        if point.at + series.width <= now
    ]
    if len(rows) * series.width < _SHORTEST:
        return None
    story = _tell(rows) if rows else ""
    return charts.draw("pace", rows, count_label=_COUNTED, unit=_UNIT, story=story)


def _tell(rows: Sequence[Row]) -> str:
    values = [round(row.value) for row in rows]
    return _("Accepted per minute: between %(least)s and %(most)s, at the end %(last)s.") % {
        "least": formats.count(min(values)),
        "most": formats.count(max(values)),
        "last": formats.count(values[-1]),
    }
