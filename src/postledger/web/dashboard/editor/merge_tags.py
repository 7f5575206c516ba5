"""Finds what readers would see as it stands: the tags of other tools, and HTML in Markdown."""

import re
from html import unescape

from postledger.content.rendering.liquid.liquid_text import split_liquid

# As Mailchimp, Emarsys, CleverReach, Mailgun and Brevo write them. A word in brackets may be the
# text of a link of Markdown, or its name.
_TAG = re.compile(
    r"\*\|[A-Za-z0-9_:]{1,60}\|\*"
    r"|%%[A-Za-z0-9_]{1,60}%%"
    r"|%[a-z]{3,60}\.[a-z_.]{1,60}%"
    r"|\{\{\{[^{}]{1,60}\}\}\}"
    r"|\[[A-Z][A-Z0-9_]{1,60}\](?![(\[:])"
)

# Of what each campaign has by itself here, or no campaign has.
_NO_VALUE = re.compile(
    r"UNSUB|ABMELD|LIST:|LIST_|ADDRESS_HTML|ARCHIVE|WEBVERSION|VIEW_ONLINE|MIRROR|FORWARD"
    r"|UPDATE_PROFILE|ABUSE_EMAIL|REWARDS",
    re.IGNORECASE,
)
# With its brackets as the renderer escapes those that it takes for text.
_HTML_TAG = re.compile(
    r"&lt;/?(?:a|b|i|u|p|h[1-6]|br|hr|em|ul|ol|li|td|tr|th|div|img|pre|span|font|table|tbody|strong"
    r"|center|button|style|section)(?=[\s/]|&gt;)",
    re.IGNORECASE,
)


def find_foreign_tags(text: str) -> list[str]:
    """Each once, in the order of the text; names of Markdown's links are none."""
    tripled = [tag for tag in _TAG.findall(text) if tag.startswith("{")]
    plain = " ".join(split_liquid(text)[::2])
    others = [tag for tag in _TAG.findall(plain) if f"{tag}:" not in text]
    return list(dict.fromkeys([*tripled, *others]))


def stands_for_no_value(tag: str) -> bool:
    """Whether other tools put something else there than a value, as the link to unsubscribe."""
    return _NO_VALUE.search(tag) is not None


def find_html_shown(html: str) -> str:
    """The beginning of the first tag that readers of this HTML would see; examples are code."""
    first, *others = html.split("<code")
    shown = first + "".join(part.partition("</code>")[2] for part in others)
    tag = _HTML_TAG.search("".join(split_liquid(shown)[::2]))
    return unescape(tag[0]) if tag else ""
