"""An owner invites people, changes what they may do, and removes them; each step is audited."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import AuditEntry, Member
from postledger.accounts.people import invitations, members
from postledger.accounts.people.roles import Role
from postledger.deliveries import search
from postledger.deliveries.search import MailFilters
from tests import cast
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person, person

pytestmark = pytest.mark.django_db

LINK = re.compile(r"https?://[^\s<]+/join/[\w-]+")
BOB = {"email": "bob@example.com", "name": "Bob", "role": "viewer"}


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def invite(alice: Person, **changes: str) -> Any:
    return alice.client.post(alice.url("members/invite/"), {**BOB, **changes})


def actions_of(alice: Person) -> list[str]:
    rows = AuditEntry.objects.filter(actor=f"user {alice.user.pk}").order_by("pk")
    return list(rows.values_list("action", flat=True))


def connect(alice: Person) -> None:
    """Gives acme a sender that reaches people."""
    account_id = provider_accounts.create_account(
        alice.workspace.pk, name="relay", kind="smtp", settings={"host": "127.0.0.1"}, actor="a"
    )
    senders.attach_sender(
        alice.workspace.pk, sender_id=cast.sender().pk, account_id=account_id, actor="a"
    )


def mails_to(alice: Person, address: str) -> int:
    now = datetime.now(UTC)
    page = search.search(alice.workspace.pk, MailFilters(address=address), limit=10, now=now)
    return len(page.mails)


def test_the_list_shows_roles_states_and_who_has_a_second_factor(alice: Person) -> None:
    now = datetime.now(UTC)
    Authenticator.objects.create(user=alice.user, type=Authenticator.Type.TOTP, data={})
    person(Role.DEVELOPER, name="dora")
    for name, moment in (("ivan", now), ("late", now - timedelta(days=8)), ("new", None)):
        member_id = members.add_member(
            alice.workspace.pk, email=f"{name}@example.com", role=Role.VIEWER, actor="a"
        )
        if moment:
            invitations.invite_member(
                alice.workspace.pk, member_id=member_id, now=moment, actor="a"
            )

    page = read(alice.client.get(alice.url("members/")))

    for address, state in (
        ("alice@acme.example", "Joined On"),
        ("dora@acme.example", "Developer Joined Off"),
        ("ivan@example.com", "Invited until"),
        ("late@example.com", "Invitation expired"),
        ("new@example.com", "Not invited yet"),
    ):
        assert re.search(rf"{address}(?:(?!@).)*{state}", page), address


def test_an_invitation_is_mailed_and_the_page_has_no_link(
    alice: Person, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example"
    connect(alice)

    answer = invite(alice)

    assert answer.headers["Location"] == alice.url("members/")
    assert mails_to(alice, "bob@example.com") == 1
    page = alice.client.get(alice.url("members/"))
    assert "An invitation is on its way to bob@example.com." in read(page)
    assert not LINK.search(page.content.decode())
    assert actions_of(alice) == ["member.added", "member.invited"]
    member = Member.objects.get(email="bob@example.com")
    assert (member.role, member.name, member.user) == ("viewer", "Bob", None)


@pytest.mark.parametrize("reason", ["no sender", "no address", "the sandbox"])
def test_where_no_mail_can_go_the_link_is_shown_once(
    alice: Person, settings: LazySettings, reason: str
) -> None:
    settings.PUBLIC_URL = "" if reason == "no address" else "https://mail.acme.example"
    if reason == "no address":
        connect(alice)
    if reason == "the sandbox":
        alice.client.post(alice.url("start/provider/"), {"sandbox": "1"})

    [link] = LINK.findall(invite(alice).content.decode())

    token = link.rpartition("/")[2]
    assert invitations.find_invitation(token, now=datetime.now(UTC)).email == "bob@example.com"
    assert not LINK.search(alice.client.get(alice.url("members/")).content.decode())
    assert mails_to(alice, "bob@example.com") == 0
    member = Member.objects.get(email="bob@example.com")
    again = alice.client.post(alice.url(f"members/{member.pk}/invite/"))
    [second] = LINK.findall(again.content.decode())
    assert alice.client.get(link[link.index("/join") :]).status_code == 404
    assert alice.client.get(second[second.index("/join") :]).status_code == 200


def test_what_is_wrong_with_an_invitation_stands_beside_its_field(alice: Person) -> None:
    for name, value, words in (
        ("email", "ALICE@acme.example", "member already"),
        ("email", "nobody", "not an email address"),
        ("email", "director@museum", "no ending such as .com"),
        ("role", "emperor", "emperor"),
        ("name", "Bob\u202e", "printable"),
    ):
        answer = invite(alice, **{name: value})

        assert answer.status_code == 422, value
        assert words in read(answer)
    assert Member.objects.count() == 1


def test_a_role_and_a_limit_are_changed_and_audited(alice: Person) -> None:
    bob = person(Role.VIEWER, name="bob")
    url = alice.url(f"members/{bob.member.pk}/")

    done = alice.client.post(url, {"role": "manager", "daily_limit": "1.500"})

    assert done.headers["Location"] == alice.url("members/")
    bob.member.refresh_from_db()
    assert (bob.member.role, bob.member.daily_limit) == ("manager", 1500)
    assert actions_of(alice) == ["member.role_changed", "member.limit_changed"]
    alice.client.post(url, {"role": "manager", "daily_limit": ""})
    bob.member.refresh_from_db()
    assert bob.member.daily_limit is None


def test_a_new_role_counts_with_the_next_click(alice: Person) -> None:
    bob = person(Role.VIEWER, name="bob")
    assert bob.client.get(bob.url("members/")).status_code == 403

    alice.client.post(alice.url(f"members/{bob.member.pk}/"), {"role": "owner"})
    assert bob.client.get(bob.url("members/")).status_code == 200

    alice.client.post(alice.url(f"members/{bob.member.pk}/"), {"role": "viewer"})
    assert bob.client.get(bob.url("members/")).status_code == 403


def test_who_is_removed_sees_nothing_any_more_and_can_be_invited_again(alice: Person) -> None:
    bob = person(Role.MANAGER, name="bob")
    url = alice.url(f"members/{bob.member.pk}/remove/")

    alice.client.get(url)
    still = bob.client.get(bob.url()).status_code
    alice.client.post(url)

    assert still == 200, "a question removes nobody"
    assert bob.client.get(bob.url()).status_code == 404
    assert alice.client.get(alice.url(f"members/{bob.member.pk}/")).status_code == 404
    assert actions_of(alice) == ["member.removed"]
    assert invite(alice, email=bob.user.email).status_code == 200


def test_the_last_owner_can_neither_leave_nor_step_down(alice: Person) -> None:
    person(Role.MANAGER, name="bob")
    own = f"members/{alice.member.pk}/"

    stepped = alice.client.post(alice.url(own), {"role": "viewer", "daily_limit": "7"})
    left = alice.client.post(alice.url(f"{own}remove/"))

    for answer in (stepped, left):
        assert answer.status_code in {409, 422}
        assert "Make another member an owner first." in read(answer)
    alice.member.refresh_from_db()
    assert (alice.member.role, alice.member.daily_limit) == ("owner", None), "all or nothing"
    assert alice.member.removed_at is None


def test_names_of_people_are_shown_as_text(alice: Person) -> None:
    Member.objects.filter(pk=alice.member.pk).update(name="<script>alert(1)</script>")

    for path in ("members/", f"members/{alice.member.pk}/"):
        page = alice.client.get(alice.url(path)).content.decode()
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page


def test_somebody_in_two_workspaces_can_switch_and_the_last_one_is_remembered(
    alice: Person,
) -> None:
    globex = person(workspace="globex", name="gina").workspace
    Member.objects.create(
        workspace=globex, user=alice.user, email=alice.user.email, role=Role.VIEWER.value
    )

    page = alice.client.get(alice.url()).content.decode()

    switch = page.partition('<details class="switch">')[2].partition("</details>")[0]
    assert re.findall(r'href="(/w/\d+/)"', switch) == [alice.url(), f"/w/{globex.pk}/"]
    alice.client.get(f"/w/{globex.pk}/")
    assert alice.client.get("/").headers["Location"] == f"/w/{globex.pk}/"
