"""Senders, accounts, keys and members over HTTP: what is set, shown, refused and never granted."""

import pytest

from postledger.accounts import provider_accounts, queries, sealing
from postledger.accounts.keys import Scope
from postledger.accounts.models import AuditEntry, ProviderAccount
from postledger.accounts.people import grants, members
from postledger.accounts.people.roles import Role
from tests import cast
from tests.web.callers import Caller, caller

pytestmark = pytest.mark.django_db

RELAY = {
    "name": "relay",
    "kind": "smtp",
    "settings": {"host": "smtp.acme.example", "username": "acme", "password": "hunter2-secret"},
}


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_sender_is_created_limited_and_archived(alice: Caller) -> None:
    account = alice.post("/v1/accounts", RELAY).body
    shop = alice.post(
        "/v1/senders",
        {"address": "shop@acme.example", "name": "Shop", "account_id": account["id"]},
    )
    path = f"/v1/senders/{shop.body['id']}"
    hours = {"spans": ["09:00-18:00"], "weekdays": ["mon", "tue"], "zone": "Europe/Berlin"}

    changed = alice.ask("PATCH", path, {"rate_per_second": 14, "working_hours": hours}).body
    lifted = alice.ask("PATCH", path, {"rate_per_second": None}).body
    archived = alice.post(f"{path}/archive", {}).body
    restored = alice.post(f"{path}/restore", None).body

    assert (shop.status, shop.body["account_id"]) == (201, account["id"])
    assert (changed["rate_per_second"], changed["working_hours"]) == (14, hours)
    assert (lifted["rate_per_second"], lifted["working_hours"]) == (None, hours)
    assert (archived["archived_at"] is None, restored["archived_at"]) == (False, None)
    listed = alice.get("/v1/senders").body["senders"]
    assert [sender["address"] for sender in listed] == ["news@acme.example", "shop@acme.example"]
    assert actions()[-5:] == [
        *("sender.limits_changed", "sender.hours_changed", "sender.limits_changed"),
        *("sender.archived", "sender.restored"),
    ]


def test_a_sender_gets_another_name_and_of_a_change_that_is_refused_nothing_is_kept(
    alice: Caller,
) -> None:
    path = f"/v1/senders/{cast.sender().pk}"
    hours = {"spans": ["09:00-18:00"], "zone": "Nowhere/Land"}

    renamed = alice.ask("PATCH", path, {"name": "Acme garden"}).body
    refused = alice.ask("PATCH", path, {"name": "Acme\u2028Bcc: x", "daily_limit": 5})
    nowhere = alice.ask("PATCH", path, {"daily_limit": 5, "working_hours": hours})
    kept = alice.get(path).body
    removed = alice.ask("PATCH", path, {"name": ""}).body

    assert (renamed["name"], kept["name"], removed["name"]) == ("Acme garden", "Acme garden", "")
    assert (refused.status, nowhere.status, nowhere.body["code"]) == (422, 422, "invalid_time_zone")
    assert kept["daily_limit"] is None
    assert actions()[-2:] == ["sender.renamed"] * 2


def test_a_default_sender_or_one_with_waiting_mail_is_not_archived_by_accident(
    alice: Caller,
) -> None:
    cast.stream(mails=2)
    shop = alice.post("/v1/senders", {"address": "shop@acme.example"}).body
    path = f"/v1/senders/{cast.sender().pk}/archive"

    replies = [
        alice.post(path, {}),
        alice.post(path, {"default_id": shop["id"]}),
        alice.post(path, {"default_id": shop["id"], "although_mail_waits": True}),
    ]

    codes = [reply.body.get("code") for reply in replies]
    assert codes == ["sender_is_default", "mail_waits", None]
    assert "Mails that wait for it: 2." in replies[1].body["detail"]
    assert alice.get(f"/v1/senders/{shop['id']}").body["is_default"]


def test_no_answer_shows_a_setting_of_an_account(alice: Caller) -> None:
    made = alice.post("/v1/accounts", RELAY)
    path = f"/v1/accounts/{made.body['id']}"
    source = {"url": "https://api.example.com/x", "path": "left", "token": "hunter2-secret"}

    replies = [
        made,
        alice.ask("PATCH", path, {"settings": {"connections": 3}, "rate_per_second": 5}),
        alice.ask("PUT", f"{path}/quota-source", source),
        alice.get(path),
        alice.get("/v1/accounts"),
        alice.ask("PATCH", path, {"settings": {"tls": "hunter2-secret"}}),
    ]

    assert [reply.status for reply in replies] == [201, 200, 200, 200, 200, 422]
    assert "hunter2" not in str([reply.body for reply in replies])
    assert "smtp.acme.example" not in str([reply.body for reply in replies])
    assert replies[3].body["has_quota_source"]
    assert replies[3].body["rate_per_second"] == 5
    assert "hunter2" not in str(list(AuditEntry.objects.values_list("data", flat=True)))


def test_what_reaches_the_machine_is_left_to_its_operator(alice: Caller) -> None:
    ses = {"region": "eu-west-1", "access_key_id": "AKIA", "secret_access_key": "x"}
    for kind, settings in (
        ("sandbox", {"journal": "/etc/cron.d/x"}),
        ("smtp", {"host": "smtp.acme.example", "ca_file": "/etc/passwd"}),
        *(("smtp", {"host": host}) for host in ("127.0.0.1", "127.1", "0", "[::1]", "LocalHost.")),
        ("ses", {"region": "eu-west-1"}),
        ("ses", {"region": "eu-west-1", "access_key_id": ""}),
        ("ses", {**ses, "endpoint": "http://127.0.0.1:4579"}),
        ("sendgrid", {"api_key": "SG.x", "endpoint": "http://127.0.0.1:8580"}),
    ):
        refused = alice.post("/v1/accounts", {"name": "a", "kind": kind, "settings": settings})

        assert (refused.status, refused.body["code"]) == (422, "operator_only"), settings
    assert queries.accounts(alice.workspace_id) == []
    made = alice.post("/v1/accounts", {"name": "ses", "kind": "ses", "settings": ses}).body
    of_ses = f"/v1/accounts/{made['id']}"
    relay = f"/v1/accounts/{alice.post('/v1/accounts', RELAY).body['id']}"
    for method, path, change in (
        ("PATCH", of_ses, {"settings": {"access_key_id": None}}),
        ("PATCH", of_ses, {"settings": {"region": "eu-west-1"}, "is_anew": True}),
        ("PATCH", relay, {"settings": {"ca_file": "/x"}}),
        ("PUT", f"{relay}/quota-source", {"url": "http://127.0.0.1:8000/x", "path": "left"}),
    ):
        assert alice.ask(method, path, change).body["code"] == "operator_only", change


def test_a_server_that_came_by_the_api_is_public_whatever_its_name_leads_to(
    alice: Caller,
) -> None:
    created = alice.post("/v1/accounts", RELAY).body["id"]
    own = provider_accounts.create_account(
        alice.workspace_id, name="own", kind="smtp", settings={"host": "10.0.0.7"}, actor="root"
    )
    change = {"settings": {"username": "acme", "password": "x"}}
    move = {"settings": {"port": 2525, "password": "x"}}

    before = alice.ask("PATCH", f"/v1/accounts/{own}", change).status, is_public_only(own)
    after = alice.ask("PATCH", f"/v1/accounts/{own}", move).status, is_public_only(own)
    opened = alice.ask("PATCH", f"/v1/accounts/{created}", {"settings": {"public_only": False}})

    assert is_public_only(created)
    assert (before, after) == ((200, False), (200, True))
    assert opened.body["code"] == "operator_only"


def is_public_only(account_id: int) -> bool:
    account = ProviderAccount.objects.get(pk=account_id)
    return bool(sealing.unseal_settings(account).get("public_only"))


def test_a_stored_password_is_not_sent_to_another_server(alice: Caller) -> None:
    path = f"/v1/accounts/{alice.post('/v1/accounts', RELAY).body['id']}"

    refused = [
        alice.ask("PATCH", path, {"settings": change})
        for change in ({"host": "smtp.mallory.example"}, {"port": 2525})
    ]
    moved = [
        alice.ask("PATCH", path, {"settings": {"host": "smtp.new.example", **secret}})
        for secret in ({"password": "another"}, {"username": None, "password": None})
    ]
    anew = {"settings": {"host": "smtp.acme.example"}, "is_anew": True}

    assert [reply.body["code"] for reply in refused] == ["operator_only"] * 2
    assert [reply.status for reply in moved] == [200, 200]
    assert alice.ask("PATCH", path, anew).status == 200


def test_a_key_is_created_once_rotated_and_revoked(alice: Caller) -> None:
    made = alice.post("/v1/keys", {"name": "shop", "scopes": ["mail:read"]}).body
    shop = Caller(alice.workspace_id, 0, made["token"])
    path = f"/v1/keys/{made['prefix']}"

    works = shop.get("/v1/email").status
    rotated = alice.post(f"{path}/rotate", {"overlap_seconds": 0})
    again = alice.post(f"{path}/rotate", {})
    revoked = alice.post(f"/v1/keys/{rotated.body['prefix']}/revoke", None).body
    listed = alice.get("/v1/keys").body["keys"]

    assert works == 200
    assert (rotated.status, again.body["code"]) == (201, "key_ended")
    assert revoked["revoked_at"] is not None
    assert [key["name"] for key in listed] == ["program", "shop", "shop"]
    assert made["token"] not in str(listed)
    assert "secret_hash" not in str(listed)


def test_a_key_passes_on_no_scope_that_it_lacks(alice: Caller) -> None:
    mine = [Scope.SETUP_WRITE, Scope.SETUP_READ, Scope.READ]
    program = caller("acme", scopes=mine)
    theirs = f"/v1/keys/{alice.token.partition('.')[0]}"

    def mint(*scopes: str, **more: object) -> tuple[int, str]:
        reply = program.post("/v1/keys", {"name": "k", "scopes": list(scopes), **more})
        return reply.status, (reply.body or {}).get("code", "")

    assert mint("setup:write", "mail:read")[0] == 201
    for scope in set(Scope) - set(mine):
        assert mint("mail:read", scope.value) == (403, "grant_refused"), scope
    assert mint("mail:send", is_test=True) == (403, "grant_refused")
    # Nor does it take over a key with more rights by rotating it.
    refused = program.post(f"{theirs}/rotate", {})
    assert (refused.status, refused.body["code"]) == (403, "grant_refused")
    assert program.get(theirs).body["expires_at"] is None


def test_a_key_of_a_member_does_not_leave_the_members_daily_limit(alice: Caller) -> None:
    bob, carol = (
        members.add_member(
            alice.workspace_id, email=f"{name}@acme.example", role=Role.MANAGER, actor="test"
        )
        for name in ("bob", "carol")
    )
    program = caller("acme", member_id=bob)
    new = {"name": "k", "scopes": ["campaigns:write"]}

    statuses = [
        program.post("/v1/keys", {**new, **member}).status
        for member in ({}, {"member_id": carol}, {"member_id": bob})
    ]
    other = program.post(f"/v1/keys/{alice.token.partition('.')[0]}/rotate", {})

    assert statuses == [403, 403, 201]
    assert other.body["code"] == "grant_refused"


def test_a_member_is_added_changed_and_removed(alice: Caller) -> None:
    bob = alice.post("/v1/members", {"email": "bob@acme.example", "role": "viewer"}).body
    path = f"/v1/members/{bob['id']}"

    changed = alice.ask("PATCH", path, {"role": "developer", "daily_limit": 500}).body
    same = alice.ask("PATCH", path, {}).body
    removed = alice.ask("DELETE", path)

    assert (bob["role"], bob["has_joined"]) == ("viewer", False)
    assert (changed["role"], changed["daily_limit"]) == ("developer", 500)
    assert same == changed
    assert removed.status == 204
    assert alice.get(path).status == 404
    assert alice.get("/v1/members").body == {"members": [], "next": None}
    assert [action for action in actions() if action.startswith("member.")] == [
        *("member.added", "member.role_changed", "member.limit_changed", "member.removed"),
    ]


def test_a_key_makes_nobody_a_member_who_may_do_more_than_itself() -> None:
    for role in Role:
        needed = grants.scopes_of(role) | {Scope.MEMBERS_WRITE}
        new = {"email": f"{role}@acme.example", "role": role.value}

        for scope in needed - grants.READING - {Scope.MEMBERS_WRITE}:
            refused = caller("acme", scopes=needed - {scope}).post("/v1/members", new)
            assert (refused.status, refused.body["code"]) == (403, "grant_refused"), (role, scope)
        assert caller("acme", scopes=needed).post("/v1/members", new).status == 201, role


def test_a_key_changes_no_member_who_may_do_more_than_itself(alice: Caller) -> None:
    owner = alice.post("/v1/members", {"email": "o@acme.example", "role": "owner"}).body
    bob = alice.post("/v1/members", {"email": "b@acme.example", "role": "viewer"}).body
    program = caller("acme", scopes={*grants.READING, Scope.MEMBERS_WRITE})

    replies = [
        program.ask("PATCH", f"/v1/members/{owner['id']}", {"role": "viewer"}),
        program.ask("PATCH", f"/v1/members/{bob['id']}", {"role": "owner"}),
        program.ask("DELETE", f"/v1/members/{owner['id']}"),
        program.ask("PATCH", f"/v1/members/{bob['id']}", {"daily_limit": 9}),
        program.ask("DELETE", f"/v1/members/{bob['id']}"),
    ]

    assert [reply.status for reply in replies] == [403, 403, 403, 200, 204]


def test_only_an_owner_passes_on_every_scope() -> None:
    assert grants.scopes_of(Role.OWNER) == frozenset(Scope)
    assert Scope.MEMBERS_WRITE not in grants.scopes_of(Role.DEVELOPER)
    assert Scope.CAMPAIGNS_WRITE not in grants.scopes_of(Role.DEVELOPER)
    assert Scope.SEND in grants.scopes_of(Role.DEVELOPER)
    assert Scope.SETUP_WRITE not in grants.scopes_of(Role.MANAGER)
    assert grants.scopes_of(Role.VIEWER) == grants.READING
