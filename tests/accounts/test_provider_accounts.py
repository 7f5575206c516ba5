"""An account's settings are checked, sealed, changed one by one, and open at home only."""

import json
from functools import partial

import pytest
from django.db import IntegrityError, connection
from pytest_django import Settings

from postledger.accounts import provider_accounts, queries, sealing, senders, workspaces
from postledger.accounts.models import AuditEntry, ProviderAccount, Sender
from postledger.accounts.provider_accounts import (
    AccountChangedError,
    AccountExistsError,
    AccountUnknownError,
    InvalidSettingsError,
)
from postledger.accounts.queries import Outgoing
from postledger.accounts.sending_limits import SendingLimits
from postledger.lib.secrets import UnsealableError
from postledger.providers.registry import UnknownKindError
from tests.races import collide

SMTP = {"host": "smtp.acme.example", "username": "alice", "password": "hunter2"}


def make(workspace_id: int, **settings: object) -> int:
    return provider_accounts.create_account(
        workspace_id, name="relay", kind="smtp", settings={**SMTP, **settings}, actor="alice"
    )


def stored(account_id: int) -> dict[str, object]:
    return sealing.unseal_settings(ProviderAccount.objects.get(pk=account_id))


def send_through(workspace_id: int, account_id: int | None) -> int:
    return senders.create_sender(
        workspace_id, address="news@acme.example", account_id=account_id, actor="alice"
    )


def test_no_setting_stands_readable_in_the_database(acme: int) -> None:
    make(acme)

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(a)::text FROM accounts_provideraccount AS a")
        [(row,)] = cursor.fetchall()

    for value in SMTP.values():
        assert value not in row
        assert value.encode().hex() not in row


def test_a_row_copied_to_another_workspace_does_not_open(acme: int, globex: int) -> None:
    sealed = ProviderAccount.objects.get(pk=make(acme)).sealed_settings
    copy = ProviderAccount.objects.create(
        workspace_id=globex, name="mine", kind="smtp", sealed_settings=sealed
    )

    with pytest.raises(UnsealableError):
        sealing.unseal_settings(copy)


def test_the_dispatcher_gets_a_sender_with_all_it_needs(acme: int) -> None:
    account_id = make(acme)
    sender_id = senders.create_sender(
        acme, address="news@acme.example", name="Acme", account_id=account_id, actor="alice"
    )

    outgoing = queries.outgoing(sender_id)

    assert outgoing == Outgoing(
        sender_id=sender_id,
        workspace_id=acme,
        address="news@acme.example",
        name="Acme",
        account_id=account_id,
        kind="smtp",
        settings=SMTP,
        revision=ProviderAccount.objects.get(pk=account_id).updated_at,
        limits=SendingLimits(zone="UTC"),
    )
    assert "hunter2" not in repr(outgoing)


def test_a_sender_without_an_account_goes_nowhere(acme: int) -> None:
    outgoing = queries.outgoing(send_through(acme, None))

    assert outgoing
    assert (outgoing.account_id, outgoing.kind, outgoing.settings, outgoing.revision) == (
        None,
        None,
        {},
        None,
    )
    assert queries.outgoing(17**9) is None


def test_an_update_changes_what_it_names_takes_away_what_is_none_or_changes_nothing(
    acme: int, globex: int
) -> None:
    account_id = make(acme, timeouts={"answer": 300, "quit": 1})
    sender_id = send_through(acme, account_id)
    before = queries.outgoing(sender_id)

    def update(workspace_id: int = acme, **changes: object) -> None:
        provider_accounts.update_account(
            workspace_id, account_id=account_id, changes=changes, actor="bob"
        )

    with pytest.raises(AccountUnknownError, match=f"has no account {account_id}: use one"):
        update(globex, password="swordfish")
    with pytest.raises(InvalidSettingsError, match="host: this is required"):
        update(host=None)
    assert queries.outgoing(sender_id) == before
    assert not AuditEntry.objects.filter(action="account.updated").exists()
    update(password="swordfish", username="bob", timeouts={"quit": 2})

    after = queries.outgoing(sender_id)
    assert before
    assert after
    assert after.settings == {
        "host": "smtp.acme.example",
        "username": "bob",
        "password": "swordfish",
        "timeouts": {"answer": 300, "quit": 2},
    }
    assert after.revision != before.revision
    update(username=None, password=None, port=None, timeouts={"quit": None})
    assert stored(account_id) == {"host": "smtp.acme.example", "timeouts": {"answer": 300}}


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_updates_at_once_the_second_is_refused() -> None:
    acme = workspaces.create_workspace("acme", actor="alice")
    account_id = make(acme)
    update = partial(provider_accounts.update_account, acme, account_id=account_id)

    with collide.uncommitted(lambda: update(changes={"username": "first"}, actor="alice")) as first:
        second = collide.start(lambda: update(changes={"username": "second"}, actor="bob"))
        second.must_wait()
        first.answer()

        with pytest.raises(AccountChangedError, match="account “relay” was changed at the same"):
            second.answer()

    assert stored(account_id)["username"] == "first"


def test_a_refusal_names_every_wrong_setting_and_repeats_no_value(acme: int) -> None:
    wrong = {
        "host": "two words",
        "port": "65536x",
        "tls": "perhaps-tls",
        "connections": "-77",
        "timeouts": {"answer": "never-ever"},
        "passwort": "hunter2",
    }

    with pytest.raises(InvalidSettingsError) as refused:
        provider_accounts.create_account(
            acme, name="relay", kind="smtp", settings=wrong, actor="alice"
        )

    message = str(refused.value)
    assert message.startswith("Invalid settings for an account of kind smtp: host: this is not")
    assert message.endswith("Correct them and try again.")
    for name in ("host", "port", "tls", "connections", "timeouts.answer", "passwort"):
        assert f"{name}: " in message
    for value in ("two words", "65536x", "perhaps-tls", "-77", "never-ever", "hunter2"):
        assert value not in message
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    with pytest.raises(InvalidSettingsError, match="a password is not sent in the open"):
        make(acme, tls="none")
    with pytest.raises(UnknownKindError, match="no provider “pigeon”; choose one of"):
        provider_accounts.create_account(
            acme, name="relay", kind="pigeon", settings={}, actor="alice"
        )
    assert not ProviderAccount.objects.exists()


def test_a_name_is_given_once_in_a_workspace(acme: int, globex: int) -> None:
    make(acme)
    make(globex)

    with pytest.raises(AccountExistsError, match="already has an account “relay”: update it"):
        make(acme)


def test_no_sender_gets_another_workspaces_account(acme: int, globex: int) -> None:
    account_id = make(acme)
    sender_id = send_through(globex, None)

    with pytest.raises(AccountUnknownError, match="no such account: create it first"):
        senders.attach_sender(globex, sender_id=sender_id, account_id=account_id, actor="charlie")
    with pytest.raises(AccountUnknownError):
        senders.create_sender(
            globex, address="more@globex.example", account_id=account_id, actor="charlie"
        )
    assert Sender.objects.get().account_id is None
    with pytest.raises(IntegrityError, match="accounts_sender_own_account"):
        Sender.objects.filter(pk=sender_id).update(account_id=account_id)


def test_after_a_change_of_the_secret_key_only_the_previous_one_opens_until_all_is_resealed(
    acme: int, settings: Settings
) -> None:
    account_id = make(acme)
    revision = ProviderAccount.objects.get(pk=account_id).updated_at
    update = partial(provider_accounts.update_account, acme, account_id=account_id, actor="bob")
    old = settings.SECRET_KEY
    settings.SECRET_KEY = "new" * 20

    with pytest.raises(UnsealableError, match="Add the old key to"):
        stored(account_id)
    with pytest.raises(UnsealableError):
        update(changes={"port": 25})

    settings.SECRET_KEY_FALLBACKS = [old]
    assert stored(account_id) == SMTP
    assert sealing.reseal_all(actor="bob") == 1
    settings.SECRET_KEY_FALLBACKS = []
    assert stored(account_id) == SMTP
    assert ProviderAccount.objects.get(pk=account_id).updated_at == revision
    # Settings whose key is lost are entered anew.
    settings.SECRET_KEY = "lost" * 20
    update(changes={"host": "new.example"}, is_anew=True)
    assert stored(account_id) == {"host": "new.example"}


def test_resealing_with_a_key_missing_changes_nothing_and_names_the_account(
    acme: int, globex: int, settings: Settings
) -> None:
    old = settings.SECRET_KEY
    first = make(acme)
    settings.SECRET_KEY = "lost" * 20
    make(globex)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [old]

    with pytest.raises(UnsealableError, match=r"Nothing was resealed: “relay” of globex\. The"):
        sealing.reseal_all(actor="bob")

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = old, []
    assert stored(first) == SMTP


def test_the_trail_of_an_account_names_settings_and_holds_no_value(acme: int) -> None:
    account_id = make(acme)
    provider_accounts.update_account(
        acme, account_id=account_id, changes={"password": "swordfish"}, actor="bob"
    )
    sealing.reseal_all(actor="bob")
    sender_id = send_through(acme, None)
    senders.attach_sender(acme, sender_id=sender_id, account_id=account_id, actor="bob")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    assert [(entry.actor, entry.action, entry.subject) for entry in entries] == [
        ("alice", "account.created", f"account {account_id}"),
        ("bob", "account.updated", f"account {account_id}"),
        ("bob", "account.resealed", f"account {account_id}"),
        ("alice", "sender.created", f"sender {sender_id}"),
        ("bob", "sender.attached", f"sender {sender_id}"),
    ]
    data = json.dumps([entry.data for entry in entries])
    assert '"settings": ["host", "password", "username"]' in data
    for value in (*SMTP.values(), "swordfish"):
        assert value not in data
