"""What a run says, frozen at its launch: letters by language, or slices to make them of."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from postledger.content import article_letters, locales, scripts, slices
from postledger.content.footer import Footer
from postledger.content.letter import Letter, Script
from postledger.content.slices import Slice


@dataclass(frozen=True, slots=True)
class ByLocale:
    """Letters that are in the stream from the beginning, each under its number."""

    numbers: Mapping[str, int]  # by locale
    fallback: str = ""  # empty: who reads no language of these gets no mail
    names: tuple[str, ...] = ()  # of the attributes that fill them in


@dataclass(frozen=True, slots=True)
class ByPlaces:
    """Slices; recipients whose places meet the same ones share a letter, made at the first."""

    slices: tuple[Slice, ...]
    names: tuple[str, ...] = ()


type Frozen = ByLocale | ByPlaces


def scopes(frozen: ByPlaces, *, now: datetime) -> list[str]:
    return sorted(slices.scopes(frozen.slices, now=now))


def number_for(frozen: ByLocale, locale: str) -> int:
    """The letter for who reads this language; raises MissingLocaleError where there is none."""
    chosen = locales.choose(locale, available=frozen.numbers, fallback=frozen.fallback)
    return frozen.numbers[chosen]


def assembled(frozen: ByPlaces, places: Sequence[str], *, footer: Footer, now: datetime) -> Script:
    """The letter for people in these places; raises RefusedError where there can be none."""
    found = slices.assemble(frozen.slices, ocd_ids=frozenset(places), now=now)
    script = scripts.of_source(article_letters.source(found), footer=footer)
    Letter(script)
    return script


def written(frozen: Frozen) -> dict[str, Any]:
    match frozen:
        case ByLocale(numbers, fallback, names):
            return {"numbers": dict(numbers), "fallback": fallback, "names": list(names)}
        case ByPlaces(found, names):
            return {"slices": [_slice_written(one) for one in found], "names": list(names)}


def read(stored: Mapping[str, Any]) -> Frozen:
    if "numbers" in stored:
        return ByLocale(stored["numbers"], stored["fallback"], tuple(stored["names"]))
    return ByPlaces(tuple(_slice_read(one) for one in stored["slices"]), tuple(stored["names"]))


_MOMENTS = ("published_from", "published_until")


def _slice_written(one: Slice) -> dict[str, Any]:
    stored = asdict(one)
    return stored | {name: stored[name] and stored[name].isoformat() for name in _MOMENTS}


def _slice_read(stored: Mapping[str, Any]) -> Slice:
    moments = {name: stored[name] and datetime.fromisoformat(stored[name]) for name in _MOMENTS}
    known = {field.name: stored[field.name] for field in fields(Slice)}
    return Slice(**{**known, **moments})
