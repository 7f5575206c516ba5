"""`postledger feedback-test`: shows whether what a provider reports comes back, and how fast."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import override

from django.core.management.base import CommandError

from postledger.accounts.models import Sender
from postledger.cli import base_command
from postledger.feedback import event_flow, loop_test
from postledger.feedback.loop_test import Probe, ProbeResult
from postledger.providers import addresses

_LOOK_EVERY = 0.2
_MORE = {"sendgrid": " --url URL"}  # options that --create needs


class Command(base_command.RefusableCommand):
    help = "Mails the simulator addresses of a sender's provider, and reports which events came."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sender", help="its address")
        base_command.add_workspace_option(parser, "the sender's workspace, if several have it")
        parser.add_argument(
            "--seconds", type=float, default=120.0, help="how long to wait for events (120)"
        )

    @override
    def handle(
        self,
        *args: object,
        sender: str = "",
        workspace_name: str | None = None,
        seconds: float = 120.0,
        **options: object,
    ) -> None:
        row = _find_sender(sender, workspace_name)
        kind = _check_sender(row)
        probes = loop_test.send_probes(row, kind)
        count = "1 mail" if len(probes) == 1 else f"{len(probes)} mails"
        self.stdout.write(f"Sent {count} from {row.address}; waiting for the events.")
        results = _wait(probes, seconds)
        for probe, result in zip(probes, results, strict=True):
            self.stdout.write(_describe(probe, result))
        missing = sum(not result.has_expected for result in results)
        if missing:
            raise CommandError(
                f"{missing} of {len(probes)} mails have no report after {seconds:g} s. Is a worker"
                f" running? See postledger why {probes[0].stream_id} and postledger doctor."
            )
        self.stdout.write("Every report came back.")
        if not loop_test.can_simulate_bounces(kind):
            self.stdout.write(
                "The provider has no address that bounces or complains, so only the report of a"
                " delivery was tested; the others come the same way."
            )


def _find_sender(address: str, workspace_name: str | None) -> Sender:
    senders = Sender.objects.filter(
        address__iexact=addresses.canonical(address), archived_at=None
    ).select_related("account", "workspace")
    if workspace_name is not None:
        senders = senders.filter(workspace=base_command.workspace(workspace_name))
    matching = list(senders.order_by("pk"))
    if not matching:
        raise CommandError(f"There is no sender {address}; see postledger sender list WORKSPACE.")
    if len(matching) > 1:
        names = ", ".join(sender.workspace.name for sender in matching)
        raise CommandError(f"Several workspaces have this sender: add --workspace; {names}.")
    return matching[0]


def _check_sender(sender: Sender) -> str:
    """The kind of its account, whose provider has simulator addresses and whose events come."""
    if sender.account is None:
        raise CommandError(f"{sender.address} has no provider account, so its mail waits.")
    kind = sender.account.kind
    if not loop_test.has_simulator(kind):
        raise CommandError(
            f"The account of {sender.address} is of kind {kind}, which has no simulator addresses."
            " Mail yourself instead, and look at that mail: postledger why ID."
        )
    if event_flow.find_flow(sender.pk, now=datetime.now(UTC)) is None:
        raise CommandError(
            f"Of {sender.address} {event_flow.NOT_LISTENING}. Run postledger {kind} connect"
            f" {sender.workspace.name} {sender.account.name} --create{_MORE.get(kind, '')}."
        )
    return kind


def _wait(probes: Sequence[Probe], seconds: float) -> list[ProbeResult]:
    end = time.monotonic() + seconds
    while True:
        results = loop_test.read_results(probes)
        if all(result.has_expected for result in results) or time.monotonic() >= end:
            return results
        time.sleep(_LOOK_EVERY)


def _describe(probe: Probe, result: ProbeResult) -> str:
    if result.accepted_after is None and not result.reports:
        return f"{probe.address}  {result.state.value.replace('_', ' ')}, not accepted yet"
    parts = []
    if result.accepted_after is not None:
        parts.append(f"accepted after {_seconds(result.accepted_after)}")
    parts += [
        f"{report.replace('_', ' ')} {_seconds(delay)} later"
        for report, delay in sorted(result.reports.items(), key=lambda item: item[1])
        if report != "accepted"
    ]
    if not result.has_expected:
        parts.append(f"no report “{probe.expected.replace('_', ' ')}”")
    return f"{probe.address}  {', '.join(parts)}"


def _seconds(delay: timedelta) -> str:
    return f"{delay.total_seconds():.1f} s"
