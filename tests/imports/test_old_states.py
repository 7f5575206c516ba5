"""Who left the old tool is not mailed by an import from it."""

from pathlib import Path

import pytest

from postledger.contacts import queries, suppressions
from postledger.contacts.actions import erasing
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.states import SubscriptionState, SuppressionReason
from postledger.imports import old_states
from postledger.imports.old_states import OldState
from tests.contacts import people
from tests.imports import files

pytestmark = pytest.mark.django_db

STATES = {
    "in@example.com": "subscribed",
    "left@example.com": "Unsubscribed",
    "gone@example.com": "cleaned",
    "angry@example.com": "Spam complaint",
    "client@example.com": "Non-Subscribed",
    "riddle@example.com": "zurückgestellt",
    "silent@example.com": "",
}
CONTENT = "email,Status\n" + "".join(f"{address},{said}\n" for address, said in STATES.items())
MAPPING = {"Status": "old_state"}


def subscribed() -> set[str]:
    active = Subscription.objects.filter(state=SubscriptionState.ACTIVE.value)
    return set(active.values_list("contact__address", flat=True))


def test_who_left_the_old_tool_is_taken_and_never_mailed(acme: int, tmp_path: Path) -> None:
    people.news(acme)

    done = files.import_file(
        acme, files.write_file(tmp_path, CONTENT), list_key="news", mapping=MAPPING
    )

    assert (done.created, done.subscribed, done.kept_back) == (7, 1, 6)
    assert subscribed() == {"in@example.com"}
    states = dict(Contact.objects.values_list("address", "state"))
    assert {address: state for address, state in states.items() if state != "active"} == {
        "left@example.com": "unsubscribed",
        "gone@example.com": "bounced",
        "angry@example.com": "unsubscribed",
    }
    for address, reason in (
        ("left@example.com", SuppressionReason.UNSUBSCRIBED),
        ("gone@example.com", SuppressionReason.BOUNCED),
        ("angry@example.com", SuppressionReason.COMPLAINED),
    ):
        assert suppressions.find_status(acme, address=address).reason is reason


def test_the_history_names_the_import_that_said_who_left(acme: int, tmp_path: Path) -> None:
    done = files.import_file(acme, files.write_file(tmp_path, CONTENT), mapping=MAPPING)

    left = Contact.objects.get(address="left@example.com")
    [event] = queries.list_history(acme, contact_id=left.pk)
    assert event.source == f"import {done.id} of people.csv"


def test_states_that_nobody_knows_are_listed_with_their_rows(acme: int, tmp_path: Path) -> None:
    people.news(acme)

    path = files.write_file(tmp_path, CONTENT)
    summary, kept = files.preview_file(acme, path, list_key="news", mapping=MAPPING)

    assert summary.kept_back == {
        "old_unsubscribed": 1,
        "old_bounced": 1,
        "old_complained": 1,
        "old_not_subscribed": 1,
        "old_unknown": 2,
    }
    unknown = [(one.row, one.value) for one in kept if one.column == "Status"]
    assert unknown == [(7, "zurückgestellt"), (8, "")]
    assert not Contact.objects.exists()
    assert not suppressions.list_page(acme, limit=1)


def test_an_import_ends_a_subscription_here_that_ended_in_the_old_tool(
    acme: int, tmp_path: Path
) -> None:
    people.news(acme)
    people.member(acme, "left@example.com")
    people.member(acme, "client@example.com")

    done = files.import_file(
        acme, files.write_file(tmp_path, CONTENT), list_key="news", mapping=MAPPING
    )

    assert Contact.objects.get(address="left@example.com").state == "unsubscribed"
    # Whom the old tool did not mail may have joined here.
    assert "client@example.com" in subscribed()
    assert done.kept_back == 5


def test_no_state_of_the_old_tool_raises_a_consent(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    people.member(acme, "in@example.com")
    people.leave(acme, "in@example.com", "news")

    files.import_file(acme, files.write_file(tmp_path, CONTENT), list_key="news", mapping=MAPPING)

    assert subscribed() == set()


def test_a_row_that_repeats_an_address_can_end_its_mail(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    content = "email,Status\na@example.com,subscribed\nA@example.com,unsubscribed\n"

    done = files.import_file(
        acme, files.write_file(tmp_path, content), list_key="news", mapping=MAPPING
    )

    assert (done.subscribed, done.kept_back, done.duplicates) == (0, 1, 1)


def test_an_erased_person_is_not_named_again_by_the_state_in_the_old_tool(
    acme: int, tmp_path: Path
) -> None:
    erasing.erase(acme, address="left@example.com", actor="bob", now=people.NOW)

    done = files.import_file(acme, files.write_file(tmp_path, CONTENT), mapping=MAPPING)

    assert done.refused == 1
    kept = suppressions.list_of_address(acme, address="left@example.com")
    assert [one.address for one in kept] == [None]


@pytest.mark.parametrize("name", ["Status", "EMAIL_MARKETING_STATUS", "Статус", "Estado"])
def test_a_column_is_taken_for_a_state_by_its_name_and_values(
    acme: int, tmp_path: Path, name: str
) -> None:
    people.news(acme)
    content = CONTENT.replace("Status", name, 1).replace("zurückgestellt", "abgemeldet")

    files.import_file(acme, files.write_file(tmp_path, content), list_key="news")

    assert subscribed() == {"in@example.com"}


@pytest.mark.parametrize(
    "content", ["email,state\na@example.com,Ohio\n", "email,plan\na@example.com,active\n"]
)
def test_other_columns_stay_attributes(acme: int, tmp_path: Path, content: str) -> None:
    people.news(acme)

    files.import_file(acme, files.write_file(tmp_path, content), list_key="news")

    assert subscribed() == {"a@example.com"}
    assert Contact.objects.get().attributes


@pytest.mark.parametrize(
    ("cell", "state"),
    [
        ("Angemeldet", OldState.SUBSCRIBED),
        ("opted-in", OldState.SUBSCRIBED),
        ("подтвержден", OldState.SUBSCRIBED),
        ("abgemeldet", OldState.UNSUBSCRIBED),
        ("Отписан", OldState.UNSUBSCRIBED),
        ("Désabonné", OldState.UNSUBSCRIBED),
        ("dado de baja", OldState.UNSUBSCRIBED),
        ("wypisana", OldState.UNSUBSCRIBED),
        ("Descadastrado", OldState.UNSUBSCRIBED),
        ("hard_bounce", OldState.BOUNCED),
        ("nicht abonniert", OldState.NOT_SUBSCRIBED),
        ("Beschwerde", OldState.COMPLAINED),
        ("yes", OldState.UNKNOWN),
    ],
)
def test_the_words_of_other_tools_are_read(cell: str, state: OldState) -> None:
    assert old_states.read_old_state(cell) is state
