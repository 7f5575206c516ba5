"""Where somebody looks at an article from: their places, and a moment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import QueryDict

from postledger.content.slices import Slice
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.parameters import read_text

_BETWEEN = re.compile(r"[\s,;]+")
_MOST_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class SeenFrom:
    places: frozenset[str]
    now: datetime
    more: str = ""  # places that were typed, as they were typed
    at: str = ""  # the moment as it was typed; empty: now
    trouble: str = ""  # why the moment is another than the typed one


@dataclass(frozen=True, slots=True)
class Place:
    """A place that slices distinguish."""

    ocd_id: str
    is_chosen: bool


def read_seen_from(values: QueryDict, *, now: datetime) -> SeenFrom:
    more, at = read_text(values, "more"), read_text(values, "at")
    typed = [place for place in _BETWEEN.split(more) if place]
    chosen = [place.replace("\0", "") for place in values.getlist("place")]
    places = frozenset([*chosen, *typed][:_MOST_PLACES])
    if not at:
        return SeenFrom(places, now, more)
    try:
        return SeenFrom(places, readings.parse_moment("at", at), more, at)
    except WrongFieldError as error:
        return SeenFrom(places, now, more, at, str(error))


def list_places(slices: Sequence[Slice], seen: SeenFrom) -> list[Place]:
    """The places of all slices, the broad ones first."""
    scopes = {piece.scope_ocd_id for piece in slices if piece.scope_ocd_id is not None}
    return [
        Place(scope, scope in seen.places)
        for scope in sorted(scopes, key=lambda scope: (scope.count("/"), scope))
    ]
