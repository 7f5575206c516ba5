"""`postledger integration`: connections of a workspace to other services, with sealed secrets."""

from typing import override

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import Workspace
from postledger.cli import arguments, base_command
from postledger.cli.arguments import Setting


class Command(base_command.NounCommand):
    help = "Connects workspaces to Notion and Supabase, and sets the admin password."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        set_ = verb("set", self._set, "Changes some settings; the others stay.")
        remove = verb("remove", self._remove, "Deletes the settings; the environment is ignored.")
        for parser in (set_, remove):
            base_command.add_workspace(parser)
            parser.add_argument("kind", choices=[kind.value for kind in IntegrationKind])
        arguments.add_setting_changes(set_)
        listing = verb("list", self._list, "Lists the integrations of a workspace.")
        base_command.add_workspace(listing)

    def _set(
        self, *, workspace: Workspace, kind: str, changes: list[Setting], anew: bool, actor: str
    ) -> None:
        integrations.set_integration(
            workspace.id,
            IntegrationKind(kind),
            changes=arguments.nest_settings(changes),
            is_anew=anew,
            actor=actor,
        )
        self.stdout.write(f'Set integration "{kind}" of workspace "{workspace.name}".')

    def _remove(self, *, workspace: Workspace, kind: str, actor: str) -> None:
        if integrations.remove_integration(workspace.id, IntegrationKind(kind), actor=actor):
            self.stdout.write(
                f'Removed integration "{kind}" of workspace "{workspace.name}"; setup does not'
                " recreate it."
            )
        else:
            self.stdout.write(f'Workspace "{workspace.name}" has no integration "{kind}".')

    def _list(self, *, workspace: Workspace) -> None:
        rows = integrations.list_integrations(workspace.id)
        if not rows:
            self.stdout.write(
                f'Workspace "{workspace.name}" has no integration; see postledger integration set.'
            )
        for row in rows:
            change = "removed" if row.sealed_settings is None else "changed"
            self.stdout.write(f"{row.kind}  {change} {row.updated_at:%Y-%m-%d %H:%M} UTC")
