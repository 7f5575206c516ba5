"""Makes letters of what was written: the body prepared, the footer added, all but the Liquid."""

from postledger.content import footer as footers
from postledger.content import source as sources
from postledger.content.footer import PLACE, Footer
from postledger.content.letter import Script
from postledger.content.source import Prepared, Source


def of_source(
    source: Source,
    *,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    footer: Footer | None = None,
) -> Script:
    """Raises SourceError for what cannot be read; whether it may be sent, `Letter` says."""
    prepared = sources.prepare(source)
    return _script(source.subject, prepared, required, optional, footer)


def of_fragment(
    subject: str, *, html: str, text: str, locale: str, footer: Footer | None = None
) -> Script:
    """A letter around HTML that was made by us: from a Notion page, from slices."""
    prepared = sources.prepare_fragment(html, text, locale=locale)
    return _script(subject, prepared, (), (), footer)


def _script(
    subject: str,
    prepared: Prepared,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    footer: Footer | None,
) -> Script:
    script = Script(subject, prepared.html, prepared.text, required, optional)
    if footer is not None:
        return footers.added(script, footer)
    return Script(subject, prepared.html.replace(PLACE, ""), prepared.text, required, optional)
