"""`postledger ses`: connects a workspace to Amazon SES, and checks what SES needs."""

import json
from typing import override

from postledger.accounts import provider_accounts
from postledger.accounts.models import Workspace
from postledger.cli import arguments, base_command, provider_connection, ses_events
from postledger.cli.arguments import Setting
from postledger.cli.ses_events import EventWish
from postledger.feedback.report_setup.ses import SesReports
from postledger.providers import addresses
from postledger.providers.ses import account_check, policy

_OPTIONS = ("region", "configuration_set", "access_key_id", "endpoint")


class Command(provider_connection.ConnectCommand):
    help = "Connects a workspace to Amazon SES, checks what it needs, and prints its IAM policy."
    kind = "ses"
    needed = ("region", "--region, such as eu-west-1")

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

    @override
    def complete_changes(self, changes: dict[str, object]) -> dict[str, object]:
        if "access_key_id" in changes:
            changes.setdefault("session_token", None)  # that of the former keys
        return changes

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
        sender = None if address is None else addresses.canonical(address)
        account = self.store(workspace, name, settings, address=sender, actor=actor)
        reports = SesReports(workspace, account, actor)
        self.report_steps(ses_events.set_up(reports, wish))
        if wish.is_create:
            self.stdout.write(f"What was created in AWS is named {reports.name}.")
        self.check_account(reports, sender)

    def _print_policy(
        self, *, region: str, address: str | None, configuration_set: str | None
    ) -> None:
        settings = {"region": region, "configuration_set": configuration_set or ""}
        provider_accounts.check_settings(self.kind, settings)
        identities = account_check.list_identities(addresses.canonical(address)) if address else ()
        document = policy.write_policy(
            region, identities=identities, configuration_set=configuration_set or ""
        )
        self.stdout.write(json.dumps(document, indent=2))
