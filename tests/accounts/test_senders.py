"""Which sender mail comes from that names none, and senders and accounts that take no more mail."""

from functools import partial

import pytest
from django.db import IntegrityError, transaction

from postledger.accounts import provider_accounts, queries, senders, workspaces
from postledger.accounts.models import AuditEntry, ProviderAccount, Sender
from postledger.accounts.provider_accounts import AccountArchivedError, AccountInUseError
from postledger.accounts.queries import SenderArchivedError, SenderUnknownError
from postledger.accounts.senders import DefaultSenderError
from tests.races import collide


def make_sender(workspace_id: int, name: str, account_id: int | None = None) -> int:
    return senders.create_sender(
        workspace_id, address=f"{name}@acme.example", account_id=account_id, actor="alice"
    )


def make_account(workspace_id: int, name: str = "box") -> int:
    return provider_accounts.create_account(
        workspace_id, name=name, kind="sandbox", settings={}, actor="alice"
    )


def default_of(workspace_id: int) -> int | None:
    sender = queries.default_sender(workspace_id)
    return sender.pk if sender else None


def list_actions() -> list[str]:
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    return [action for action in actions if not action.endswith("created")]


def test_the_first_sender_of_a_workspace_is_its_default_until_another_is_chosen(acme: int) -> None:
    with pytest.raises(SenderUnknownError, match="has no sender"):
        queries.select_sender(acme, address=None)
    first, second = make_sender(acme, "news"), make_sender(acme, "a-help")
    before = queries.select_sender(acme, address=None).pk

    changes = [senders.set_default(acme, sender_id=second, actor="bob") for _ in range(2)]

    assert (before, default_of(acme)) == (first, second)
    assert changes == [True, False]
    assert list_actions() == ["sender.made_default"]


def test_the_database_itself_refuses_a_second_default_and_an_archived_one(acme: int) -> None:
    first, second = make_sender(acme, "news"), make_sender(acme, "help")
    rows = Sender.objects.filter(workspace_id=acme)

    for sender_id, change, constraint in (
        (second, {"is_default": True}, "accounts_sender_default_once"),
        (first, {"archived_at": "2026-11-16T00:00Z"}, "accounts_sender_default_in_use"),
    ):
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            rows.filter(pk=sender_id).update(**change)


def test_the_default_of_a_workspace_is_a_sender_of_its_own(acme: int) -> None:
    globex = workspaces.create_workspace("globex", actor="charlie")
    own, foreign = make_sender(acme, "news"), make_sender(globex, "news")

    for change in (senders.set_default, senders.archive_sender, senders.restore_sender):
        with pytest.raises(SenderUnknownError):
            change(acme, sender_id=foreign, actor="alice")

    assert (default_of(acme), default_of(globex)) == (own, foreign)


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_many_first_senders_at_once_one_becomes_the_default() -> None:
    workspace_id = workspaces.create_workspace("acme", actor="alice")

    made = collide.together([partial(make_sender, workspace_id, f"n{n}") for n in range(6)])

    assert len(set(made)) == 6
    assert Sender.objects.filter(is_default=True).count() == 1


def test_an_archived_sender_takes_no_new_mail_until_it_is_restored(acme: int) -> None:
    make_sender(acme, "news")
    sender_id = make_sender(acme, "help")

    archived = [senders.archive_sender(acme, sender_id=sender_id, actor="bob") for _ in range(2)]
    with pytest.raises(SenderArchivedError, match="on its page under Senders") as refused:
        queries.select_sender(acme, address="help@acme.example")
    with pytest.raises(SenderArchivedError):
        senders.set_default(acme, sender_id=sender_id, actor="bob")
    restored = [senders.restore_sender(acme, sender_id=sender_id, actor="bob") for _ in range(2)]

    assert refused.value.code == "sender_archived"
    assert (archived, restored) == ([True, False], [True, False])
    assert queries.select_sender(acme, address="help@acme.example").pk == sender_id
    assert list_actions() == ["sender.archived", "sender.restored"]


def test_the_default_sender_is_archived_only_if_another_takes_its_place(acme: int) -> None:
    first, second = make_sender(acme, "news"), make_sender(acme, "help")

    for named in (None, first):
        with pytest.raises(DefaultSenderError, match="Name another default sender first"):
            senders.archive_sender(acme, sender_id=first, default_id=named, actor="bob")
    senders.archive_sender(acme, sender_id=first, default_id=second, actor="bob")

    assert default_of(acme) == second
    assert Sender.objects.filter(archived_at=None).get().pk == second


def test_an_account_is_archived_once_no_sender_uses_it_and_then_gets_none(acme: int) -> None:
    account_id = make_account(acme)
    make_sender(acme, "news")
    sender_id = make_sender(acme, "help", account_id)
    with pytest.raises(AccountInUseError, match=r"sends for help@acme\.example\. Attach these"):
        provider_accounts.archive_account(acme, account_id=account_id, actor="bob")
    senders.archive_sender(acme, sender_id=sender_id, actor="bob")
    provider_accounts.archive_account(acme, account_id=account_id, actor="bob")

    with pytest.raises(AccountArchivedError, match="postledger account restore"):
        make_sender(acme, "shop", account_id)
    with pytest.raises(AccountArchivedError):
        senders.attach_sender(acme, sender_id=sender_id, account_id=account_id, actor="bob")
    with pytest.raises(AccountArchivedError):
        senders.restore_sender(acme, sender_id=sender_id, actor="bob")
    provider_accounts.restore_account(acme, account_id=account_id, actor="bob")
    assert senders.restore_sender(acme, sender_id=sender_id, actor="bob")

    assert ProviderAccount.objects.get().archived_at is None


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_an_account_that_is_being_archived_gets_no_sender() -> None:
    workspace_id = workspaces.create_workspace("acme", actor="alice")
    account_id = make_account(workspace_id)

    def archive() -> bool:
        return provider_accounts.archive_account(workspace_id, account_id=account_id, actor="bob")

    with collide.uncommitted(archive):
        creating = collide.start(lambda: make_sender(workspace_id, "news", account_id))
        creating.must_wait()

    with pytest.raises(AccountArchivedError):
        creating.answer()


@pytest.mark.django_db(transaction=True)
def test_a_sender_is_attached_and_restored_at_once_and_neither_fails() -> None:
    """In different orders of locks, each would wait for the other."""
    acme = workspaces.create_workspace("acme", actor="alice")
    account_id = make_account(acme)
    make_sender(acme, "news")
    sender_id = make_sender(acme, "help", account_id)
    senders.archive_sender(acme, sender_id=sender_id, actor="alice")
    account = ProviderAccount.objects.select_for_update().filter(pk=account_id)

    with collide.uncommitted(account.get):
        attach = collide.start(
            partial(
                senders.attach_sender,
                acme,
                sender_id=sender_id,
                account_id=account_id,
                actor="alice",
            )
        )
        attach.must_wait()
        restore = collide.start(
            partial(senders.restore_sender, acme, sender_id=sender_id, actor="bob")
        )
        restore.must_wait()

    attach.answer()
    assert restore.answer() is True
