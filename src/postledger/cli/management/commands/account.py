"""`postledger account`: accounts at providers, with sealed credentials."""

from typing import override

from django.db import transaction

from postledger.accounts import hash_key, provider_accounts, queries, sealing
from postledger.accounts.models import Workspace
from postledger.cli import arguments, base_command
from postledger.cli.arguments import Setting
from postledger.providers import registry


class Command(base_command.NounCommand):
    help = "Creates, changes and lists accounts at providers."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates an account; its settings are validated.")
        update = verb("update", self._update, "Changes some settings; the others stay.")
        for parser in (create, update):
            base_command.add_workspace(parser)
            parser.add_argument("name")
        create.add_argument("--kind", required=True, choices=sorted(registry.KINDS))
        arguments.add_settings(create)
        arguments.add_setting_changes(update)
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
        provider_accounts.update_account(
            workspace.id,
            account_id=base_command.account(workspace, name).id,
            changes=arguments.nest_settings(changes),
            is_anew=anew,
            actor=actor,
        )
        self.stdout.write(
            f'Updated account "{name}" in workspace "{workspace.name}"; its next mail uses it.'
        )

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
                f"  changed {account.updated_at:%Y-%m-%d %H:%M} UTC"
            )
