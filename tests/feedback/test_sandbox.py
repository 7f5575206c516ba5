"""The sandbox's events take the way of every other provider's: inbox, ledger, contacts."""

import pytest

from postledger.accounts import provider_accounts
from postledger.accounts.models import Sender
from postledger.contacts.models import Contact
from postledger.contacts.states import ContactState
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.states import State
from postledger.workers import emitted_events
from tests import cast
from tests.contacts import people
from tests.dispatch import office
from tests.feedback import reports

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace_id() -> int:
    """A workspace whose sender uses a sandbox."""
    sender = cast.sender()
    account_id = provider_accounts.create_account(
        sender.workspace_id, name="sandbox", kind="sandbox", settings={}, actor="alice"
    )
    Sender.objects.update(account_id=account_id)
    return sender.workspace_id


def send(*addresses: str, is_test: bool = False) -> int:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, is_test=is_test)
    body = Body(subject="Hi", html="<p>Hi</p>")
    due_at = reports.NOON
    ledger.enqueue(stream_id, [NewDelivery(each, body=body) for each in addresses], due_at=due_at)
    with office.dispatching(take_event=emitted_events.offer) as dispatcher:
        office.until(lambda: State.WAITING not in cast.states(stream_id).values(), dispatcher)
    return stream_id


def test_a_sandbox_address_bounces_its_contact_and_a_lost_answer_is_found(
    workspace_id: int,
) -> None:
    contact_id = people.contact(workspace_id, "bounce+1@example.com")

    stream_id = send("bounce+1@example.com", "vanish@example.com", "alice@example.com")
    assert sorted(cast.states(stream_id).values()) == ["accepted", "accepted", "in_doubt"]
    assert 1 <= emitted_events.store_waiting() <= 3  # one message for each window
    reports.apply_all()

    assert people.state(contact_id) is ContactState.BOUNCED
    assert set(cast.states(stream_id).values()) == {"accepted"}
    counts = queries.read_report_counts([stream_id])[stream_id]
    assert (counts.bounced, counts.delivered, counts.reported) == (1, 2, 3)


def test_test_mail_has_no_account_and_no_events(workspace_id: int) -> None:
    people.contact(workspace_id, "bounce+1@example.com")

    send("bounce+1@example.com", is_test=True)

    assert emitted_events.store_waiting() == 0
    assert Contact.objects.get().state == "active"
