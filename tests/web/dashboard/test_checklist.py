"""The checklist tells what is left to do from facts, and sends nobody to a page that is shut."""

from dataclasses import replace

import pytest
from allauth.mfa.models import Authenticator

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts.queries import Organisation
from postledger.contacts.models import Contact
from postledger.deliveries import entries
from postledger.web.dashboard.access import find_visitor
from postledger.web.dashboard.first_steps import checklist
from postledger.web.dashboard.first_steps.checklist import Checklist, Facts
from tests import cast
from tests.deliveries import views
from tests.deliveries.models import Stream
from tests.web.dashboard.visitors import Person, person

PAGES = {
    "security": "/security",
    "settings": "/settings",
    "start_provider": "/provider",
    "start_email": "/email",
    "sender_edit": "/sender",
    "senders": "/senders",
    "imports": "/imports",
    "branding": "/branding",
}
NOTHING = Facts(
    owner="alice@acme.example",
    has_two_factor=False,
    has_own_name=False,
    senders=(),
    unchecked="",
    nameless=(1, "news@acme.example"),
    has_sandbox=False,
    has_accepted=False,
    has_simulator=False,
    has_report=False,
    has_contacts=False,
    has_footer=False,
)


def done(facts: Facts) -> list[bool]:
    return [item.is_done for item in checklist.list_items(facts, PAGES)]


def build(visitor: Person) -> Checklist:
    found = find_visitor(visitor.user, visitor.workspace.pk)
    assert found
    return checklist.build_checklist(found)


def titles_done(visitor: Person) -> set[str]:
    return {item.title for item in build(visitor).items if item.is_done}


def test_each_fact_ticks_its_own_item_off() -> None:
    changes: list[dict[str, object]] = [
        {"has_two_factor": True},
        {"has_own_name": True},
        {"senders": ("news@acme.example",)},
        {"has_accepted": True},
        {"has_sandbox": True, "nameless": None},
        {"has_contacts": True},
        {"has_footer": True},
    ]
    ticked = [done(replace(NOTHING, **change)) for change in changes]  # type: ignore[arg-type]

    assert done(NOTHING) == [True, *[False] * 7]
    assert [row.index(True, 1) for row in ticked] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.django_db
def test_facts_of_the_workspace_finish_the_list() -> None:
    alice = person(name="alice")
    assert titles_done(alice) == {"Create the owner", "Give the workspace a name"}
    account_id = provider_accounts.create_account(
        alice.workspace.pk, name="ses", kind="ses", settings={"region": "eu-west-1"}, actor="a"
    )
    sender = cast.sender()
    senders.rename_sender(alice.workspace.pk, sender_id=sender.pk, name="Acme", actor="a")
    senders.attach_sender(alice.workspace.pk, sender_id=sender.pk, account_id=account_id, actor="a")
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m-1"))
    Contact.objects.create(workspace=alice.workspace, address="bob@example.com")
    acme = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(alice.workspace.pk, acme, actor="alice")
    Authenticator.objects.create(user=alice.user, type=Authenticator.Type.TOTP, data={})

    views.report(stream_id, 0, "delivered", "sandbox-1")
    Stream.objects.update(reported=1)
    [left] = [item for item in build(alice).items if not item.is_done]
    assert left.title == "See that reports come back: deliveries, bounces, complaints"

    views.report(stream_id, 0, "delivered", "0102018f-ses")
    assert not build(alice).is_open


@pytest.mark.django_db
def test_reports_are_asked_of_no_sandbox() -> None:
    alice = person(name="alice")
    sandbox_id = provider_accounts.create_account(
        alice.workspace.pk, name="sandbox", kind="sandbox", settings={}, actor="a"
    )
    senders.attach_sender(
        alice.workspace.pk, sender_id=cast.sender().pk, account_id=sandbox_id, actor="a"
    )

    assert not any("reports" in item.title for item in build(alice).items)


@pytest.mark.django_db
def test_what_others_have_done_ticks_nothing_off() -> None:
    alice = person(name="alice")
    stream_id = cast.stream(mails=1, workspace="globex")
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m-1"))
    test_id = cast.stream(mails=1, is_test=True)
    cast.book(test_id, lambda position: entries.accepted(position, message_id="m-2"))

    assert titles_done(alice) == {"Create the owner", "Give the workspace a name"}
