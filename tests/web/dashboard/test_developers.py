"""API keys are created, rotated and revoked; each step is audited, each token shown once."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.accounts.models import ApiKey, AuditEntry
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person, person

pytestmark = pytest.mark.django_db

TOKEN = re.compile(r"pl_(?:live|test)_[a-z0-9]{8}\.[A-Za-z0-9_-]{43}")
SHOP = {"name": "shop", "mode": "live", "scopes": ["mail:send", "mail:read"]}


@pytest.fixture
def dora() -> Person:
    return person(Role.DEVELOPER, name="dora")


def create(who: Person, **changes: object) -> Any:
    return who.client.post(who.url("developers/keys/new/"), {**SHOP, **changes})


def token_of(answer: Any) -> str:
    [token] = TOKEN.findall(answer.content.decode())
    return str(token)


def recognise(token: str, *, later: timedelta = timedelta(0)) -> keys.Caller | None:
    return keys.recognise(token, now=datetime.now(UTC) + later)


def actions_of(who: Person) -> list[tuple[str, str]]:
    rows = AuditEntry.objects.filter(actor=f"user {who.user.pk}").order_by("pk")
    return list(rows.values_list("action", "subject"))


def test_a_new_key_works_and_its_token_is_shown_once(dora: Person) -> None:
    token = token_of(create(dora))
    of_tests = recognise(token_of(create(dora, mode="test")))

    caller = recognise(token)
    assert caller is not None
    assert caller.workspace_id == dora.workspace.pk
    assert caller.scopes == {"mail:send", "mail:read"}
    assert of_tests is not None
    assert (caller.is_test, of_tests.is_test) == (False, True)
    assert actions_of(dora)[0] == ("key.created", f"key {caller.prefix}")
    page = dora.client.get(dora.url("developers/"))
    assert f"shop {caller.prefix} mail:read mail:send" in read(page)
    assert token.partition(".")[2] not in page.content.decode()


def test_a_resent_form_makes_no_second_key(dora: Person) -> None:
    form = dora.client.get(dora.url("developers/keys/new/")).content.decode()
    [nonce] = re.findall(r'name="nonce" value="([^"]+)"', form)
    create(dora, nonce=nonce)

    resent = create(dora, nonce=nonce)

    assert (resent.status_code, resent.headers["Location"]) == (302, dora.url("developers/"))
    assert "This key was created already; its token is shown once." in read(
        dora.client.get(dora.url("developers/"))
    )
    assert len(actions_of(dora)) == 1
    assert dora.client.get(dora.url("developers/keys/new/")).context["form"]["nonce"].value() != (
        nonce
    )


def test_a_wrong_key_is_refused_in_words_and_keeps_what_was_typed(dora: Person) -> None:
    """A developer may neither manage members nor launch, and so cannot let a key do it."""
    wrong: tuple[tuple[dict[str, object], str], ...] = (
        ({"name": ""}, "This field is required."),
        ({"name": "shop\u202e"}, "Use printable characters only."),
        ({"scopes": []}, "Choose at least one thing that it may do."),
        ({"scopes": ["mail:fly"]}, "mail:fly"),
        ({"scopes": ["members:write"]}, "members:write"),
        ({"scopes": ["campaigns:write"]}, "campaigns:write"),
        ({"mode": "moon"}, "moon"),
    )
    for changes, words in wrong:
        answer = create(dora, **changes)

        assert answer.status_code == 422, changes
        assert words in read(answer)
        assert str(changes.get("name", "shop")) in answer.content.decode(), changes
    assert not ApiKey.objects.exists()


def test_an_owner_passes_on_everything_and_names_whose_limit_counts() -> None:
    alice = person(name="alice")
    every = [scope.value for scope in Scope]

    caller = recognise(token_of(create(alice, scopes=every, member=alice.member.pk)))

    assert caller is not None
    assert caller.scopes == set(every)
    assert caller.member_id == alice.member.pk
    assert " Everything " in read(alice.client.get(alice.url("developers/")))


def test_a_rotated_key_works_until_the_chosen_moment_and_its_successor_at_once(
    dora: Person,
) -> None:
    old = token_of(create(dora))
    prefix = old.partition(".")[0]

    new = token_of(
        dora.client.post(dora.url(f"developers/keys/{prefix}/rotate/"), {"overlap": "hour"})
    )

    assert new != old
    assert recognise(new) is not None
    assert recognise(old, later=timedelta(minutes=59)) is not None
    assert recognise(old, later=timedelta(minutes=61)) is None
    assert "Rotated; works until" in read(dora.client.get(dora.url("developers/")))
    assert actions_of(dora)[-1] == ("key.rotated", f"key {prefix}")


def test_a_key_that_may_do_more_than_the_developer_is_not_rotated_by_them(dora: Person) -> None:
    new = keys.create_key(
        dora.workspace.pk, name="all", scopes=[Scope.MEMBERS_WRITE], actor="alice"
    )
    url = dora.url(f"developers/keys/{new.prefix}/rotate/")

    answer = dora.client.post(url, {"overlap": "day"})

    assert answer.status_code == 409
    assert "Ask an owner to rotate it." in read(answer)
    assert ApiKey.objects.count() == 1


def test_a_revoked_key_stops_working_and_stays_in_the_list_of_ended_ones(dora: Person) -> None:
    token = token_of(create(dora))
    prefix = token.partition(".")[0]
    url = dora.url(f"developers/keys/{prefix}/revoke/")

    asked = read(dora.client.get(url))
    before = recognise(token)
    dora.client.post(url)

    assert "Revoke shop?" in asked
    assert before is not None
    assert recognise(token) is None
    assert "1 key that ended" in read(dora.client.get(dora.url("developers/")))
    assert actions_of(dora)[-1] == ("key.revoked", f"key {prefix}")


def test_a_removed_member_cannot_be_named(dora: Person) -> None:
    alice = person(name="alice")
    members.remove_member(
        alice.workspace.pk, member_id=dora.member.pk, now=datetime.now(UTC), actor="a"
    )

    assert create(alice, member=dora.member.pk).status_code == 422
