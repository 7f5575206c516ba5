"""How pages write figures, shares, moments and spans of time; template tags and filters."""

import re
import unicodedata
from datetime import UTC, date, datetime, timedelta

from django import template
from django.utils import formats, timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _

from postledger.deliveries.explanations.why import Cause, leave_out_commands
from postledger.providers import addresses
from postledger.web.shared import sentences

register = template.Library()

_PROVIDERS = {
    "sandbox": gettext_lazy("Sandbox"),
    "smtp": "SMTP",
    "ses": "Amazon SES",
    "sendgrid": "SendGrid",
}
_SMALLEST_SHARE = 0.1  # percent
_WEEK = timedelta(days=6)
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html(
        '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use href="#i-{}"/></svg>', name
    )


@register.filter
def translated(text: str) -> str:
    """A sentence of a service, in the reader's language."""
    return sentences.translate(text)


_CODE = re.compile(r"`([^`]+)`")


@register.filter
def code(text: str) -> SafeString:
    """A text in which a command or a setting stands between backticks."""
    return SafeString(_CODE.sub(r"<code>\1</code>", conditional_escape(text)))


@register.filter
def end_of(cause: Cause) -> str:
    """What will end a cause, as pages say it."""
    return leave_out_commands(cause).resumed_by


@register.filter
def bdi(name: str) -> SafeString:
    """A name in the middle of a sentence: in Arabic or Hebrew, it moves no word beside it."""
    return format_html("<bdi>{}</bdi>" if _has_right_to_left(name) else "{}", name)


def isolate(name: str) -> str:
    """The same for a sentence without markup, as a title."""
    return f"\u2068{name}\u2069" if _has_right_to_left(name) else name


def _has_right_to_left(name: str) -> bool:
    """Whether some of it is written from right to left."""
    return any(unicodedata.bidirectional(character) in {"R", "AL"} for character in name)


@register.filter
def readable(address: str | None) -> str:
    """An address with its domain as people write it, where nobody can be misled by that."""
    return addresses.readable(address) if address else ""


@register.filter
def count(number: int) -> str:
    """The number in groups of three digits, as the reader's language separates them."""
    return str(formats.number_format(number, use_l10n=True, force_grouping=True))


def share(part: int, total: int) -> str:
    """A part in percent; a part that is not nothing never reads as nothing."""
    percent = 100 * part / total if total else 0.0  # it is rounded below: Django cuts digits off
    if 0 < percent < _SMALLEST_SHARE:
        return f"<{formats.number_format(_SMALLEST_SHARE, 1)}%"
    if part != total and percent > 100 - _SMALLEST_SHARE / 2:
        return f">{formats.number_format(99.9, 1)}%"
    return f"{formats.number_format(round(percent, 1), 0 if percent in {0, 100} else 1)}%"


@register.filter
def provider(kind: str) -> str:
    """What people call the kind of an account."""
    return str(_PROVIDERS.get(kind, kind))


@register.filter
def percent(part: int, total: int) -> str:
    return share(part, total)


@register.filter
def rate(per_second: float) -> str:
    digits = 0 if per_second >= 100 else 1  # noqa: PLR2004  three figures say enough
    number = formats.number_format(
        round(per_second, digits), digits, use_l10n=True, force_grouping=True
    )
    return _("%(number)s a second") % {"number": number}


@register.filter
def moment(value: datetime | None) -> SafeString:
    """A time with its zone, in the zone that is active: `Tue 17 Nov, 15:02 CET`."""
    if value is None:
        return format_html("—")
    local = timezone.localtime(value)
    text = f"{_name_day(local)} {local:%H:%M} {zone_name(local)}".strip()
    return format_html('<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), text)


@register.filter
def full_moment(value: datetime) -> SafeString:
    """With its day in full, also today: `Tuesday 17 November 2026, 15:02 CET`."""
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), spell_moment(value)
    )


def spell_moment(value: datetime) -> str:
    """The same for the middle of a sentence, without markup."""
    local = timezone.localtime(value)
    return f"{full_time(local)} {zone_name(local)}"


def full_time(local: datetime) -> str:
    """A time of a clock, in no zone: `Tuesday 17 November 2026, 15:02`."""
    return f"{write_day(local, pgettext('format of a date', 'l j F Y'))}, {local:%H:%M}"


@register.filter
def exact_moment(value: datetime) -> SafeString:
    """The same with seconds."""
    local = timezone.localtime(value)
    text = f"{_name_day(local)} {local:%H:%M:%S} {zone_name(local)}".strip()
    return format_html('<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), text)


def input_moment(value: datetime) -> str:
    """A moment as a form's field for one writes it, in the active zone."""
    return f"{timezone.localtime(value):%Y-%m-%dT%H:%M}"


@register.filter
def clock(value: datetime) -> SafeString:
    """The time of day, where a head names the day and the zone; to the millisecond in the code."""
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time>',
        local.isoformat(timespec="milliseconds"),
        f"{local:%H:%M:%S}",
    )


@register.filter
def zone(value: datetime) -> str:
    return zone_name(timezone.localtime(value))


def _name_day(local: datetime) -> str:
    today = timezone.localtime(datetime.now(UTC)).date()
    days = abs((local.date() - today).days)
    if days == 0:
        return ""
    if days <= _WEEK.days:
        return write_day(local, pgettext("format of a short date", "D j M,"))
    return write_day(local, pgettext("format of a short date", "D j M Y,"))


@register.filter
def day(value: datetime) -> str:
    """A day in full, in the active zone: `Tuesday 17 November 2026`."""
    form = pgettext("format of a date", "l j F Y")
    return write_day(timezone.localtime(value), form)


@register.filter
def short_day(value: date) -> str:
    """`Tue 17 Nov`."""
    return write_day(value, pgettext("format of a day in a table", "D j M"))


def write_day(local: date, form: str) -> str:
    """Portuguese has no capitals in the names of days and months; Django has."""
    text = str(formats.date_format(local, form))
    return text.lower() if (get_language() or "").startswith("pt") else text


def zone_name(local: datetime) -> str:
    """CET, or UTC+5 where the zone has no letters."""
    name = local.tzname() or "UTC"
    return f"UTC{name}" if name[:1] in {"+", "-"} else name


@register.filter
def age(since: datetime | None) -> str:
    """How long ago that was, in one unit."""
    return "" if since is None else span(datetime.now(UTC) - since)


@register.filter
def span(length: timedelta | float) -> str:
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    seconds = max(0, int(seconds))
    if seconds < _MINUTE:
        return ngettext("%(n)s second", "%(n)s seconds", seconds) % {"n": seconds}
    if seconds < 2 * _HOUR:
        minutes = seconds // _MINUTE
        return ngettext("%(n)s minute", "%(n)s minutes", minutes) % {"n": minutes}
    if seconds < 2 * _DAY:
        hours = seconds // _HOUR
        return ngettext("%(n)s hour", "%(n)s hours", hours) % {"n": hours}
    days = seconds // _DAY
    return ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
