"""The footer of mail that people can unsubscribe from: the sender, its address, and the link."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Self

from postledger.lib import sentences
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

# Marks the place for the footer in our layout.
PLACE = "<!--footer-->"
# A document with a layout of its own gets the column of our layout for the footer, with its
# colours: on those of the document the text could be invisible. Its margins are those of MJML.
_COLUMN = (
    '<!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0"'
    ' border="0" align="center"><tr><td><![endif]-->'
    '<table role="presentation" class="postledger-footer" align="center" width="100%"'
    ' bgcolor="#ffffff" cellpadding="0" cellspacing="0" border="0"'
    ' style="max-width:600px;margin:0 auto;background-color:#ffffff;border-collapse:collapse">'
    '<tbody><tr><td style="padding:16px 25px 24px;color:#6b7280;font-size:13px;line-height:20px;'
    "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
    'word-wrap:break-word;word-break:break-word">'
)
_COLUMN_END = "</td></tr></tbody></table><!--[if mso]></td></tr></table><![endif]-->"
# As in our layout: the footer itself has no style, so that its markup is the same everywhere.
_RULES = """<style>
@media screen {
.postledger-footer hr { margin: 0 0 12px; border: 0; border-top: 1px solid #d1d5db; }
.postledger-footer p { margin: 0 0 4px; }
.postledger-footer a { color: #4b5563; }
}
</style>
"""
# The word of the link, by language; other languages read it in English.
_WORDS: Mapping[str, str] = {
    "de": "Abmelden",
    "en": "Unsubscribe",
    "pt": "Cancelar a subscrição",
    "ru": "Отписаться",
}
_HEAD_END = re.compile(r"</head\s*+>", re.IGNORECASE)
_BODY_END = re.compile(r"</body\s*+>", re.IGNORECASE)


class FooterEnvMissingError(RefusedError):
    code = "footer_env_missing"


@dataclass(frozen=True, slots=True)
class Footer:
    org_name: str
    org_address: str

    @classmethod
    def require(
        cls, *, org_name: str, org_address: str, unsubscribe_page: str, has_secret: bool
    ) -> Self:
        """Raises FooterEnvMissingError when a part is missing: no mail goes without a footer."""
        options = {
            "--org-name": org_name.strip(),
            "--org-address": org_address.strip(),
            "--unsubscribe-url": unsubscribe_page.strip(),
        }
        missing = [option for option, value in options.items() if not value]
        remedies = []
        if missing:
            remedies.append(
                say(
                    "Set %(options)s with postledger workspace footer, or in the settings of the"
                    " workspace.",
                    options=", ".join(missing),
                )
            )
        if not has_secret:
            remedies.append(say("Set UNSUBSCRIBE_SECRET in the environment."))
        if remedies:
            raise FooterEnvMissingError(
                sentences.join([say("The workspace's footer is not complete."), *remedies])
            )
        return cls(org_name.strip(), org_address.strip())

    def render(self, link: str, *, locale: str) -> tuple[str, str]:
        """The footer of a mail in this language, as HTML and as text."""
        word = find_word(locale)
        sender = f"{self.org_name} — {self.org_address}"
        html = f'<hr><p>{escape(sender)}</p><p><a href="{escape(link)}">{word}</a></p>'
        return html, f"\n--\n{sender}\n{word}: {link}"

    def render_liquid(self, *, locale: str) -> tuple[str, str]:
        """The footer as parts of a letter, which is filled with each recipient's own link."""
        footer = Footer(_literal(self.org_name), _literal(self.org_address))
        return footer.render("{{ unsubscribe_url }}", locale=locale)


def has_link(html: str) -> bool:
    """Whether it offers to unsubscribe, in a language of ours."""
    lowered = html.lower()
    return any(word.lower() in lowered for word in _WORDS.values())


def find_word(locale: str) -> str:
    """What the link to unsubscribe reads in this language."""
    return _WORDS.get(locale.partition("-")[0].lower(), _WORDS["en"])


def insert(html: str, footer: str) -> str:
    """The HTML with the footer at its place in our layout, or else in a column at the end."""
    # The last place: an author may have written the same comment further up, to hide it there.
    before, place, after = html.rpartition(PLACE)
    if place:
        return before + footer + after
    ends = [match.start() for match in _BODY_END.finditer(html)]
    if not ends:
        return html + footer
    end = ends[-1]
    framed = f"{html[:end]}{_COLUMN}{footer}{_COLUMN_END}{html[end:]}"
    head = _HEAD_END.search(html, 0, end)
    return f"{framed[: head.start()]}{_RULES}{framed[head.start() :]}" if head else framed


def _literal(text: str) -> str:
    """As Liquid that prints the text: an organisation's name is not a template."""
    return f"{{% raw %}}{text}{{% endraw %}}" if "{" in text else text
