"""The values of contacts that the text of a draft uses, and which of them may be empty."""

from collections.abc import Sequence
from dataclasses import dataclass

from postledger.content import previews
from postledger.content.rendering.source import Source
from postledger.lib.errors import RefusedError
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard.editor import readings


@dataclass(frozen=True, slots=True)
class Variable:
    """A value of contacts that the content uses; one that may be empty fails nobody's mail."""

    name: str
    is_ticked: bool  # somebody said that it may be empty
    has_default: bool = (
        False  # wherever it stands; such a value has no tick, which would outlive it
    )

    @property
    def may_be_empty(self) -> bool:
        return self.is_ticked or self.has_default


def list_stored(text: InlineSource | None) -> list[Variable]:
    """By name, so that a tick moves no line: browsers and people look for it where it was."""
    if text is None:
        return []
    optional, defaulted = set(text.optional), readings.find_defaulted(list_texts(text.source))
    return [
        Variable(name, name in optional, name in optional & defaulted)
        for name in sorted({*text.required, *optional})
    ]


def list_used(workspace_id: int, source: Source, shown: Sequence[Variable]) -> list[Variable]:
    """The variables of the texts; one may be empty if the author gave it a default, or said so.

    Of texts that cannot be read, those that the page has shown.
    """
    ticked = {one.name: one.is_ticked for one in shown}
    try:
        names = previews.list_variables(workspace_id, source)
    except RefusedError:
        names = None
    defaulted = readings.find_defaulted(list_texts(source))
    return [
        Variable(name, ticked.get(name, False), name in defaulted)
        for name in sorted(ticked if names is None else names)
    ]


def list_texts(source: Source) -> Sequence[str]:
    """All that may have values of contacts in it."""
    return source.subject, source.preheader, source.body, source.text
