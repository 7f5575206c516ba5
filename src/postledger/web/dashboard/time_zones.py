"""The time zones that forms offer, by region."""

from functools import cache
from itertools import groupby

from django.utils.functional import Promise

from postledger.lib import zones

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
    sent = str(posted) if posted in zones.list_zones() else ""
    of_places = {zone for _region, choices in _list_regions() for zone, _name in choices}
    others = [zone for zone in {stored: 0, sent: 0} if zone not in {"", "UTC", *of_places}]
    return [*((zone, zone) for zone in ("UTC", *others)), *_list_regions()]


@cache
def _list_regions() -> tuple[tuple[str, list[tuple[str, str]]], ...]:
    """Each region with its zones."""
    of_places = sorted(zone for zone in zones.list_zones() if zone.split("/")[0] in _REGIONS)
    return tuple(
        (region, [(zone, zone.replace("_", " ")) for zone in zones_of_region])
        for region, zones_of_region in groupby(of_places, lambda zone: zone.split("/")[0])
    )
