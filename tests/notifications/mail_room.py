"""Notifications that a dispatcher hands over, and what became of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_django import Settings

from postledger.accounts import provider_accounts
from postledger.accounts.models import ProviderAccount
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Topic, TopicSubscription
from tests.notifications import cast


class MailRoom:
    """A topic, its subscribers by name, and the journal of the sandbox that sends to them."""

    def __init__(
        self, settings: Settings, folder: Path, names: Sequence[str] = (), **fields: Any
    ) -> None:
        self.topic: Topic = cast.topic(settings)
        self.journal = folder / "journal"
        account = ProviderAccount.objects.get(workspace_id=self.topic.workspace_id)
        provider_accounts.update_account(
            account.workspace_id,
            account_id=account.pk,
            changes={"journal": str(self.journal), "retry_after": 0},
            actor="alice",
        )
        self.subscriptions: Mapping[str, TopicSubscription] = {
            name: cast.subscribe(self.topic, name, **fields) for name in names
        }

    def tell(self, **fields: Any) -> Event:
        """An event whose notifications are planned."""
        event = cast.event(self.topic, **fields)
        planner.plan_all()
        event.refresh_from_db()
        assert event.planned_at is not None, event.trouble
        return event

    def taken(self) -> list[str]:
        """The names of those to whom the provider took a mail, each as often as it did."""
        if not self.journal.exists():
            return []
        lines = [line.split(" ", 1) for line in self.journal.read_text().splitlines()]
        return [address.partition("@")[0] for id_, address in lines if DeliveryId.parse(id_)]


def stream_of(event: Event) -> int:
    assert event.stream_id is not None
    return event.stream_id


_MAILS = """
SELECT split_part(d.address, '@', 1), d.state, coalesce(d.code, ''), d.attempts
FROM notifications_notification AS n
JOIN deliveries_delivery AS d ON d.stream_id = %(stream)s AND d.dedupe_key = n.id::text
WHERE n.event_id = %(event)s
"""


def mails(event: Event) -> dict[str, tuple[State, str, int]]:
    """State, code and attempts of an event's mails, by the names of their recipients."""
    rows = sql.rows(_MAILS, {"stream": stream_of(event), "event": event.pk})
    return {name: (State(state), code, attempts) for name, state, code, attempts in rows}


def states(event: Event) -> dict[str, State]:
    return {name: state for name, (state, _, _) in mails(event).items()}


_QUEUE = """
SELECT split_part(c.address, '@', 1), q.fanout_status, q.fanout_attempts, q.error, q.locked_by
FROM open_event_notifications AS q
JOIN notifications_topicsubscription AS s ON s.id = q.subscription_id
JOIN contacts_contact AS c ON c.id = s.contact_id
WHERE q.open_event_id = %(event)s
"""


class Row(NamedTuple):
    """What the view of the queue says of one notification."""

    status: str
    attempts: int
    error: dict[str, Any] | None
    locked_by: str | None


def queue(event: Event) -> dict[str, Row]:
    """The rows of an event in the view of the queue, by the names of their contacts."""
    return {name: Row(*columns) for name, *columns in sql.rows(_QUEUE, {"event": event.pk})}


_WAITS = """
SELECT split_part(d.address, '@', 1), b.reason, b.due_at > clock_timestamp()
FROM deliveries_batch AS b
JOIN deliveries_delivery AS d
  ON d.stream_id = b.stream_id AND d.position >= b.lo AND d.position < b.hi
WHERE b.stream_id = %(stream)s AND d.state = 'waiting'
"""


def waits(event: Event) -> dict[str, tuple[str, bool]]:
    """Why each mail of the stream waits, and whether its time is still to come."""
    rows = sql.rows(_WAITS, {"stream": stream_of(event)})
    return {name: (reason, is_later) for name, reason, is_later in rows}
