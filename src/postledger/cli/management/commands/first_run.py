"""`postledger first-run`: prints a new one-time code while nobody can sign in."""

from typing import override

from django.core.management.base import CommandError

from postledger.cli import base_command, first_run_notice


class Command(base_command.RefusableCommand):
    help = "Prints the URL of the first run and a one-time code, while nobody can sign in."

    @override
    def handle(self, *args: object, **options: object) -> None:
        notice = first_run_notice.invite(first_run_notice.find_url())
        if notice is None:
            raise CommandError(
                "Somebody can sign in already, so the first run is over. An owner invites others"
                " on the page Members. If no owner can sign in, postledger member reset-link"
                " ADDRESS prints a link for a new password."
            )
        self.stdout.write(notice)
