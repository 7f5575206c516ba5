"""Journeys of mails that are asked for over HTTP."""

import base64
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from postledger.accounts import keys
from postledger.contacts.models import Contact
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.ledger import LimitCause
from postledger.deliveries.reasons import Reason
from postledger.lib.ids import DeliveryId
from postledger.web.shared import auth
from tests import cast, round_trips
from tests.deliveries import views
from tests.web.callers import MAIL, Caller, caller


def stream_of(id_: str) -> int:
    delivery_id = DeliveryId.parse(id_)
    assert delivery_id
    return delivery_id.stream_id


def test_a_mail_is_taken_told_by_the_ids_of_its_request_and_says_why_it_waits(
    alice: Caller,
) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    asked = {**MAIL, "send_at": later.isoformat()}

    taken = alice.post("/v1/email/send", asked, X_Request_Id="order-5.try-1")
    seen = alice.get(taken.body["links"]["self"]).body

    assert taken.status == 202
    assert taken.headers["X-Request-Id"] == "order-5.try-1"
    id_ = taken.body["id"]
    assert taken.body == {
        "id": id_,
        "outbox_id": id_,
        "job_id": id_,
        "request_id": "order-5.try-1",
        "state": "waiting",
        "status": "RECEIVED",
        "warnings": [],
        "links": {"self": f"/v1/email/{id_}"},
    }
    assert (seen["state"], seen["status"]) == ("waiting", "RECEIVED")
    waiting = seen["waiting"]
    assert waiting.pop("since") == seen["created_at"]
    assert datetime.fromisoformat(waiting.pop("until")) == later
    assert waiting == {
        "fails_at": None,
        "reason": "scheduled",
        "why": "it is scheduled for later",
        "moved_by": "its time comes",
        "holds": [],
    }


def test_every_cause_that_holds_a_mail_is_told_first_the_one_that_ends_last(alice: Caller) -> None:
    id_ = alice.send().body["id"]
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    ledger.hold_for_limits(stream_of(id_), [LimitCause(Reason.DAILY_LIMIT, until)])
    cast.block()

    waiting = alice.get(f"/v1/email/{id_}").body["waiting"]

    assert (waiting["reason"], waiting["until"]) == ("sender_blocked", None)
    assert waiting["fails_at"] is not None
    blocked, limited = waiting["holds"]
    assert (blocked["scope"], limited["scope"]) == ("sender", "stream")
    assert (limited["reason"], datetime.fromisoformat(limited["until"])) == ("daily_limit", until)
    assert limited["moved_by"]


def test_the_timeline_has_what_the_provider_reported_and_the_state_stays(
    alice: Caller, charlie: Caller
) -> None:
    id_ = alice.send().body["id"]
    mail = DeliveryId.parse(id_)
    assert mail
    cast.book(mail.stream_id, lambda position: entries.accepted(position, message_id="m-1"))
    for kind in ("delivered", "bounced"):
        views.report(mail.stream_id, mail.position, kind)

    seen = alice.get(f"/v1/email/{id_}").body

    *_, sent, delivered, bounced = seen["timeline"]
    assert [step["type"] for step in (sent, delivered, bounced)] == ["SENT", "DELIVERED", "BOUNCED"]
    assert sent["at"] <= delivered["at"] <= bounced["at"]
    assert delivered["metadata"] == {"try": 1}
    assert (seen["state"], seen["status"]) == ("accepted", "SENT")
    assert charlie.get(f"/v1/email/{id_}").status == 404


def test_the_record_of_a_mail_agrees_with_itself_and_with_the_list(alice: Caller) -> None:
    failed = alice.send().body["id"]
    cast.book(stream_of(failed), lambda at: entries.refused(at, code="550 5.1.1", detail="Spam."))
    id_ = alice.send().body["id"]
    stream_id = stream_of(id_)
    before = alice.get(f"/v1/email/{id_}").body
    for result in (
        lambda at: entries.throttled(at, delay=timedelta()),
        lambda at: entries.try_later(at, delay=timedelta(), code="451", detail="Later."),
        lambda at: entries.accepted(at, message_id="m-1", duration_ms=60_000),
    ):
        cast.book(stream_id, result)

    seen = alice.get(f"/v1/email/{id_}").body
    timeline = seen["timeline"]
    results = [step["metadata"] for step in timeline if "outcome" in step["metadata"]]

    assert before["timeline"] == timeline[:1]
    assert timeline[0] == {"type": "RECEIVED", "at": seen["created_at"], "metadata": {}}
    assert [step["at"] for step in timeline] == sorted(step["at"] for step in timeline)
    assert {step["type"] for step in timeline} == {
        *("RECEIVED", "VALIDATED", "SENT_ATTEMPT", "RETRY_SCHEDULED", "SENT"),
    }
    assert [result["try"] for result in results] == [1, 2, 3]
    assert [result["is_counted"] for result in results] == [False, True, True]
    assert (seen["attempts"], seen["last_try"], seen["waiting"]) == (2, 3, None)
    assert (seen["state"], seen["status"]) == ("accepted", "SENT")
    assert results[1] == {
        "try": 2,
        "outcome": "try_later",
        "backoff_ms": 0,
        "is_counted": True,
        "error_code": "451",
        "error_category": "TRANSIENT_ERROR",
        "error_reason": "Later.",
        "will_retry": True,
        "next_try": 3,
    }
    assert results[2]["message_id"] == seen["message_id"] == "m-1"
    assert timeline[-1]["at"] <= seen["sent_at"] == seen["settled_at"]
    refused = alice.get(f"/v1/email/{failed}").body
    assert (refused["status"], refused["error_code"]) == ("FAILED", "550 5.1.1")
    assert (refused["error_reason"], refused["failed_at"] is None) == ("Spam.", False)
    for listed in alice.get("/v1/email").body["mails"]:
        record = alice.get(f"/v1/email/{listed['id']}").body
        assert listed == {name: record[name] for name in listed}


def test_a_mail_keeps_the_time_at_which_it_was_received(alice: Caller) -> None:
    cancelled = alice.send().body["id"]
    ledger.cancel(stream_of(cancelled), actor="bob")
    ledger.drain(stream_of(cancelled))
    sent = alice.send().body["id"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE deliveries_delivery SET planned_at = planned_at - interval '2 days'")
    cast.book(stream_of(sent), lambda at: entries.accepted(at, message_id="m-1"))

    of_cancelled = alice.get(f"/v1/email/{cancelled}").body
    received, validated, *_ = alice.get(f"/v1/email/{sent}").body["timeline"]

    assert [step["type"] for step in of_cancelled["timeline"]] == ["RECEIVED", "CANCELLED"]
    assert of_cancelled["timeline"][0]["at"] == of_cancelled["created_at"]
    waited = datetime.fromisoformat(validated["at"]) - datetime.fromisoformat(received["at"])
    assert waited > timedelta(days=1)


def test_a_text_alone_is_a_mail_with_html_made_from_it(alice: Caller) -> None:
    text = "Hello <Alice>,\nsee https://example.com/a?b=1&c=2.\n\nBye"

    taken = alice.send(html=None, text=text)

    assert taken.status == 202, taken.body
    id_ = DeliveryId.parse(taken.body["id"])
    assert id_
    body = queries.read_bodies(id_.stream_id, [id_.position])[id_.position]
    url = "https://example.com/a?b=1&amp;c=2"
    assert body.text == text
    assert body.html == (
        f'<p dir="auto">Hello &lt;Alice&gt;,<br>\nsee <a href="{url}">{url}</a>.</p>\n'
        '<p dir="auto">Bye</p>'
    )


def test_everything_a_mail_may_have_is_taken(alice: Caller) -> None:
    contact = Contact.objects.create(workspace_id=alice.workspace_id, address="alice@example.com")

    taken = alice.send(
        to={"email": "alice@example.com"},
        recipient={"id": contact.pk, "email": "alice@example.com", "name": "Alice"},
        sender="news@acme.example",
        reply_to="help@acme.example",
        text="Thank you.",
        attachments=[
            {
                "filename": "a.txt",
                "content_type": "text/plain",
                "content": base64.b64encode(b"hello").decode(),
            }
        ],
        headers={"X-Order": "5"},
        tags=["receipt"],
    )

    assert taken.status == 202, taken.body
    id_ = DeliveryId.parse(taken.body["id"])
    assert id_
    body = queries.read_bodies(id_.stream_id, [id_.position])[id_.position]
    assert body.attachments[0].content == b"hello"
    assert (body.to_name, body.reply_to) == ("Alice", "help@acme.example")
    seen = alice.get(taken.body["links"]["self"]).body
    assert (seen["recipient_id"], seen["tags"]) == (contact.pk, ["receipt"])


# code, what is changed, place
def attached(content: object) -> dict[str, Any]:
    return {"attachments": [{"filename": "a", "content_type": "a/b", "content": content}]}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("INVALID_PAYLOAD", {"subject": 5}, "subject"),
    ("INVALID_PAYLOAD", {"to": {"email": "a@example.com", "surprise": 1}}, "to.surprise"),
    ("INVALID_PAYLOAD", {"tags": ["a b"]}, "tags"),
    ("INVALID_PAYLOAD", {"headers": {"Bcc": "x@example.com"}}, "headers"),
    ("INVALID_PAYLOAD", {"sender": "who@example.com"}, "sender"),
    ("INVALID_PAYLOAD", {"reply_to": "x"}, "reply_to"),
    ("INVALID_PAYLOAD", {"send_at": "2026-01-01T00:00:00"}, "send_at"),
    ("INVALID_PAYLOAD", {"send_at": "2999-01-01T00:00:00Z"}, "send_at"),
    ("INVALID_PAYLOAD", {"send_at": 5}, "send_at"),
    ("INVALID_PAYLOAD", {"recipient": {"email": "alice@example.com"}}, "recipient"),
    ("INVALID_PAYLOAD", {"recipient": {"email": "bob@example.com", "id": 1}}, "recipient.email"),
    ("INVALID_PAYLOAD", {"html": "\x00"}, "html"),
    ("INVALID_PAYLOAD", {"html": "\ud800"}, "html"),
    ("INVALID_PAYLOAD", attached("***"), "attachments.0.content"),
    ("INVALID_PAYLOAD", attached({}), "attachments.0.content"),
    ("RECIPIENT_NOT_FOUND", {"recipient": {"email": "alice@example.com", "id": 1}}, "recipient"),
    ("INVALID_EMAIL", {"to": "nobody"}, "to"),
    ("INVALID_TEMPLATE", {"subject": ""}, "subject"),
    ("INVALID_TEMPLATE", {"html": None, "text": " "}, "html"),
    ("INVALID_TEMPLATE", {"html": None, "text": "\n" * 2 + "a\n" * 100_000}, "text"),
    ("INVALID_TEMPLATE", {"html": "<script>1</script>"}, "html, line 1"),
]


def test_a_wrong_mail_is_refused_with_its_code_and_place(alice: Caller) -> None:
    for code, changes, place in WRONG:
        refused = alice.send(**changes)

        assert (refused.status, refused.body["code"]) == (422, code), changes
        assert refused.body["errors"][-1]["place"] == place
    assert alice.get("/v1/email").body["mails"] == []


def test_a_batch_of_1_to_500_mails_is_taken_in_its_order(alice: Caller) -> None:
    taken = alice.batch(*({"subject": f"Mail {n}"} for n in range(3)), X_Request_Id="r-1")

    assert taken.status == 202
    assert taken.body["request_id"] == "r-1"
    seen = [alice.get(mail["links"]["self"]).body for mail in taken.body["mails"]]
    assert [mail["subject"] for mail in seen] == ["Mail 0", "Mail 1", "Mail 2"]
    assert {mail["request_id"] for mail in seen} == {"r-1"}
    for count, status in ((0, 422), (500, 202), (501, 422)):
        assert alice.batch(*([{}] * count)).status == status, count


def test_a_batch_names_mails_of_the_wrong_form_beside_mails_that_cannot_be_sent(
    alice: Caller,
) -> None:
    refused = alice.batch({}, {"subject": 5, "from": "a"}, {"to": "x"}, {"to": []}, {"subject": ""})

    assert refused.status == 422
    assert [
        (issue["index"], issue["code"], issue["place"]) for issue in refused.body["errors"]
    ] == [
        (1, "INVALID_PAYLOAD", "subject"),
        (1, "INVALID_PAYLOAD", "from"),
        (2, "INVALID_EMAIL", "to"),
        (3, "INVALID_PAYLOAD", "to"),
        (4, "INVALID_TEMPLATE", "subject"),
    ]
    assert alice.get("/v1/email").body["mails"] == []


def test_a_batch_lists_100_issues_and_a_mail_with_very_many_once(alice: Caller) -> None:
    wrong: list[dict[str, Any]] = [{"to": "x"}, {"surprise": 1, "other": 2}] * 60

    many = alice.batch(*wrong)
    refused = alice.batch({}, {f"field{number}": 0 for number in range(11_000)}, {"to": "x"})

    assert (len(many.body["errors"]), many.body["more_errors"]) == (100, 80)
    assert [(issue["index"], issue["code"]) for issue in refused.body["errors"]] == [
        (1, "INVALID_PAYLOAD"),
        (2, "INVALID_EMAIL"),
    ]
    assert refused.body["more_errors"] == 10_999


def test_a_repeat_under_its_key_gets_the_same_answer_and_another_body_is_a_conflict(
    alice: Caller,
) -> None:
    first = alice.send("order-5")
    again = alice.post(
        "/v1/email/send", dict(reversed(list(MAIL.items()))), Idempotency_Key="order-5"
    )
    refused = alice.send("order-5", subject="Other")

    assert (again.status, again.body) == (202, first.body)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert (refused.status, refused.body["code"]) == (409, "idempotency_key_reused")
    assert len(alice.get("/v1/email").body["mails"]) == 1


@pytest.mark.django_db(transaction=True)
def test_a_mail_costs_one_question_to_the_database_and_four_under_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auth, "CACHE_SECONDS", 60.0)
    alice = caller("acme")
    alice.send()  # opens the stream and recognises the key

    with round_trips.counted() as count:
        assert alice.send().status == 202
    with round_trips.counted() as count_with_key:
        assert alice.send("order-5").status == 202

    assert count() == 1  # the mail, all of it
    assert count_with_key() == 4  # begin, the mail, the key, commit


def test_a_revoked_key_is_refused_within_a_second_however_often_it_is_used(alice: Caller) -> None:
    assert alice.send().status == 202

    keys.revoke_key(
        alice.workspace_id,
        prefix=alice.token.partition(".")[0],
        actor="alice",
        now=datetime.now(UTC),
    )
    end = time.monotonic() + auth.CACHE_SECONDS
    while time.monotonic() < end:
        alice.send()  # by which the key lives no longer
        time.sleep(0.1)

    assert alice.send().status == 401
