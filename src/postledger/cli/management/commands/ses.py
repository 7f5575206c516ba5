"""`postledger ses`: connects a workspace to Amazon SES, and checks what SES needs."""

import asyncio
import json
import shlex
from collections.abc import Iterable, Sequence
from typing import override

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import provider_accounts, queries, sealing, senders
from postledger.accounts.models import ProviderAccount, Sender, Workspace
from postledger.cli import arguments, base_command, provider_findings, ses_events
from postledger.cli.arguments import Setting
from postledger.cli.ses_events import EventSetup, EventWish
from postledger.deliveries import account_changes
from postledger.deliveries import queries as mail_queries
from postledger.lib import check_results
from postledger.lib.check_results import CheckResult, Level
from postledger.providers import addresses, registry
from postledger.providers.ses import account_check, policy

_KIND = "ses"
_OPTIONS = ("region", "configuration_set", "access_key_id", "endpoint")


class Command(base_command.NounCommand):
    help = "Connects a workspace to Amazon SES, checks what it needs, and prints its IAM policy."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        connect = verb("connect", self._connect, "Creates or updates an account, and checks it.")
        base_command.add_workspace(connect)
        connect.add_argument("name", help="of the account")
        print_policy = verb("policy", self._print_policy, "Prints the IAM policy that is needed.")
        for parser, help_ in (
            (connect, "a sender; created if missing"),
            (print_policy, "a sender"),
        ):
            parser.add_argument("--from", dest="address", metavar="ADDRESS", help=help_)
            parser.add_argument("--configuration-set", metavar="NAME")
        connect.add_argument("--region", help="required for a new account, such as eu-west-1")
        connect.add_argument("--access-key-id", metavar="ID", help="without: the machine's keys")
        connect.add_argument("--endpoint", metavar="URL", help="of a fake on this machine")
        ses_events.add_options(connect)
        arguments.add_settings(connect)
        print_policy.add_argument("--region", required=True)

    def _connect(  # noqa: PLR0913  one parameter for each option
        self,
        *,
        workspace: Workspace,
        name: str,
        address: str | None,
        region: str | None,
        configuration_set: str | None,
        access_key_id: str | None,
        endpoint: str | None,
        changes: list[Setting],
        create: bool,
        remove: bool,
        topic: str,
        url: str,
        queue: str,
        actor: str,
    ) -> None:
        wish = EventWish(create, remove, topic, url=url, queue_url=queue)
        given = zip(_OPTIONS, (region, configuration_set, access_key_id, endpoint), strict=True)
        options = [(option, value) for option, value in given if value is not None]
        settings = arguments.nest_settings([*options, *changes])
        sender_address = None if address is None else addresses.canonical(address)
        with transaction.atomic():
            report = _store_account(workspace, name, settings, actor)
            account = base_command.account(workspace, name)
            if sender_address is not None:
                report += _ensure_sender(workspace, sender_address, account, actor)
        for line in report:
            self.stdout.write(line)
        self._set_up_events(EventSetup(workspace, account, actor), wish)
        account.refresh_from_db()  # its configuration set
        self._check(workspace, account, sender_address)

    def _set_up_events(self, setup: EventSetup, wish: EventWish) -> None:
        for step in setup.run(wish):
            self.stdout.write(f"{step.state.value:<15}{step.subject:<14}{step.message}")
        if wish.is_create:
            self.stdout.write(f"What was created in AWS is named {setup.name}.")

    def _check(self, workspace: Workspace, account: ProviderAccount, address: str | None) -> None:
        attached = list(Sender.objects.filter(account=account, archived_at=None))
        froms = {sender.address for sender in attached}
        if address is not None:
            froms.add(address)
        results = _examine(workspace, account, sorted(froms))
        for result in results:
            for line in check_results.format_lines(result):
                self.stdout.write(line)
        problem_count = sum(result.level is Level.PROBLEM for result in results)
        if problem_count:
            raise CommandError(
                f"The account is stored. Problems: {problem_count}. The remedy is below each;"
                f" then run {_command('ses', 'connect', workspace.name, account.name)} again."
            )
        self.stdout.write(f'Account "{account.name}" can send.')
        self._name_held(workspace, attached)

    def _name_held(self, workspace: Workspace, attached: Iterable[Sender]) -> None:
        """A sender that SES refused stays held until a person releases it."""
        by_id = {sender.id: sender for sender in attached}
        for sender_id, holds in mail_queries.find_sender_holds(list(by_id)).items():
            if holds[0].until is not None:
                continue  # all end by themselves
            command = _command("sender", "release", workspace.name, by_id[sender_id].address)
            self.stdout.write(f"{by_id[sender_id].address} is held; to send again: {command}.")

    def _print_policy(
        self, *, region: str, address: str | None, configuration_set: str | None
    ) -> None:
        settings = {"region": region, "configuration_set": configuration_set or ""}
        provider_accounts.check_settings(_KIND, settings)
        identities = account_check.list_identities(addresses.canonical(address)) if address else ()
        document = policy.write_policy(
            region, identities=identities, configuration_set=configuration_set or ""
        )
        self.stdout.write(json.dumps(document, indent=2))


def _store_account(
    workspace: Workspace, name: str, settings: dict[str, object], actor: str
) -> list[str]:
    """Creates the account, or changes what is named; returns what to say of it."""
    account = queries.account_named(workspace.id, name=name)
    if account is None and not settings.get("region"):
        raise CommandError(
            f"{workspace.name} has no account “{name}”, and a new one needs --region, such as"
            " eu-west-1."
        )
    if account is None:
        provider_accounts.create_account(
            workspace.id, name=name, kind=_KIND, settings=settings, actor=actor
        )
        return [f'Created account "{name}" ({_KIND}) in workspace "{workspace.name}".']
    if account.kind != _KIND:
        raise CommandError(f"The account “{name}” is of kind {account.kind}: choose another name.")
    if not settings:
        return []
    changes: dict[str, object] = {**settings}
    if "access_key_id" in changes:
        changes.setdefault("session_token", None)  # that of the former keys
    account_changes.update_account(
        workspace.id, account_id=account.id, changes=changes, actor=actor
    )
    return [f'Updated account "{name}" in workspace "{workspace.name}".']


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
    attach = _command("sender", "attach", workspace.name, address, "--account", account.name)
    return [f"Mail of {address} still goes through another account; to change that: {attach}."]


def _examine(
    workspace: Workspace, account: ProviderAccount, froms: Sequence[str]
) -> list[CheckResult]:
    settings = sealing.unseal_settings(account)
    update = _command("account", "update", workspace.name, account.name)
    findings = asyncio.run(registry.load_module(_KIND).check(settings, froms))
    results = [provider_findings.describe(finding, update=update) for finding in findings]
    if not froms:
        remedy = f"Run {_command('ses', 'connect', workspace.name, account.name)} --from ADDRESS."
        message = "No sender uses this account, so no identity was checked."
        results.append(check_results.warning("identity", message, remedy))
    return results


def _command(*words: str) -> str:
    return shlex.join(["postledger", *words])
