"""`postledger integration`: what a workspace works with beside sending, with its secrets sealed."""

from typing import override

from postledger.accounts import actions, integrations
from postledger.accounts.integrations import Kind
from postledger.workers import given, nouns
from postledger.workers.given import Setting


class Command(nouns.NounCommand):
    help = "Connects workspaces to Notion and Supabase, and sets the admin's password."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        kinds = [kind.value for kind in Kind]
        changed = verb("set", self._set, "Changes settings; the others stay as they are.")
        changed.add_argument("workspace")
        changed.add_argument("kind", choices=kinds)
        given.add_settings(changed)
        changed.add_argument(
            "--unset", dest="changes", action="append", type=given.removed, metavar="NAME"
        )
        changed.add_argument("--anew", action="store_true", help="forget all stored settings first")

        remove = verb("remove", self._remove, "Forgets the settings, whatever the environment has.")
        remove.add_argument("workspace")
        remove.add_argument("kind", choices=kinds)

        verb("list", self._list, "Lists the integrations of a workspace.").add_argument("workspace")

    def _set(
        self, *, workspace: str, kind: str, changes: list[Setting], anew: bool, **_: object
    ) -> None:
        found = nouns.workspace(workspace)
        actions.set_integration(
            found.id, Kind(kind), changes=given.tree(changes), is_anew=anew, actor=nouns.actor()
        )
        self.stdout.write(f"Set the integration {kind} of {found.name}; its next use reads it.")

    def _remove(self, *, workspace: str, kind: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        is_removed = actions.remove_integration(found.id, Kind(kind), actor=nouns.actor())
        self.stdout.write(
            f"Removed the integration {kind} of {found.name}; the environment does not bring it"
            " back."
            if is_removed
            else f"{found.name} has no integration {kind}."
        )

    def _list(self, *, workspace: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        known = integrations.listed(found.id)
        if not known:
            self.stdout.write(
                f"{found.name} has no integration; postledger integration set makes one."
            )
        for one in known:
            done = "removed" if one.is_removed else "changed"
            self.stdout.write(f"{one.kind}  {done} {one.updated_at:%Y-%m-%d %H:%M} UTC")
