"""The footer of mail that people may leave: who sends it, from where, and how to end it."""

from dataclasses import dataclass, replace
from html import escape
from typing import ClassVar

from postledger.content.letter import Script
from postledger.lib.errors import RefusedError

# Where the layout has room for it.
PLACE = "<!--footer-->"
# In a document with a layout of its own, the footer brings what it needs to look like one.
_COLUMN = (
    '<div style="max-width:600px;margin:0 auto;padding:16px 24px;'
    'font:13px/20px Arial,sans-serif;color:#6b7280">'
)
_END = "</body>"


class FooterEnvMissingError(RefusedError):
    code: ClassVar[str] = "footer_env_missing"


@dataclass(frozen=True, slots=True)
class Footer:
    org_name: str
    org_address: str


def required(
    *, org_name: str, org_address: str, unsubscribe_base_url: str, has_secret: bool
) -> Footer:
    """The footer of a workspace; without any part of it there is none, and no mail."""
    missing = [
        name
        for name, is_there in (
            ("ORG_NAME", org_name.strip()),
            ("ORG_ADDRESS", org_address.strip()),
            ("UNSUBSCRIBE_BASE_URL", unsubscribe_base_url.strip()),
            ("UNSUBSCRIBE_SECRET", has_secret),
        )
        if not is_there
    ]
    if missing:
        raise FooterEnvMissingError(
            f"The footer lacks {', '.join(missing)}, and no mail of this kind goes without one."
            " Set UNSUBSCRIBE_SECRET in the environment,"
            " and the rest with postledger workspace footer."
        )
    return Footer(org_name.strip(), org_address.strip())


def added(script: Script, footer: Footer) -> Script:
    """The letter with its footer, in both parts; the link is a recipient's own."""
    html, text = written(
        Footer(_literal(footer.org_name), _literal(footer.org_address)), "{{ unsubscribe_url }}"
    )
    return replace(script, html=placed(script.html, html), text=script.text + text)


def written(footer: Footer, link: str) -> tuple[str, str]:
    """The footer itself, as HTML and as text."""
    who = f"{footer.org_name} — {footer.org_address}"
    html = f'<hr><p>{escape(who)}</p><p><a href="{escape(link)}">Unsubscribe</a></p>'
    return html, f"\n--\n{who}\nUnsubscribe: {link}"


def placed(html: str, footer: str) -> str:
    """Where the layout has room for it, else at the end."""
    # The last one: an author may have written the same words further up, to hide it there.
    before, place, after = html.rpartition(PLACE)
    if place:
        return before + footer + after
    at = html.lower().rfind(_END)
    if at < 0:
        return html + footer
    return f"{html[:at]}{_COLUMN}{footer}</div>{html[at:]}"


def _literal(text: str) -> str:
    """As it is: an organisation's name is no Liquid."""
    return f"{{% raw %}}{text}{{% endraw %}}" if "{" in text else text
