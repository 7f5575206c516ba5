"""Needs attention: doubts, dead letters, held senders and alerts, and what a person decides."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from typing import Any

import pytest
from django.db import connection

from postledger.accounts.models import AuditEntry, Sender
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.attention import dead_letters, deciding, doubts
from postledger.deliveries.entries import Entry
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard import needs
from tests import cast
from tests.deliveries.models import Stream
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id)


def failed(
    mails: int = 1, *, workspace: str = "acme", result: Callable[[int], Entry] | None = None
) -> int:
    stream_id = cast.stream(mails=mails, workspace=workspace)
    cast.book(stream_id, result or no_mailbox)
    return stream_id


def no_mailbox(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1", detail="No <b>such</b> user")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550 5.7.1", detail="Not from you")


def read(anna: Person, path: str = "attention/") -> str:
    return anna.read(path)


def send(anna: Person, path: str, **fields: Any) -> str:
    """The page after a decision."""
    response = anna.client.post(anna.url(path), fields, follow=True)
    assert response.redirect_chain == [(anna.url("attention/"), 302)]
    return " ".join(response.content.decode().split())


def count(stream_id: int, state: State) -> int:
    return queries.read_books([stream_id])[stream_id].states[state]


def group_fields(stream_id: int, decision: str, *, seen_at: datetime | None = None) -> Any:
    moment = seen_at or datetime.now(UTC)
    return {
        "stream": stream_id,
        "outcome": "lease_lost",
        "seen_at": moment.isoformat(),
        "decision": decision,
    }


def test_a_calm_workspace_needs_nobody(anna: Person) -> None:
    cast.doubtful(workspace="globex")
    failed(workspace="globex")
    failed()
    Stream.objects.filter(workspace_id=anna.workspace_id).update(is_trial=True)  # of a campaign

    html = read(anna)

    assert "Nothing needs you" in html
    assert 'class="count"' not in html


def test_doubts_and_dead_letters_are_counted_in_decisions_and_shown_with_their_cause(
    anna: Person,
) -> None:
    failed(2)
    alone = read(anna)
    cast.doubtful(5)
    failed(3, result=refused)

    html = read(anna)

    assert "Discard 2" in alone
    assert 'class="count"' not in alone, "nothing has to be done about an unknown address"
    assert re.search(r'class="count">2<', html)
    assert "The worker was lost while the mail was with the provider." in html
    assert "r0@example.com, r1@example.com, r2@example.com" in html
    assert "and 2 more" in html
    assert "Retry 2" not in html, "the address does not exist"
    assert re.search(r'value="send_again" disabled', html), "it may still leave"


def test_a_retry_is_offered_where_the_same_mail_may_be_taken(anna: Person) -> None:
    stream_id = cast.stream(mails=3)
    for code in ("utf8_unsupported", "550 5.7.1", "550 5.1.1"):
        cast.book(stream_id, partial(entries.refused, code=code, detail="No."), size=1)

    html = read(anna)

    assert html.count('value="requeue"') == 1
    assert html.count('value="discard"') == 3


def test_a_group_of_doubts_is_decided_at_once_but_for_those_that_came_after_the_person_looked(
    anna: Person,
) -> None:
    for decision, state in (
        ("count_as_sent", State.ACCEPTED),
        ("count_as_not_sent", State.FAILED),
    ):
        stream_id = cast.doubtful(3)
        earlier = datetime.now(UTC) - timedelta(hours=1)
        path = "attention/doubts/decide/"

        late = send(anna, path, **group_fields(stream_id, decision, seen_at=earlier))
        assert "Decided for 0 emails." in late
        assert count(stream_id, State.IN_DOUBT) == 3, decision
        assert "Decided for 3 emails." in send(anna, path, **group_fields(stream_id, decision))
        assert count(stream_id, state) == 3, decision
        entry = AuditEntry.objects.get(action=f"doubt.{decision}")
        assert (entry.actor, entry.data) == (f"user {anna.user.pk}", {"count": 3})


def test_a_long_list_goes_on_behind_its_last_mail_and_stays_with_its_cause(anna: Person) -> None:
    stream_id = failed(51)
    while count(stream_id, State.WAITING):
        cast.book(stream_id, no_mailbox)
    cast.book(cast.stream(mails=1), lambda at: entries.refused(at, code="552 5.2.2"))

    page = read(anna, "attention/dead-letters/?code=550%205.1.1&outcome=refused")
    [link] = re.findall(r'href="([^"]*)">Next', page)
    rest = read(anna, f"attention/dead-letters/{unescape(link)}")

    assert "r50@example.com" not in page
    assert re.findall(r"(\w+)@example.com</a>", rest) == ["r50"]
    assert "Next" not in rest


def test_what_the_database_cannot_hold_is_asked_for_in_vain(anna: Person) -> None:
    stream_id = failed()
    cause = {"code": "\0", "outcome": "refused", "seen_at": "2099-01-01T00:00Z"}

    listed = read(anna, "attention/dead-letters/?code=550%205.1.1%00&outcome=%00")
    decided = send(anna, "attention/dead-letters/decide/", action="discard", **cause)
    released = anna.post(f"attention/streams/{'9' * 19}/release/")

    assert "r0@example.com" in listed
    assert "0 emails are discarded, and stay failed." in decided
    assert released.status_code == 404
    assert count(stream_id, State.FAILED) == 1


def test_what_is_ticked_is_decided_and_others_stay(anna: Person) -> None:
    doubtful, refused_stream = cast.doubtful(3), failed(3)
    doubt, *_ = doubts.list_doubts(anna.workspace_id, limit=3)
    letter, *_ = dead_letters.list_dead_letters(anna.workspace_id, limit=3)

    for kind, ticked, decision in (
        ("doubts", doubt, {"decision": "count_as_sent"}),
        ("dead-letters", letter, {"action": "requeue"}),
    ):
        page = read(anna, f"attention/{kind}/")
        send(anna, f"attention/{kind}/decide/", id=ticked.try_id, **decision)
        assert ticked.try_id in page, kind

    assert (count(doubtful, State.ACCEPTED), count(doubtful, State.IN_DOUBT)) == (1, 2)
    assert (count(refused_stream, State.WAITING), count(refused_stream, State.FAILED)) == (1, 2)


def test_an_incomplete_form_changes_nothing_and_says_so(anna: Person) -> None:
    doubtful, moment = cast.doubtful(), {"seen_at": "2099-01-01T00:00Z"}
    failed(2)
    cause = {"code": "550 5.1.1", "outcome": "refused"}
    lost = {"outcome": "lease_lost", **moment}
    incomplete: tuple[tuple[str, dict[str, str]], ...] = (
        ("doubts", {}),
        ("doubts", {"stream": "x", **lost}),
        ("doubts", {"stream": "1", "outcome": "nothing", **moment, "decision": "x"}),
        ("doubts", {"stream": "1", **lost, "seen_at": "x", "decision": "count_as_sent"}),
        ("doubts", {"id": "no-id", "decision": "count_as_sent"}),
        ("dead-letters", {"action": "requeue"}),  # nothing was ticked
        ("dead-letters", {"action": "discard"}),
        ("dead-letters", {**cause, **moment}),
        ("dead-letters", {"action": "requeue", "code": "", "outcome": "x", **moment}),
        ("dead-letters", {"action": "requeue", **cause}),
    )

    for kind, fields in incomplete:
        html = send(anna, f"attention/{kind}/decide/", **fields)

        assert "othing changed" in html, fields
    assert count(doubtful, State.IN_DOUBT) == 1
    assert len(dead_letters.list_dead_letters(anna.workspace_id, limit=9)) == 2


def test_dead_letters_of_a_cause_are_requeued_or_discarded_but_for_those_that_came_later(
    anna: Person,
) -> None:
    stream_id = failed(2)
    [seen_at] = re.findall(r'name="seen_at" value="([^"]+)"', read(anna))
    later = failed(1)
    path = "attention/dead-letters/decide/"
    fields = {"code": "550 5.1.1", "outcome": "refused", "seen_at": seen_at}

    discarded = send(anna, path, action="discard", **fields)

    assert "2 emails are discarded, and stay failed." in discarded
    assert count(stream_id, State.FAILED) == 2
    [left] = dead_letters.list_dead_letters(anna.workspace_id, limit=9)
    assert left.stream_id == later

    fields["seen_at"] = datetime.now(UTC).isoformat()
    requeued = send(anna, path, action="requeue", **fields)

    assert "1 email will be tried again." in requeued
    assert "Nothing needs you" in requeued
    assert count(later, State.WAITING) == 1


def test_a_held_sender_says_why_and_is_tested_and_released(anna: Person) -> None:
    cast.stream(mails=3)
    cast.block()
    sender = cast.sender()

    html = read(anna)
    Sender.objects.filter(pk=sender.pk).update(is_default=False, archived_at=sender.created_at)
    archived_with_mail = read(anna)
    idle_id = Sender.objects.create(
        workspace=sender.workspace, address="old@acme.example", archived_at=sender.created_at
    ).pk
    ledger.hold_sender(idle_id, reason=Reason.PAUSED, actor="bob")
    with_idle = read(anna)
    tested = send(anna, f"attention/senders/{sender.pk}/test/")
    send(anna, f"attention/senders/{sender.pk}/release/")

    assert f"{sender.address}: " in archived_with_mail
    assert "old@acme.example" not in with_idle
    assert f"{sender.address}: " in html
    assert "SES_ACCOUNT_SENDING_PAUSED" in html
    assert "The sender has no account. Attach it to an account." in tested
    assert AuditEntry.objects.get(action="sender.released").actor == f"user {anna.user.pk}"


def test_the_mail_and_the_sender_of_another_workspace_are_not_found_and_not_changed(
    anna: Person,
) -> None:
    stream_id = cast.doubtful(2, workspace="globex")
    cast.block(workspace="globex")
    theirs_id = cast.sender("globex").pk
    [theirs, _] = doubts.list_doubts(cast.sender("globex").workspace_id, limit=2)

    send(anna, "attention/doubts/decide/", **group_fields(stream_id, "count_as_sent"))
    decided = {"id": theirs.try_id, "decision": "count_as_sent"}
    answers = [
        anna.post("attention/doubts/decide/", **decided),
        anna.post(f"attention/senders/{theirs_id}/release/"),
        anna.post(f"attention/senders/{theirs_id}/test/"),
        anna.post(f"attention/streams/{stream_id}/release/"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert count(stream_id, State.IN_DOUBT) == 2
    assert not AuditEntry.objects.filter(actor=f"user {anna.user.pk}").exists()


def test_a_page_asks_few_questions_however_much_there_is(
    anna: Person, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        cast.doubtful(3)
        failed(3)
    cast.block()

    with django_assert_max_num_queries(30, connection=connection):
        read(anna)


def test_what_was_found_is_remembered_for_a_moment_and_until_a_decision(anna: Person) -> None:
    now = datetime.now(UTC)
    stream_id = failed()
    found = needs.find_needs(anna.workspace_id, now=now)

    def recall(seconds: int) -> needs.Needs | None:
        return needs.recall_needs(anna.workspace_id, now=now + timedelta(seconds=seconds))

    before = recall(14), recall(15)
    deciding.decide_one(
        dead_letters.DISCARD, anna.workspace_id, DeliveryId(stream_id, 0), actor=anna.actor
    )

    assert (before, recall(14)) == ((found, None), None)
