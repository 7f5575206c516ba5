"""What needs a person in a workspace, counted in decisions and not in mails."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, Subquery

from postledger.accounts.models import AuditEntry, Workspace
from postledger.alerts import queries as alert_queries
from postledger.alerts.detection import Cause
from postledger.alerts.queries import AlertFacts
from postledger.deliveries.attention import dead_letters, doubts, holds
from postledger.deliveries.attention.dead_letters import DeadLetterGroup
from postledger.deliveries.attention.doubts import DoubtGroup
from postledger.deliveries.attention.holds import HeldSender, HeldStream
from postledger.deliveries.reasons import Reason

# These are shown as what they are about, a doubt and a held sender.
_SHOWN_ELSEWHERE = {Cause.IN_DOUBT, Cause.SENDER_HELD, Cause.FAILED_NOTIFICATIONS}
_MOST_STREAMS = 50
# Every page tells how much it is, and to find it every dead letter is looked at.
_REMEMBERED_FOR = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Needs:
    doubts: list[DoubtGroup]
    dead_letters: list[DeadLetterGroup]
    senders: list[HeldSender]
    streams: list[HeldStream]
    alerts: list[AlertFacts]

    @property
    def count(self) -> int:
        """Without the dead letters that ask for nothing, although they are listed."""
        kinds = (self.doubts, self.senders, self.streams, self.alerts)
        asking = sum(not group.needs_nobody for group in self.dead_letters)
        return asking + sum(len(things) for things in kinds)

    @property
    def is_empty(self) -> bool:
        return not (self.count or self.dead_letters)

    @property
    def mails_in_doubt(self) -> int:
        return sum(group.count for group in self.doubts)

    @property
    def dead_letter_count(self) -> int:
        return sum(group.count for group in self.dead_letters)


@dataclass(frozen=True, slots=True)
class _Found:
    needs: Needs
    version: object
    at: datetime


# By workspace; each process has its own.
_found: dict[int, _Found] = {}


def recall_needs(workspace_id: int, *, now: datetime) -> Needs | None:
    """As found up to 15 seconds ago, if nobody decided anything since; for its numbers.

    Its sentences are in the language of whoever found it.
    """
    known = _found.get(workspace_id)
    if known is None or not known.at <= now < known.at + _REMEMBERED_FOR:
        return None
    return known.needs if known.version == _read_version(workspace_id) else None


def _read_version(workspace_id: int) -> object:
    """Changes with every decision: each is noted in the audit trail."""
    entries = AuditEntry.objects.filter(workspace_id=OuterRef("pk")).order_by("-at", "-pk")
    newest = Subquery(entries.values("pk")[:1])
    return Workspace.objects.values_list("created_at", newest).get(pk=workspace_id)


def find_needs(workspace_id: int, *, now: datetime) -> Needs:
    """All of it, as it is now."""
    # Read first: a decision that is taken meanwhile ends what is remembered.
    version = _read_version(workspace_id)
    needs = _read_needs(workspace_id, now=now)
    _found[workspace_id] = _Found(needs, version, now)
    return needs


def _read_needs(workspace_id: int, *, now: datetime) -> Needs:
    return Needs(
        doubts=[group for group in doubts.group_doubts(workspace_id) if not group.is_test],
        dead_letters=dead_letters.group_dead_letters(workspace_id),
        senders=_list_held_senders(workspace_id, now=now),
        streams=_list_stopped_streams(workspace_id),
        alerts=[
            alert
            for alert in alert_queries.list_open(workspace_id, now=now)
            if alert.cause not in _SHOWN_ELSEWHERE
        ],
    )


def _list_held_senders(workspace_id: int, *, now: datetime) -> list[HeldSender]:
    """An archived one counts while mail of it waits."""
    held = holds.list_held_senders(workspace_id, now=now)
    return [one for one in held if one.sender.archived_at is None or one.waiting]


def _list_stopped_streams(workspace_id: int) -> list[HeldStream]:
    """Without those that a person paused: that person knows."""
    held = holds.list_held_streams(workspace_id, limit=_MOST_STREAMS)
    return [
        stream for stream in held if any(hold.reason is not Reason.PAUSED for hold in stream.holds)
    ]
