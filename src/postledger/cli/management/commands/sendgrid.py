"""`postledger sendgrid`: connects a workspace to Twilio SendGrid, and checks what it needs."""

from collections.abc import Sequence
from typing import override

from postledger.accounts import sealing
from postledger.accounts.models import ProviderAccount, Workspace
from postledger.cli import arguments, base_command, provider_connection, sendgrid_events
from postledger.cli.arguments import Setting
from postledger.cli.sendgrid_events import EventWish
from postledger.feedback.report_setup import sendgrid
from postledger.feedback.report_setup.sendgrid import SendGridReports
from postledger.providers import addresses
from postledger.providers.base import Finding


class Command(provider_connection.ConnectCommand):
    help = "Connects a workspace to Twilio SendGrid, and checks what it needs."
    kind = "sendgrid"
    needed = ("api_key", "--secret api_key=FILE")

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        connect = verb("connect", self._connect, "Creates or updates an account, and checks it.")
        base_command.add_workspace(connect)
        connect.add_argument("name", help="of the account")
        connect.add_argument(
            "--from", dest="address", metavar="ADDRESS", help="a sender; created if missing"
        )
        connect.add_argument("--region", choices=("global", "eu"), help="of the account")
        connect.add_argument("--endpoint", metavar="URL", help="of a fake on this machine")
        sendgrid_events.add_options(connect)
        arguments.add_settings(connect)

    @override
    def check_reports(self, account: ProviderAccount) -> Sequence[Finding]:
        return [sendgrid.check_events(account.pk, sealing.unseal_settings(account))]

    def _connect(  # noqa: PLR0913  one parameter for each option
        self,
        *,
        workspace: Workspace,
        name: str,
        address: str | None,
        region: str | None,
        endpoint: str | None,
        changes: list[Setting],
        create: bool,
        remove: bool,
        url: str,
        key: str,
        old_key: str,
        actor: str,
    ) -> None:
        wish = EventWish(create, remove, url=url, key=key, old_key=old_key)
        given = (("region", region), ("endpoint", endpoint))
        options = [(option, value) for option, value in given if value is not None]
        settings = arguments.nest_settings([*options, *changes])
        sender = None if address is None else addresses.canonical(address)
        account = self.store(workspace, name, settings, address=sender, actor=actor)
        reports = SendGridReports(workspace, account, actor)
        self.report_steps(sendgrid_events.set_up(reports, wish))
        self.check_account(reports, sender)
