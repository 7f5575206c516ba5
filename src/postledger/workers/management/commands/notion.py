"""`postledger notion`: what a page of Notion looks like as a mail, before anybody gets it."""

from pathlib import Path
from typing import override

from postledger.content import mailouts, review
from postledger.content.checks import Finding
from postledger.content.notion.pages import Page
from postledger.workers import nouns


class Command(nouns.NounCommand):
    help = "Shows what a page of Notion becomes as a mail."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        render = verb("render", self._render, "Writes the HTML and the text of a page to files.")
        render.add_argument("page", help="the page's id, as in its address")
        render.add_argument("--to", type=Path, default=Path(), metavar="FOLDER")
        render.add_argument("--locale", default="en")

    def _render(self, *, page: str, to: Path, locale: str, **_: object) -> None:
        found = mailouts.read(page)
        script = mailouts.script(found, locale=locale, footer=None)
        to.mkdir(parents=True, exist_ok=True)
        (to / "page.html").write_text(script.html, encoding="utf-8")
        (to / "page.txt").write_text(script.text, encoding="utf-8")
        self.stdout.write(f"Subject: {found.mailout.subject or 'none: it cannot be sent'}")
        self.stdout.write(f"Wrote {to / 'page.html'} and {to / 'page.txt'}.")
        self._tell(found, review.findings(script, has_footer=False))

    def _tell(self, page: Page, more: list[Finding]) -> None:
        for finding in (*page.findings, *more):
            self.stdout.write(f"{finding.code}  {finding.place}: {finding.remedy}")
