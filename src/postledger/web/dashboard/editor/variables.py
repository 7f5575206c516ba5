"""The values of contacts that the text of a draft uses, and which of them may be empty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postledger.content import previews
from postledger.content.rendering.source import Source
from postledger.lib.errors import RefusedError
from postledger.mailing.content_source import InlineSource


@dataclass(frozen=True, slots=True)
class Variable:
    """A value of contacts that the content uses; one that may be empty fails nobody's mail."""

    name: str
    is_ticked: bool  # somebody said that it may be empty
    # The text says what stands where it is missing; such a value has no tick, which would outlive
    # that.
    is_covered: bool = False

    @property
    def may_be_empty(self) -> bool:
        return self.is_ticked or self.is_covered


def list_stored(workspace_id: int, text: InlineSource | None) -> list[Variable]:
    """By name, so that a tick moves no line: browsers and people look for it where it was."""
    if text is None:
        return []
    optional, gaps = set(text.optional), _find_gaps(workspace_id, text.source) or {}
    return [
        Variable(name, name in optional, name in optional and not gaps.get(name, True))
        for name in sorted({*text.required, *optional})
    ]


def list_used(workspace_id: int, source: Source, shown: Sequence[Variable]) -> list[Variable]:
    """The variables of the texts; one may be empty if that leaves no gap, or the author said so.

    Of texts that cannot be read, those that the page has shown.
    """
    ticked = {one.name: one.is_ticked for one in shown}
    gaps = _find_gaps(workspace_id, source)
    if gaps is None:
        gaps = dict.fromkeys(ticked, True)
    return [Variable(name, ticked.get(name, False), not gaps[name]) for name in sorted(gaps)]


def _find_gaps(workspace_id: int, source: Source) -> Mapping[str, bool] | None:
    """The variables, each with whether it leaves a gap; None of texts that cannot be read."""
    try:
        return previews.list_variables(workspace_id, source)
    except RefusedError:
        return None


def list_texts(source: Source) -> Sequence[str]:
    """All that may have values of contacts in it."""
    return source.subject, source.preheader, source.body, source.text
