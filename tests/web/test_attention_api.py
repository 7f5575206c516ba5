"""What needs a person, over HTTP: listed with what is known, and decided in bounded steps."""

import pytest

from postledger.accounts import senders
from postledger.accounts.keys import Scope
from postledger.accounts.models import AuditEntry
from postledger.accounts.provider_accounts import create_account
from postledger.deliveries import entries, ledger
from postledger.deliveries.attention import deciding
from postledger.deliveries.entries import Entry
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.web.callers import Caller, caller

pytestmark = pytest.mark.django_db


def full(position: int) -> Entry:
    return entries.refused(position, code="552", detail=f"<r{position}@example.com> is full")


def failed(mails: int) -> int:
    stream_id = cast.stream(mails=mails)
    cast.book(stream_id, full)
    return stream_id


def actions() -> list[str]:
    decided = AuditEntry.objects.exclude(action__startswith="key.").order_by("pk")
    return list(decided.values_list("action", flat=True))


def test_a_doubt_is_listed_with_its_evidence_and_ended_by_its_try(alice: Caller) -> None:
    stream_id = cast.doubtful(2)

    page = alice.get("/v1/doubts", limit="1").body
    rest = alice.get("/v1/doubts", limit="1", cursor=page["next"]).body
    [doubt] = page["doubts"]
    done = alice.post(f"/v1/doubts/{doubt['try_id']}/resolve", {"decision": "count_as_sent"})
    again = alice.post(f"/v1/doubts/{doubt['id']}/resolve", {"decision": "count_as_not_sent"})

    assert (doubt["address"], doubt["tries"], doubt["outcome"]) == (
        "r0@example.com",
        [1],
        "lease_lost",
    )
    assert doubt["events"] == "No events are expected: its account has no topic and no webhook."
    assert (doubt["may_be_sent_again"], doubt["resend_after"] is None) == (False, False)
    assert rest["next"] is None
    assert (done.status, done.body) == (204, None)
    assert (again.status, again.body["code"]) == (409, "mail_not_decided")
    assert cast.states(stream_id) == {0: State.ACCEPTED, 1: State.IN_DOUBT}
    assert actions() == ["doubt.count_as_sent"]


def test_the_doubts_of_a_stream_are_ended_in_bounded_requests(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "MOST", 2)
    stream_id = cast.doubtful(3)
    wanted = {"decision": "count_as_not_sent", "stream_id": stream_id}

    first = alice.post("/v1/doubts/resolve", wanted).body
    second = alice.post("/v1/doubts/resolve", {**wanted, "cursor": first["next"]}).body

    assert (first["decided"], first["left"], first["unchanged"]) == (2, 1, [])
    assert second == {"decided": 1, "unchanged": [], "left": 0, "next": None}
    assert set(cast.states(stream_id).values()) == {State.FAILED}


def test_doubts_are_grouped_by_stream_and_wait_until_they_may_be_sent_again(
    alice: Caller,
) -> None:
    stream_id = cast.doubtful(4)
    asked = {"decision": "send_again", "ids": [DeliveryId(stream_id, 0).text()]}

    [group] = alice.get("/v1/doubts/groups").body["groups"]
    body = alice.post("/v1/doubts/resolve", asked).body

    assert (group["stream_id"], group["count"], group["title"]) == (stream_id, 4, "News")
    assert group["addresses"] == [f"r{number}@example.com" for number in range(3)]
    assert (body["decided"], body["unchanged"][0]["count"]) == (0, 1)


def test_a_choice_that_says_nothing_or_too_much_is_refused(alice: Caller) -> None:
    wrong: list[tuple[str, object]] = [
        ("doubts/resolve", {"decision": "count_as_sent"}),
        ("doubts/resolve", {"decision": "maybe", "stream_id": 1}),
        ("dead-letters/discard", {}),
        ("dead-letters/requeue", {"ids": [DeliveryId(1, 1).text()], "code": "550"}),
        ("dead-letters/requeue", {"stream_id": 1}),
        ("dead-letters/discard", {"ids": ["5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11"]}),
        ("dead-letters/discard", {"ids": [DeliveryId(1, n).text() for n in range(1001)]}),
    ]
    for path, body in wrong:
        reply = alice.post(f"/v1/{path}", body)
        assert (reply.status, reply.body["code"]) == (422, "INVALID_PAYLOAD"), (path, body)


def test_dead_letters_are_listed_by_cause_requeued_and_discarded(alice: Caller) -> None:
    stream_id = failed(3)
    first, second, third = (DeliveryId(stream_id, at).text() for at in range(3))

    [cause] = alice.get("/v1/dead-letters/causes").body["causes"]
    letter = alice.get(f"/v1/dead-letters/{first}").body
    alice.post(f"/v1/dead-letters/{first}/requeue", None)
    alice.post(f"/v1/dead-letters/{second}/discard", None)
    again = alice.post(f"/v1/dead-letters/{second}/discard", None)
    rest = alice.post("/v1/dead-letters/discard", {"code": "552", "outcome": "refused"}).body

    assert (cause["count"], cause["code"], cause["outcome"]) == (3, "552", "refused")
    assert (letter["attempts"], letter["detail"]) == (1, "<r0@example.com> is full")
    assert (again.status, again.body["code"]) == (409, "mail_not_decided")
    assert (rest["decided"], rest["left"]) == (1, 0)
    assert alice.get(f"/v1/dead-letters/{third}").status == 404
    assert alice.get("/v1/dead-letters").body == {"dead_letters": [], "next": None}
    assert cast.states(stream_id) == {0: State.WAITING, 1: State.FAILED, 2: State.FAILED}
    assert actions() == ["failure.requeued", "failure.discarded", "failure.discarded"]


def test_addresses_and_campaigns_are_shown_to_keys_that_may_read_them(alice: Caller) -> None:
    failed(1)
    cast.doubtful(1)
    program = caller("acme", scopes=[Scope.DECISIONS_READ])

    [letter] = program.get("/v1/dead-letters").body["dead_letters"]
    [cause] = program.get("/v1/dead-letters/causes").body["causes"]
    [doubt] = program.get("/v1/doubts").body["doubts"]

    assert (letter["address"], letter["title"]) == ("r***@example.com", None)
    assert letter["detail"] == cause["example"] == "<r***@example.com> is full"
    assert (doubt["address"], doubt["title"]) == ("r***@example.com", None)


def test_a_held_sender_is_listed_tested_and_released(alice: Caller) -> None:
    cast.stream(mails=2)
    sender = cast.sender()
    account_id = create_account(
        sender.workspace_id, name="play", kind="sandbox", settings={}, actor="test"
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="test"
    )
    cast.block()
    path = f"/v1/holds/senders/{sender.pk}"

    [held] = alice.get("/v1/holds/senders").body["senders"]
    tested = alice.post(f"{path}/test", None).body
    released = [alice.post(f"{path}/release", None).body["is_released"] for _ in range(2)]

    assert (held["address"], held["waiting"], held["account_id"]) == (
        sender.address,
        2,
        account_id,
    )
    [cause] = held["causes"]
    assert (cause["code"], cause["until"], cause["fails_at"] is None) == (
        "sender_blocked",
        None,
        False,
    )
    assert tested["works"]
    assert released == [True, False]
    assert alice.get("/v1/holds/senders").body == {"senders": []}


def test_held_streams_are_listed_and_released(alice: Caller) -> None:
    held = [cast.stream(mails=1) for _ in range(2)]
    for stream_id in held:
        ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob", detail="wrong link")

    page = alice.get("/v1/holds/streams", limit="1").body
    rest = alice.get("/v1/holds/streams", limit="1", cursor=page["next"]).body
    released = alice.post(f"/v1/holds/streams/{held[0]}/release", None).body

    assert [item["id"] for item in page["streams"] + rest["streams"]] == held
    assert "(wrong link)" in page["streams"][0]["causes"][0]["sentence"]
    assert (released, rest["next"]) == ({"is_released": True}, None)
