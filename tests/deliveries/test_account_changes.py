"""A person who changes an account, or moves a sender to another, has acted: nothing fails."""

from datetime import timedelta

import pytest

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import AuditEntry
from postledger.accounts.provider_accounts import InvalidSettingsError
from postledger.deliveries import account_changes, entries, ledger, queries
from postledger.deliveries.entries import Block, Hold
from postledger.deliveries.ledger import sql
from postledger.deliveries.ledger.holds import sender_holds
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import Category
from tests import cast
from tests.deliveries import views

pytestmark = pytest.mark.django_db(transaction=True)

BLOCK = Block("SES_CREDENTIALS", Category.CONFIGURATION)


def account(name: str) -> int:
    return provider_accounts.create_account(
        cast.sender().workspace_id, name=name, kind="sandbox", settings={}, actor="alice"
    )


def sender(name: str, account_id: int) -> int:
    return senders.create_sender(
        cast.sender().workspace_id,
        address=f"{name}@acme.example",
        account_id=account_id,
        actor="alice",
    )


def block(sender_id: int, *, is_account: bool = True) -> None:
    assert ledger.hold_sender(
        sender_id,
        reason=Reason.SENDER_BLOCKED,
        actor="dispatcher",
        is_account=is_account,
        block=BLOCK,
    )


def move(sender_id: int, account_id: int) -> None:
    account_changes.attach_sender(
        cast.sender().workspace_id, sender_id=sender_id, account_id=account_id, actor="alice"
    )


def change(account_id: int, **changes: object) -> None:
    account_changes.update_account(
        cast.sender().workspace_id, account_id=account_id, changes=changes, actor="alice"
    )


def hold_of(sender_id: int) -> Hold | None:
    first, *_ = queries.find_sender_holds([sender_id]).get(sender_id, (None,))
    return first


def is_tried_again(sender_id: int) -> bool:
    """Whether it is held only until every worker has read what was changed."""
    rows = sql.rows(
        "SELECT until - statement_timestamp(), fails_at, code FROM deliveries_senderhold"
        " WHERE sender_id = %(sender)s",
        {"sender": sender_id},
    )
    [(left, fails_at, code)] = rows
    is_soon = left is not None and left <= sender_holds.SETTINGS_READ_WITHIN
    return is_soon and fails_at is None and code is None


@pytest.mark.parametrize("is_account", [True, False])
def test_changed_settings_end_the_blocks_of_the_account_and_no_other(*, is_account: bool) -> None:
    mine, other = account("mine"), account("other")
    news, shop, stranger = sender("a", mine), sender("b", mine), sender("c", other)
    block(news, is_account=is_account)
    block(stranger)

    change(mine, window_size=10)

    assert is_tried_again(news)
    assert is_account == (hold_of(shop) is not None)
    assert not is_account or is_tried_again(shop)
    kept = hold_of(stranger)
    assert kept is not None
    assert (kept.until, kept.code) == (None, "SES_CREDENTIALS")


def test_no_mail_fails_for_a_block_that_a_person_acted_on() -> None:
    news = cast.sender().pk
    stream = cast.stream(mails=2)
    move(news, account("main"))
    block(news)
    cast.let_block_run_out()

    move(news, account("second"))

    assert ledger.give_up(stream) == 0
    assert set(cast.states(stream).values()) == {State.WAITING}


def test_a_sender_that_moves_away_leaves_the_others_of_its_account_held() -> None:
    old, new = account("old"), account("new")
    moved, left = sender("a", old), sender("b", old)
    resident = sender("c", new)
    block(moved)
    block(resident)

    move(moved, new)

    assert is_tried_again(moved)
    stays = hold_of(left)
    assert stays is not None
    assert stays.fails_at is not None
    # In its new place its hold is its own: a release ends nobody else's, and nobody's ends with it.
    assert ledger.release_sender(moved)
    assert hold_of(moved) is None
    assert hold_of(resident) is not None
    assert ledger.release_sender(left)


def test_a_pause_by_a_person_stays_and_a_hold_that_ends_sooner_too() -> None:
    main = account("main")
    news, shop = sender("a", main), sender("b", main)
    length = timedelta(microseconds=1)
    ledger.hold_sender(news, reason=Reason.PAUSED, actor="bob")
    ledger.hold_sender(shop, reason=Reason.THROTTLED, actor="dispatcher", length=length)

    change(main, window_size=10)
    move(news, account("second"))

    hold = hold_of(news)
    assert hold is not None
    assert (hold.reason, hold.until) == (Reason.PAUSED, None)
    assert hold_of(shop) is None


def test_mail_that_the_former_account_throttled_goes_by_the_new_one() -> None:
    news = cast.sender().pk
    stream = cast.stream(mails=1)
    cast.book(stream, lambda at: entries.throttled(at, delay=timedelta(days=20), is_quota=True))
    ledger.hold_sender(
        news, reason=Reason.QUOTA_EXHAUSTED, actor="dispatcher", length=timedelta(days=20)
    )

    move(news, account("second"))
    _let_hold_end()

    cast.book(stream, views.sent)
    assert set(cast.states(stream).values()) == {State.ACCEPTED}


def test_a_broken_provider_whose_account_was_changed_starts_afresh() -> None:
    main = account("main")
    news = sender("a", main)
    for _ in range(sender_holds.MOST_TIMES_BROKEN + 1):
        assert ledger.hold_broken_provider(news, actor="dispatcher", detail="It raised.")
        _let_hold_end()
    hold = hold_of(news)
    assert hold is not None
    assert hold.until is None

    change(main, window_size=10)
    _let_hold_end()
    assert ledger.hold_broken_provider(news, actor="dispatcher", detail="It raised.")

    assert sql.rows("SELECT until IS NOT NULL, times FROM deliveries_senderhold", {}) == [(True, 1)]


def _let_hold_end() -> None:
    sql.rows(
        "UPDATE deliveries_senderhold SET until = statement_timestamp() WHERE until IS NOT NULL", {}
    )


def test_a_change_that_is_refused_leaves_the_block() -> None:
    main = account("main")
    news = sender("a", main)
    block(news)

    with pytest.raises(InvalidSettingsError):
        change(main, window_size=-1)

    hold = hold_of(news)
    assert hold is not None
    assert hold.fails_at is not None
    assert not AuditEntry.objects.filter(action="account.updated").exists()
