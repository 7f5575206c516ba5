"""A page of Notion as a mail: subject, HTML, plain text, and what could not be shown."""

from dataclasses import dataclass

from postledger.content.checks import Finding
from postledger.content.notion import as_html, as_text, inspection, pictures
from postledger.content.notion.client import Reader
from postledger.content.notion.mailouts import Mailout
from postledger.content.notion.pictures import Keep


@dataclass(frozen=True, slots=True)
class Page:
    mailout: Mailout
    html: str
    text: str
    findings: tuple[Finding, ...]


def read(reader: Reader, page_id: str, *, keep: Keep) -> Page:
    """Raises RefusedError when Notion does not show the page; an empty page is an empty text."""
    mailout = reader.mailout(page_id)
    found = reader.blocks(page_id)
    gathered = pictures.gather(found, keep=keep)
    return Page(
        mailout=mailout,
        html=as_html.render(found, pictures=gathered.addresses),
        text=as_text.render(found),
        findings=(*inspection.findings(found), *gathered.findings),
    )
