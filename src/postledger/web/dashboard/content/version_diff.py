"""What changed from one version of a template to another, line by line. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import islice, takewhile

from postledger.content.rendering.source import Source
from postledger.content.versions import Version

_AROUND = 3  # lines that stayed, before and after a change
_MOST_MATCHED = 1_000  # lines; matching takes time that grows faster than their number
MOST_SHOWN = 2_000  # lines of a part, and of all parts together


class Change(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    LEFT_OUT = "left_out"  # lines that stayed and are far from a change, or are too many


SIGNS = {Change.SAME: " ", Change.ADDED: "+", Change.REMOVED: "−", Change.LEFT_OUT: "⋯"}  # noqa: RUF001  a minus sign is as wide as a plus


@dataclass(frozen=True, slots=True)
class Line:
    change: Change
    text: str = ""

    @property
    def sign(self) -> str:
        return SIGNS[self.change]


@dataclass(frozen=True, slots=True)
class PartDiff:
    """A part that changed, such as the subject."""

    name: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The texts of one locale; without parts they are the same."""

    locale: str
    change: Change | None  # ADDED or REMOVED if only one of the versions has the locale
    parts: Sequence[PartDiff]


@dataclass(frozen=True, slots=True)
class VersionDiff:
    declarations: Sequence[PartDiff]  # variables and the fallback locale
    texts: Sequence[TextDiff]

    @property
    def is_empty(self) -> bool:
        return not self.declarations and not any(text.parts for text in self.texts)


def compare_versions(old: Version, new: Version) -> VersionDiff:
    before, after = _by_locale(old), _by_locale(new)
    texts: list[TextDiff] = []
    shown = 0
    for locale in sorted(before.keys() | after.keys()):
        text = _compare_texts(locale, before.get(locale), after.get(locale), shown)
        shown += sum(len(part.lines) for part in text.parts)
        texts.append(text)
    return VersionDiff(list(_compare_declarations(old, new)), texts)


def compare_lines(old: str, new: str) -> list[Line]:
    """The changed lines, each with some of its neighbours that stayed; empty if all stayed."""
    before, after = old.splitlines(), new.splitlines()
    if before == after:
        return []
    head = _count_same(before, after)
    tail = _count_same(before[head:][::-1], after[head:][::-1])
    end, new_end = len(before) - tail, len(after) - tail
    lines = [
        *(Line(Change.SAME, text) for text in before[:head]),
        *islice(_match(before[head:end], after[head:new_end]), MOST_SHOWN + 1),
        *(Line(Change.SAME, text) for text in before[end:]),
    ]
    shown = list(islice(_shorten(lines), MOST_SHOWN + 1))
    return [*shown[:MOST_SHOWN], Line(Change.LEFT_OUT)] if len(shown) > MOST_SHOWN else shown


def _by_locale(version: Version) -> dict[str, Source]:
    return {text.locale: text for text in version.texts}


def _compare_declarations(old: Version, new: Version) -> Iterator[PartDiff]:
    for name in ("required", "optional"):
        lines = compare_lines(*("\n".join(getattr(version, name)) for version in (old, new)))
        if lines:
            yield PartDiff(name, lines)
    lines = compare_lines(old.fallback_locale, new.fallback_locale)
    if lines:
        yield PartDiff("fallback_locale", lines)


def _compare_texts(locale: str, old: Source | None, new: Source | None, shown: int) -> TextDiff:
    change = Change.ADDED if old is None else Change.REMOVED if new is None else None
    parts = []
    for name in ("format", "subject", "preheader", "body", "text"):
        before, after = (str(getattr(text, name)) if text else "" for text in (old, new))
        if before != after and shown > MOST_SHOWN:
            parts.append(PartDiff(name, [Line(Change.LEFT_OUT)]))
            continue
        lines = compare_lines(before, after)
        shown += len(lines)
        if lines:
            parts.append(PartDiff(name, lines))
    return TextDiff(locale, change, parts)


def _count_same(before: Sequence[str], after: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after)))  # noqa: B905  up to the shorter


def _match(before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    operations: Sequence[tuple[str, int, int, int, int]]
    operations = [("replace", 0, len(before), 0, len(after))]
    if max(len(before), len(after)) <= _MOST_MATCHED:
        operations = SequenceMatcher(None, before, after).get_opcodes()
    for name, start, end, new_start, new_end in operations:
        if name == "equal":
            yield from (Line(Change.SAME, text) for text in before[start:end])
            continue
        yield from (Line(Change.REMOVED, text) for text in before[start:end])
        yield from (Line(Change.ADDED, text) for text in after[new_start:new_end])


def _shorten(lines: Sequence[Line]) -> Iterator[Line]:
    """Leaves out what stayed and is far from every change."""
    changed = [number for number, line in enumerate(lines) if line.change is not Change.SAME]
    near = {
        close
        for number in changed
        for close in range(number - _AROUND, number + _AROUND + 1)
        if 0 <= close < len(lines)
    }
    last = -1
    for number in sorted(near):
        if number != last + 1:
            yield Line(Change.LEFT_OUT)
        yield lines[number]
        last = number
    if last + 1 < len(lines):
        yield Line(Change.LEFT_OUT)
