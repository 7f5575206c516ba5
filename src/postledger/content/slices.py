"""Which slices of an article a recipient gets, and how they become one letter.

A slice belongs to everybody or to one place, named by its OCD id. A letter depends on nothing but
the slices that are chosen for it, so recipients with equal keys share one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of an article."""

    id: int
    scope_ocd_id: str | None  # None: for everybody
    section: str
    section_order: int
    sort_index: int
    is_headline: bool
    title: str
    dek: str
    body_md: str
    published_from: datetime | None  # None: since ever
    published_until: datetime | None  # the first moment after it; None: for good
    is_published: bool


@dataclass(frozen=True, slots=True)
class Assembled:
    """One letter, and the slices it was made of, in the order of the body."""

    title: str
    dek: str
    body_md: str
    slice_ids: tuple[int, ...]


class SubjectRequiredError(RefusedError):
    code = "subject_required"


def scopes(slices: Iterable[Slice], *, now: datetime) -> frozenset[str]:
    """The places that make a difference now: of a recipient's OCD ids, no others matter."""
    return frozenset(
        found.scope_ocd_id
        for found in slices
        if found.scope_ocd_id is not None and _is_open(found, now)
    )


def key(slices: Iterable[Slice], *, ocd_ids: frozenset[str], now: datetime) -> frozenset[int]:
    """Equal for recipients who get the same letter, which is assembled once for all of them."""
    return frozenset(found.id for found in slices if _is_relevant(found, ocd_ids, now))


def relevant(slices: Iterable[Slice], *, ocd_ids: frozenset[str], now: datetime) -> list[Slice]:
    """The slices that a recipient in these places gets, in the order of the body."""
    return sorted(
        (found for found in slices if _is_relevant(found, ocd_ids, now)), key=_place_in_body
    )


def assemble(slices: Iterable[Slice], *, ocd_ids: frozenset[str], now: datetime) -> Assembled:
    """The letter of a recipient in these places; the order of `slices` makes no difference."""
    chosen = relevant(slices, ocd_ids=ocd_ids, now=now)
    headline = _headline(chosen)
    if headline is None or not _has_words(headline):
        raise SubjectRequiredError(
            "The letter would have no subject: no slice that a recipient gets has a title or a dek."
            " Give a title to a slice for everybody, and mark it as a headline."
        )
    bodies = (found.body_md.strip("\r\n") for found in chosen)
    return Assembled(
        title=headline.title,
        dek=headline.dek,
        body_md="\n\n".join(body for body in bodies if body.strip()),
        slice_ids=tuple(found.id for found in chosen),
    )


def _is_relevant(found: Slice, ocd_ids: frozenset[str], now: datetime) -> bool:
    is_here = found.scope_ocd_id is None or found.scope_ocd_id in ocd_ids
    return is_here and _is_open(found, now)


def _is_open(found: Slice, now: datetime) -> bool:
    has_begun = found.published_from is None or found.published_from <= now
    has_ended = found.published_until is not None and found.published_until <= now
    return found.is_published and has_begun and not has_ended


def _headline(in_body_order: Sequence[Slice]) -> Slice | None:
    marked = [found for found in in_body_order if found.is_headline]
    if marked:
        narrowest = max(_specificity(found) for found in marked)
        equals = (found for found in marked if _specificity(found) == narrowest)
        return min(equals, key=lambda found: (found.section_order, found.sort_index, found.id))
    return next((found for found in in_body_order if _has_words(found)), None)


def _has_words(found: Slice) -> bool:
    return bool(found.title.strip() or found.dek.strip())


def _place_in_body(found: Slice) -> tuple[int, tuple[int, int, str], int, int]:
    return found.section_order, _specificity(found), found.sort_index, found.id


def _specificity(found: Slice) -> tuple[int, int, str]:
    """Greater for a narrower place; everybody is the broadest."""
    scope = found.scope_ocd_id
    return (0, 0, "") if scope is None else (scope.count("/") + 1, len(scope), scope)
