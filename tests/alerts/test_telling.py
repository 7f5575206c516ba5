"""Members are told once, through a sender that may send, and only who may decide."""

import pytest
from pytest_django import Settings

from postledger.accounts.models import Member, Sender, Workspace
from postledger.alerts import queries, telling, watching
from postledger.deliveries import ledger
from postledger.deliveries.reasons import Reason
from postledger.transactional import free_senders, sender_streams
from tests import cast
from tests.alerts import house
from tests.deliveries.models import Body, Stream

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme() -> Workspace:
    return house.open_house(members=2)


def told_through() -> set[str]:
    """The senders of the mails about alerts."""
    streams = Body.objects.filter(tags__contains=["alert"]).values("stream_id")
    through = Stream.objects.filter(pk__in=streams).values("sender_id")
    return set(Sender.objects.filter(pk__in=through).values_list("address", flat=True))


def test_every_owner_is_told_through_the_free_sender_when_the_default_is_held(
    acme: Workspace, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://mail.example/"
    house.add_sender(acme, "second@acme.example")
    house.break_down()

    for minutes in (3, 4):
        watching.watch(house.after(minutes=minutes))

    subject = "acme: news@acme.example is held"
    assert house.told_mails() == [
        ("owner0@acme.example", subject),
        ("owner1@acme.example", subject),
    ]
    assert told_through() == {"second@acme.example"}
    mail = Body.objects.filter(tags__contains=["alert"])[0]
    for part in (mail.html, mail.text):
        assert f"https://mail.example/w/{acme.pk}/attention/" in part
        assert "the provider refuses this sender" in part
        assert "Since " in part


def test_the_default_sender_tells_while_it_is_free(acme: Workspace) -> None:
    house.add_sender(acme, "second@acme.example")
    ledger.hold_sender(
        Sender.objects.get(address="second@acme.example").pk,
        reason=Reason.SENDER_BLOCKED,
        actor="dispatcher",
    )

    watching.watch(house.after(minutes=3))

    assert told_through() == {"news@acme.example"}


def test_without_a_free_sender_it_stays_untold_and_is_told_later(acme: Workspace) -> None:
    house.break_down()
    now = house.after(minutes=3)
    watching.watch(now)

    [alert] = queries.list_open(acme.pk, now=now)
    assert (alert.told_at, alert.untold_reason) == (None, "no_free_sender")

    house.add_sender(acme, "second@acme.example")
    watching.watch(house.after(minutes=4))
    [alert] = queries.list_open(acme.pk, now=house.after(minutes=4))
    assert alert.told_at is not None
    assert alert.untold_reason is None
    assert len(house.told_mails()) == 2


def test_a_sender_whose_single_mails_are_paused_is_not_free(acme: Workspace) -> None:
    stream = sender_streams.find_stream(acme.pk, sender=None, is_test=False, now=house.after())
    assert free_senders.find_free_sender(acme.pk) is not None

    ledger.hold(stream.stream_id, reason=Reason.PAUSED, actor="alice")

    assert free_senders.find_free_sender(acme.pk) is None


def test_a_sender_without_an_account_or_archived_is_not_free(acme: Workspace) -> None:
    Sender.objects.create(workspace=acme, address="bare@acme.example")
    second = house.add_sender(acme, "second@acme.example")
    house.break_down()
    assert free_senders.find_free_sender(acme.pk) == second

    Sender.objects.filter(pk=second.pk).update(archived_at=house.after())

    assert free_senders.find_free_sender(acme.pk) is None


def test_only_members_who_may_decide_and_have_joined_are_told(acme: Workspace) -> None:
    for role in ("manager", "developer", "viewer"):
        house.add_member(acme, f"{role}@acme.example", role=role)
    Member.objects.create(
        workspace=acme, email="invited@acme.example", role="owner", invitation_hash=b"1"
    )
    gone = Member.objects.get(email="owner1@acme.example")
    Member.objects.filter(pk=gone.pk).update(removed_at=house.after())

    told = [member.email for member in telling.list_told_members(acme.pk)]

    assert told == ["developer@acme.example", "manager@acme.example", "owner0@acme.example"]


def test_without_a_member_the_alert_says_that_nobody_can_be_told() -> None:
    globex = house.open_house("globex", members=0)
    cast.lose(cast.stream(mails=1, workspace="globex"), size=1)
    now = house.after(minutes=61)

    watching.watch(now)

    [alert] = queries.list_open(globex.pk, now=now)
    assert (alert.told_at, alert.untold_reason) == (None, "no_member")


def test_alerts_that_open_together_are_one_mail(acme: Workspace) -> None:
    house.add_sender(acme, "second@acme.example")
    cast.lose(cast.stream(mails=1), size=1)
    house.break_down()

    watching.watch(house.after(minutes=61))

    assert [subject for _, subject in house.told_mails()] == ["acme: 2 things need attention"] * 2
    assert all(told for *_, told in house.alerts())


def test_where_the_mail_is_refused_the_alert_stays_untold_until_it_can_be_written(
    acme: Workspace,
) -> None:
    cast.lose(cast.stream(mails=1), size=1)
    first = acme.member_set.order_by("pk")[0]
    acme.member_set.filter(pk=first.pk).update(email="not an address")

    watching.watch(house.after(minutes=61))
    assert house.alerts() == [("in_doubt", "", True, False)]
    assert house.told_mails() == []

    acme.member_set.filter(pk=first.pk).update(email=first.email)
    watching.watch(house.after(minutes=62))
    assert house.alerts() == [("in_doubt", "", True, True)]
    assert len(house.told_mails()) == 2
