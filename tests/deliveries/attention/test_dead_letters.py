"""Dead letters: which mails ask for a person, and how a person ends that."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import AuditEntry
from postledger.campaigns.runs.requeueing import REQUEUE
from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.attention import dead_letters, deciding
from postledger.deliveries.attention.dead_letters import DISCARD, Cause
from postledger.deliveries.attention.deciding import MailUnknownError, NotDecidedError
from postledger.deliveries.entries import AttemptOutcome, Entry, SeenDelivery, StreamKind
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.deliveries import views

pytestmark = pytest.mark.django_db


def no_mailbox(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1", detail=f"No mailbox r{position}.")


def failed(mails: int = 1, *, workspace: str = "acme", is_test: bool = False) -> int:
    stream_id = cast.stream(mails=mails, workspace=workspace, is_test=is_test)
    cast.book(stream_id, no_mailbox)
    return stream_id


def owner(workspace: str = "acme") -> int:
    return cast.sender(workspace).workspace_id


def listed(workspace: str = "acme", **chosen: object) -> list[tuple[int, int]]:
    cause = Cause(**chosen)  # type: ignore[arg-type]
    letters = dead_letters.list_dead_letters(owner(workspace), cause=cause, limit=100)
    return [(letter.stream_id, letter.position) for letter in letters]


def trail() -> list[tuple[str, str, str, object]]:
    noted = AuditEntry.objects.order_by("pk")
    return list(noted.values_list("actor", "action", "subject", "data"))


def test_dead_letters_are_grouped_by_cause_and_each_cause_has_a_remedy() -> None:
    first, second = failed(2), failed()
    busy = cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    cast.book(busy, views.exhausted)
    failed(workspace="globex")

    refused, given_up = dead_letters.group_dead_letters(owner())

    assert (refused.outcome, refused.code, refused.count) == ("refused", "550 5.1.1", 3)
    assert refused.example == "No mailbox r0."
    assert "discard those whose address does not exist" in refused.remedy
    assert (given_up.outcome, given_up.code, given_up.count) == ("try_later", "BUSY", 1)
    assert listed(code="550 5.1.1") == [(first, 0), (first, 1), (second, 0)]
    assert listed(stream_id=second) == [(second, 0)]
    assert [at for at, _ in listed(outcome=AttemptOutcome.TRY_LATER)] == [busy]


def test_a_refused_single_mail_and_mail_of_test_keys_ask_nobody() -> None:
    cast.book(cast.stream(StreamKind.TRANSACTIONAL, mails=1), no_mailbox)
    failed(is_test=True)

    assert listed() == []
    assert dead_letters.group_dead_letters(owner()) == []


def test_a_page_goes_on_where_the_last_one_ended() -> None:
    failed(3)
    failed(2)

    pages, after = [], deciding.BEFORE_ALL
    while page := dead_letters.list_dead_letters(owner(), after=after, limit=2):
        pages.append([letter.key for letter in page])
        after = page[-1].key

    assert [len(page) for page in pages] == [2, 2, 1]
    assert len({key for page in pages for key in page}) == 5


@pytest.mark.django_db(transaction=True)
def test_a_discarded_letter_stays_failed_and_asks_nobody_until_it_fails_again() -> None:
    stream_id = failed(2)
    id_ = DeliveryId(stream_id, 0)
    before = queries.read_books([stream_id])[stream_id]

    deciding.decide_one(DISCARD, owner(), id_, actor="alice")
    with pytest.raises(NotDecidedError, match="discarded before"):
        deciding.decide_one(DISCARD, owner(), id_, actor="bob")

    assert listed() == [(stream_id, 1)]
    assert [row["position"] for row in views.read("dead_letters", stream_id)] == [1]
    assert cast.states(stream_id)[0] is State.FAILED
    assert queries.read_books([stream_id])[stream_id] == before
    assert audit.audit(stream_id).discrepancies == []
    assert trail() == [("alice", "failure.discarded", f"delivery {id_.uuid()}", {"count": 1})]
    facts = queries.find_delivery(stream_id, 0)
    assert facts
    assert [fact.kind for fact in facts.history if isinstance(fact, queries.EventFacts)] == [
        "discarded"
    ]

    deciding.decide_one(REQUEUE, owner(), id_, actor="bob")
    assert (listed(), cast.states(stream_id)[0]) == ([(stream_id, 1)], State.WAITING)
    cast.book(stream_id, no_mailbox)
    assert listed() == [(stream_id, 0), (stream_id, 1)]
    deciding.decide_one(DISCARD, owner(), id_, actor="alice")
    assert listed() == [(stream_id, 1)]


def test_a_mail_that_did_not_fail_is_left_alone() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda at: entries.accepted(at, message_id="m"))

    for action in (DISCARD, REQUEUE):
        with pytest.raises(NotDecidedError, match="meanwhile it was accepted"):
            deciding.decide_one(action, owner(), DeliveryId(stream_id, 0), actor="alice")

    assert trail() == []


def test_an_id_with_a_try_counts_only_while_that_is_the_last_one() -> None:
    stream_id = failed()
    [letter] = dead_letters.list_dead_letters(owner(), limit=9)
    assert letter.since > datetime.now(UTC) - timedelta(minutes=5)
    assert (letter.address, letter.attempts, letter.last_try) == ("r0@example.com", 1, 1)
    ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")
    cast.book(stream_id, no_mailbox)
    seen = DeliveryId.parse(letter.try_id)
    assert seen

    with pytest.raises(NotDecidedError, match="read it again"):
        deciding.decide_one(DISCARD, owner(), seen, actor="alice")

    assert listed() == [(stream_id, 0)]


def test_a_cause_is_requeued_and_the_others_stay() -> None:
    stream_id = failed(2)
    other = cast.stream(mails=1)
    cast.book(other, views.exhausted)

    decided = dead_letters.decide_cause(REQUEUE, owner(), Cause(code="550 5.1.1"), actor="alice")

    assert (decided.count, decided.unchanged, decided.left, decided.after) == (2, {}, 0, None)
    assert listed() == [(other, 0)]
    assert trail() == [("alice", "failure.requeued", f"stream {stream_id}", {"count": 2})]


def test_one_call_decides_a_bounded_number_and_says_how_many_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dead_letters, "MOST", 2)
    failed(3)
    failed(2)

    first = dead_letters.decide_cause(DISCARD, owner(), Cause(), actor="alice")
    assert first.after
    second = dead_letters.decide_cause(DISCARD, owner(), Cause(), after=first.after, actor="alice")

    assert [(part.count, part.left) for part in (first, second)] == [(2, 3), (2, 1)]
    assert len(listed()) == 1


def test_what_cannot_be_requeued_is_counted_with_its_reason() -> None:
    stream_id = failed(2)
    ledger.cancel(stream_id, actor="bob")

    decided = deciding.decide_mails(
        REQUEUE, owner(), [DeliveryId(stream_id, 0), DeliveryId(stream_id, 1)], actor="alice"
    )

    [(reason, count)] = decided.unchanged.items()
    assert (decided.count, count) == (0, 2)
    assert "its stream was cancelled" in reason


def test_a_mail_of_another_workspace_refuses_all() -> None:
    own, other = failed(), failed(workspace="globex")

    with pytest.raises(MailUnknownError):
        deciding.decide_mails(
            DISCARD, owner(), [DeliveryId(own, 0), DeliveryId(other, 0)], actor="alice"
        )

    assert (listed(), listed("globex")) == ([(own, 0)], [(other, 0)])
    assert dead_letters.find_dead_letter(owner(), DeliveryId(other, 0)) is None
    assert dead_letters.find_dead_letter(owner(), DeliveryId(own, 0))
