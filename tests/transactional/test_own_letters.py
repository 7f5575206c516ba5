"""Letters to the people who sign in: through the ledger, and without a trace of secret links."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from postledger.accounts import senders
from postledger.deliveries import ledger, queries, search
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.transactional import own_letters
from postledger.transactional.own_letters import NoLetterSenderError
from tests import cast
from tests.dispatch import office
from tests.dispatch.office import Office
from tests.web import callers

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "5EcReT-tOkEn"


def send(acme: Office, to: str = "bob@example.com", **changes: Any) -> DeliveryId:
    now = datetime.now(UTC)
    values: dict[str, Any] = {
        "subject": "Choose a new password",
        "paragraphs": ["Hello, <Bob>.", "Somebody asked for a new password."],
        "link_url": f"https://mail.example/account/password/reset/key/{SECRET}/",
        "link_title": "Choose a password",
        "notes": ["If it was not you, ignore this letter."],
        "secret_until": now + timedelta(hours=1),
        "language": "en",
        "now": now,
    }
    id_ = own_letters.send_letter(acme.workspace_id, to=to, **{**values, **changes})
    delivery = DeliveryId.parse(id_)
    assert delivery
    return delivery


def stored(id_: DeliveryId) -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT subject, html || text FROM deliveries_body"
            " WHERE stream_id = %s AND position = %s",
            [id_.stream_id, id_.position],
        )
        [(subject, content)] = cursor.fetchall()
    return subject, content


def everything_stored() -> str:
    """Every row of every table and view of ours, as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regclass::text FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'p')"
        )
        names = [name for (name,) in cursor.fetchall()]
        rows = []
        for name in names:
            cursor.execute(f"SELECT t::text FROM {name} t")
            rows += [text for (text,) in cursor.fetchall()]
    return "\n".join(rows)


def read(acme: Office, id_: DeliveryId) -> str:
    """What the API and the SQL views say of a mail."""
    program = callers.of_workspace(acme.workspace_id)
    told = program.get(f"/v1/email/{id_.text()}")
    found = program.get("/v1/email", to="bob@example.com")
    assert (told.status, found.status) == (200, 200)
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM email_outbox t")
        outbox = cursor.fetchall()
    assert outbox
    person = search.find_mail_to_person(
        acme.workspace_id, address="bob@example.com", contact_ids=[]
    )
    return f"{told.body}{found.body}{outbox}{person}"


def test_a_letter_says_what_it_was_given_in_both_parts(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)

    id_ = send(acme)

    subject, content = stored(id_)
    assert subject == "Choose a new password"
    assert content.count(f"https://mail.example/account/password/reset/key/{SECRET}/") == 2
    assert "Hello, &lt;Bob&gt;." in content
    assert content.count("If it was not you, ignore this letter.") == 2
    assert "ses:no-track" in content
    assert content.rstrip().endswith("--\nNews")


def test_a_secret_link_is_told_to_nobody_but_the_recipient_and_is_gone_once_it_was_sent(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path)
    id_ = send(acme)
    assert SECRET not in read(acme, id_)
    assert SECRET not in str(queries.read_bodies(id_.stream_id, [id_.position]))

    office.send_all(id_.stream_id)
    assert SECRET not in read(acme, id_)
    assert ledger.forget_secrets() == 1

    assert cast.states(id_.stream_id) == {id_.position: State.ACCEPTED}
    assert acme.taken_from(id_.stream_id) == [id_.position]
    assert stored(id_) == ("Choose a new password", "")
    assert SECRET not in everything_stored()
    assert ledger.forget_secrets() == 0


def test_a_letter_that_waits_or_is_in_doubt_keeps_its_link_as_long_as_the_link_works(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path)
    doubtful = send(acme, "vanish@example.com")
    office.send_all(doubtful.stream_id)
    waiting = send(acme)
    assert cast.states(waiting.stream_id) == {
        doubtful.position: State.IN_DOUBT,
        waiting.position: State.WAITING,
    }

    assert ledger.forget_secrets() == 0
    assert SECRET in stored(waiting)[1] and SECRET in stored(doubtful)[1]  # noqa: PT018  one claim

    end_links(waiting.stream_id)
    assert ledger.forget_secrets() == 2
    assert SECRET not in everything_stored()


def test_a_letter_whose_link_does_not_work_any_more_is_not_sent(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)
    id_ = send(acme)
    end_links(id_.stream_id)

    office.send_all(id_.stream_id)

    assert cast.states(id_.stream_id) == {id_.position: State.EXPIRED}
    assert acme.taken() == []


def test_a_failed_letter_that_was_forgotten_expires_when_somebody_requeues_it(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path)
    id_ = send(acme, "refuse@example.com")
    office.send_all(id_.stream_id)
    assert ledger.forget_secrets() == 1

    seen = [SeenDelivery(id_.position, 1)]
    assert ledger.requeue(id_.stream_id, seen, actor="alice") == [id_.position]
    office.send_all(id_.stream_id)

    assert cast.states(id_.stream_id) == {id_.position: State.EXPIRED}


def test_a_letter_without_a_secret_is_kept_and_shown(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)
    id_ = send(acme, secret_until=None)

    office.send_all(id_.stream_id)

    assert ledger.forget_secrets() == 0
    assert SECRET in read(acme, id_)


def test_a_held_default_sender_gives_way_to_another_one(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)
    other = senders.create_sender(
        acme.workspace_id,
        address="desk@acme.example",
        name="Desk",
        account_id=acme.account_id,
        actor="alice",
    )
    assert sender_of(send(acme)) == acme.sender_id

    hold(acme.sender_id)
    assert sender_of(send(acme)) == other

    hold(other)
    with pytest.raises(NoLetterSenderError, match="Add a sender, or release one"):
        send(acme)


def test_a_workspace_whose_senders_have_no_account_sends_no_letter(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, kind=None)

    with pytest.raises(NoLetterSenderError, match="none has a provider account"):
        send(acme)


def end_links(stream_id: int) -> None:
    """Lets the database's clock pass the time until which the links work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_body SET secret_until = clock_timestamp() - interval '1 second'"
            " WHERE stream_id = %s",
            [stream_id],
        )


def hold(sender_id: int) -> None:
    ledger.hold_sender(sender_id, reason=Reason.PAUSED, actor="alice")


def sender_of(id_: DeliveryId) -> int:
    stream = queries.find_stream(id_.stream_id)
    assert stream
    return stream.sender_id
