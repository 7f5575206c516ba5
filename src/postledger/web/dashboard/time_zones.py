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


def list_choices(stored: str = "", *, posted: object = "") -> list[Choice]:
    """UTC, the zones of places under their region, and what is stored or posted beside them.

    What else the time zone database has are old names and shorthands, as `W-SU` or `Factory`: a
    form that was opened when one of them was stored still sends it.
    """
    known = available_timezones()
    zones = sorted(zone for zone in known if zone.split("/")[0] in _REGIONS)
    regions: list[Choice] = [
        (region, [(zone, zone.replace("_", " ")) for zone in zones_of_region])
        for region, zones_of_region in groupby(zones, lambda zone: zone.split("/")[0])
    ]
    sent = str(posted) if posted in known else ""
    others = [zone for zone in {stored: 0, sent: 0} if zone not in {"", "UTC", *zones}]
    return [*((zone, zone) for zone in ("UTC", *others)), *regions]
