"""`postledger feedback`: lists the events of providers that belong to no mail."""

from typing import override

from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.deliveries.explain import format_time
from postledger.feedback.models import UnmatchedEvent


class Command(base_command.NounCommand):
    help = "Lists events of providers that could not be applied to a mail."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        unmatched = verb("unmatched", self._list_unmatched, "Lists them, the newest first.")
        base_command.add_workspace_option(unmatched)
        unmatched.add_argument("--limit", type=int, default=50, help="how many to list (50)")

    def _list_unmatched(self, *, workspace: Workspace | None, limit: int) -> None:
        events = UnmatchedEvent.objects.select_related("account__workspace")
        if workspace is not None:
            events = events.filter(account__workspace=workspace)
        shown = events.order_by("-received_at", "-pk")[:limit]
        if not shown:
            self.stdout.write("Every event belonged to a mail.")
            return
        for event in shown:
            self.stdout.write(_describe(event))
        self.stdout.write(f"Events without a mail: {events.count()}, shown: {len(shown)}.")


def _describe(event: UnmatchedEvent) -> str:
    account = event.account
    parts = [
        format_time(event.received_at),
        f"{account.workspace.name}/{account.name}",
        event.name,
        event.why.replace("_", " "),
    ]
    parts += [f"reference {event.reference}"] if event.reference else []
    parts += [f"provider's id {event.provider_id}"] if event.provider_id else []
    return "  ".join(parts)
