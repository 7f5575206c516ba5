"""`postledger privacy`: exports and erases a person's data, and drops old months."""

from datetime import UTC, datetime
from pathlib import Path
from typing import override

from django.core.management.base import CommandError

from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.privacy import erasure, export, retention


class Command(base_command.NounCommand):
    help = "Exports and erases the data of a person, and drops data that is too old."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        export_ = verb("export", self._export, "Writes all data about an address to a file.")
        erase = verb("erase", self._erase, "Erases an address; this cannot be undone.")
        for parser in (export_, erase):
            base_command.add_workspace(parser)
            parser.add_argument("address")
        export_.add_argument("--to", type=Path, required=True, metavar="FILE")
        keep = verb("retention", self._retain, "Drops months that are older than asked.")
        keep.add_argument("--months", type=int, required=True, help="how many full months stay")
        keep.add_argument("--dry-run", action="store_true", help="only show what would be dropped")

    def _export(self, *, workspace: Workspace, address: str, to: Path) -> None:
        document = export.export(workspace.id, address=address, now=datetime.now(UTC))
        to.write_text(document, encoding="utf-8")
        self.stdout.write(f"Wrote {to}.")

    def _erase(self, *, workspace: Workspace, address: str, actor: str) -> None:
        erased = erasure.erase(workspace.id, address=address, actor=actor, now=datetime.now(UTC))
        self.stdout.write(
            f"Erased contacts: {erased.contacts}, consents: {erased.consents},"
            f" mails: {erased.mails}."
        )
        if erased.uploads:
            self.stdout.write(
                f"Abandoned uploads that named the person: {erased.uploads}. Upload them again"
                " without that row."
            )
        if erased.waiting:
            self.stdout.write(
                f"Mails in progress: {erased.waiting}. They are erased automatically some"
                " minutes after they end."
            )

    def _retain(self, *, months: int, dry_run: bool) -> None:
        if months < 1:
            raise CommandError("Keep at least 1 month: mail of this month may still be sent.")
        due = retention.list_due(months=months) if dry_run else retention.drop_due(months=months)
        count = 0
        for count, month in enumerate(due, start=1):  # noqa: B007  the number is used afterwards
            outcome = "would be dropped" if dry_run else "dropped"
            outcome = f"stays: {month.obstacle}" if month.obstacle else outcome
            self.stdout.write(f"{month.name}  {month.mail_count} mails  {outcome}")
        if not count:
            self.stdout.write(f"Nothing is older than {months} months.")
