"""`postledger sender`: From identities, and the provider accounts that send for them."""

from argparse import ArgumentTypeError
from typing import override

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import provider_accounts, queries, senders, trail
from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.deliveries import ledger


class Command(base_command.NounCommand):
    help = "Creates and lists senders, and attaches them to accounts."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates a sender, with its account if you name one.")
        attach = verb("attach", self._attach, "Sends the sender's mail through another account.")
        release = verb("release", self._release, "Ends the hold of a sender.")
        for parser in (create, attach, release):
            base_command.add_workspace(parser)
            parser.add_argument("address")
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
                account_id = _find_or_create_sandbox(workspace, actor)
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
        senders.attach_sender(workspace.id, sender_id=sender.id, account_id=row.id, actor=actor)
        self.stdout.write(f'Mail of {sender.address} is now sent through account "{row.name}".')

    def _release(self, *, workspace: Workspace, address: str, actor: str) -> None:
        sender = base_command.sender(workspace, address)
        with transaction.atomic():
            if not ledger.release_sender(sender.id):
                self.stdout.write(f"{sender.address} is not held.")
                return
            trail.note(
                workspace.id, actor=actor, action="sender.released", subject=f"sender {sender.id}"
            )
        self.stdout.write(f"Released {sender.address}: its mail is sent again.")

    def _list(self, *, workspace: Workspace) -> None:
        rows = queries.senders(workspace.id)
        if not rows:
            self.stdout.write(f"{workspace.name} has no sender; see postledger sender create.")
        for sender in rows:
            name = f"  “{sender.name}”" if sender.name else ""
            account = sender.account
            through = f"through {account.name}" if account else "no account: its mail waits"
            self.stdout.write(f"{sender.address}{name}  {through}")


def parse_server(text: str) -> dict[str, object]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT; use the form 127.0.0.1:2525")
    return {"host": host, "port": port}


def _find_or_create_sandbox(workspace: Workspace, actor: str) -> int:
    account = queries.account_named(workspace.id, name="sandbox")
    if account is not None and account.kind == "sandbox":
        return account.id
    return provider_accounts.create_account(
        workspace.id, name="sandbox", kind="sandbox", settings={}, actor=actor
    )
