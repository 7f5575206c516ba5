"""Any order, repetition and division of events ends in one state."""

from itertools import permutations
from random import Random
from typing import Any

import pytest

from postledger.contacts.models import Contact
from postledger.deliveries import audit, queries
from postledger.deliveries.queries import ReportCounts
from tests import cast
from tests.feedback import reports, topics

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS = list(permutations(range(6)))


def six_events(stream_id: int, position: int) -> list[dict[str, Any]]:
    address, tag = f"r{position}@example.com", reports.reference(stream_id, position)
    return [
        reports.event("Send", address, tag),
        reports.event("DeliveryDelay", address, tag, minutes=1),
        reports.event("Delivery", address, tag, minutes=2),
        reports.bounce(address, tag, "Transient", "MailboxFull", minutes=9),
        reports.complaint(address, tag, minutes=3),
        reports.bounce(address, tag, "Permanent", "NoEmail", minutes=4),
    ]


STATES = """
SELECT d.position, d.state, d.last_try, d.attempts, d.code, d.doubts,
       (SELECT array_agg((f.name, f.kind, f.counts_as, f.happened_at, f.code, f.try_number)::text
                         ORDER BY f.happened_at)
        FROM deliveries_feedback f WHERE f.stream_id = d.stream_id AND f.position = d.position),
       c.state, c.bounce_type, c.bounce_subtype, c.bounce_at, c.state_changed_at,
       s.reason, s.has_left
FROM deliveries_delivery d
JOIN contacts_contact c ON c.address = d.address
LEFT JOIN contacts_suppression s ON s.address = d.address
WHERE d.stream_id = %s
"""


@pytest.mark.parametrize("is_at_once", [False, True])
def test_all_720_orders_of_six_events_with_repetitions_end_in_one_state(
    *, is_at_once: bool
) -> None:
    workspace_id, account_id = topics.new_account()
    stream_id = cast.stream(mails=len(ORDERS))
    while cast.batches(stream_id):
        cast.lose(stream_id, size=1_000)
    Contact.objects.bulk_create(
        Contact(workspace_id=workspace_id, address=f"r{position}@example.com")
        for position in range(len(ORDERS))
    )
    chance, events = Random(18), [six_events(stream_id, at) for at in range(len(ORDERS))]
    for step in range(6):
        numbers = [(order[step], chance.choice(order[: step + 1])) for order in ORDERS]
        pairs = zip(events, numbers, strict=True)
        reports.store(account_id, [own[number] for own, both in pairs for number in both])
        if not is_at_once:
            reports.apply_all()
    reports.apply_all()

    [first, *others] = [list(row[1:]) for row in reports.query(STATES, stream_id)]
    assert len(others) == len(ORDERS) - 1
    assert all(state == first for state in others)
    assert (first[0], first[6:9], first[11]) == (
        "accepted",
        ["bounced", "Permanent", "NoEmail"],
        "bounced",
    )
    assert queries.read_report_counts([stream_id])[stream_id] == ReportCounts(
        **dict.fromkeys(
            ("delivered", "bounced", "soft_bounced", "complained", "reported"), len(ORDERS)
        )
    )
    assert audit.audit(stream_id).discrepancies == []
