"""`postledger notion`: previews a Notion page as a mail."""

from pathlib import Path
from typing import override

from django.core.management.base import CommandError

from postledger.accounts import queries
from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.content import notion_pages
from postledger.content.rendering import mail_preview


class Command(base_command.NounCommand):
    help = "Previews a Notion page as a mail."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        render = verb("render", self._render, "Writes the HTML and the text of a page to files.")
        render.add_argument("page", help="the page's id, as in its address")
        render.add_argument("--to", type=Path, default=Path(), metavar="FOLDER")
        render.add_argument("--locale", default="en")
        base_command.add_workspace_option(render, "default: the first workspace")

    def _render(self, *, page: str, to: Path, locale: str, workspace: Workspace | None) -> None:
        workspace_id = workspace.id if workspace else queries.first_workspace_id()
        if workspace_id is None:
            raise CommandError("There is no workspace yet. Run postledger setup.")
        notion_page = notion_pages.read_page(notion_pages.require_notion(workspace_id), page)
        script = notion_pages.make_script(workspace_id, notion_page, locale=locale, footer=None)
        to.mkdir(parents=True, exist_ok=True)
        (to / "page.html").write_text(script.html, encoding="utf-8")
        (to / "page.txt").write_text(script.text, encoding="utf-8")
        subject = notion_page.mailout.subject or "none: it cannot be sent"
        self.stdout.write(f"Subject: {subject}")
        self.stdout.write(f"Wrote {to / 'page.html'} and {to / 'page.txt'}.")
        for finding in (
            *notion_page.findings,
            *mail_preview.review(script, has_footer=False).findings,
        ):
            self.stdout.write(f"{finding.code}  {finding.place}: {finding.remedy}")
