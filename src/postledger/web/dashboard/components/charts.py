"""A line over time: the data that the script draws, a picture without scripts, and its table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, floor, log10
from typing import Any

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from postledger.web.dashboard import formats


@dataclass(frozen=True, slots=True)
class Row:
    """One slot of time: the count in it is exact, its value on the chart is a rate."""

    at: datetime
    count: int
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    id: str
    story: str  # what the picture shows, in a sentence
    count_label: Promise | str  # of the table's exact figures
    unit: Promise | str  # of the line
    data: Mapping[str, Any]
    columns: int
    line: str
    area: str
    y_labels: Sequence[str]
    x_labels: Sequence[str]
    table: Sequence[Row]  # the newest first

    @property
    def data_id(self) -> str:
        return f"{self.id}-data"


def draw(
    id_: str, rows: Sequence[Row], *, count_label: Promise | str, unit: Promise | str, story: str
) -> Chart | None:
    """The chart of some rows in order; None if there are fewer than two, which make no line."""
    if len(rows) < 2:  # noqa: PLR2004  a line has two ends
        return None
    values = [row.value for row in rows]
    top = find_top(max(values))
    points = [f"{x} {100 - 100 * value / top:.1f}" for x, value in enumerate(values)]
    line = "M" + "L".join(points)
    last = len(rows) - 1
    moments = [timezone.localtime(rows[n].at) for n in (0, last // 2, last)]
    return Chart(
        id=id_,
        story=story,
        count_label=count_label,
        unit=unit,
        data={
            "times": [int(row.at.timestamp()) for row in rows],
            "values": [round(value, 2) for value in values],
            "zone": timezone.get_current_timezone_name(),
            "unit": str(unit),
            "from": _("From"),
            "story": story,
        },
        columns=last,
        line=line,
        area=f"M0 100L{'L'.join(points)}V100z",
        y_labels=[formats.count(top), formats.count(top // 2), "0"],
        x_labels=_label(moments),
        table=list(reversed(rows)),
    )


def find_top(most: float) -> int:
    """The even round number at or above the largest value: 2, 4, 6, 8 or 10 times a power of ten.

    At least 2, so that half of it is a whole number too.
    """
    power = 10 ** max(0, floor(log10(most))) if most > 0 else 1
    return max(2, 2 * ceil(most / power / 2) * power)


def _label(moments: Sequence[datetime]) -> list[str]:
    """The moments in order, as short as they can be told apart; the last names the zone."""
    span = moments[-1] - moments[0]
    if span > timedelta(days=1):
        form = pgettext("format of a day in a chart", "j M")
        return [formats.write_day(moment, form) for moment in moments]
    form = "%H:%M" if span > timedelta(minutes=3) else "%H:%M:%S"
    labels = [f"{moment:{form}}" for moment in moments]
    return [*labels[:-1], f"{labels[-1]} {formats.zone_name(moments[-1])}"]
