"""`postledger workspace`: creates, configures and lists workspaces."""

from datetime import UTC, datetime
from typing import override

from django.db import transaction

from postledger.accounts import queries, working_hours, workspaces
from postledger.accounts.models import Workspace
from postledger.accounts.queries import Organisation
from postledger.cli import base_command, pace_arguments
from postledger.deliveries import account_changes


class Command(base_command.NounCommand):
    help = "Creates, configures and lists workspaces."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        verb("create", self._create, "Creates a workspace.").add_argument("name")
        footer = verb("footer", self._footer, "Sets the texts of its footers.")
        tests = verb("tests", self._tests, "Sets or shows the recipients of test sends.")
        zone = verb("zone", self._zone, "Sets the zone of its days, hours and contacts.")
        hours = verb("hours", self._hours, "Sets or shows when its bulk mail may go.")
        for parser in (footer, tests, zone, hours):
            base_command.add_workspace(parser)
        pace_arguments.add_hours(hours)
        footer.add_argument("--org-name", metavar="TEXT", help="the sender's name")
        footer.add_argument("--org-address", metavar="TEXT", help="the postal address")
        footer.add_argument("--unsubscribe-url", metavar="URL", help="the unsubscribe page")
        tests.add_argument("addresses", nargs="?", help='separated by commas; "" for none')
        zone.add_argument("zone", help="an IANA name, such as Europe/Lisbon")
        verb("list", self._list, "Lists all workspaces.")

    def _create(self, *, name: str, actor: str) -> None:
        workspaces.create_workspace(name, actor=actor)
        self.stdout.write(f'Created workspace "{name}".')

    def _footer(
        self,
        *,
        workspace: Workspace,
        org_name: str | None,
        org_address: str | None,
        unsubscribe_url: str | None,
        actor: str,
    ) -> None:
        organisation = Organisation(
            workspace.org_name if org_name is None else org_name,
            workspace.org_address if org_address is None else org_address,
            workspace.unsubscribe_base_url if unsubscribe_url is None else unsubscribe_url,
        )
        workspaces.set_organisation(workspace.id, organisation, actor=actor)
        self.stdout.write(
            f"{organisation.name or 'no name'} — {organisation.address or 'no address'}"
        )
        self.stdout.write(f"Unsubscribe: {organisation.unsubscribe_page or 'no page'}")

    def _tests(self, *, workspace: Workspace, addresses: str | None, actor: str) -> None:
        from postledger.campaigns.launches import test_sends  # which loads all that renders a mail

        text = workspace.test_emails
        if addresses is not None:
            text = ", ".join(test_sends.parse_addresses(addresses) if addresses.strip() else ())
            workspaces.set_test_emails(workspace.id, text, actor=actor)
        if not text.strip():
            self.stdout.write(f'Workspace "{workspace.name}" has no recipients of test sends.')
            return
        for address in test_sends.parse_addresses(text):
            self.stdout.write(address)

    def _zone(self, *, workspace: Workspace, zone: str, actor: str) -> None:
        with transaction.atomic():
            workspaces.set_time_zone(workspace.id, zone, actor=actor)
            account_changes.limits_changed(queries.sender_ids(workspace.id))
        self.stdout.write(
            f"Contacts and working hours without a time zone of their own use {zone}; its days are"
            " those of daily limits."
        )

    def _hours(
        self,
        *,
        workspace: Workspace,
        spans: list[str],
        days: str | None,
        zone: str | None,
        actor: str,
    ) -> None:
        if spans or days or zone:
            hours = pace_arguments.parse_hours(spans, days, zone)
            with transaction.atomic():
                workspaces.set_hours(workspace.id, hours, actor=actor)
                account_changes.limits_changed(queries.sender_ids(workspace.id))
            workspace.refresh_from_db()
        text = "at all hours"
        if workspace.working_hours is not None:
            text = working_hours.describe(workspace.working_hours, zone=workspace.time_zone)
        self.stdout.write(f'Bulk mail of workspace "{workspace.name}" goes {text}.')
        now = datetime.now(UTC)
        self.stdout.write(pace_arguments.describe_opening(workspace, None, now))
        for sender in queries.senders(workspace.id):
            if sender.working_hours is not None:
                opening = pace_arguments.describe_opening(workspace, sender, now)
                self.stdout.write(f"{sender.address} has hours of its own, too. {opening}")

    def _list(self) -> None:
        rows = queries.workspaces()
        if not rows:
            self.stdout.write("There is no workspace yet; see postledger workspace create.")
        for workspace in rows:
            line = f"{workspace.name}  since {workspace.created_at:%Y-%m-%d}"
            if workspace.working_hours is not None:
                zone = workspace.time_zone
                line += f"  {working_hours.describe(workspace.working_hours, zone=zone)}"
            self.stdout.write(line)
