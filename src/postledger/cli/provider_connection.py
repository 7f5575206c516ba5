"""Connects a workspace to a provider: stores the account and its sender, and says what is wrong."""

import asyncio
import shlex
from collections.abc import Iterable, Sequence
from typing import ClassVar

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import provider_accounts, queries, sealing, senders
from postledger.accounts.models import ProviderAccount, Sender, Workspace
from postledger.cli import base_command, provider_findings
from postledger.deliveries import account_changes
from postledger.deliveries import queries as mail_queries
from postledger.feedback.report_setup.account import AccountSetup
from postledger.lib import check_results
from postledger.lib.check_results import CheckResult, Level
from postledger.lib.errors import BadRequestError
from postledger.providers import registry
from postledger.providers.base import Finding
from postledger.providers.set_up import Step


class ContradictoryOptionsError(BadRequestError):
    code = "contradictory_options"


class ConnectCommand(base_command.NounCommand):
    """`postledger KIND connect`: its name is the kind of the provider."""

    kind: ClassVar[str]
    needed: ClassVar[tuple[str, str]]  # by a new account: the setting, and how it is given

    def complete_changes(self, changes: dict[str, object]) -> dict[str, object]:
        """What else changes with the settings that are named."""
        return changes

    def store(
        self,
        workspace: Workspace,
        name: str,
        settings: dict[str, object],
        *,
        address: str | None,
        actor: str,
    ) -> ProviderAccount:
        """Creates the account and the sender, or changes what is named."""
        with transaction.atomic():
            report = self._store_account(workspace, name, settings, actor)
            account = base_command.account(workspace, name)
            if address is not None:
                report += _ensure_sender(workspace, address, account, actor)
        for line in report:
            self.stdout.write(line)
        return account

    def report_steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.stdout.write(f"{step.state.value:<15}{step.subject:<14}{step.message}")

    def check_reports(self, _account: ProviderAccount) -> Sequence[Finding]:
        """What is wrong with the provider's reports, where its own check cannot know that."""
        return ()

    def check_account(self, setup: AccountSetup, address: str | None) -> None:
        """Says what the provider lacks in order to send; raises CommandError for problems."""
        workspace, account = setup.workspace, setup.account
        account.refresh_from_db()
        attached = list(Sender.objects.filter(account=account, archived_at=None))
        froms = {sender.address for sender in attached}
        if address is not None:
            froms.add(address)
        results = self._examine(workspace, account, sorted(froms))
        for result in results:
            for line in check_results.format_lines(result):
                self.stdout.write(line)
        problem_count = sum(result.level is Level.PROBLEM for result in results)
        if problem_count:
            raise CommandError(
                f"The account is stored. Problems: {problem_count}. The remedy is below each;"
                f" then run {self._connect_again(workspace, account)} again."
            )
        self.stdout.write(f'Account "{account.name}" can send.')
        self._name_held(workspace, attached)

    def _store_account(
        self, workspace: Workspace, name: str, settings: dict[str, object], actor: str
    ) -> list[str]:
        account = queries.account_named(workspace.id, name=name)
        setting, option = self.needed
        if account is None and not settings.get(setting):
            raise CommandError(
                f"{workspace.name} has no account “{name}”, and a new one needs {option}."
            )
        if account is None:
            provider_accounts.create_account(
                workspace.id, name=name, kind=self.kind, settings=settings, actor=actor
            )
            return [f'Created account "{name}" ({self.kind}) in workspace "{workspace.name}".']
        if account.kind != self.kind:
            raise CommandError(
                f"The account “{name}” is of kind {account.kind}: choose another name."
            )
        if not settings:
            return []
        changes = self.complete_changes({**settings})
        account_changes.update_account(
            workspace.id, account_id=account.id, changes=changes, actor=actor
        )
        return [f'Updated account "{name}" in workspace "{workspace.name}".']

    def _examine(
        self, workspace: Workspace, account: ProviderAccount, froms: Sequence[str]
    ) -> list[CheckResult]:
        settings = sealing.unseal_settings(account)
        update = write_command("account", "update", workspace.name, account.name)
        findings = [*asyncio.run(registry.load_module(self.kind).check(settings, froms))]
        if not provider_findings.has_no_access(findings):
            findings += self.check_reports(account)
        results = [provider_findings.describe(finding, update=update) for finding in findings]
        if not froms:
            remedy = f"Run {self._connect_again(workspace, account)} --from ADDRESS."
            message = "No sender uses this account, so no identity was checked."
            results.append(check_results.warning("identity", message, remedy))
        return results

    def _connect_again(self, workspace: Workspace, account: ProviderAccount) -> str:
        return write_command(self.kind, "connect", workspace.name, account.name)

    def _name_held(self, workspace: Workspace, attached: Iterable[Sender]) -> None:
        """A sender that the provider refused stays held until a person releases it."""
        by_id = {sender.id: sender for sender in attached}
        for sender_id, holds in mail_queries.find_sender_holds(list(by_id)).items():
            if holds[0].until is not None:
                continue  # all end by themselves
            command = write_command("sender", "release", workspace.name, by_id[sender_id].address)
            self.stdout.write(f"{by_id[sender_id].address} is held; to send again: {command}.")


def write_command(*words: str) -> str:
    """A command as it is typed."""
    return shlex.join(["postledger", *words])


def _ensure_sender(
    workspace: Workspace, address: str, account: ProviderAccount, actor: str
) -> list[str]:
    """Creates or attaches it; mail that goes through another account goes on doing so."""
    sender = queries.sender_by_address(workspace.id, address=address)
    if sender is None:
        senders.create_sender(workspace.id, address=address, account_id=account.id, actor=actor)
        return [f'Created sender {address} in workspace "{workspace.name}".']
    if sender.account_id is None:
        account_changes.attach_sender(
            workspace.id, sender_id=sender.id, account_id=account.id, actor=actor
        )
        return [f'Mail of {address} is now sent through account "{account.name}".']
    if sender.account_id == account.id:
        return []
    attach = write_command("sender", "attach", workspace.name, address, "--account", account.name)
    return [f"Mail of {address} still goes through another account; to change that: {attach}."]
