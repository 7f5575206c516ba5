"""`postledger privacy`: gives a person what is known of them, forgets them, and forgets in time."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import override

from django.core.management.base import CommandError

from postledger.privacy import erasure, export, retention
from postledger.workers import nouns


class Command(nouns.NounCommand):
    help = "Exports and erases what is known of a person, and ends what is remembered too long."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        given = verb("export", self._export, "Writes everything known of an address to a file.")
        _name_person(given)
        given.add_argument("--to", type=Path, required=True, metavar="FILE")
        _name_person(verb("erase", self._erase, "Forgets an address; it cannot be taken back."))
        keep = verb("retention", self._retain, "Drops the months that are older than asked.")
        keep.add_argument("--months", type=int, required=True, help="how many full months stay")
        keep.add_argument("--dry-run", action="store_true", help="only say what would go")

    def _export(self, *, workspace: str, address: str, to: Path, **_: object) -> None:
        found = nouns.workspace(workspace)
        to.write_text(
            export.export(found.id, address=address, now=datetime.now(UTC)), encoding="utf-8"
        )
        self.stdout.write(f"Wrote {to}.")

    def _erase(self, *, workspace: str, address: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        done = erasure.erase(found.id, address=address, actor=nouns.actor(), now=datetime.now(UTC))
        self.stdout.write(
            f"Erased {done.contacts} contacts, {done.consents} consents and {done.mails} mails."
        )
        if done.waiting:
            self.stdout.write(
                f"{done.waiting} mails are on their way; they are emptied by themselves, some"
                " minutes after they ended."
            )

    def _retain(self, *, months: int, dry_run: bool, **_: object) -> None:
        if months < 1:
            raise CommandError("Keep at least 1 month: mail of this one may still be sent.")
        found = retention.due(months=months) if dry_run else retention.apply(months=months)
        is_any = False
        for due in found:
            is_any = True
            word = f"stays: {due.kept}" if due.kept else "would go" if dry_run else "is gone"
            self.stdout.write(f"{due.name}  {due.lines} mails  {word}")
        if not is_any:
            self.stdout.write(f"Nothing is older than {months} months.")


def _name_person(parser: ArgumentParser) -> None:
    parser.add_argument("workspace")
    parser.add_argument("address")
