"""`postledger sender`: From identities, their default, limits and hours, and their accounts."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import cast, override

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import (
    limits,
    provider_accounts,
    queries,
    senders,
    working_hours,
)
from postledger.accounts.limits import LimitChanges
from postledger.accounts.models import Sender, Workspace
from postledger.cli import base_command, pace_arguments
from postledger.cli.pace_arguments import LimitChange
from postledger.deliveries import account_changes
from postledger.deliveries import queries as mail_queries
from postledger.deliveries.attention import holds
from postledger.deliveries.entries import Hold
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.explanations.reason_texts import explain_reason


class Command(base_command.NounCommand):
    help = "Creates, lists, limits and archives senders, and attaches them to accounts."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates a sender, with its account if you name one.")
        attach = verb("attach", self._attach, "Sends the sender's mail through another account.")
        release = verb("release", self._release, "Ends the holds of a sender.")
        limit = verb("limit", self._limit, "Sets or shows how much mail it may send.")
        hours = verb("hours", self._hours, "Sets or shows when its bulk mail may go.")
        default = verb("default", self._set_default, "Sends mail that names no sender from it.")
        archive = verb("archive", self._archive, "Takes no new mail for it; deletes nothing.")
        restore = verb("restore", self._restore, "Takes mail for an archived sender again.")
        for parser in (create, attach, release, limit, hours, default, archive, restore):
            base_command.add_workspace(parser)
            parser.add_argument("address")
        pace_arguments.add_sender_limits(limit)
        pace_arguments.add_hours(hours)
        create.add_argument("--name", default="", help="shown beside the address")
        choices = create.add_mutually_exclusive_group()
        choices.add_argument("--account", metavar="NAME", help="an existing account")
        choices.add_argument(
            "--smtp",
            type=parse_server,
            metavar="HOST:PORT",
            help="creates an account for a server without a password",
        )
        choices.add_argument(
            "--sandbox",
            action="store_true",
            help="the account that delivers to nobody; created if it is missing",
        )
        create.add_argument("--tls", choices=["none", "starttls", "implicit"], help="with --smtp")
        attach.add_argument("--account", required=True, metavar="NAME")
        archive.add_argument(
            "--default", dest="new_default", metavar="ADDRESS", help="the new default sender"
        )
        archive.add_argument(
            "--yes", action="store_true", help="although mail waits for it, which is still sent"
        )
        base_command.add_workspace(verb("list", self._list, "Lists the senders of a workspace."))

    def _create(  # noqa: PLR0913  one parameter for each option
        self,
        *,
        workspace: Workspace,
        address: str,
        name: str,
        account: str | None,
        smtp: dict[str, object] | None,
        sandbox: bool,
        tls: str | None,
        actor: str,
    ) -> None:
        if tls and not smtp:
            raise CommandError("--tls requires --smtp HOST:PORT.")
        # A new account is rolled back if the sender is refused.
        with transaction.atomic():
            account_id = None
            if account:
                account_id = base_command.account(workspace, account).id
            elif smtp:
                settings = smtp | ({"tls": tls} if tls else {})
                account_id = provider_accounts.create_account(
                    workspace.id,
                    name=f"{smtp['host']}:{smtp['port']}",
                    kind="smtp",
                    settings=settings,
                    actor=actor,
                )
            elif sandbox:
                account_id = provider_accounts.ensure_sandbox(workspace.id, actor=actor)
            senders.create_sender(
                workspace.id, address=address, name=name, account_id=account_id, actor=actor
            )
        self.stdout.write(f'Created sender {address} in workspace "{workspace.name}".')
        if account_id is None:
            self.stdout.write(
                "Its mail waits until it has an account:"
                f" postledger sender attach {workspace.name} {address} --account NAME."
            )

    def _attach(self, *, workspace: Workspace, address: str, account: str, actor: str) -> None:
        sender = base_command.sender(workspace, address)
        row = base_command.account(workspace, account)
        account_changes.attach_sender(
            workspace.id, sender_id=sender.id, account_id=row.id, actor=actor
        )
        self.stdout.write(f'Mail of {sender.address} is now sent through account "{row.name}".')

    def _release(self, *, workspace: Workspace, address: str, actor: str) -> None:
        sender = base_command.sender(workspace, address)
        if not holds.release_sender(workspace.id, sender.id, actor=actor):
            self.stdout.write(f"{sender.address} is not held.")
            return
        self.stdout.write(f"Released {sender.address}: its mail is sent again.")

    def _limit(
        self, *, workspace: Workspace, address: str, changes: list[LimitChange], actor: str
    ) -> None:
        sender = base_command.sender(workspace, address)
        if changes:
            account_changes.set_sender_limits(
                workspace.id,
                sender_id=sender.id,
                actor=actor,
                **cast("LimitChanges", dict(changes)),
            )
            sender.refresh_from_db()
        text = _describe_limits(sender)
        self.stdout.write(f"{sender.address} sends {text or 'without a limit of its own'}.")

    def _hours(  # noqa: PLR0913  one parameter for each option
        self,
        *,
        workspace: Workspace,
        address: str,
        spans: list[str],
        days: str | None,
        zone: str | None,
        actor: str,
    ) -> None:
        sender = base_command.sender(workspace, address)
        if spans or days or zone:
            hours = pace_arguments.parse_hours(spans, days, zone)
            account_changes.set_sender_hours(
                workspace.id, sender_id=sender.id, hours=hours, actor=actor
            )
            sender.refresh_from_db()
        for line in pace_arguments.describe_sender_hours(workspace, sender):
            self.stdout.write(line)
        self.stdout.write(pace_arguments.describe_opening(workspace, sender, datetime.now(UTC)))

    def _set_default(self, *, workspace: Workspace, address: str, actor: str) -> None:
        sender = base_command.sender(workspace, address)
        if not senders.set_default(workspace.id, sender_id=sender.id, actor=actor):
            self.stdout.write(f"{sender.address} is already the default sender.")
            return
        self.stdout.write(
            f"{sender.address} is now the default sender; running web processes notice it within 5"
            " seconds."
        )

    def _archive(
        self,
        *,
        workspace: Workspace,
        address: str,
        new_default: str | None,
        yes: bool,
        actor: str,
    ) -> None:
        from postledger.campaigns import archiving  # which loads all that renders a mail

        sender = base_command.sender(workspace, address)
        default_id = base_command.sender(workspace, new_default).id if new_default else None
        with base_command.asking_for_yes(), _naming_the_option():
            is_changed = archiving.archive_sender(
                workspace.id,
                sender_id=sender.id,
                default_id=default_id,
                although_mail_waits=yes,
                actor=actor,
            )
        if not is_changed:
            self.stdout.write(f"{sender.address} was already archived.")
            return
        self.stdout.write(
            f"Archived {sender.address}: it takes no new mail, after up to 5 seconds in which"
            " running web processes notice it. To take it back: postledger sender restore"
            f" {workspace.name} {sender.address}."
        )

    def _restore(self, *, workspace: Workspace, address: str, actor: str) -> None:
        sender = base_command.sender(workspace, address)
        is_changed = senders.restore_sender(workspace.id, sender_id=sender.id, actor=actor)
        result = "takes mail again" if is_changed else "was not archived"
        self.stdout.write(f"{sender.address} {result}.")

    def _list(self, *, workspace: Workspace) -> None:
        rows = queries.senders(workspace.id)
        if not rows:
            self.stdout.write(f"{workspace.name} has no sender; see postledger sender create.")
        held = mail_queries.find_sender_holds([sender.id for sender in rows])
        for sender in rows:
            self.stdout.write("  ".join(_describe(sender, workspace, held.get(sender.id, ()))))


def _describe_limits(sender: Sender) -> str:
    return limits.describe(
        rate_per_second=sender.rate_per_second,
        rate_per_hour=sender.rate_per_hour,
        daily_limit=sender.daily_limit,
    )


def _describe(sender: Sender, workspace: Workspace, causes: Sequence[Hold]) -> Iterator[str]:
    yield sender.address
    if sender.name:
        yield f"“{sender.name}”"
    yield f"through {sender.account.name}" if sender.account else "no account: its mail waits"
    if sender.is_default:
        yield "default"
    if text := _describe_limits(sender):
        yield text
    if sender.working_hours is not None:
        yield working_hours.describe(sender.working_hours, zone=workspace.time_zone)
    if sender.archived_at is not None:
        yield f"archived {format_time(sender.archived_at)}"
    for hold in causes:
        end = f"until {format_time(hold.until)}" if hold.until else "until it is released"
        why = explain_reason(hold.reason).why
        yield f"held since {format_time(hold.since)} {end}, because {why} ({hold.reason.value})"
        if hold.fails_at is not None:
            yield f"mail that is due fails with {hold.code} from {format_time(hold.fails_at)} on"


def parse_server(text: str) -> dict[str, object]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT; use the form 127.0.0.1:2525")
    return {"host": host, "port": port}


@contextmanager
def _naming_the_option() -> Iterator[None]:
    try:
        yield
    except senders.DefaultSenderError as refused:
        raise CommandError(f"{refused} Here: --default ADDRESS.") from None
