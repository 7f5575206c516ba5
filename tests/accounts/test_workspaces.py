"""Workspaces, their members and senders, and the first ones that the environment asks for."""

import pytest

from postledger.accounts import queries, senders, workspaces
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.models import AuditEntry, Member, Sender, Workspace
from postledger.accounts.people import members
from postledger.accounts.people.members import MemberExistsError
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import Organisation, SenderUnknownError
from postledger.accounts.senders import SenderExistsError
from postledger.accounts.workspaces import InvalidOrganisationError, WorkspaceExistsError
from postledger.providers.addresses import InvalidAddressError
from postledger.providers.headers import InvalidHeaderError
from tests.races import collide


def first(address: str = "", name: str = "") -> int | None:
    return workspaces.ensure_first_workspace(
        from_email=address, from_name=name, rate_per_second=5, actor="setup"
    )


def test_a_workspace_is_found_and_its_name_taken_whatever_its_capitals(acme: int) -> None:
    workspace = queries.workspace_named("ACME")

    assert workspace
    assert (workspace.id, workspace.name) == (acme, "acme")
    with pytest.raises(WorkspaceExistsError, match="already a workspace “Acme”"):
        workspaces.create_workspace("Acme", actor="bob")
    assert first("hello@acme.example") is None
    assert Workspace.objects.count() == 1


@pytest.mark.django_db
def test_a_name_that_cannot_be_seen_is_refused() -> None:
    for name in ("", " ", " acme", "acme ", "ac\nme", "ac\u202eme", "x" * 101):
        with pytest.raises(
            InvalidNameError, match="cannot be the name of a workspace: use 1 to 100"
        ):
            workspaces.create_workspace(name, actor="alice")


def test_a_person_is_a_member_once_whatever_the_capitals(acme: int, globex: int) -> None:
    members.add_member(acme, email="alice@acme.example", role=Role.OWNER, actor="setup")
    members.add_member(globex, email="alice@acme.example", role=Role.MANAGER, actor="setup")

    with pytest.raises(
        MemberExistsError, match=r"Alice@acme\.example is already a member of this workspace"
    ):
        members.add_member(acme, email="Alice@Acme.example", role=Role.MANAGER, actor="setup")

    with pytest.raises(InvalidAddressError):
        members.add_member(acme, email="alice", role=Role.OWNER, actor="setup")
    assert list(Member.objects.filter(workspace_id=acme).values_list("role")) == [("owner",)]


def test_a_sender_is_found_in_its_workspace_whatever_its_capitals(acme: int, globex: int) -> None:
    sender_id = senders.create_sender(acme, address="News@Acme.Example", actor="alice")

    sender = queries.sender_by_address(acme, address="news@acme.example")

    assert sender
    assert (sender.id, sender.address) == (sender_id, "News@acme.example")
    assert queries.sender_by_address(globex, address="news@acme.example") is None


def test_an_address_is_a_sender_once_in_a_workspace(acme: int, globex: int) -> None:
    senders.create_sender(acme, address="news@acme.example", actor="alice")
    senders.create_sender(globex, address="news@acme.example", actor="charlie")
    before = AuditEntry.objects.count()

    with pytest.raises(SenderExistsError, match="is already a sender of this workspace: attach"):
        senders.create_sender(acme, address="NEWS@acme.example", actor="alice")
    assert AuditEntry.objects.count() == before


def test_a_senders_name_cannot_become_a_header(acme: int) -> None:
    for name in ("Acme\r\nBcc: eve@example.com", "Acme\x00"):
        with pytest.raises(
            InvalidHeaderError, match="sender's name contains the forbidden character"
        ):
            senders.create_sender(acme, address="news@acme.example", name=name, actor="alice")


def test_another_workspaces_sender_is_out_of_reach(acme: int, globex: int) -> None:
    sender_id = senders.create_sender(acme, address="news@acme.example", actor="alice")

    with pytest.raises(SenderUnknownError, match=f"has no sender {sender_id}: use one of its"):
        senders.attach_sender(globex, sender_id=sender_id, account_id=None, actor="charlie")

    assert not AuditEntry.objects.filter(action="sender.attached").exists()


@pytest.mark.django_db
def test_the_first_workspace_gets_the_sender_of_the_environment_and_then_the_rows_win() -> None:
    with pytest.raises(InvalidAddressError):
        first("hello")
    assert not Workspace.objects.exists()

    made = first("hello@acme.example", "Acme")

    sender = Sender.objects.get()
    assert made == sender.workspace_id
    assert (sender.address, sender.name, sender.account_id) == ("hello@acme.example", "Acme", None)
    assert (sender.rate_per_second, sender.rate_per_hour, sender.daily_limit) == (5, None, None)
    assert sender.workspace.name == "default"
    assert first("other@acme.example", "Other") is None
    assert Sender.objects.get().address == "hello@acme.example"


@pytest.mark.django_db
def test_without_an_address_in_the_environment_the_first_workspace_has_no_sender() -> None:
    assert first(name="Acme")
    assert not Sender.objects.exists()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_first_starts_at_once_one_makes_the_workspace() -> None:
    with collide.uncommitted(lambda: first("hello@acme.example")) as one:
        other = collide.start(lambda: first("hello@acme.example"))
        other.must_wait()

        assert one.answer()
        assert other.answer() is None

    assert Workspace.objects.count() == Sender.objects.count() == 1


def test_a_name_that_a_footer_cannot_show_is_refused(acme: int) -> None:
    for text in ("{{ name }}", "Acme {", "Acme }", "two\nlines", "a" * 201):
        for organisation in (Organisation(name=text), Organisation(address=text)):
            with pytest.raises(
                InvalidOrganisationError, match="name or address of an organisation"
            ):
                workspaces.set_organisation(acme, organisation, actor="alice")


def test_a_workspace_that_does_not_exist_is_not_changed(acme: int) -> None:
    with pytest.raises(Workspace.DoesNotExist):
        workspaces.set_time_zone(acme + 1, "Europe/Lisbon", actor="alice")
