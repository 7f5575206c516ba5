"""Which slices of an article a recipient gets, and how they become one letter.

A slice is for everybody or for one place, named by its OCD id. A letter depends on nothing but the
slices that are chosen for it, so recipients with the same slices share one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.content.rendering.liquid.liquid_text import split_liquid
from postledger.content.rendering.source import Format, Source
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFields:
    """The fields of a slice that an author sets."""

    scope_ocd_id: str | None = None  # None: for everybody
    section: str = ""
    section_order: int = 0
    sort_index: int = 0
    is_headline: bool = False
    title: str = ""
    dek: str = ""
    preheader: str = ""
    body_md: str = ""
    published_from: datetime | None = None  # None: from the beginning
    published_until: datetime | None = None  # the first moment after it; None: without an end
    is_published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(SliceFields):
    """A piece of an article."""

    id: int


@dataclass(frozen=True, slots=True)
class Assembled:
    """The content of one letter."""

    title: str
    dek: str
    body_md: str
    preheader: str = ""

    def source(self) -> Source:
        """The title, the dek under it, and the body, as Markdown."""
        title, dek = (" ".join(text.split()) for text in (self.title, self.dek))
        parts = [f"# {_escape_markdown(title)}" if title else "", _escape_markdown(dek)]
        body = "\n\n".join(part for part in [*parts, self.body_md] if part)
        return Source(title or dek, body, Format.MARKDOWN, preheader=self.preheader)


class SubjectRequiredError(RefusedError):
    code = "subject_required"


def open_scopes(slices: Iterable[Slice], *, now: datetime) -> frozenset[str]:
    """The OCD ids that make a difference now: a recipient's other ids do not matter."""
    return frozenset(
        piece.scope_ocd_id
        for piece in slices
        if piece.scope_ocd_id is not None and _is_open(piece, now)
    )


def choose(slices: Iterable[Slice], *, ocd_ids: frozenset[str], now: datetime) -> list[Slice]:
    """The slices that a recipient with these OCD ids gets, in the order of the body."""
    return sorted(
        (piece for piece in slices if _is_relevant(piece, ocd_ids, now)),
        key=lambda piece: (piece.section_order, _specificity(piece), piece.sort_index, piece.id),
    )


def assemble(slices: Iterable[Slice], *, ocd_ids: frozenset[str], now: datetime) -> Assembled:
    """The letter of a recipient with these OCD ids; the order of `slices` makes no difference."""
    chosen = choose(slices, ocd_ids=ocd_ids, now=now)
    headline = _headline(chosen)
    if headline is None or not _has_title(headline):
        raise SubjectRequiredError(
            say(
                "The letter would have no subject: no slice that a recipient gets has a title"
                " or a dek. Give a title to a slice for everybody, and mark it as a headline."
            )
        )
    bodies = (piece.body_md.strip("\r\n") for piece in chosen)
    return Assembled(
        title=headline.title,
        dek=headline.dek,
        body_md="\n\n".join(body for body in bodies if body.strip()),
        preheader=headline.preheader,
    )


def _is_relevant(piece: Slice, ocd_ids: frozenset[str], now: datetime) -> bool:
    is_for_place = piece.scope_ocd_id is None or piece.scope_ocd_id in ocd_ids
    return is_for_place and _is_open(piece, now)


def _is_open(piece: Slice, now: datetime) -> bool:
    has_begun = piece.published_from is None or piece.published_from <= now
    has_ended = piece.published_until is not None and piece.published_until <= now
    return piece.is_published and has_begun and not has_ended


def _headline(in_body_order: Sequence[Slice]) -> Slice | None:
    marked = [piece for piece in in_body_order if piece.is_headline]
    if marked:
        narrowest = max(map(_specificity, marked))
        equals = (piece for piece in marked if _specificity(piece) == narrowest)
        return min(equals, key=lambda piece: (piece.section_order, piece.sort_index, piece.id))
    return next(filter(_has_title, in_body_order), None)


def _has_title(piece: Slice) -> bool:
    return bool(piece.title.strip() or piece.dek.strip())


def _specificity(piece: Slice) -> tuple[int, int, str]:
    """Greater for a narrower place; everybody is the broadest."""
    scope = piece.scope_ocd_id
    return (0, 0, "") if scope is None else (scope.count("/") + 1, len(scope), scope)


def _escape_markdown(text: str) -> str:
    """Markdown that shows every character as it is; Liquid stays Liquid, as in the subject."""
    parts = split_liquid(text)
    parts[::2] = [_MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)
