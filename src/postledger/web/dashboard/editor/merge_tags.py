"""Finds the tags of other tools for a value of the reader: here they are sent as they stand."""

import re

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


def find_foreign_tags(text: str) -> list[str]:
    """Each once, in the order of the text; names of Markdown's links are none."""
    tripled = [tag for tag in _TAG.findall(text) if tag.startswith("{")]
    plain = " ".join(split_liquid(text)[::2])
    others = [tag for tag in _TAG.findall(plain) if f"{tag}:" not in text]
    return list(dict.fromkeys([*tripled, *others]))
