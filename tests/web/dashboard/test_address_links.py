"""The link to a new address works once, for an hour, for the person who asked for it."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from postledger.accounts.models import AuditEntry, Member, User, Workspace
from postledger.accounts.people import address_changes, invitations, members
from postledger.accounts.people.roles import Role
from tests.web.dashboard import letters, new_addresses, sign_ins
from tests.web.dashboard.new_addresses import (
    CHANGE,
    GONE,
    address_of,
    get_link,
    new_address,
    read,
)
from tests.web.dashboard.sign_ins import browser, person, signed_in

pytestmark = pytest.mark.django_db

TAKEN = "This address is taken"


@pytest.fixture(autouse=True)
def installation(settings: LazySettings) -> None:
    new_addresses.prepare(settings)


@pytest.fixture
def bob() -> User:
    """A member of a workspace whose sender reaches people."""
    letters.give_sender("acme")
    return person()


def test_opening_the_link_changes_nothing(bob: User) -> None:
    former, new = bob.email, new_address()
    link, client = get_link(bob, new), signed_in(bob)

    for method in ("GET", "HEAD", "GET"):
        answer = client.generic(method, link)
        assert answer.status_code == 200
        assert answer.headers["Referrer-Policy"] == "strict-origin"
    page = read(client.get(link))

    assert f"You sign in with {former} now, and with {new} afterwards." in page
    assert address_of(bob) == former


def test_a_form_of_another_site_changes_nothing(bob: User) -> None:
    former, new = bob.email, new_address()
    link, client = get_link(bob, new), browser(is_strict=True)
    client.force_login(bob)

    assert client.post(link).status_code == 403
    assert client.post(CHANGE, {"email": new_address()}).status_code == 403
    assert address_of(bob) == former


def test_a_link_works_once_and_ends_the_others_also_after_the_former_address_is_back(
    bob: User,
) -> None:
    former, new = bob.email, new_address()
    link, other = get_link(bob, new), get_link(bob, new_address())
    client = signed_in(bob)
    client.post(link)
    assert address_of(bob) == new, "an earlier letter works, too"

    again = client.post(link)
    assert again.status_code == 404
    for answer in (again, client.post(other)):
        assert GONE in read(answer)

    call_command("member", "address", new, former)
    for used in (link, other):
        assert GONE in read(client.get(used))
        assert GONE in read(client.post(used))
    assert address_of(bob) == former


def test_a_link_works_for_an_hour(bob: User) -> None:
    made_at, new = datetime.now(UTC), new_address()
    link = address_changes.make_link(bob, address=new, now=made_at)
    token = link.path.rstrip("/").rpartition("/")[2]
    hour = timedelta(hours=1)

    assert link.valid_until == made_at + hour
    change = address_changes.find_change(token, now=made_at + hour - timedelta(seconds=1))
    assert (change.user, change.address) == (bob, new)
    old = address_changes.make_link(bob, address=new, now=made_at - hour).path
    for answer in (signed_in(bob).get(old), signed_in(bob).post(old)):
        assert answer.status_code == 404
        assert GONE in read(answer)


def test_another_password_or_address_ends_a_link(bob: User) -> None:
    by_address = get_link(bob, new_address())
    call_command("member", "address", bob.email, new_address())
    bob.refresh_from_db()
    assert GONE in read(signed_in(bob).post(by_address))

    by_password = get_link(bob, new_address())
    bob.set_password("a much longer password")
    bob.save()
    assert GONE in read(signed_in(bob).post(by_password))


def test_a_link_that_was_changed_does_not_work(bob: User) -> None:
    other = person()
    link = get_link(bob, new_address())
    number, _, signed = link.removeprefix(CHANGE).rstrip("/").partition("-")
    last = "a" if signed[-1] != "a" else "b"
    foreign = address_changes.make_link(other, address="x@new.example", now=datetime.now(UTC)).path
    other_number = foreign.removeprefix(CHANGE).partition("-")[0]

    client = signed_in(bob)
    for tampered in (
        f"{number}-{signed[:-1]}{last}",
        f"{other_number}-{signed}",
        f"zzzzzzzzzzzzz-{signed}",
        f"{'z' * 40}-{signed}",
        f"-{signed}",
        number,
        f"{number}-",
        f"{number}-ü:ж",
    ):
        answer = client.post(f"{CHANGE}{tampered}/")
        assert answer.status_code == 404, tampered
        assert GONE in read(answer), tampered


def test_somebody_else_who_is_signed_in_cannot_use_a_link(bob: User) -> None:
    former, mallory, new = bob.email, person(), new_address()
    link, own = get_link(bob, new), mallory.email

    for answer in (signed_in(mallory).get(link), signed_in(mallory).post(link)):
        assert "This link is for another person" in read(answer)
        assert new not in read(answer)
        assert former not in read(answer)
    assert (address_of(bob), address_of(mallory)) == (former, own)


def test_who_is_not_signed_in_is_asked_to_sign_in_and_led_back(bob: User) -> None:
    former, new = bob.email, new_address()
    link, client = get_link(bob, new), browser()

    for answer in (client.get(link), client.post(link)):
        assert "Sign in with the address that you have had until now" in read(answer)
        assert new not in read(answer)
    assert address_of(bob) == former

    values = {"login": former, "password": sign_ins.PASSWORD, "next": link}
    led_back = client.post("/account/login/", values)
    assert led_back.headers["Location"] == link
    client.post(link)
    assert address_of(bob) == new


def test_an_address_that_somebody_signs_in_with_is_refused_when_the_link_is_used(
    bob: User,
) -> None:
    former, other = bob.email, person(workspace="globex")
    link = get_link(bob, other.email)

    answer = signed_in(bob).post(link)

    assert answer.status_code == 409
    assert TAKEN in read(answer)
    assert "Somebody else signs in with this address already." in read(answer)
    assert address_of(bob) == former
    assert not AuditEntry.objects.filter(action="member.address_changed").exists()
    assert letters.letters_to(former) == []


def test_an_address_that_a_workspace_of_theirs_has_invited_is_refused(bob: User) -> None:
    former, invited = bob.email, new_address()
    workspace_id = Member.objects.get(user=bob).workspace_id
    members.add_member(workspace_id, email=invited.upper(), role=Role.VIEWER, actor="alice")

    answer = signed_in(bob).post(get_link(bob, invited))

    assert answer.status_code == 409
    assert "an invitation, of the same workspace has this address" in read(answer)
    assert address_of(bob) == former
    assert Member.objects.get(user=bob).email == former


def test_an_invitation_of_another_workspace_can_be_accepted_with_the_new_address(
    bob: User,
) -> None:
    new, now = new_address(), datetime.now(UTC)
    globex = Workspace.objects.create(name="globex")
    member_id = members.add_member(globex.pk, email=new, role=Role.VIEWER, actor="gina")
    token = invitations.invite_member(globex.pk, member_id=member_id, now=now, actor="gina").token
    client = signed_in(bob)
    client.post(get_link(bob, new))

    client.post(f"/join/{token}")

    assert Member.objects.get(pk=member_id).user == bob


def test_neither_a_link_nor_an_address_gets_into_the_log(
    bob: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    former, new = bob.email, new_address()
    link = get_link(bob, new)
    token = link.removeprefix(CHANGE).rstrip("/")
    signed_in(bob).get(link)
    signed_in(bob).post(link)

    lines = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    assert lines, "requests are logged"
    for secret in (token, new, former):
        assert not [line for line in lines if secret in line]
