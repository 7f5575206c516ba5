"""`postledger account`: accounts at providers, with sealed credentials."""

from argparse import ArgumentParser
from typing import override

from django.conf import settings as installation
from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import (
    hash_key,
    operator_settings,
    provider_accounts,
    queries,
    quotas,
    sealing,
)
from postledger.accounts.models import ProviderAccount, Workspace
from postledger.accounts.people import second_factors
from postledger.cli import arguments, base_command, pace_arguments, quota_lines
from postledger.cli.arguments import Setting
from postledger.deliveries import account_changes
from postledger.pacing import quota_sync
from postledger.providers import registry


class Command(base_command.NounCommand):
    help = "Creates, changes, lists and archives accounts at providers."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates an account; its settings are validated.")
        update = verb("update", self._update, "Changes some settings; the others stay.")
        archive = verb("archive", self._archive, "Attaches no more sender to it; deletes nothing.")
        restore = verb("restore", self._restore, "Takes an archived account into use again.")
        rate = verb("rate", self._rate, "Limits how many mails a second all its senders send.")
        quota = verb("quota", self._quota, "Reads its quota now, or says where it is read.")
        for parser in (create, update, archive, restore, rate, quota):
            base_command.add_workspace(parser)
            parser.add_argument("name")
        create.add_argument("--kind", required=True, choices=sorted(registry.KINDS))
        arguments.add_settings(create)
        arguments.add_setting_changes(update)
        archive.add_argument(
            "--yes", action="store_true", help="although mail waits for it, which is still sent"
        )
        rate.add_argument(
            "rate",
            type=pace_arguments.parse_rate,
            help="mails a second, such as 14 or 0.5; none for what the provider says",
        )
        _add_quota_source(quota)
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
        account = base_command.account(workspace, name)
        settings = arguments.nest_settings(changes)
        account_changes.update_account(
            workspace.id,
            account_id=account.id,
            changes=operator_settings.lift_limits(account.kind, settings),
            is_anew=anew,
            actor=actor,
        )
        self.stdout.write(
            f'Updated account "{name}" in workspace "{workspace.name}"; its next mail uses it.'
        )

    def _archive(self, *, workspace: Workspace, name: str, yes: bool, actor: str) -> None:
        from postledger.campaigns import archiving  # which loads all that renders a mail

        account = base_command.account(workspace, name)
        with base_command.asking_for_yes():
            is_changed = archiving.archive_account(
                workspace.id, account_id=account.id, although_mail_waits=yes, actor=actor
            )
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

    def _rate(self, *, workspace: Workspace, name: str, rate: float | None, actor: str) -> None:
        account = base_command.account(workspace, name)
        provider_accounts.set_rate(workspace.id, account_id=account.id, rate=rate, actor=actor)
        pace = (
            "as fast as its provider says" if rate is None else f"at most {rate:g} mails a second"
        )
        self.stdout.write(f'Account "{name}" sends {pace}.')

    def _quota(  # noqa: PLR0913  the options of the command
        self,
        *,
        workspace: Workspace,
        name: str,
        url: str | None,
        path: str | None,
        header: str | None,
        secrets: list[Setting],
        remove: bool,
        actor: str,
    ) -> None:
        account = base_command.account(workspace, name)
        given = [("url", url), ("path", path), ("header", header), *secrets]
        source = {name: value for name, value in given if value is not None}
        if source or remove:
            provider_accounts.set_quota_source(
                workspace.id,
                account_id=account.id,
                source=None if remove else source,
                actor=actor,
            )
        if remove:
            self.stdout.write(f'The quota of account "{name}" is read no more.')
        else:
            account.refresh_from_db()
            self._show_quota(account)

    def _show_quota(self, account: ProviderAccount) -> None:
        quota = quota_sync.sync_now(account, installation.REDIS_URL)
        lines = [] if quota is None else list(quota_lines.describe(account, quota))
        self.stdout.write("\n".join(lines))
        if quota is None or quota.failed_since is not None:
            raise CommandError("The quota could not be read.")

    def _reseal(self, *, actor: str) -> None:
        with transaction.atomic():
            count = sealing.reseal_all(actor=actor)
            hash_key.reseal()
            factors = second_factors.reseal_secrets()
        self.stdout.write(
            f"Resealed {count} accounts and integrations, and {factors} second factors."
        )

    def _list(self, *, workspace: Workspace) -> None:
        accounts = queries.accounts(workspace.id)
        if not accounts:
            self.stdout.write(f"{workspace.name} has no account; see postledger account create.")
        for account in accounts:
            self.stdout.write(
                f"{account.name}  {account.kind}  senders: {account.sender_set.count()}"
                f"  changed {account.updated_at:%Y-%m-%d %H:%M} UTC{_describe_archiving(account)}"
                f"{quota_lines.summarise(account, quotas.find_quota(account.pk))}"
            )


def _add_quota_source(parser: ArgumentParser) -> None:
    parser.add_argument("--url", help="where the quota of an SMTP account is read")
    parser.add_argument("--path", help="to the number in the JSON there, as data.credits.0.left")
    parser.add_argument("--header", help="with the token; if left out, Authorization: Bearer TOKEN")
    parser.add_argument(
        "--secret",
        dest="secrets",
        action="append",
        default=[],
        type=arguments.read_secret,
        metavar="NAME=FILE",
        help="the token, or a URL with a key, from a file, or from standard input if it is -",
    )
    parser.add_argument("--remove", action="store_true", help="read it no more")


def _describe_archiving(account: ProviderAccount) -> str:
    archived_at = account.archived_at
    return "" if archived_at is None else f"  archived {archived_at:%Y-%m-%d %H:%M} UTC"
