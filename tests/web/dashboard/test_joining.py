"""The link of an invitation works once, for one person, and is seen by nobody else."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.accounts.models import AuditEntry, Member, User
from postledger.accounts.people import invitations, members
from postledger.accounts.people.roles import Role
from postledger.deliveries import queries
from tests.cli import installations
from tests.dispatch import office
from tests.providers.fake_smtp import FakeSmtp
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person, person, plant_session

pytestmark = pytest.mark.django_db

BOB = "bob@example.com"
NEW = {"name": "Bob", "password": "correct horse battery"}


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def invited(alice: Person, email: str = BOB, *, ago: timedelta = timedelta()) -> str:
    """The path of a link that was handed out some time ago."""
    now = datetime.now(UTC) - ago
    workspace_id = alice.workspace.pk
    member_id = members.add_member(
        workspace_id, email=email, role=Role.MANAGER, name="Robert", actor=alice.user.email
    )
    invitation = invitations.invite_member(workspace_id, member_id=member_id, now=now, actor="a")
    return f"/join/{invitation.token}"


def test_a_new_person_chooses_a_password_and_is_in_with_a_session_of_their_own(
    alice: Person,
) -> None:
    path, client = invited(alice), Client()
    planted = plant_session(client)
    page = client.get(path)
    assert "Join acme" in read(page)
    assert 'value="Robert"' in page.content.decode()

    done = client.post(path, NEW)

    assert done.headers["Location"] == alice.url()
    assert client.cookies["postledger_session"].value != planted
    assert client.get(alice.url()).status_code == 200
    member = Member.objects.get(email=BOB)
    assert member.user
    assert member.user.check_password(NEW["password"])
    assert (member.role, member.name, member.invitation_hash) == ("manager", "Bob", None)
    joined = AuditEntry.objects.get(action="member.joined")
    assert joined.actor == f"user {member.user.pk}"


def test_a_link_works_once_and_is_used_up_neither_by_a_look_nor_by_a_weak_password(
    alice: Person,
) -> None:
    path = invited(alice)
    for method in ("GET", "HEAD", "GET"):
        assert Client().generic(method, path).status_code == 200
    weak = Client().post(path, {**NEW, "password": BOB})
    assert weak.status_code == 422
    assert "too similar" in read(weak)
    assert Client().post(path, NEW).status_code == 302

    again = Client().post(path, {**NEW, "password": "another good password"})

    assert again.status_code == 404
    assert "does not work" in read(again)
    assert User.objects.get(email=BOB).check_password(NEW["password"])


@pytest.mark.parametrize("what", ["old", "removed", "unknown", "withdrawn"])
def test_every_link_that_does_not_work_gets_the_same_answer(alice: Person, what: str) -> None:
    path = invited(alice, ago=timedelta(days=7) if what == "old" else timedelta())
    member = Member.objects.get(email=BOB)
    if what == "removed":
        members.remove_member(
            alice.workspace.pk, member_id=member.pk, now=datetime.now(UTC), actor="a"
        )
    elif what == "unknown":
        path = f"/join/{'x' * 43}"
    elif what == "withdrawn":
        invitations.invite_member(
            alice.workspace.pk, member_id=member.pk, now=datetime.now(UTC), actor="a"
        )

    answers = [Client().get(path), Client().post(path, NEW)]

    assert {answer.status_code for answer in answers} == {404}
    assert BOB not in "".join(map(read, answers))
    assert not User.objects.filter(email=BOB).exists()


def test_somebody_with_an_account_signs_in_and_then_joins(alice: Person) -> None:
    gina = person(workspace="globex", name="gina")
    path = invited(alice, gina.user.email)

    stranger = Client().get(path)
    refused = Client().post(path, NEW)
    asked = gina.client.get(path)
    before = Member.objects.filter(user=gina.user).count()
    done = gina.client.post(path)

    assert f"/account/login/?next=%2Fjoin%2F{path.rpartition('/')[2]}" in stranger.content.decode()
    assert refused.status_code == 200, "no password is taken without signing in"
    gina.user.refresh_from_db()
    assert not gina.user.password, "it is what it was"
    assert "You are signed in as Gina." in read(asked)
    assert before == 1, "a question joins nobody"
    assert done.headers["Location"] == alice.url()
    assert gina.client.get(alice.url()).status_code == 200
    assert gina.client.get(gina.url()).status_code == 200


def test_somebody_else_who_is_signed_in_cannot_use_the_link(alice: Person) -> None:
    path, mallory = invited(alice), person(workspace="globex", name="mallory")

    for answer in (mallory.client.get(path), mallory.client.post(path, NEW)):
        assert "for another address" in read(answer)
        assert BOB not in read(answer)
    assert mallory.client.get(alice.url()).status_code == 404
    assert Client().post(path, NEW).status_code == 302


def test_a_form_of_another_site_joins_nobody(alice: Person) -> None:
    path = invited(alice)

    forged = Client(enforce_csrf_checks=True).post(path, NEW)

    assert forged.status_code == 403
    assert not User.objects.filter(email=BOB).exists()


def test_the_token_leaks_neither_by_referrers_nor_into_the_log(
    alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    path = invited(alice)
    token = path.rpartition("/")[2]
    caplog.set_level(logging.DEBUG)

    answers = [Client().get(path), Client().get(f"{path}x"), Client().post(path, NEW)]

    assert {answer.headers["Referrer-Policy"] for answer in answers} == {"strict-origin"}
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}
    assert caplog.records, "requests are logged"
    lines = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    assert not [line for line in lines if token in line]


@pytest.mark.django_db(transaction=True)
def test_the_mailed_link_leads_in_and_the_ledger_has_no_link(settings: LazySettings) -> None:
    """From the owner's click over a mail server to the new person's first page."""
    settings.PUBLIC_URL = "https://mail.acme.example"
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    alice = person(name="alice")
    with installations.smtp(FakeSmtp()) as server:
        alice.client.post(
            alice.url("start/provider/"),
            {
                "kind": "smtp",
                "host": "127.0.0.1",
                "port": str(server.port),
                "tls": "none",
                "address": "news@acme.example",
            },
        )
        alice.client.post(
            alice.url("members/invite/"), {"email": BOB, "role": "viewer", "name": ""}
        )
        office.send_all(*queries.stream_ids())
        [letter] = server.journal

    assert letter.recipients == (BOB,)
    content = letter.data.decode().replace("=\r\n", "").replace("=3D", "=")
    path = re.findall(r"https://mail\.acme\.example(/join/[\w-]+)", content)[0]
    assert Client().post(path, NEW).headers["Location"] == alice.url()
