"""Held senders and streams: what is listed, and what a release ends."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import AuditEntry
from postledger.accounts.queries import SenderNotFoundError
from postledger.deliveries import ledger
from postledger.deliveries.attention import holds
from postledger.deliveries.attention.deciding import StreamUnknownError
from postledger.deliveries.ledger.holds.limit_holds import LimitCause
from postledger.deliveries.reasons import Reason
from tests import cast

pytestmark = pytest.mark.django_db


def owner(workspace: str = "acme") -> int:
    return cast.sender(workspace).workspace_id


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_held_sender_is_listed_with_its_causes_and_mail_until_it_is_released_once() -> None:
    cast.stream(mails=3)
    cast.sender("globex")
    cast.block()

    [held] = holds.list_held_senders(owner(), now=datetime.now(UTC))

    assert (held.sender, held.waiting) == (cast.sender(), 3)
    [cause] = held.causes
    assert (cause.code, cause.until) == ("sender_blocked", None)
    assert "SES_ACCOUNT_SENDING_PAUSED" in cause.sentence
    assert holds.list_held_senders(owner("globex"), now=datetime.now(UTC)) == []
    answers = [holds.release_sender(owner(), cast.sender().pk, actor="alice") for _ in range(2)]
    assert answers == [True, False]
    assert holds.list_held_senders(owner(), now=datetime.now(UTC)) == []
    assert actions() == ["sender.released"]


def test_a_stream_is_listed_while_a_person_holds_it_and_not_for_a_limit() -> None:
    paused, limited = cast.stream(mails=2), cast.stream(mails=1)
    until = datetime.now(UTC) + timedelta(hours=1)
    ledger.hold_for_limits(limited, [LimitCause(Reason.RATE_PER_HOUR, until)])
    holds.hold_stream(owner(), paused, detail="wrong link", actor="bob")

    [held] = holds.list_held_streams(owner(), limit=9)

    assert (held.stream.id, held.waiting) == (paused, 2)
    assert [(hold.reason, hold.detail) for hold in held.holds] == [("paused", "wrong link")]
    assert holds.list_held_streams(owner(), after=paused, limit=9) == []
    assert holds.list_held_streams(owner("globex"), limit=9) == []
    answers = [holds.release_stream(owner(), paused, actor="alice") for _ in range(2)]
    assert answers == [True, False]
    assert actions() == ["stream.held", "stream.released"]


def test_nothing_of_another_workspace_is_released() -> None:
    stream_id = cast.stream(mails=1, workspace="globex")
    holds.hold_stream(owner("globex"), stream_id, actor="bob")
    cast.block("globex")

    with pytest.raises(StreamUnknownError):
        holds.release_stream(owner(), stream_id, actor="alice")
    with pytest.raises(SenderNotFoundError):
        holds.release_sender(owner(), cast.sender("globex").pk, actor="alice")

    assert len(holds.list_held_streams(owner("globex"), limit=9)) == 1
    assert len(holds.list_held_senders(owner("globex"), now=datetime.now(UTC))) == 1
