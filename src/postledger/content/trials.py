"""Tries content out as sending would: everything there is to say of it, and what a reader gets."""

from collections.abc import Mapping
from dataclasses import dataclass

from postledger.accounts import queries as accounts
from postledger.content import checks, program, review, scripts
from postledger.content import footing as footings
from postledger.content.checks import Finding
from postledger.content.footer import Footer, FooterEnvMissingError
from postledger.content.letter import Letter, Script
from postledger.content.program import Values
from postledger.content.source import Source, SourceError

# Who reads a preview, unless its values say otherwise.
_READER: Mapping[str, object] = {"name": "Alice", "email": "alice@example.com"}


@dataclass(frozen=True, slots=True)
class Footing:
    """The footer that mail goes with, or what the workspace lacks for having one."""

    footer: Footer | None = None
    values: Mapping[str, object] | None = None
    lacking: tuple[Finding, ...] = ()


def footing(workspace_id: int) -> Footing:
    """As a preview shows it: the link is the page itself, without a token, and ends nothing."""
    known = accounts.organisation(workspace_id)
    try:
        footer = footings.of(known)
    except FooterEnvMissingError as missing:
        return Footing(lacking=(Finding(missing.code, "footer", str(missing)),))
    return Footing(footer, values={"unsubscribe_url": known.unsubscribe_base_url})


@dataclass(frozen=True, slots=True)
class Seen:
    """What one reader would get."""

    subject: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    findings: tuple[Finding, ...]
    seen: Seen | None = None  # None: no mail can be made of it, or nobody's values were given

    def faults(self) -> list[Finding]:
        return [found for found in self.findings if not found.is_warning]


def of(
    source: Source,
    *,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    values: Values | None = None,
    footing: Footing | None = None,
) -> Trial:
    """With a reader's values it is also filled in; without a footing it is mail without footer."""
    stand = footing or Footing()
    try:
        _refuse_blank(source)
        script = scripts.of_source(
            source, required=required, optional=optional, footer=stand.footer
        )
    except SourceError as refused:
        return Trial((*stand.lacking, *refused.findings))
    return of_script(script, values=values, footing=footing)


def of_script(script: Script, *, values: Values | None, footing: Footing | None) -> Trial:
    """The same of a letter that was made already."""
    stand = footing or Footing()
    given = None if values is None else {**_READER, **values, **(stand.values or {})}
    found = review.findings(script, values=given, has_footer=footing is not None)
    if given is None or not all(finding.is_warning for finding in found):
        return Trial((*stand.lacking, *found))
    return Trial((*stand.lacking, *found), _seen(script, given))


def _refuse_blank(source: Source) -> None:
    """In our layout a mail without a word of its own would look like one with words."""
    if not source.body.strip():
        subject = program.without_liquid(source.subject)
        raise SourceError(checks.findings(subject=subject, html=""))


def _seen(script: Script, values: Values) -> Seen:
    letter = Letter(script)
    filled = letter.fill(values)
    return Seen(filled.subject, *letter.whole(filled))
