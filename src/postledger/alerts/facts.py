"""Reads the facts that alerts follow from, for all workspaces at once."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from postledger.accounts.models import Sender, Workspace
from postledger.alerts.detection import (
    DOUBT_AFTER,
    FailedTopic,
    HeldSender,
    OldDoubts,
    SilentSender,
    WorkspaceFacts,
    WrongStream,
)
from postledger.alerts.models import Recount
from postledger.deliveries import queries, undecided
from postledger.deliveries.attention import dead_letters
from postledger.deliveries.attention.dead_letters import StreamDeadLetters
from postledger.deliveries.entries import StreamKind
from postledger.feedback import event_flow
from postledger.notifications.models import Topic, TopicStream


def read_all(now: datetime) -> Mapping[int, WorkspaceFacts]:
    """The facts of every workspace, by its id."""
    doubts, held = _read_doubts(now), _read_held()
    silent, wrong, failed = _read_silent(now), _read_wrong(), _read_failed()
    return {
        id_: WorkspaceFacts(doubts.get(id_), held[id_], silent[id_], wrong[id_], failed[id_])
        for id_ in Workspace.objects.order_by("pk").values_list("pk", flat=True)
    }


def _read_doubts(now: datetime) -> dict[int, OldDoubts]:
    rows = undecided.count_old_doubts(settled_before=now - DOUBT_AFTER)
    return {id_: OldDoubts(count, oldest_at) for id_, count, oldest_at in rows}


def _read_held() -> Mapping[int, list[HeldSender]]:
    """An archived sender counts while mail of it waits."""
    senders = Sender.objects.in_bulk()
    held: defaultdict[int, list[HeldSender]] = defaultdict(list)
    for id_, holds in sorted(queries.find_sender_holds(senders).items()):
        waiting_count = queries.count_waiting([id_])
        sender = senders[id_]
        if sender.archived_at is None or waiting_count:
            held[sender.workspace_id].append(HeldSender(sender.address, holds, waiting_count))
    return held


def _read_silent(now: datetime) -> Mapping[int, list[SilentSender]]:
    silences = event_flow.find_silences(now)
    silent: defaultdict[int, list[SilentSender]] = defaultdict(list)
    for sender in Sender.objects.filter(pk__in=silences).order_by("pk"):
        silence = silences[sender.pk]
        silent[sender.workspace_id].append(
            SilentSender(sender.address, silence.since, silence.mail_count, silence.last_mail_at)
        )
    return silent


def _read_wrong() -> Mapping[int, list[WrongStream]]:
    wrong: defaultdict[int, list[WrongStream]] = defaultdict(list)
    for row in Recount.objects.exclude(wrong_since=None).order_by("stream_id"):
        if row.wrong_since is not None:
            wrong[row.workspace_id].append(WrongStream(row.stream_id, row.wrong_since))
    return wrong


def _read_failed() -> Mapping[int, list[FailedTopic]]:
    """A topic has a stream for each sender and month; the failures of all are one thing to do."""
    letters = {group.stream_id: group for group in dead_letters.count_by_stream(StreamKind.TOPIC)}
    streams = TopicStream.objects.filter(stream_id__in=letters).select_related("topic__list")
    by_topic: defaultdict[Topic, list[StreamDeadLetters]] = defaultdict(list)
    for stream in streams.order_by("topic_id", "stream_id"):
        by_topic[stream.topic].append(letters[stream.stream_id])
    failed: defaultdict[int, list[FailedTopic]] = defaultdict(list)
    for topic, parts in by_topic.items():
        count, first_at = sum(part.count for part in parts), min(part.since for part in parts)
        failed[topic.workspace_id].append(
            FailedTopic(topic.list.key, topic.list.name, count, first_at)
        )
    return failed
