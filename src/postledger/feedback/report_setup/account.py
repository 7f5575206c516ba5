"""The set-up of what a provider reports of one account's mail: its name, and changes here."""

from collections.abc import Mapping
from dataclasses import dataclass

from postledger.accounts import hash_key
from postledger.accounts.models import ProviderAccount, Workspace
from postledger.deliveries import account_changes
from postledger.providers import set_up

_TAG_LENGTH = 8


@dataclass(frozen=True, slots=True)
class AccountSetup:
    """The set-up of one account; no transaction is open while the provider is asked."""

    workspace: Workspace
    account: ProviderAccount
    actor: str

    @property
    def name(self) -> str:
        """Of everything that we create at the provider for the account."""
        purpose = f"events of {self.account.kind}"
        tag = hash_key.hash_text(str(self.account.pk), purpose=purpose).hex()[:_TAG_LENGTH]
        return set_up.name_resources(self.workspace.name, self.account.name, tag)

    def change(self, changes: Mapping[str, object]) -> None:
        account_changes.update_account(
            self.workspace.pk, account_id=self.account.pk, changes=changes, actor=self.actor
        )
