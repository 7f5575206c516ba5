"""`postledger notion`: what a page of Notion looks like as a mail, before anybody gets it."""

from pathlib import Path
from typing import override

from django.core.management.base import CommandError

from postledger.accounts import queries
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
        render.add_argument("--workspace", metavar="NAME", help="the first one, if left out")

    def _render(
        self, *, page: str, to: Path, locale: str, workspace: str | None, **_: object
    ) -> None:
        found = mailouts.read(mailouts.notion_of(_workspace(workspace)), page)
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


def _workspace(name: str | None) -> int:
    first = queries.default_workspace_id() if name is None else nouns.workspace(name).id
    if first is None:
        raise CommandError("There is no workspace yet. Run postledger setup.")
    return first
