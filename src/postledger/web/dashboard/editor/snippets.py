"""A picture as an author writes it into a text. Pure."""

import re
from html import escape
from typing import assert_never

from postledger.content.rendering.source import Format

_MARKUP = re.compile(r"([\\\[\]*_`<>!&])")
_NO_BRACES = str.maketrans("", "", "{}")  # a description is no Liquid


def write_picture(format_: Format, url: str, *, description: str) -> str:
    """The description is what people read who do not see the picture."""
    text = " ".join(description.split()).translate(_NO_BRACES)
    match format_:
        case Format.MARKDOWN:
            return f"![{_MARKUP.sub(r'\\\1', text)}]({url})"
        case Format.HTML:
            return f'<img src="{url}" alt="{escape(text)}" width="600">'
        case Format.MJML:
            return f'<mj-image src="{url}" alt="{escape(text)}" />'
        case _:
            assert_never(format_)
