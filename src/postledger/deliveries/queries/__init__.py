"""Reads of the ledger: what composing needs, the books, and the facts behind an explanation."""
# mypy: implicit-reexport
# ruff: noqa: F401

from postledger.deliveries.queries.contents import MailContent, find_content, list_subjects
from postledger.deliveries.queries.deliveries import (
    AttemptFacts,
    DeliveryFacts,
    EventFacts,
    ReportFacts,
    WorkFacts,
    find_by_message_id,
    find_delivery,
    find_settled,
)
from postledger.deliveries.queries.feedback import (
    FirstEvent,
    GuardedRun,
    ReportCounts,
    count_unreported,
    list_guarded_runs,
    read_first_events,
    read_report_counts,
)
from postledger.deliveries.queries.live_work import (
    LaterWork,
    list_held_streams,
    list_later_work,
    list_live_streams,
    list_streams_of_sender,
)
from postledger.deliveries.queries.sent import (
    count_sent_by_account,
    count_sent_by_sender,
    count_sent_for_member,
)
from postledger.deliveries.queries.streams import (
    Books,
    ChangedStream,
    FencedStream,
    StreamFacts,
    WaitSummary,
    blocked_with_work,
    cancelled_with_work,
    count_unmatched,
    count_waiting,
    count_waiting_by_sender,
    find_sender_holds,
    find_stream,
    find_streams,
    is_cancelled,
    list_busy_senders,
    list_changed_streams,
    list_fenced_streams,
    list_streams,
    read_books,
    stream_ids,
    summarise_all_waits,
    summarise_waits,
)
from postledger.deliveries.queries.work import has_time, read_bodies, read_leased, read_waiting
