"""Working hours in words of pages: when they are, and whether they are open."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.dates import WEEKDAYS_ABBR
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from postledger.accounts import working_hours
from postledger.accounts.sending_limits import SendingLimits
from postledger.pacing import hours, stored
from postledger.web.dashboard import formats


def describe_hours(kept: Mapping[str, Any], *, zone: str) -> str:
    """Such as Mon, Tue 09:00-18:00 Europe/Lisbon."""
    days = tuple(kept.get("weekdays", working_hours.EVERY_DAY))
    is_daily = days == working_hours.EVERY_DAY
    names = _("Every day") if is_daily else ", ".join(str(WEEKDAYS_ABBR[day]) for day in days)
    spans = ", ".join(f"{opens}-{closes}" for opens, closes in kept["spans"])
    return f"{names} {spans} {kept.get('zone') or zone}"


def describe_opening(limits: SendingLimits, *, now: datetime) -> SafeString | str:
    """Whether bulk mail may go now; empty where it always may."""
    kept = stored.read_all_hours(limits)
    if not kept:
        return ""
    interval = next(hours.walk_intervals(kept, now), None)
    if interval is None:
        return _("These hours have no time in common: no campaign is ever sent.")
    if interval.start <= now:
        return format_html(_("Open now, until {}"), formats.moment(interval.end))
    return format_html(_("Closed now, opens {}"), formats.moment(interval.start))


def list_hours(limits: SendingLimits) -> Sequence[str]:
    return [describe_hours(kept, zone=limits.zone) for kept in limits.working_hours]
