"""Whether texts may be stored and sent: their sizes, nothing that runs as a program, and only what
the allow-list has.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self, override

from postledger.content.rendering.html import html_allow_list, html_tokens
from postledger.content.rendering.html.html_tokens import Attribute, Kind, LineNumbers
from postledger.lib import sentences
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.lib.values import is_storable

MAX_HTML_BYTES = 524_288
MAX_SUBJECT = 150

MOST_FINDINGS = 20
MOST_TOLD = 5  # by one refusal

_LONGEST_QUOTED = 1_000  # characters
_MOST_PIECES = 20_000  # tags and attributes: some tenths of a second


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a mail, where it is, and how to solve it."""

    code: str
    place: str
    remedy: str
    is_warning: bool = False  # a warning does not keep the mail from being sent
    written: str = field(default="", compare=False)  # the tag or the link that it is about


class FindingsError(RefusedError):
    """Content was refused; its findings say why, and where."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        told = (
            say("%(place)s: %(remedy)s", place=found.place, remedy=found.remedy)
            for found in findings[:MOST_TOLD]
        )
        super().__init__(sentences.join(told))
        self.findings = tuple(findings)

    @override
    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self.findings,)


class UnstorableTextError(RefusedError):
    code = "invalid_text"


def refuse_unstorable(place: str, text: str) -> None:
    """Refuses a text that PostgreSQL does not store, or that is larger than any mail may be."""
    if not is_storable(text):
        raise UnstorableTextError(
            say(
                "The %(place)s was not stored: it contains a NUL byte or an unpaired"
                " surrogate. Remove it.",
                place=place,
            )
        )
    size = len(text.encode())
    if size > MAX_HTML_BYTES:
        raise UnstorableTextError(
            say(
                "The %(place)s was not stored: it has %(size)s bytes as UTF-8, and a mail may"
                " have at most %(most)s. Shorten it.",
                place=place,
                size=size,
                most=MAX_HTML_BYTES,
            )
        )


def findings(*, subject: str, html: str) -> list[Finding]:
    """The problems of a mail's subject, then of its body; empty when it may be sent."""
    return [*check_subject(subject), *check_html(html)]


def check_subject(subject: str) -> list[Finding]:
    if not subject.strip():
        return [Finding("subject_missing", "subject", say("Give the mail a subject."))]
    if len(subject) > MAX_SUBJECT:
        remedy = say(
            "It has %(size)s characters; shorten it to %(most)s.",
            size=len(subject),
            most=MAX_SUBJECT,
        )
        return [Finding("subject_too_long", "subject", remedy)]
    return []


def recheck(*, subject: str, html: str) -> list[Finding]:
    """The same for a mail that was accepted before, without the allow-list: programs alone."""
    programs = _first_distinct(_html_findings(html, is_accepted=True))
    return [*check_subject(subject), *programs]


def check_html(html: str) -> list[Finding]:
    return _first_distinct(_html_findings(html))


def _first_distinct(findings: Iterable[Finding]) -> list[Finding]:
    distinct = dict[Finding, None]()
    for finding in findings:
        distinct[finding] = None
        if len(distinct) == MOST_FINDINGS:
            break
    return list(distinct)


def _html_findings(html: str, *, is_accepted: bool = False) -> Iterator[Finding]:
    data = html.encode(errors="surrogatepass")
    if len(data) > MAX_HTML_BYTES:
        remedy = say(
            "It has %(size)s bytes as UTF-8; shorten it to %(most)s.",
            size=len(data),
            most=MAX_HTML_BYTES,
        )
        yield Finding("html_too_large", "html", remedy)
    elif not html.strip():
        yield Finding("html_missing", "html", say("Give the mail an HTML body."))
    else:
        is_suspicious, lines = _is_suspicious(data), LineNumbers(html)
        for code, offset in _dangers(html) if is_suspicious else ():
            place, written = f"html, line {lines.at(offset)}", _quote_tag(html, offset)
            yield Finding(code, place, _REMEDIES[code], written=written)
        for refusal in () if is_accepted else html_allow_list.find_refused(html):
            # Of what is suspicious, the dangers say this already.
            if not (is_suspicious and refusal.code == "markup_unreadable"):
                place = f"html, line {lines.at(refusal.offset)}"
                written = _quote_tag(html, refusal.offset)
                yield Finding(refusal.code, place, refusal.remedy, written=written)


def _quote_tag(html: str, offset: int) -> str:
    """The tag that begins here, as it is written; empty where none does, or a very long one."""
    end = html.find(">", offset, offset + _LONGEST_QUOTED)
    return html[offset : end + 1] if html.startswith("<", offset) else ""


# A mail without any of these cannot contain the dangers below, and nearly every mail has none.
# Each begins with letters of its own, which are found at the speed of a plain search; in bytes,
# because only ASCII letters have two cases in HTML, and those are lowered much faster there.
_SUSPICIOUS = (
    re.compile(rb"script(?<=[<:]script)"),
    re.compile(rb"on(?<=[\s\"'/]on)[^\s/>=\"']{1,64}+\s*+="),
    re.compile(rb"[\x00-\x20]*+".join(bytes([letter]) for letter in b"javascript:")),
    # A letter, a colon, a tab or a line end under another name: how a URL's scheme is hidden.
    re.compile(
        rb"&(?:tab;|newline;|colon;"
        rb"|#0*+(?:9|10|13|58|6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2])(?!\d)"
        rb"|#x0*+(?:9|a|d|3a|[46][1-9a-f]|[57][0-9a])(?![0-9a-f]))"
    ),
    re.compile(b"srcdoc"),
)

_REMEDIES = {
    "script_element": say(
        "Remove the script element: no mail program runs it, and filters refuse it."
    ),
    "event_handler": say(
        "Remove the event handler: no mail program runs it, and filters refuse it."
    ),
    "script_url": say("Replace the javascript: URL by the address of a page."),
    "markup_too_complex": say("Use at most %(most)s tags and attributes.", most=_MOST_PIECES),
    "markup_unreadable": say("Close every tag and quote, and write &lt; for < inside attributes."),
}


def _is_suspicious(html: bytes) -> bool:
    lowered = html.lower()
    return any(pattern.search(lowered) for pattern in _SUSPICIOUS)


# Their values are shown to people, not followed.
_TEXTS = frozenset({"alt", "aria-description", "aria-label", "label", "placeholder", "title"})
_LISTS = frozenset({"archive", "content", "imagesrcset", "ping", "srcset", "style", "values"})
_STYLE_URL = re.compile(r"url\(\s*+[\"']?+\s*+javascript\s*+:", re.IGNORECASE)
_IN_LIST = re.compile(r"(?:^|[\s,;('\"=])javascript:")


def _dangers(html: str, *, is_inner: bool = False) -> Iterator[tuple[str, int]]:
    """The code and the offset of everything that could run."""
    for url in _STYLE_URL.finditer(html):
        yield "script_url", url.start()
    pieces = 0
    for tag in html_tokens.tags_of_every_reading(html):
        if tag.kind is Kind.BROKEN:
            yield "markup_unreadable", tag.start
            return
        attributes = list(html_tokens.attributes(html, tag))
        pieces += 1 + len(attributes)
        if pieces > _MOST_PIECES:
            yield "markup_too_complex", tag.start
            return
        if tag.name.rpartition(":")[2] == "script":
            yield "script_element", tag.start
        else:
            for code in _attribute_dangers(html, attributes, is_inner=is_inner):
                yield code, tag.start


def _attribute_dangers(
    html: str, attributes: Iterable[Attribute], *, is_inner: bool
) -> Iterator[str]:
    for attribute in attributes:
        name, value = attribute.name, attribute.decoded(html)
        if not attribute.has_value:
            continue
        if name.startswith("on") and name != "on":
            yield "event_handler"
        elif name == "srcdoc" and is_inner:
            yield "markup_unreadable"
        elif name == "srcdoc":
            yield from (code for code, _ in _dangers(value, is_inner=True))
        elif name not in _TEXTS and _is_script_url(name, value.lower()):
            yield "script_url"


def _is_script_url(name: str, value: str) -> bool:
    # Browsers leave out tabs and line ends inside a URL, and controls before it.
    if re.sub(r"[\x00-\x20]+", "", value).startswith("javascript:"):
        return True
    return name in _LISTS and _IN_LIST.search(re.sub(r"[\t\n\r]", "", value)) is not None
