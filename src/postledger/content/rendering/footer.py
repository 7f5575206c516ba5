"""The footer of mail that people can unsubscribe from: the sender, its address, and the link."""

from dataclasses import dataclass
from html import escape
from typing import Self

from postledger.lib.errors import RefusedError

# Marks the place for the footer in our layout.
PLACE = "<!--footer-->"
# In a document with a layout of its own, the footer brings its own style.
_COLUMN = (
    '<div style="max-width:600px;margin:0 auto;padding:16px 24px;'
    'font:13px/20px Arial,sans-serif;color:#6b7280">'
)
_END = "</body>"


class FooterEnvMissingError(RefusedError):
    code = "footer_env_missing"


@dataclass(frozen=True, slots=True)
class Footer:
    org_name: str
    org_address: str

    @classmethod
    def require(
        cls, *, org_name: str, org_address: str, unsubscribe_base_url: str, has_secret: bool
    ) -> Self:
        """Raises FooterEnvMissingError when a part is missing: no mail goes without a footer."""
        options = {
            "--org-name": org_name.strip(),
            "--org-address": org_address.strip(),
            "--unsubscribe-url": unsubscribe_base_url.strip(),
        }
        missing = [option for option, value in options.items() if not value]
        remedies = []
        if missing:
            remedies.append(f"Set {', '.join(missing)} with postledger workspace footer.")
        if not has_secret:
            remedies.append("Set UNSUBSCRIBE_SECRET in the environment.")
        if remedies:
            raise FooterEnvMissingError(
                f"The workspace's footer is not complete. {' '.join(remedies)}"
            )
        return cls(org_name.strip(), org_address.strip())

    def render(self, link: str) -> tuple[str, str]:
        """The footer as HTML and as text."""
        sender = f"{self.org_name} — {self.org_address}"
        html = f'<hr><p>{escape(sender)}</p><p><a href="{escape(link)}">Unsubscribe</a></p>'
        return html, f"\n--\n{sender}\nUnsubscribe: {link}"

    def render_liquid(self) -> tuple[str, str]:
        """The footer as parts of a letter, which is filled with each recipient's own link."""
        return Footer(_literal(self.org_name), _literal(self.org_address)).render(
            "{{ unsubscribe_url }}"
        )


def insert(html: str, footer: str) -> str:
    """The HTML with the footer at its place in our layout, or else at the end."""
    # The last place: an author may have written the same comment further up, to hide it there.
    before, place, after = html.rpartition(PLACE)
    if place:
        return before + footer + after
    at = html.lower().rfind(_END)
    if at < 0:
        return html + footer
    return f"{html[:at]}{_COLUMN}{footer}</div>{html[at:]}"


def _literal(text: str) -> str:
    """As Liquid that prints the text: an organisation's name is not a template."""
    return f"{{% raw %}}{text}{{% endraw %}}" if "{" in text else text
