"""The mail that asks for the confirmation of a subscription, in our layout."""

from dataclasses import dataclass
from functools import cache

from postledger.accounts.queries import Organisation
from postledger.content.rendering import footer, source
from postledger.content.rendering.letter import Letter, Script
from postledger.web.public.pages import Texts

_BODY = """\
<h1>{{ title }}</h1>
<p>{{ hello }}</p>
<p>{{ press }}</p>
<p><a class="button" href="{{ url }}"><span>{{ button }}</span></a></p>
<p>{{ ignore }}</p>
"""
_FOOTER = '<hr><p>{{ sender }}</p><p><a href="{{ never_url }}">{{ never_title }}</a></p>'
_TEXT = """\
{{ hello }}

{{ press }}
{{ url }}

{{ ignore }}

{{ never }}
{{ never_url }}

--
{{ sender }}
"""
_NAMES = (
    *("subject", "title", "hello", "press", "button", "ignore", "sender"),
    *("never", "never_title", "never_url", "url"),
)


@dataclass(frozen=True, slots=True)
class ConfirmationMail:
    subject: str
    html: str
    text: str


def render(  # noqa: PLR0913  the parts of the mail, each by its name
    language: str,
    texts: Texts,
    *,
    subject: str,
    organisation: Organisation,
    url: str,
    never_url: str,
) -> ConfirmationMail:
    letter = _make_letter(language)
    filled = letter.fill(
        {
            **texts["mail"],
            "subject": subject,
            "title": texts["confirm"]["title"],
            "sender": " — ".join(filter(None, (organisation.name, organisation.address))),
            "url": url,
            "never_title": texts["never"]["title"],
            "never_url": never_url,
        }
    )
    html, text = letter.join(filled)
    return ConfirmationMail(filled.subject, html, text)


@cache
def _make_letter(language: str) -> Letter:
    """Made once for each of our few languages; it is our own content, so it needs no limits."""
    prepared = source.prepare_fragment(_BODY, _TEXT, locale=language)
    html = footer.insert(prepared.html, _FOOTER)
    return Letter(Script("{{ subject }}", html, prepared.text, required=_NAMES))
