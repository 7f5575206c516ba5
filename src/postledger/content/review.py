"""Everything there is to say of a letter before it is sent, as one list: faults, then warnings."""

from collections.abc import Iterator

from postledger.content import checks, markup, program
from postledger.content.checks import Finding
from postledger.content.letter import Letter, LetterError, Script
from postledger.content.program import MissingVariableError, RenderError, Values

# Gmail shows no more of a mail than this, and hides the rest behind a link.
CLIPPED_BYTES = 102_400

_REACHABLE = ("http://", "https://", "mailto:", "tel:", "#")


def findings(script: Script, *, values: Values | None = None, has_footer: bool) -> list[Finding]:
    """`values` are those of one recipient: with them it is also tried out.

    `has_footer` says whether mail of this kind goes with a footer.
    """
    try:
        letter = Letter(script)
    except LetterError as refused:
        return [*refused.findings, *_warnings(script.html, has_footer=has_footer)]
    faults = [] if values is None else list(_of_filling(letter, values))
    html = script.html
    if values is not None and not faults:
        html = letter.whole(letter.fill(values))[0]
    return [*faults, *_warnings(html, has_footer=has_footer)]


def _of_filling(letter: Letter, values: Values) -> Iterator[Finding]:
    try:
        letter.fill(values)
    except LetterError as refused:
        yield from refused.findings
    except MissingVariableError as missing:
        yield Finding(missing.code, missing.name, str(missing))
    except RenderError as refused:
        yield Finding(refused.code, "html", str(refused))


def _warnings(html: str, *, has_footer: bool) -> Iterator[Finding]:
    size = len(html.encode(errors="surrogatepass"))
    if CLIPPED_BYTES < size <= checks.MAX_HTML_BYTES:
        yield _warning(
            "html_clipped",
            "html",
            f"It has {size} bytes, and Gmail hides what comes after {CLIPPED_BYTES};"
            " shorten it, or put the most important things first.",
        )
    if has_footer and "unsubscribe" not in html.lower():
        yield _warning(
            "footer_missing",
            "html",
            "Nothing in it lets people leave; the footer with its link is put in when it is sent.",
        )
    bare = program.without_liquid(html)
    for tag in markup.tags(bare):
        if isinstance(tag, markup.Tag):
            line = bare.count("\n", 0, tag.offset) + 1
            yield from _of_tag(tag, f"html, line {line}")


def _of_tag(tag: markup.Tag, place: str) -> Iterator[Finding]:
    pairs = dict(tag.pairs())
    if tag.name == "img" and "alt" not in pairs:
        yield _warning(
            "alt_missing",
            place,
            'Say in alt what the picture shows, or write alt="" where it only decorates.',
        )
    link = dict(tag.attributes()).get("href", "").strip().lower() if tag.name == "a" else ""
    # "x" stands for a value, which is judged when there is one.
    if link and not link.startswith((*_REACHABLE, "x")):
        yield _warning(
            "link_unreachable",
            place,
            "Write a link as https:// or mailto:; in a mail there is no page it could belong to.",
        )


def _warning(code: str, place: str, remedy: str) -> Finding:
    return Finding(code, place, remedy, is_warning=True)
