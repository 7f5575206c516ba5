"""`postledger member`: adds people to a workspace."""

from typing import override

from postledger.accounts import members
from postledger.accounts.members import Role
from postledger.accounts.models import Workspace
from postledger.cli import base_command


class Command(base_command.NounCommand):
    help = "Adds people to a workspace."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        add = verb("add", self._add, "Adds a member to a workspace.")
        base_command.add_workspace(add)
        add.add_argument("email")
        add.add_argument("--role", choices=[role.value for role in Role], default=Role.MEMBER.value)
        add.add_argument("--name", default="", help="the person's name")

    def _add(self, *, workspace: Workspace, email: str, role: str, name: str, actor: str) -> None:
        members.add_member(workspace.id, email=email, role=Role(role), name=name, actor=actor)
        self.stdout.write(f'Added {email} to workspace "{workspace.name}" as {role}.')
