"""`postledger workspace`: makes and lists workspaces."""

from typing import override

from postledger.accounts import actions, queries
from postledger.workers import nouns


class Command(nouns.NounCommand):
    help = "Makes and lists workspaces."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        create = verb("create", self._create, "Makes a workspace.")
        create.add_argument("name")
        verb("list", self._list, "Lists all workspaces.")

    def _create(self, *, name: str, **_: object) -> None:
        actions.create_workspace(name, actor=nouns.actor())
        self.stdout.write(f"Created the workspace {name}.")

    def _list(self, **_: object) -> None:
        found = queries.workspaces()
        if not found:
            self.stdout.write("There is no workspace yet; postledger workspace create makes one.")
        for workspace in found:
            self.stdout.write(f"{workspace.name}  since {workspace.created_at:%Y-%m-%d}")
