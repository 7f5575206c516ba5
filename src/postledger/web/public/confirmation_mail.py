"""The mail that asks for the confirmation of a subscription, in the look of its form."""

from dataclasses import dataclass
from functools import lru_cache

from django.utils.translation import gettext

from postledger.accounts.queries import Organisation
from postledger.content.rendering import footer, source
from postledger.content.rendering.branding import Branding
from postledger.content.rendering.letter import Letter, Script

_LONGEST_IN_SUBJECT = 100
_MOST_LETTERS = 100  # of a language and a branding each
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
    *,
    list_name: str,
    organisation: Organisation,
    branding: Branding,
    url: str,
    never_url: str,
) -> ConfirmationMail:
    """In the language that is spoken, which is to be named too."""
    letter = _make_letter(language, branding)
    filled = letter.fill(
        {
            **_texts(organisation.name, list_name),
            "sender": " — ".join(filter(None, (organisation.name, organisation.address))),
            "url": url,
            "never_url": never_url,
        }
    )
    html, text = letter.join(filled)
    return ConfirmationMail(filled.subject, html, text)


def _texts(org: str, list_name: str) -> dict[str, str]:
    short = list_name[:_LONGEST_IN_SUBJECT]
    return {
        "subject": gettext("Please confirm: %(list_name)s") % {"list_name": short},
        "title": gettext("Confirm your subscription"),
        "hello": gettext(
            "Somebody, hopefully you, asked %(org)s to send “%(list_name)s” to this address."
        )
        % {"org": org, "list_name": list_name},
        "press": gettext("To confirm, open this page and press the button:"),
        "button": gettext("Confirm my subscription"),
        "ignore": gettext(
            "If it was not you, do nothing. Without your confirmation you get no mail. The link"
            " works for 7 days."
        ),
        "never": gettext("To get no such mail from %(org)s again:") % {"org": org},
        "never_title": gettext("No more such mail"),
    }


@lru_cache(maxsize=_MOST_LETTERS)
def _make_letter(language: str, branding: Branding) -> Letter:
    """It is our own content, so it needs no limits."""
    prepared = source.prepare_fragment(_BODY, _TEXT, locale=language, branding=branding)
    html = footer.insert(prepared.html, _FOOTER)
    return Letter(Script("{{ subject }}", html, prepared.text, required=_NAMES))
