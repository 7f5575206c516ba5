"""The time zones that forms offer, by region."""

from itertools import groupby
from zoneinfo import available_timezones

from django.utils.functional import Promise

_REGIONS = frozenset(
    {
        "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe",
        "Indian", "Pacific",
    }
)  # fmt: skip

type Choice = tuple[str, str | Promise | list[tuple[str, str]]]


def list_choices(kept: str = "") -> list[Choice]:
    """UTC, `kept` if it is not among the others, and the zones of places under their region.

    What else the time zone database has are old names and shorthands, as `W-SU` or `Factory`.
    """
    zones = sorted(zone for zone in available_timezones() if zone.split("/")[0] in _REGIONS)
    regions: list[Choice] = [
        (region, [(zone, zone.replace("_", " ")) for zone in zones_of_region])
        for region, zones_of_region in groupby(zones, lambda zone: zone.split("/")[0])
    ]
    single = ["UTC"] if kept in {"", "UTC", *zones} else ["UTC", kept]
    return [*((zone, zone) for zone in single), *regions]
