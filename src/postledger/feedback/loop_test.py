"""Mails a provider's simulator addresses, and reads which events came back and how fast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from postledger.accounts.models import Sender
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.figures import messages
from postledger.deliveries.figures.message_sources import MessageFilters
from postledger.deliveries.queries import ReportFacts
from postledger.deliveries.states import State
from postledger.feedback import rules
from postledger.lib import wake

# For each kind of provider the words before the @, and what is to be reported of each.
_SES = {
    "success": "delivered",
    "bounce": "bounced",
    "ooto": "soft_bounced",
    "complaint": "complained",
    "suppressionlist": "on_suppression_list",
}
_SENDGRID = {"success": "delivered"}  # it has no address that bounces or complains
_SANDBOX = {
    "success": "delivered",
    "bounce": "bounced",
    "softbounce": "soft_bounced",
    "complaint": "complained",
}
_SIMULATORS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ses": (rules.SES_SIMULATOR, _SES),
    "sendgrid": (rules.SENDGRID_SIMULATOR, _SENDGRID),
    "sandbox": (rules.SANDBOX_SIMULATOR, _SANDBOX),
}
# The simulator may report an address on a suppression list as any other bounce.
_ALSO = {"on_suppression_list": "bounced"}
_BODY = Body(
    subject="Postledger feedback test",
    text="This mail tests whether the reports of the provider arrive.",
    html="<p>This mail tests whether the reports of the provider arrive.</p>",
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One mail to a simulator address, and the report that it is to cause."""

    stream_id: int
    position: int
    address: str
    expected: str


@dataclass(frozen=True, slots=True)
class ProbeResult:
    state: State
    accepted_after: timedelta | None  # since it was stored
    reports: Mapping[str, timedelta]  # the first of each kind, since it was accepted
    has_expected: bool


def has_simulator(kind: str) -> bool:
    return kind in _SIMULATORS


def can_simulate_bounces(kind: str) -> bool:
    return "bounced" in _SIMULATORS[kind][1].values()


def send_probes(sender: Sender, kind: str) -> list[Probe]:
    """Sends one mail to each simulator address, in a stream of its own.

    It is no test stream, whose mail would go to the sandbox, and what is reported of it changes no
    contact.
    """
    domain, expectations = _SIMULATORS[kind]
    stream_id = ledger.open_stream(
        sender.workspace_id,
        sender_id=sender.pk,
        kind=StreamKind.TRANSACTIONAL,
        title="Feedback test",
        is_trial=True,
    )
    addresses = {f"{word}@{domain}": expected for word, expected in expectations.items()}
    lines = [NewDelivery(address, body=_BODY) for address in addresses]
    positions = ledger.enqueue(stream_id, lines)
    wake.notify(stream_id)
    return [
        Probe(stream_id, position, address, expected)
        for position, (address, expected) in zip(positions, addresses.items(), strict=True)
    ]


def find_probes(workspace_id: int, stream_id: int) -> list[Probe]:
    """The mails of a test that was sent before."""
    wanted = {
        f"{word}@{domain}": expected
        for domain, expectations in _SIMULATORS.values()
        for word, expected in expectations.items()
    }
    page = messages.search_messages(workspace_id, MessageFilters(stream_ids=[stream_id]))
    return [
        Probe(stream_id, mail.position, mail.address, wanted[mail.address])
        for mail in reversed(page.messages)
        if mail.address in wanted
    ]


def read_results(probes: Sequence[Probe]) -> list[ProbeResult]:
    """What is known of each probe by now."""
    return [_read_result(probe) for probe in probes]


def _read_result(probe: Probe) -> ProbeResult:
    facts = queries.find_delivery(probe.stream_id, probe.position)
    if facts is None:
        raise LookupError(f"the mail to {probe.address} is gone")
    accepted_at = facts.settled_at if facts.state is State.ACCEPTED else None
    reports: dict[str, timedelta] = {}
    for fact in facts.history:
        if isinstance(fact, ReportFacts):
            delay = max(fact.received_at - (accepted_at or facts.planned_at), timedelta())
            reports[fact.report] = min(delay, reports.get(fact.report, delay))
    wanted = {probe.expected, _ALSO.get(probe.expected, probe.expected)}
    return ProbeResult(
        state=facts.state,
        accepted_after=accepted_at - facts.planned_at if accepted_at else None,
        reports=reports,
        has_expected=bool(wanted & reports.keys()),
    )
