"""Applies the messages of the inbox in bulk: to the ledger, to contacts, or as unmatched.

All of one call is one transaction, so a process that dies in it has applied nothing. An event that
was applied before changes nothing, so neither order nor repetition matters.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from itertools import batched

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from postledger.accounts import sealing
from postledger.contacts import sql
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import Origin, StateReport
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Feedback, Mismatch
from postledger.deliveries.queries import StreamFacts
from postledger.feedback import inbox, rules, unmatched
from postledger.feedback.inbox import WaitingMessage
from postledger.feedback.rules import TransientBounce
from postledger.feedback.unmatched import Stray
from postledger.lib import crashpoints, references
from postledger.lib.crashpoints import Point
from postledger.lib.references import Reference
from postledger.providers import registry
from postledger.providers.base import EventKind, ProviderEvent

_log = structlog.get_logger(__name__)

# In one transaction, whose locks others wait for.
MOST_MESSAGES = 1_000
_MOST_NAMES = 5  # of unknown events, in one line of the log
# How often others are looked for that can be applied while none could.
_MOST_CLAIMS = 10


@dataclass(frozen=True, slots=True)
class Applied:
    """What one call did; without a message nothing waited, or others have it."""

    message_count: int = 0
    new_count: int = 0  # events that were new to a mail
    unmatched_count: int = 0  # new events that belong to no mail
    faulty_count: int = 0  # messages that cannot be read or applied
    broken_count: int = 0  # of these, messages with which the application fails
    stream_ids: frozenset[int] = frozenset()  # whose mails have new events

    def __add__(self, other: "Applied") -> "Applied":
        return Applied(
            self.message_count + other.message_count,
            self.new_count + other.new_count,
            self.unmatched_count + other.unmatched_count,
            self.faulty_count + other.faulty_count,
            self.broken_count + other.broken_count,
            self.stream_ids | other.stream_ids,
        )


@dataclass(frozen=True, slots=True)
class _Incoming:
    """One event with what is known of the message that it came in."""

    event: ProviderEvent
    message: WaitingMessage
    reference: Reference | None = None

    @property
    def happened_at(self) -> datetime:
        return rules.date_event(self.event, self.message.received_at)


@dataclass(slots=True)
class _Sorted:
    """The events of some messages, by what can be done with them."""

    by_stream: defaultdict[int, list[_Incoming]] = field(default_factory=lambda: defaultdict(list))
    strays: list[Stray] = field(default_factory=list)
    workspaces: dict[int, int] = field(default_factory=dict)  # of accounts
    faults: dict[int, str] = field(default_factory=dict)  # of messages

    def add_stray(self, incoming: _Incoming, why: Mismatch) -> None:
        message = incoming.message
        self.strays.append(Stray(message.account_id, incoming.event, why, message.received_at))


class NothingAppliedError(Exception):
    """No message could be applied: the cause is elsewhere, and all of them wait."""


def apply_waiting(*, limit: int = MOST_MESSAGES) -> Applied:
    """Applies the oldest messages that wait and that no other process is applying.

    A message that cannot be read, or that the database refuses, is marked with its fault, and all
    others are applied. Messages that fail unexpectedly are to blame if another one can be applied;
    large ones may be all of a claim, so younger ones are claimed until then. Raises
    NothingAppliedError if there is none.
    """
    applied = Applied()
    with transaction.atomic():
        for _ in range(_MOST_CLAIMS):
            messages = inbox.claim(limit - applied.message_count)
            applied += _apply_or_split(messages) if messages else Applied()
            if not messages or applied.broken_count < applied.message_count:
                break
        if applied.message_count and applied.broken_count == applied.message_count:
            raise NothingAppliedError
    return applied


def retry_failed() -> Applied:
    """Applies what could not be applied before, for instance after an update.

    What the intake refused stays as it is. What fails again is marked again at once, so it never
    stands before messages that wait.
    """
    total, after = Applied(), 0
    while True:
        with transaction.atomic():
            messages = inbox.claim_failed(MOST_MESSAGES, after=after)
            if not messages:
                return total
            total += _apply_or_split(messages)
        after = messages[-1].id


def _apply_or_split(messages: Sequence[WaitingMessage]) -> Applied:
    try:
        with transaction.atomic():
            return _apply(messages)
    except (OperationalError, InterfaceError):
        raise  # the database is away or busy: no message is to blame
    except Exception as error:  # noqa: BLE001  of whatever kind: one message may not stop the others
        if len(messages) == 1:
            _log.exception("a message cannot be applied", message=messages[0].id)
            inbox.remove(messages, {messages[0].id: type(error).__name__})
            return Applied(1, faulty_count=1, broken_count=1)
    middle = len(messages) // 2
    return _apply_or_split(messages[:middle]) + _apply_or_split(messages[middle:])


def _apply(messages: Sequence[WaitingMessage]) -> Applied:
    given = _sort_events(messages)
    streams = queries.find_streams(list(given.by_stream))
    for stream_id, incoming in [*given.by_stream.items()]:
        _keep_own(given, streams.get(stream_id), stream_id, incoming)
    _lock_contacts(given)
    new_counts: dict[int, int] = {}
    by_place = sorted(given.by_stream, key=lambda id_: (streams[id_].workspace_id, id_))
    for stream_id in by_place:
        new_counts[stream_id] = _apply_to_stream(given, streams[stream_id])
        crashpoints.reached(Point.IN_FEEDBACK)
    strays = unmatched.store_unmatched(given.strays)
    _apply_without_mail(given, strays)
    inbox.remove(messages, given.faults)
    return Applied(
        len(messages),
        sum(new_counts.values()),
        len(strays),
        len(given.faults),
        0,
        frozenset(stream_id for stream_id, count in new_counts.items() if count),
    )


def _sort_events(messages: Sequence[WaitingMessage]) -> _Sorted:
    """Reads the events; a reference is believed only with its MAC."""
    given = _Sorted()
    keys = sealing.reference_keys()
    # A mail has several events, often in one message: the MAC of its reference is checked once.
    read_reference = cache(partial(references.read, keys=keys))
    unknown_names: Counter[str] = Counter()
    for message in messages:
        given.workspaces[message.account_id] = message.workspace_id
        for event in _read(message, given.faults):
            if event.kind is EventKind.UNKNOWN:
                unknown_names[event.name] += 1
            reference = read_reference(event.reference) if event.reference else None
            incoming = _Incoming(event, message, reference)
            if reference is not None:
                given.by_stream[reference.delivery_id.stream_id].append(incoming)
            else:
                why = Mismatch.WRONG_MAC if event.reference else Mismatch.NO_REFERENCE
                given.add_stray(incoming, why)
    if unknown_names:
        # A post may have thousands of made-up names.
        names = sorted(unknown_names)[:_MOST_NAMES]
        _log.warning("unknown_event_type", count=unknown_names.total(), names=names)
    return given


def _read(message: WaitingMessage, faults: dict[int, str]) -> Sequence[ProviderEvent]:
    try:
        return registry.load_module(message.kind).parse_events({}, message.body.encode())
    except ValueError as error:
        faults[message.id] = str(error)[:200] or type(error).__name__
        return ()


def _keep_own(
    given: _Sorted, stream: StreamFacts | None, stream_id: int, incoming: Sequence[_Incoming]
) -> None:
    """Takes away what the workspace of the account may not report."""
    own: list[_Incoming] = []
    for each in incoming:
        if stream is None:
            given.add_stray(each, Mismatch.UNKNOWN_DELIVERY)
        elif stream.workspace_id != each.message.workspace_id:
            given.add_stray(each, Mismatch.OTHER_WORKSPACE)
        else:
            own.append(each)
    if own:
        given.by_stream[stream_id] = own
    else:
        del given.by_stream[stream_id]


def _lock_contacts(given: _Sorted) -> None:
    """Before all other locks, and in order: two appliers never wait for one another in a circle."""
    incoming = [each for items in given.by_stream.values() for each in items]
    workspace_ids = {each.message.workspace_id for each in incoming if _may_report(each.event)}
    for stray in given.strays:
        if stray.why is Mismatch.NO_REFERENCE and _may_report(stray.event):
            workspace_ids.add(given.workspaces[stray.account_id])
    for workspace_id in sorted(workspace_ids):
        sql.take_consent_lock(workspace_id)


def _may_report(event: ProviderEvent) -> bool:
    return event.kind in rules.CONTACT_KINDS


def _apply_to_stream(given: _Sorted, stream: StreamFacts) -> int:
    """Returns how many events were new. Repetitions are most of the work, and need no lock."""
    incoming = {_place(each): each for each in reversed(given.by_stream[stream.id])}
    known = ledger.find_known_feedback(stream.id, list(incoming))
    fresh = [each for place, each in incoming.items() if place not in known]
    if not fresh:
        return 0
    reports = {} if stream.is_test or stream.is_trial else _report_contacts(fresh)
    taken = ledger.take_feedback(stream.id, [_as_feedback(each) for each in fresh])
    for number, why in taken.mismatches.items():
        given.add_stray(fresh[number], why)
    _apply_reports(
        stream.workspace_id,
        [reports[n] for n in taken.new if n in reports and n not in taken.erased],
    )
    return len(taken.new)


def _place(incoming: _Incoming) -> tuple[int, str]:
    assert incoming.reference is not None  # noqa: S101  those without one have no stream
    return incoming.reference.delivery_id.position, incoming.event.key


def _as_feedback(incoming: _Incoming) -> Feedback:
    assert incoming.reference is not None  # noqa: S101  those without one have no stream
    event, id_ = incoming.event, incoming.reference.delivery_id
    return Feedback(
        position=id_.position,
        try_number=id_.try_number,
        epoch=incoming.reference.epoch,
        address=event.address,
        key=event.key,
        kind=event.kind.value,
        name=event.name,
        happened_at=incoming.happened_at,
        received_at=incoming.message.received_at,
        counts_as=rules.find_counter(event),
        is_proof=rules.is_proof(event),
        code=rules.describe_code(event),
        detail=event.detail,
        message_id=event.provider_id,
    )


def _report_contacts(incoming: Sequence[_Incoming]) -> dict[int, StateReport]:
    """What the events say of contacts, by their place among those given."""
    transient = TransientBounce(settings.SES_TRANSIENT_BOUNCE)
    reports = {
        number: rules.report_contact(each.event, at=each.happened_at, transient=transient)
        for number, each in enumerate(incoming)
    }
    return {number: report for number, report in reports.items() if report is not None}


def _apply_without_mail(given: _Sorted, strays: Iterable[Stray]) -> None:
    """Applies what is known of an address alone: feedback without tags, or of other mail."""
    transient = TransientBounce(settings.SES_TRANSIENT_BOUNCE)
    reports: defaultdict[int, list[StateReport]] = defaultdict(list)
    for stray in strays:
        if stray.why is Mismatch.NO_REFERENCE:
            at = rules.date_event(stray.event, stray.received_at)
            report = rules.report_contact(stray.event, at=at, transient=transient)
            if report is not None:
                reports[given.workspaces[stray.account_id]].append(report)
    for workspace_id in sorted(reports):
        _apply_reports(workspace_id, reports[workspace_id])


def _apply_reports(workspace_id: int, reports: Sequence[StateReport]) -> None:
    origin = Origin(source="provider event", actor="feedback")
    for chunk in batched(reports, apply_feedback.MOST):
        apply_feedback.apply_reports(workspace_id, chunk, origin=origin)
