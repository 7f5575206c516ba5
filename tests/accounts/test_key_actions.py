"""Keys are made, rotated with an overlap, and revoked; what is refused says why."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts import keys
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.keys import InvalidKeyError, KeyEndedError, KeyUnknownError, NewKey, Scope
from postledger.accounts.models import ApiKey, AuditEntry
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import MemberUnknownError

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)


def make(workspace_id: int) -> NewKey:
    return keys.create_key(
        workspace_id, name="shop", scopes=[Scope.SEND], is_test=True, actor="alice"
    )


def test_both_keys_work_during_the_overlap_and_the_new_one_after_it(acme: int) -> None:
    old = make(acme)

    new = keys.rotate_key(acme, prefix=old.prefix, overlap=DAY, actor="alice", now=NOW)

    end = NOW + DAY
    before, after = (keys.recognise(key.token, now=end - MOMENT) for key in (old, new))
    assert before
    assert after
    assert (after.scopes, after.is_test) == (before.scopes, before.is_test), "it may do no more"
    assert ApiKey.objects.get(pk=new.key_id).name == "shop"
    assert keys.recognise(old.token, now=end) is None
    assert keys.recognise(new.token, now=end)
    keys.rotate_key(acme, prefix=new.prefix, overlap=timedelta(0), actor="alice", now=NOW)
    assert keys.recognise(new.token, now=NOW) is None, "without an overlap it ends at once"


def make_for_member(workspace_id: int, member_id: int) -> NewKey:
    return keys.create_key(
        workspace_id, name="shop", scopes=[Scope.SEND], member_id=member_id, actor="alice"
    )


def test_a_key_launches_for_its_member_and_so_does_its_successor(acme: int) -> None:
    alice = members.add_member(acme, email="alice@acme.example", role=Role.MANAGER, actor="setup")
    old = make_for_member(acme, alice)

    new = keys.rotate_key(acme, prefix=old.prefix, overlap=DAY, actor="alice", now=NOW)

    callers = [keys.recognise(key.token, now=NOW) for key in (old, new, make(acme))]
    assert [caller and caller.member_id for caller in callers] == [alice, alice, None]


def test_the_member_of_a_key_is_one_of_its_workspace(acme: int, globex: int) -> None:
    charlie = members.add_member(globex, email="c@globex.example", role=Role.MANAGER, actor="setup")

    for stranger in (charlie, charlie + 1):
        with pytest.raises(MemberUnknownError, match="This workspace has no such member"):
            make_for_member(acme, stranger)

    assert not ApiKey.objects.exists()
    assert not AuditEntry.objects.filter(action="key.created").exists()


def test_a_rotated_key_is_not_rotated_again_and_can_be_revoked_once_before_its_end(
    acme: int,
) -> None:
    old = make(acme)
    keys.rotate_key(acme, prefix=old.prefix, overlap=DAY, actor="alice", now=NOW)

    with pytest.raises(KeyEndedError, match="already rotated or revoked: rotate its successor"):
        keys.rotate_key(acme, prefix=old.prefix, overlap=7 * DAY, actor="alice", now=NOW)
    assert ApiKey.objects.get(pk=old.key_id).expires_at == NOW + DAY
    assert ApiKey.objects.count() == 2

    assert keys.revoke_key(acme, prefix=old.prefix, actor="alice", now=NOW)
    assert not keys.revoke_key(acme, prefix=old.prefix, actor="bob", now=NOW + DAY)
    assert keys.recognise(old.token, now=NOW) is None
    assert ApiKey.objects.get(pk=old.key_id).revoked_at == NOW
    assert AuditEntry.objects.filter(action="key.revoked").count() == 1
    revoked = make(acme)
    keys.revoke_key(acme, prefix=revoked.prefix, actor="alice", now=NOW)
    with pytest.raises(KeyEndedError):
        keys.rotate_key(acme, prefix=revoked.prefix, overlap=DAY, actor="alice", now=NOW)


def test_another_workspaces_key_is_out_of_reach(acme: int, globex: int) -> None:
    key = make(acme)

    with pytest.raises(KeyUnknownError, match=r"has no key 'pl_test_.{8}': use the part of"):
        keys.revoke_key(globex, prefix=key.prefix, actor="charlie", now=NOW)
    with pytest.raises(KeyUnknownError):
        keys.rotate_key(globex, prefix=key.prefix, overlap=DAY, actor="charlie", now=NOW)

    assert keys.recognise(key.token, now=NOW)


def test_a_key_without_a_scope_a_name_or_a_measured_overlap_is_refused(acme: int) -> None:
    with pytest.raises(InvalidKeyError, match="at least one scope: mail:send, mail:read"):
        keys.create_key(acme, name="shop", scopes=[], actor="alice")
    with pytest.raises(InvalidNameError, match="cannot be the name of a key: use 1 to 100"):
        keys.create_key(acme, name="", scopes=[Scope.SEND], actor="alice")
    key = make(acme)
    for overlap in (-MOMENT, 365 * DAY + MOMENT, timedelta.max):
        with pytest.raises(InvalidKeyError, match="overlap must be between 0 and 365 days"):
            keys.rotate_key(acme, prefix=key.prefix, overlap=overlap, actor="alice", now=NOW)


def test_the_trail_of_a_key_names_it_and_holds_no_secret(acme: int) -> None:
    old = make(acme)
    new = keys.rotate_key(acme, prefix=old.prefix, overlap=DAY, actor="bob", now=NOW)
    keys.revoke_key(acme, prefix=old.prefix, actor="alice", now=NOW)

    entries = AuditEntry.objects.filter(action__startswith="key.").order_by("pk")

    assert [(entry.actor, entry.action, entry.subject, entry.data) for entry in entries] == [
        (
            "alice",
            "key.created",
            f"key {old.prefix}",
            {"name": "shop", "scopes": ["mail:send"], "is_test": True, "member": None},
        ),
        (
            "bob",
            "key.rotated",
            f"key {old.prefix}",
            {"successor": new.prefix, "works_until": "2026-11-16T12:00:00+00:00"},
        ),
        ("alice", "key.revoked", f"key {old.prefix}", {}),
    ]
