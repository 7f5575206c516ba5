"""The form of a sender's limits and working hours."""

from collections.abc import Mapping
from typing import Any, ClassVar, override

from django import forms
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts import limits, working_hours
from postledger.accounts.limits import LimitChanges
from postledger.accounts.models import Sender
from postledger.accounts.trail import Action
from postledger.accounts.working_hours import Hours, InvalidHoursError, InvalidTimeZoneError
from postledger.web.dashboard import time_zones
from postledger.web.dashboard.forms import DecimalField, WholeNumberField
from postledger.web.dashboard.shared_form import SharedForm

_LIMITS = ("rate_per_second", "rate_per_hour", "daily_limit")
_HOURS = ("spans", "days", "zone")
_DAYS = [(key, WEEKDAYS[number]) for number, key in enumerate(working_hours.WEEKDAYS)]


class LimitsForm(SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        **dict.fromkeys(_LIMITS, "sender.limits_changed"),
        **dict.fromkeys(_HOURS, "sender.hours_changed"),
    }
    together = (_HOURS,)

    rate_per_second = DecimalField(
        label=gettext_lazy("Emails a second"),
        min_value=limits.SLOWEST,
        max_value=limits.FASTEST,
        required=False,
        help_text=gettext_lazy("Empty: no limit of its own."),
    )
    rate_per_hour = WholeNumberField(
        label=gettext_lazy("Emails an hour"),
        min_value=1,
        max_value=limits.MOST,
        required=False,
        help_text=gettext_lazy("Empty: no limit."),
    )
    daily_limit = WholeNumberField(
        label=gettext_lazy("Emails a day"),
        min_value=1,
        max_value=limits.MOST,
        required=False,
        help_text=gettext_lazy("Empty: no limit."),
    )
    spans = forms.CharField(
        label=gettext_lazy("Working hours"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("As 09:00-12:30 13:30-18:00. Empty: campaigns go at any time."),
    )
    zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        required=False,
        help_text=gettext_lazy("Of these hours; limits have that of the workspace."),
    )
    days = forms.MultipleChoiceField(
        label=gettext_lazy("Days"),
        choices=_DAYS,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    hours: Hours | None = None

    def __init__(self, *args: Any, workspace_zone: str, **options: Any) -> None:
        super().__init__(*args, **options)
        own = _("As the workspace: %(zone)s") % {"zone": workspace_zone}
        zones = time_zones.list_choices(
            str(self.initial.get("zone") or ""), posted=self["zone"].data
        )
        self.fields["zone"].choices = [("", own), *zones]  # type: ignore[attr-defined]  # of a choice field

    @override
    def clean(self) -> dict[str, Any] | None:
        if _HOURS in self._untouched:  # their zone may have gone from the database of zones
            return super().clean()
        values = self.cleaned_data
        spans = _split_spans(values.get("spans", ""))
        # Whoever takes the hours away takes their zone away with them.
        if not spans and values.get("zone") and "zone" in self.changed_data:
            text = _("A zone belongs to hours: enter hours too, or choose that of the workspace.")
            self.add_error("zone", text)
        if spans and not self.errors:
            if not values["days"]:
                self.add_error("days", _("Choose at least one day, or leave the hours empty."))
                return super().clean()
            try:
                self.hours = working_hours.parse_hours(
                    spans, days=",".join(values["days"]), zone=values["zone"] or None
                )
            except InvalidHoursError:
                self.add_error("spans", _("Write times as 09:00-18:00, with a space between two."))
            except InvalidTimeZoneError:
                self.add_error("zone", _("This time zone is no longer known: choose another."))
        return super().clean()

    @property
    def has_new_hours(self) -> bool:
        return not self.changed.isdisjoint(_HOURS)

    def list_changes(self) -> LimitChanges:
        changes = LimitChanges()
        if "rate_per_second" in self.changed:
            changes["rate_per_second"] = self.cleaned_data["rate_per_second"]
        if "rate_per_hour" in self.changed:
            changes["rate_per_hour"] = self.cleaned_data["rate_per_hour"]
        if "daily_limit" in self.changed:
            changes["daily_limit"] = self.cleaned_data["daily_limit"]
        return changes


def _split_spans(text: str) -> list[str]:
    """A dash of any length, as a phone writes it, with or without spaces, is a hyphen."""
    for dash in ("\N{EN DASH}", "\N{EM DASH}"):
        text = text.replace(dash, "-")
    return text.replace(" - ", "-").replace(",", " ").split()


def read_stored(sender: Sender) -> dict[str, object]:
    hours = sender.working_hours or {}
    return {
        "rate_per_second": sender.rate_per_second,
        "rate_per_hour": sender.rate_per_hour,
        "daily_limit": sender.daily_limit,
        "spans": " ".join("-".join(span) for span in hours.get("spans", ())),
        "days": [
            working_hours.WEEKDAYS[day] for day in hours.get("weekdays", working_hours.EVERY_DAY)
        ],
        "zone": hours.get("zone", ""),
    }
