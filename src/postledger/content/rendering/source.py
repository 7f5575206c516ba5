"""Turns a source in Markdown, MJML or HTML into an HTML document, a text and a letter.

All of them still hold the Liquid, byte for byte as it was written. The same source always gives
the same result.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import assert_never

from postledger.content.rendering import fragments, html_limits, markdown, mjml, plaintext, styles
from postledger.content.rendering import preheader as preheaders
from postledger.content.rendering.branding import NO_BRANDING, Branding
from postledger.content.rendering.compiled_template import CompiledTemplate, InvalidTemplateError
from postledger.content.rendering.footer import PLACE, Footer
from postledger.content.rendering.html import checks
from postledger.content.rendering.html.checks import Finding, FindingsError
from postledger.content.rendering.letter import Script
from postledger.content.rendering.liquid import liquid_markers, liquid_placement
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.content.rendering.markdown import Rendered
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.lib.values import UNSTORABLE, is_storable

_BYTE_ORDER_MARK = "\ufeff"
_DOCUMENT = re.compile(r"<(?:!doctype|html|body)\b", re.IGNORECASE)


class Format(StrEnum):
    MARKDOWN = "markdown"
    MJML = "mjml"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Source:
    """A subject, a body and a preheader as an author wrote them, with Liquid in them."""

    subject: str
    body: str
    format: Format
    text: str = ""  # a text version of its own; otherwise it is made from the body
    locale: str = "en"
    preheader: str = ""  # empty: mail programs show the beginning of the body


class SourceError(FindingsError):
    """No mail can be made of the source; its findings say why, and where."""

    code = "invalid_source"


def make_script(
    source: Source,
    *,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    footer: Footer | None = None,
    branding: Branding = NO_BRANDING,
) -> Script:
    """Raises SourceError for a source that cannot be read; `Letter` decides whether to send it."""
    prepared = prepare(source, branding=branding)
    html = _add_preheader(prepared.html, source.preheader)
    _refuse_wrong_liquid(source)
    script = Script(source.subject, html, prepared.text, required, optional)
    return _add_footer(script, footer, source.locale)


def make_fragment_script(  # noqa: PLR0913  the parts of a letter, each by its name
    subject: str,
    *,
    html: str,
    text: str,
    locale: str,
    preheader: str = "",
    footer: Footer | None = None,
    branding: Branding = NO_BRANDING,
) -> Script:
    """A letter around HTML that we made ourselves from a Notion page, and its text version."""
    prepared = prepare_fragment(html, text, locale=locale, branding=branding)
    html = _add_preheader(prepared.html, preheader)
    return _add_footer(Script(subject, html, prepared.text), footer, locale)


def _add_footer(script: Script, footer: Footer | None, locale: str) -> Script:
    return (
        script.with_footer(footer, locale=locale)
        if footer
        else replace(script, html=script.html.replace(PLACE, ""))
    )


@contextmanager
def _refusing_failures() -> Iterator[None]:
    """No text of an author is an error of ours: what breaks a parser is refused."""
    try:
        yield
    except (RefusedError, MemoryError):
        raise
    except BaseException as error:
        # Parsers in Rust panic, which is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        remedy = say(
            "It cannot be rendered (%(name)s); simplify its markup.", name=type(error).__name__
        )
        raise SourceError([Finding("markup_unreadable", "body", remedy)]) from error


@_refusing_failures()
def prepare(source: Source, *, branding: Branding = NO_BRANDING) -> Rendered:
    """Raises SourceError for a source that cannot be read, or would lose its Liquid."""
    _mark(source.subject, place="subject")
    _mark(source.text, place="text")
    body = _mark(source.body, place="body")
    match source.format:
        case Format.MARKDOWN:
            prepared = _prepare_markdown(body, source.locale, branding)
        case Format.MJML:
            prepared = _prepare_mjml(body, source.locale)
            _refuse(mjml.find_second_preheader(body) if source.preheader.strip() else ())
        case Format.HTML:
            prepared = _prepare_html(body, source.locale, branding)
        case never:
            assert_never(never)
    return Rendered(prepared.html, source.text or prepared.text)


@_refusing_failures()
def _refuse_wrong_liquid(source: Source) -> None:
    """By the lines that the author wrote: those of the HTML mean nothing to them."""
    findings = []
    for place in ("subject", "body", "text"):
        try:
            CompiledTemplate(getattr(source, place), is_html=False)
        except InvalidTemplateError as invalid:
            findings.append(invalid.finding(place))
    _refuse(findings)


@_refusing_failures()
def _add_preheader(html: str, preheader: str) -> str:
    _mark(preheader, place="preheader")
    _refuse(preheaders.findings(preheader))
    return preheaders.insert(html, preheader) if preheader.strip() else html


@_refusing_failures()
def prepare_fragment(
    html: str, text: str, *, locale: str, branding: Branding = NO_BRANDING
) -> Rendered:
    """The same for HTML that we made ourselves, and its text version."""
    _mark(text, place="text")
    fragment = _mark(html, place="html")
    _refuse(html_limits.findings(fragment.text, marked=fragment))
    commented = liquid_placement.comment_out(fragment)
    return Rendered(_document(commented, fragment, locale, branding), text)


def _mark(text: str, *, place: str) -> MarkedText:
    """The text with its Liquid marked; refuses one that is too large before it is parsed."""
    if not is_storable(text):
        raise SourceError([Finding("text_unstorable", place, UNSTORABLE)])
    size = len(text.encode())
    if size > checks.MAX_HTML_BYTES:
        code = "text_too_large" if place == "text" else "html_too_large"
        remedy = say(
            "It has %(size)s bytes as UTF-8; shorten it to %(most)s.",
            size=size,
            most=checks.MAX_HTML_BYTES,
        )
        raise SourceError([Finding(code, place, remedy)])
    return _accepted(liquid_markers.mark_liquid(text.removeprefix(_BYTE_ORDER_MARK), place=place))


def _accepted[T](result: T | Finding) -> T:
    if isinstance(result, Finding):
        raise SourceError([result])
    return result


def _refuse(findings: Iterable[Finding]) -> None:
    # To find the line of each takes as long as to read the text.
    first = list(islice(findings, checks.MOST_FINDINGS))
    if first:
        raise SourceError(first)


def _prepare_markdown(body: MarkedText, locale: str, branding: Branding) -> Rendered:
    rendered = _accepted(markdown.render(body))
    _refuse_large(rendered.html)
    # The lines of the HTML are not the author's.
    complex_ = html_limits.findings(rendered.html, marked=body)
    _refuse(replace(finding, place="body") for finding in complex_)
    html = _document(rendered.html, body, locale, branding)
    return Rendered(html, body.put_back(rendered.text))


def _prepare_mjml(body: MarkedText, locale: str) -> Rendered:
    _refuse(mjml.findings(body))
    _refuse(styles.findings(body.text, names=frozenset({"mj-style"})))
    html = body.unhide(_accepted(mjml.render(body, locale=locale)))
    _refuse_large(html)
    _refuse(mjml.find_lost(html, marked=body))
    return _finish(html, body)


def _prepare_html(body: MarkedText, locale: str, branding: Branding) -> Rendered:
    _refuse(html_limits.findings(body.text, marked=body))
    _refuse(liquid_placement.find_astray(body))
    html = liquid_placement.comment_out(body)
    if not _DOCUMENT.search(body.text):
        cleaned = fragments.clean(html, marked=body)
        html = styles.wrap_in_layout(cleaned, locale=locale, branding=branding)
    _refuse(styles.findings(html))
    return _finish(body.unhide(styles.inline(html, marked=body)), body)


def _refuse_large(html: str) -> None:
    """Little Markdown or MJML can become much HTML; it is not looked at if nobody may send it."""
    size = len(html.encode())
    # Marks can be longer than the Liquid that they stand for; the letter is measured without them.
    if size > 2 * checks.MAX_HTML_BYTES:
        remedy = say(
            "It becomes %(size)s bytes of HTML; shorten it to %(most)s.",
            size=size,
            most=checks.MAX_HTML_BYTES,
        )
        raise SourceError([Finding("html_too_large", "body", remedy)])


def _document(content: str, marked: MarkedText, locale: str, branding: Branding) -> str:
    wrapped = styles.wrap_in_layout(content, locale=locale, branding=branding)
    html = marked.unhide(styles.inline(wrapped, marked=marked))
    _refuse(liquid_placement.find_misplaced(html, marked=marked))
    return marked.put_back(html)


def _finish(html: str, marked: MarkedText) -> Rendered:
    """Puts the Liquid back, if it is still where it was."""
    _refuse(html_limits.findings(html, marked=marked))
    _refuse(liquid_placement.find_misplaced(html, marked=marked))
    text = plaintext.from_html(html, marked=marked)
    return Rendered(marked.put_back(html), marked.put_back(text))
