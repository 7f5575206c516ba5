"""`postledger member`: lets people into a workspace."""

from typing import override

from postledger.accounts import actions
from postledger.accounts.actions import Role
from postledger.workers import nouns


class Command(nouns.NounCommand):
    help = "Lets people into a workspace."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        add = verb("add", self._add, "Makes a person a member of a workspace.")
        add.add_argument("workspace")
        add.add_argument("email")
        add.add_argument("--role", choices=[role.value for role in Role], default=Role.MEMBER.value)
        add.add_argument("--name", default="", help="what the person is called")

    def _add(self, *, workspace: str, email: str, role: str, name: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        actions.add_member(found.id, email=email, role=Role(role), name=name, actor=nouns.actor())
        self.stdout.write(f"Added {email} to {found.name} as {role}.")
