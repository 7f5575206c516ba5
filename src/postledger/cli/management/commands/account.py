"""`postledger account`: accounts at providers, with sealed credentials."""

from typing import override

from django.db import transaction

from postledger.accounts import hash_key, provider_accounts, queries, sealing
from postledger.accounts.models import ProviderAccount, Workspace
from postledger.cli import archiving, arguments, base_command
from postledger.cli.arguments import Setting
from postledger.deliveries import account_changes
from postledger.providers import registry


class Command(base_command.NounCommand):
    help = "Creates, changes, lists and archives accounts at providers."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates an account; its settings are validated.")
        update = verb("update", self._update, "Changes some settings; the others stay.")
        archive = verb("archive", self._archive, "Attaches no more sender to it; deletes nothing.")
        restore = verb("restore", self._restore, "Takes an archived account into use again.")
        for parser in (create, update, archive, restore):
            base_command.add_workspace(parser)
            parser.add_argument("name")
        create.add_argument("--kind", required=True, choices=sorted(registry.KINDS))
        arguments.add_settings(create)
        arguments.add_setting_changes(update)
        archive.add_argument(
            "--yes", action="store_true", help="although mail waits for it, which is still sent"
        )
        verb(
            "reseal", self._reseal, "Seals accounts and integrations under the current SECRET_KEY."
        )
        base_command.add_workspace(verb("list", self._list, "Lists the accounts of a workspace."))

    def _create(
        self, *, workspace: Workspace, name: str, kind: str, changes: list[Setting], actor: str
    ) -> None:
        settings = arguments.nest_settings(changes)
        provider_accounts.create_account(
            workspace.id, name=name, kind=kind, settings=settings, actor=actor
        )
        self.stdout.write(f'Created account "{name}" ({kind}) in workspace "{workspace.name}".')

    def _update(
        self, *, workspace: Workspace, name: str, changes: list[Setting], anew: bool, actor: str
    ) -> None:
        account_changes.update_account(
            workspace.id,
            account_id=base_command.account(workspace, name).id,
            changes=arguments.nest_settings(changes),
            is_anew=anew,
            actor=actor,
        )
        self.stdout.write(
            f'Updated account "{name}" in workspace "{workspace.name}"; its next mail uses it.'
        )

    def _archive(self, *, workspace: Workspace, name: str, yes: bool, actor: str) -> None:
        account = base_command.account(workspace, name)
        with transaction.atomic():
            is_changed = provider_accounts.archive_account(
                workspace.id, account_id=account.id, actor=actor
            )
            if is_changed:
                sender_ids = list(account.sender_set.values_list("pk", flat=True))
                archiving.refuse_waiting(sender_ids, is_agreed=yes)
        if not is_changed:
            self.stdout.write(f'Account "{name}" was already archived.')
            return
        self.stdout.write(
            f'Archived account "{name}": no sender can be attached to it. To take it back:'
            f" postledger account restore {workspace.name} {name}."
        )

    def _restore(self, *, workspace: Workspace, name: str, actor: str) -> None:
        account = base_command.account(workspace, name)
        is_changed = provider_accounts.restore_account(
            workspace.id, account_id=account.id, actor=actor
        )
        result = "is in use again" if is_changed else "was not archived"
        self.stdout.write(f'Account "{name}" {result}.')

    def _reseal(self, *, actor: str) -> None:
        with transaction.atomic():
            count = sealing.reseal_all(actor=actor)
            hash_key.reseal()
        self.stdout.write(f"Resealed {count} accounts and integrations.")

    def _list(self, *, workspace: Workspace) -> None:
        accounts = queries.accounts(workspace.id)
        if not accounts:
            self.stdout.write(f"{workspace.name} has no account; see postledger account create.")
        for account in accounts:
            self.stdout.write(
                f"{account.name}  {account.kind}  senders: {account.sender_set.count()}"
                f"  changed {account.updated_at:%Y-%m-%d %H:%M} UTC{_describe_archiving(account)}"
            )


def _describe_archiving(account: ProviderAccount) -> str:
    archived_at = account.archived_at
    return "" if archived_at is None else f"  archived {archived_at:%Y-%m-%d %H:%M} UTC"
