"""`postledger feedback`: lists reports of providers that could not be applied, and retries."""

from typing import override

from postledger.accounts.models import ProviderAccount, Workspace
from postledger.cli import base_command
from postledger.deliveries.explanations.explain import format_time
from postledger.feedback import application
from postledger.feedback.models import InboxMessage, UnmatchedEvent


class Command(base_command.NounCommand):
    help = "Lists reports of providers that could not be applied, and retries."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        unmatched = verb("unmatched", self._list_unmatched, "Lists events that belong to no mail.")
        faulty = verb("faulty", self._list_faulty, "Lists messages that cannot be applied.")
        for listing in (unmatched, faulty):
            base_command.add_workspace_option(listing)
            listing.add_argument("--limit", type=int, default=50, help="how many to list (50)")
        verb("retry", self._retry, "Tries to apply the faulty messages again.")

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

    def _list_faulty(self, *, workspace: Workspace | None, limit: int) -> None:
        messages = InboxMessage.objects.exclude(fault="").select_related("account__workspace")
        if workspace is not None:
            messages = messages.filter(account__workspace=workspace)
        shown = messages.order_by("-pk")[:limit]
        if not shown:
            self.stdout.write("Every message could be applied.")
            return
        for message in shown:
            # Nothing of the body: it has the address of a person.
            self.stdout.write(
                f"{format_time(message.received_at)}  {_name(message.account)}"
                f"  {message.message_id}  {message.fault}"
            )
        self.stdout.write(f"Faulty messages: {messages.count()}, shown: {len(shown)}.")

    def _retry(self) -> None:
        retried = application.retry_failed()
        applied = retried.message_count - retried.faulty_count
        self.stdout.write(f"Applied: {applied}, still faulty: {retried.faulty_count}.")


def _describe(event: UnmatchedEvent) -> str:
    parts = [
        format_time(event.received_at),
        _name(event.account),
        event.name,
        event.why.replace("_", " "),
    ]
    parts += [f"reference {event.reference}"] if event.reference else []
    parts += [f"provider's id {event.provider_id}"] if event.provider_id else []
    return "  ".join(parts)


def _name(account: ProviderAccount) -> str:
    return f"{account.workspace.name}/{account.name}"
