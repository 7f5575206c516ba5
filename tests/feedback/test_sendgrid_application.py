"""Events of SendGrid reach the mail, the contact and the counters, by the rules of all events."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import ContactState
from postledger.deliveries import entries, queries
from postledger.feedback.application import Applied
from postledger.feedback.models import InboxMessage, UnmatchedEvent
from tests import cast
from tests.contacts import people
from tests.deliveries import views
from tests.feedback import reports
from tests.feedback.sendgrid import BLOCK, FIELDS, NOON, Webhook, event, listen, post, write_body

pytestmark = pytest.mark.django_db

R0 = "r0@example.com"


@pytest.fixture
def webhook() -> Webhook:
    return listen()


def accepted(position: int) -> entries.Entry:
    return entries.accepted(position, message_id="14c5")


@pytest.fixture
def stream(webhook: Webhook) -> int:
    """One mail to r0@example.com, accepted."""
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, accepted)
    return stream_id


@pytest.fixture
def contact(webhook: Webhook) -> int:
    return people.contact(find_workspace(), R0)


def find_workspace() -> int:
    return cast.sender().workspace_id


def about(stream_id: int, name: str, *, position: int = 0, **fields: Any) -> dict[str, Any]:
    address = f"r{position}@example.com"
    return {**event(name, address, reports.reference(stream_id, position)), **fields}


def apply(webhook: Webhook, *events: dict[str, Any]) -> Applied:
    """Posts the events as SendGrid does, and applies what waits."""
    assert webhook.post(*events).status_code == 200
    return reports.apply_all()


def test_a_byte_that_is_no_text_spoils_no_event(webhook: Webhook, stream: int) -> None:
    for second, odd in enumerate((b"\xff", b"\xed\xa0\x80", b"\0")):
        opened = about(stream, "open", useragent="Mozilla ODD", timestamp=NOON + second)
        body = write_body([opened, about(stream, "delivered", timestamp=NOON + second)])

        body = body.replace(b"ODD", odd)
        assert post(webhook.account_id, body, webhook.headers(body)).status_code == 200

        applied = reports.apply_all()
        assert (applied.new_count, applied.faulty_count) == (2, 0), odd


EVENTS: list[tuple[str, dict[str, Any], ContactState, str]] = [
    ("processed", {}, ContactState.ACTIVE, "accepted"),
    ("delivered", {}, ContactState.ACTIVE, "delivered"),
    ("deferred", {}, ContactState.ACTIVE, "deferred"),
    ("bounce", {}, ContactState.BOUNCED, "bounced"),
    ("bounce", BLOCK, ContactState.ACTIVE, "soft_bounced"),
    ("dropped", {}, ContactState.ACTIVE, "dropped"),
    ("dropped", {"reason": "Bounced Address"}, ContactState.ACTIVE, "on_suppression_list"),
    ("open", {}, ContactState.ACTIVE, "opened"),
    ("click", {}, ContactState.ACTIVE, "clicked"),
    ("spamreport", {}, ContactState.UNSUBSCRIBED, "complained"),
    ("unsubscribe", {}, ContactState.UNSUBSCRIBED, "unsubscribed"),
    ("group_unsubscribe", {}, ContactState.UNSUBSCRIBED, "unsubscribed"),
    ("group_resubscribe", {}, ContactState.ACTIVE, "preferences_changed"),
    ("account_status_change", {}, ContactState.ACTIVE, "unknown"),
]


def test_each_event_is_kept_and_counted_and_changes_the_contact_by_its_rule(
    webhook: Webhook,
) -> None:
    for position, (name, fields, state, report) in enumerate(EVENTS):
        case, address = (name, fields), f"r{position}@example.com"
        stream_id = cast.stream(mails=position + 1)
        cast.book(stream_id, accepted, size=position + 1)
        contact = people.contact(find_workspace(), address)

        apply(webhook, about(stream_id, name, position=position, **fields))

        assert people.state(contact) is state, case
        is_suppressed = Suppression.objects.filter(address=address).exists()
        assert is_suppressed == (state is not ContactState.ACTIVE), case
        [(kind, counted)] = reports.query(
            "SELECT delivery_report(kind, counts_as), counts_as FROM deliveries_feedback"
            " WHERE stream_id = %s",
            stream_id,
        )
        assert kind == report, case
        counts = queries.read_report_counts([stream_id])[stream_id]
        assert counts.reported == 1, case
        assert counted is None or getattr(counts, counted) == 1, case


def test_a_bounce_keeps_its_classification_whatever_else_is_reported(
    webhook: Webhook, stream: int, contact: int
) -> None:
    apply(webhook, about(stream, "bounce"))

    row = Contact.objects.get(pk=contact)
    assert (row.bounce_type, row.bounce_subtype) == ("Permanent", "Invalid Address")
    assert row.bounce_at == reports.NOON
    for name in ("spamreport", "unsubscribe"):
        apply(webhook, about(stream, name))
        assert people.state(contact) is ContactState.BOUNCED, name


def test_a_block_changes_nothing_of_a_contact_whatever_the_setting_says(
    webhook: Webhook, stream: int, contact: int, settings: Settings
) -> None:
    before = Contact.objects.values().get(pk=contact)
    referring = about(stream, "bounce", **BLOCK)
    without_reference = {name: referring[name] for name in referring if name != "postledger-id"}

    for transient in ("keep", "apply"):
        settings.SES_TRANSIENT_BOUNCE = transient
        for second, blocked in enumerate((referring, without_reference)):
            at = NOON + second + 10 * (transient == "apply")
            apply(webhook, {**blocked, "timestamp": at, "sg_event_id": f"{transient}-{second}"})

    assert Contact.objects.values().get(pk=contact) == before
    assert not Suppression.objects.exists()


def test_an_event_of_the_very_try_ends_its_doubt_and_others_prove_nothing(
    webhook: Webhook,
) -> None:
    for name in (*FIELDS, "account_status_change", "teleport"):
        stream_id = cast.stream(mails=2)
        cast.lose(stream_id, size=2)

        apply(webhook, about(stream_id, name))

        is_proof = name in FIELDS and name != "group_resubscribe"
        ended = "accepted" if is_proof else "in_doubt"
        assert cast.states(stream_id) == {0: ended, 1: "in_doubt"}, name
        facts = queries.find_delivery(stream_id, 0)
        assert facts is not None
        assert (facts.message_id == "14c5d75ce93abcdEFG") == is_proof, name


def test_events_of_another_workspaces_account_change_nothing(stream: int, contact: int) -> None:
    mallory = listen("globex")
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)
    names = ("processed", "bounce", "spamreport", "unsubscribe")
    events = [about(id_, name) for id_ in (stream, stream_id) for name in names]

    applied = apply(mallory, *events)

    assert (applied.new_count, applied.unmatched_count) == (0, len(events))
    assert set(UnmatchedEvent.objects.values_list("why", flat=True)) == {"other_workspace"}
    assert cast.states(stream_id) == {0: "in_doubt"}
    assert people.state(contact) is ContactState.ACTIVE
    assert not Suppression.objects.exists()


def test_a_bad_event_in_a_post_loses_none_of_the_others_and_what_is_no_array_is_kept(
    webhook: Webhook,
) -> None:
    stream_id = cast.stream(mails=100)
    cast.lose(stream_id, size=100)
    bad = [b'{"event":"bounce","event":"open"}', b'{"a":' + b"[" * 9_999 + b"]" * 9_999 + b"}"]
    good = [about(stream_id, "delivered", position=position) for position in range(100)]
    texts = [json.dumps(each).encode() for each in good]
    body = b"[" + b",".join([*texts[:50], *bad, *texts[50:]]) + b"]"

    for each in (body, b'{"event":"open"}'):
        assert post(webhook.account_id, each, webhook.headers(each)).status_code == 200
    applied = reports.apply_all()

    assert (applied.new_count, applied.unmatched_count, applied.faulty_count) == (100, 2, 1)
    assert set(cast.states(stream_id).values()) == {"accepted"}
    assert InboxMessage.objects.get().fault == "the body is not a JSON array"


def test_an_event_without_a_known_mail_is_kept_and_listed(
    webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    stream_id = cast.stream(mails=1)

    apply(webhook, about(stream_id, "delivered", position=7), event("open", R0, None))
    call_command("feedback", "unmatched")

    listed = capsys.readouterr().out
    assert "delivered  unknown delivery  reference" in listed
    assert "open  no reference  provider's id 14c5d75ce93abcdEFG" in listed
    assert R0 not in listed


def test_who_leaves_a_group_of_other_mail_may_still_want_ours(
    webhook: Webhook, contact: int
) -> None:
    for name, state in (
        ("group_unsubscribe", ContactState.ACTIVE),
        ("unsubscribe", ContactState.UNSUBSCRIBED),
    ):
        applied = apply(webhook, event(name, R0, None))

        assert applied.unmatched_count == 1, name
        assert people.state(contact) is state, name


def test_the_view_of_provider_events_has_exactly_six_words(webhook: Webhook, stream: int) -> None:
    listed = about(stream, "dropped", reason="Bounced Address", timestamp=1777896001)
    blocked = about(stream, "bounce", timestamp=1777896002, **BLOCK)
    names = [*FIELDS, "account_status_change"]

    apply(webhook, *[about(stream, name) for name in names], listed, blocked)

    rows = views.read("delivery_events", stream, order="event_at")
    assert sorted(row["event_type"] for row in rows) == [
        *("bounce", "bounce", "click", "delivered", "open", "spamreport"),
        *("unsubscribe", "unsubscribe"),  # also of a group
    ]


STATE = """
SELECT d.state, d.last_try, d.attempts, d.doubts, d.message_id,
       (SELECT array_agg((f.name, f.kind, f.counts_as, f.happened_at, f.code)::text
                         ORDER BY f.happened_at)
        FROM deliveries_feedback f WHERE f.stream_id = d.stream_id AND f.position = d.position),
       c.state, c.bounce_type, c.bounce_subtype, c.bounce_at, s.reason
FROM deliveries_delivery d
LEFT JOIN contacts_contact c ON c.address = d.address
LEFT JOIN contacts_suppression s ON s.address = d.address
WHERE d.stream_id = %s
"""
ALL = range(len(FIELDS) + 1)  # and a block


def find_end(webhook: Webhook, posts: Sequence[Sequence[int]]) -> list[Any]:
    """What a doubtful mail and its contact become by these of its events; nothing is kept."""
    with transaction.atomic():
        people.contact(find_workspace(), R0)
        stream_id = cast.stream(mails=1)
        cast.lose(stream_id)
        events = [about(stream_id, name, timestamp=NOON + at) for at, name in enumerate(FIELDS)]
        events.append(about(stream_id, "bounce", timestamp=NOON + 60, **BLOCK))
        for numbers in posts:
            apply(webhook, *[events[number] for number in numbers])
        [row] = reports.query(STATE, stream_id)
        assert queries.read_books([stream_id])[stream_id].balances
        counts = queries.read_report_counts([stream_id])[stream_id]
        transaction.set_rollback(True)
    return [*row, counts]


@pytest.fixture
def plain_end(webhook: Webhook) -> list[Any]:
    return find_end(webhook, [ALL])


@settings(
    max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    order=st.permutations(ALL),
    repeated=st.lists(st.sampled_from(ALL), max_size=8),
    cut=st.sampled_from(ALL),
)
def test_any_order_repetition_and_division_of_the_events_of_a_mail_end_in_one_state(
    webhook: Webhook,
    plain_end: list[Any],
    order: Sequence[int],
    repeated: Sequence[int],
    cut: int,
) -> None:
    end = find_end(webhook, [order[:cut], [*order[cut:], *repeated], repeated])

    assert end == plain_end
    assert (end[0], len(end[5]), end[6], end[8]) == (
        *("accepted", len(ALL), "bounced", "Invalid Address"),
    )
