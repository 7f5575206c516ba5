"""Turns what somebody wrote, in Markdown, MJML or HTML, into a document and a text.

Both still hold the Liquid, byte for byte as it was written. The same source always gives the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, assert_never

from postledger.content import (
    aside,
    between,
    bounds,
    checks,
    fragments,
    layout,
    markdown,
    mjml,
    mjml_rules,
    plaintext,
    styles,
)
from postledger.content.aside import Aside
from postledger.content.checks import Finding
from postledger.lib.errors import RefusedError

_BYTE_ORDER_MARK = "\ufeff"
_DOCUMENT = re.compile(r"<(?:!doctype|html|body)\b", re.IGNORECASE)


class Format(StrEnum):
    MARKDOWN = "markdown"
    MJML = "mjml"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Source:
    """What somebody wrote: a subject and a body, with Liquid in them."""

    subject: str
    body: str
    format: Format
    text: str = ""  # a text version of its own; otherwise it is made from the body
    locale: str = "en"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A whole HTML document with its styles inlined, and its text version."""

    html: str
    text: str


class SourceError(RefusedError):
    """No mail can be made of what was written; its findings say why, and where."""

    code: ClassVar[str] = "invalid_source"

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(" ".join(f"{found.place}: {found.remedy}" for found in findings[:5]))
        self.findings = tuple(findings)


def prepare(source: Source) -> Prepared:
    """Raises SourceError for what cannot be read, or would lose its Liquid on the way."""
    _taken(source.subject, place="subject")
    _taken(source.text, place="text")
    body = _taken(source.body, place="body")
    match source.format:
        case Format.MARKDOWN:
            prepared = _of_markdown(body, source.locale)
        case Format.MJML:
            prepared = _of_mjml(body, source.locale)
        case Format.HTML:
            prepared = _of_html(body, source.locale)
        case never:
            assert_never(never)
    return Prepared(prepared.html, source.text or prepared.text)


def prepare_fragment(html: str, text: str, *, locale: str) -> Prepared:
    """The same for HTML that we have made ourselves, and its text version."""
    _taken(text, place="text")
    fragment = _taken(html, place="html")
    _refuse(bounds.findings(fragment.marked, put_aside=fragment))
    return Prepared(_document(between.comments(fragment), fragment, locale), text)


def _taken(text: str, *, place: str) -> Aside:
    """A text without its Liquid; refuses what is too large before anything is read."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = -1
    if size < 0 or "\0" in text:
        remedy = "It holds U+0000 or half a character; remove it."
        raise SourceError([Finding("text_unstorable", place, remedy)])
    if size > checks.MAX_HTML_BYTES:
        code = "text_too_large" if place == "text" else "html_too_large"
        remedy = f"It has {size} bytes as UTF-8; shorten it to {checks.MAX_HTML_BYTES}."
        raise SourceError([Finding(code, place, remedy)])
    taken = aside.take(text.removeprefix(_BYTE_ORDER_MARK), place=place)
    if isinstance(taken, Finding):
        raise SourceError([taken])
    return taken


def _refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise SourceError(findings)


def _of_markdown(body: Aside, locale: str) -> Prepared:
    rendered = markdown.render(body)
    if isinstance(rendered, Finding):
        raise SourceError([rendered])
    return Prepared(_document(rendered.html, body, locale), body.put_back(rendered.text))


def _of_mjml(body: Aside, locale: str) -> Prepared:
    _refuse(mjml_rules.findings(body))
    _refuse(styles.findings(body.marked, names=frozenset({"mj-style"})))
    html = mjml.render(body, locale=locale)
    if isinstance(html, Finding):
        raise SourceError([html])
    html = body.unhide(html)
    _refuse(mjml.lost(html, put_aside=body))
    return _finished(html, body)


def _of_html(body: Aside, locale: str) -> Prepared:
    _refuse(bounds.findings(body.marked, put_aside=body))
    _refuse(list(between.astray(body)))
    html = between.comments(body)
    if not _DOCUMENT.search(body.marked):
        html = layout.wrap(fragments.clean(html, put_aside=body), locale=locale)
    _refuse(styles.findings(html))
    return _finished(body.unhide(styles.inline(html, put_aside=body)), body)


def _document(content: str, put_aside: Aside, locale: str) -> str:
    wrapped = layout.wrap(content, locale=locale)
    html = put_aside.unhide(styles.inline(wrapped, put_aside=put_aside))
    _refuse(between.misplaced(html, put_aside=put_aside))
    return put_aside.put_back(html)


def _finished(html: str, put_aside: Aside) -> Prepared:
    """Puts the Liquid back, if it is where it was."""
    _refuse(bounds.findings(html, put_aside=put_aside))
    _refuse(between.misplaced(html, put_aside=put_aside))
    text = plaintext.of_html(html, put_aside=put_aside)
    return Prepared(put_aside.put_back(html), put_aside.put_back(text))
