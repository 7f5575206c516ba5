"""`postledger account`: accounts at providers, with their credentials kept sealed."""

from typing import override

from postledger.accounts import actions, queries
from postledger.providers import registry
from postledger.workers import given, nouns
from postledger.workers.given import Setting


class Command(nouns.NounCommand):
    help = "Makes, changes and lists accounts at providers."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        create = verb("create", self._create, "Makes an account; its settings are checked first.")
        create.add_argument("workspace")
        create.add_argument("name")
        create.add_argument("--kind", required=True, choices=sorted(registry.KINDS))
        given.add_settings(create)

        update = verb("update", self._update, "Changes settings; the others stay as they are.")
        update.add_argument("workspace")
        update.add_argument("name")
        given.add_settings(update)
        update.add_argument(
            "--unset", dest="changes", action="append", type=given.removed, metavar="NAME"
        )
        update.add_argument("--anew", action="store_true", help="forget all stored settings first")

        verb(
            "reseal", self._reseal, "Seals accounts and integrations under the current SECRET_KEY."
        )
        verb("list", self._list, "Lists the accounts of a workspace.").add_argument("workspace")

    def _create(
        self, *, workspace: str, name: str, kind: str, changes: list[Setting], **_: object
    ) -> None:
        found = nouns.workspace(workspace)
        actions.create_account(
            found.id, name=name, kind=kind, settings=given.tree(changes), actor=nouns.actor()
        )
        self.stdout.write(f"Created the account {name} ({kind}) of {found.name}.")

    def _update(
        self, *, workspace: str, name: str, changes: list[Setting], anew: bool, **_: object
    ) -> None:
        found = nouns.workspace(workspace)
        actions.update_account(
            found.id,
            account_id=nouns.account(found, name).id,
            changes=given.tree(changes),
            is_anew=anew,
            actor=nouns.actor(),
        )
        self.stdout.write(f"Updated the account {name} of {found.name}; its next mail uses it.")

    def _reseal(self, **_: object) -> None:
        count = actions.reseal_accounts(actor=nouns.actor())
        self.stdout.write(f"Sealed under the current SECRET_KEY: {count} in all.")

    def _list(self, *, workspace: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        accounts = queries.accounts(found.id)
        if not accounts:
            self.stdout.write(f"{found.name} has no account; postledger account create makes one.")
        for account in accounts:
            self.stdout.write(
                f"{account.name}  {account.kind}  senders: {account.sender_count}"
                f"  changed {account.updated_at:%Y-%m-%d %H:%M} UTC"
            )
