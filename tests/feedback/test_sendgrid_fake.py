"""What the fake SendGrid posts of a run is believed, applied, and ends every doubt of it."""

from collections import deque
from datetime import UTC, datetime

import pytest

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import NewDelivery
from postledger.deliveries.queries import ReportCounts
from postledger.feedback import webhook_keys
from tests import cast
from tests.deliveries import views
from tests.fakes import sendgrid, sns
from tests.fakes.sns import Sink
from tests.fakes.wire import PATIENCE
from tests.feedback import reports
from tests.feedback.sendgrid import new_account, post
from tools.drill.waiting import until
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.events.outcomes import EVENTS, WORDS
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import Service

pytestmark = pytest.mark.django_db

WEBHOOKS = "/v3/user/webhooks/event/settings"
EVENT_SETTINGS = (
    *("processed", "dropped", "deferred", "delivered", "bounce", "open", "click", "spam_report"),
    *("unsubscribe", "group_unsubscribe", "group_resubscribe"),
)


def listen(fake: FakeSendGrid, url: str) -> int:
    """The account that believes what a new webhook of the fake signs."""
    settings = {"enabled": True, "url": url, **dict.fromkeys(EVENT_SETTINGS, True)}
    webhook_id = sendgrid.call(fake, "POST", WEBHOOKS, settings).json()["id"]
    path = f"{WEBHOOKS}/signed/{webhook_id}"
    public_key = sendgrid.call(fake, "PATCH", path, {"enabled": True}).json()["public_key"]
    workspace_id, account_id = new_account()
    webhook_keys.register_key(
        workspace_id, account_id, public_key=public_key, webhook_id=webhook_id, actor="alice"
    )
    return account_id


def lose_mails() -> tuple[int, list[str]]:
    """A stream of doubtful mails, and to whom they are: one for everything that can happen."""
    addresses = [f"{word}@example.com" for word in WORDS]
    stream_id = cast.stream()
    lines = [NewDelivery(address, dedupe_key=address) for address in addresses]
    ledger.enqueue(stream_id, lines, due_at=datetime.now(UTC))
    cast.lose(stream_id, size=len(addresses))
    return stream_id, addresses


def count_events(sink: Sink) -> int:
    return sum(each.body.count(b'"sg_event_id"') for each in list(sink.posts))


def test_the_posts_of_the_fake_are_believed_and_end_every_doubt() -> None:
    stream_id, addresses = lose_mails()
    service = Service(kept=deque())
    service.account.add_identities(sendgrid.DOMAIN)
    expected = sum(len(EVENTS[outcome]) for outcome in WORDS.values())
    with serving_in_thread(FakeSendGrid(service)) as fake, sns.sink() as sink:
        account_id = listen(fake, sink.url)
        for position, address in enumerate(addresses):
            arguments = {sendgrid.REFERENCE: reports.reference(stream_id, position)}
            person = {"to": [{"email": address}], "custom_args": arguments}
            sendgrid.send(fake, personalizations=[person])
        until(lambda: count_events(sink) >= expected, seconds=PATIENCE, every=0.01)

    replies = [post(account_id, each.body, each.headers) for each in sink.posts]
    applied = reports.apply_all()

    assert {reply.status_code for reply in replies} == {200}
    assert (applied.new_count, applied.unmatched_count) == (expected, 0)
    assert set(cast.states(stream_id).values()) == {"accepted"}
    assert queries.read_report_counts([stream_id])[stream_id] == ReportCounts(
        delivered=7,
        bounced=1,
        soft_bounced=1,
        complained=1,
        dropped=1,
        opened=2,
        clicked=1,
        on_suppression_list=1,
        reported=len(WORDS),
    )
    assert {row["event_type"] for row in views.read("delivery_events", stream_id)} == {
        *("delivered", "open", "click", "bounce", "spamreport", "unsubscribe")
    }
