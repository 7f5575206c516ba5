"""Previews content as sending would make it: all findings about it, and the mail of one reader."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice

from postledger.content.rendering import footer as footers
from postledger.content.rendering import preheader
from postledger.content.rendering.branding import NO_BRANDING, Branding
from postledger.content.rendering.compiled_template import (
    CompiledTemplate,
    InvalidTemplateError,
    MissingVariableError,
    RenderError,
    Values,
)
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.html import checks, html_tokens
from postledger.content.rendering.html.checks import MOST_FINDINGS, Finding
from postledger.content.rendering.html.html_tokens import Kind, LineNumbers, Token
from postledger.content.rendering.letter import GIVEN, Letter, LetterError, Script
from postledger.content.rendering.liquid.liquid_text import without_liquid
from postledger.content.rendering.own_places import name_own_places
from postledger.content.rendering.source import Source, SourceError, make_script
from postledger.lib.sentences import say

# Gmail shows no more of a mail than this, and hides the remaining part behind a link.
CLIPPED_BYTES = 102_400

# The reader of a preview, unless its values say otherwise.
# Of nobody in particular: by their names, as other variables.
_READER: Mapping[str, object] = {
    "name": "[name]",
    "email": "[email]",
    "from_name": "[from_name]",
}
_VALUE = "\0"  # stands for a variable; no link has it, not even as an entity
_REACHABLE = ("http://", "https://", "mailto:", "tel:", "#")


@dataclass(frozen=True, slots=True)
class PreviewFooter:
    """The footer of a workspace's mail, or the finding that says what the workspace lacks."""

    footer: Footer | None = None
    values: Mapping[str, object] | None = None
    missing: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedMail:
    subject: str
    html: str
    text: str

    @property
    def preheader(self) -> str:
        return preheader.find(self.html)


@dataclass(frozen=True, slots=True)
class MailPreview:
    findings: tuple[Finding, ...]
    mail: RenderedMail | None = None  # None: the content has faults, or no values were given
    script: Script | None = None  # None: no letter can be made of the content

    def faults(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.is_warning]


def preview_source(  # noqa: PLR0913  the parts of a preview, each by its name
    source: Source,
    *,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    values: Values | None = None,
    footer: PreviewFooter | None = None,
    branding: Branding = NO_BRANDING,
) -> MailPreview:
    """With a reader's values it is also filled in; without a footer, it is mail without one."""
    parts = footer or PreviewFooter()
    try:
        _refuse_blank(source)
        script = make_script(
            source,
            required=required,
            optional=optional,
            footer=parts.footer,
            branding=branding,
        )
    except SourceError as refused:
        return MailPreview((*parts.missing, *refused.findings))
    preview = preview_script(script, values=values, footer=footer)
    return replace(preview, findings=tuple(name_own_places(preview.findings, source.body)))


def list_variables(source: Source) -> Mapping[str, bool] | None:
    """The variables of contacts that the texts use, each with whether it leaves a gap where it is
    missing; None if their Liquid cannot be read.
    """
    texts = (source.subject, source.preheader, source.body, source.text)
    try:
        templates = [CompiledTemplate(text, is_html=False) for text in texts]
    except InvalidTemplateError:
        return None
    names = {name for template in templates for name in template.names}
    # A default of the subject fills no gap in the text below it.
    gaps = {name for template in templates for name in template.find_gaps()}
    return {name: name in gaps for name in sorted(names - GIVEN)}


def _refuse_blank(source: Source) -> None:
    """In our layout, a mail without content of its own would look as if it had some."""
    if not source.body.strip():
        no_text = Finding("html_missing", "body", say("The mail has no text yet. Write one."))
        raise SourceError([*_check_subject(source.subject), no_text])


def _check_subject(subject: str) -> list[Finding]:
    try:
        CompiledTemplate(subject, is_html=False)
    except InvalidTemplateError as invalid:
        return [invalid.finding("subject")]
    return checks.check_subject(without_liquid(subject))


def preview_script(
    script: Script, *, values: Values | None, footer: PreviewFooter | None
) -> MailPreview:
    """The same for a letter that was made already."""
    parts = footer or PreviewFooter()
    given = None if values is None else {**_READER, **values, **(parts.values or {})}
    preview = review(script, values=given, has_footer=footer is not None)
    return replace(preview, findings=(*parts.missing, *preview.findings))


def review(script: Script, *, values: Values | None = None, has_footer: bool) -> MailPreview:
    """The faults of a letter, then its warnings, and its mail if it has no fault.

    `values` are those of one recipient: with them it is also filled in. `has_footer` says whether
    mail of this kind goes with a footer.
    """
    faults, mail = list[Finding](), None
    try:
        letter = Letter(script)
        if values is not None:
            filled = letter.fill(values)
            mail = RenderedMail(filled.subject, *letter.join(filled))
    except LetterError as refused:
        faults += refused.findings
    except MissingVariableError as missing:
        faults.append(Finding(missing.code, missing.name, missing.sentence))
    except RenderError as failed:
        faults.append(Finding(failed.code, "html", failed.sentence))
    warnings = _warnings(mail.html if mail else script.html, has_footer=has_footer)
    return MailPreview(tuple(islice(chain(faults, warnings), MOST_FINDINGS)), mail, script)


def _warnings(html: str, *, has_footer: bool) -> Iterator[Finding]:
    size = len(html.encode(errors="surrogatepass"))
    if CLIPPED_BYTES < size <= checks.MAX_HTML_BYTES:
        yield _warning(
            "html_clipped",
            "html",
            say(
                "It has %(size)s bytes, and Gmail hides everything after %(most)s;"
                " shorten it, or put the most important things first.",
                size=size,
                most=CLIPPED_BYTES,
            ),
        )
    if has_footer and not footers.has_link(html):
        yield _warning(
            "footer_missing",
            "html",
            say("It has no unsubscribe link; the footer that is added when it is sent has one."),
        )
    bare = without_liquid(html.replace(_VALUE, ""), value=_VALUE)
    lines = LineNumbers(bare)
    for tag in html_tokens.tags_of_every_reading(bare):
        if tag.kind is Kind.OPENING:
            yield from _tag_warnings(bare, tag, place=f"html, line {lines.at(tag.start)}")


def _tag_warnings(html: str, tag: Token, *, place: str) -> Iterator[Finding]:
    attributes = {attribute.name: attribute for attribute in html_tokens.attributes(html, tag)}
    if tag.name == "img" and "alt" not in attributes:
        yield _warning(
            "alt_missing",
            place,
            say('Describe the picture in alt, or write alt="" where it only decorates.'),
            written=attributes["src"].decoded(html) if "src" in attributes else "",
        )
    if tag.name == "a" and "href" in attributes:
        written = attributes["href"].decoded(html).strip()
        link = written.lower()
        if not link:
            yield _warning(
                "link_empty", place, say("A link leads nowhere. Write the address of its page.")
            )
        # A variable is checked when it has a value.
        if link and not link.startswith((*_REACHABLE, _VALUE)):
            yield _warning(
                "link_unreachable",
                place,
                say(
                    "Begin the link with https:// or mailto:. A relative link does not work in"
                    " a mail."
                ),
                written=written,
            )


def _warning(code: str, place: str, remedy: str, *, written: str = "") -> Finding:
    return Finding(code, place, remedy, is_warning=True, written=written)
