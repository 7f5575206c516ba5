"""Who left the old tool is not mailed by an import from it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.campaigns.drafts import drafts, recipients
from postledger.contacts import queries, suppressions
from postledger.contacts.actions import erasing
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.state_columns import StateColumn
from postledger.contacts.states import SubscriptionState, SuppressionReason
from postledger.imports import old_states, running
from postledger.imports.old_states import OldState
from tests.campaigns import press
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
    path = files.write_file(tmp_path, CONTENT)

    summary, tried = files.preview_file(acme, path, list_key="news", mapping=MAPPING)
    assert not Contact.objects.exists()
    assert not suppressions.list_page(acme, limit=1)
    done = files.import_file(acme, path, list_key="news", mapping=MAPPING)

    assert summary.kept_back == {
        "old_unsubscribed": 1,
        "old_bounced": 1,
        "old_complained": 1,
        "old_not_subscribed": 1,
        "old_unknown": 2,
    }
    unknown = [(one.row, one.value) for one in tried if one.column == "Status"]
    assert unknown == [(7, "zurückgestellt"), (8, "")]
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
    left = Contact.objects.get(address="left@example.com")
    [event] = queries.list_history(acme, contact_id=left.pk)
    assert event.source == f"import {done.id} of people.csv"


def test_no_campaign_reaches_whom_the_old_tool_did_not_mail_before_they_are_subscribed(
    settings: Settings, tmp_path: Path
) -> None:
    acme, now = press.set_up_workspace(settings), datetime.now(UTC) + timedelta(minutes=1)
    people.news(acme)
    people.contact(acme, "here@example.com")
    rows = "here@example.com,pending\nasked@example.com,pending\nshop@example.com,Non-Subscribed\n"
    path = files.write_file(tmp_path, f"email,Status\n{rows}new@example.com,subscribed\n")
    campaign = drafts.find_campaign(acme, press.campaign(acme))

    done = files.import_file(acme, path)
    counts = recipients.count_recipients(acme, campaign, now=now)
    asked = Contact.objects.get(address="asked@example.com")
    people.subscribe(acme, asked.pk)
    confirmed = recipients.count_recipients(acme, campaign, now=now)
    files.import_file(acme, path)

    assert (counts.number, counts.excluded) == (2, {"unconfirmed": 2})
    assert (confirmed.number, confirmed.excluded) == (3, {"unconfirmed": 1})
    assert not people.is_unconfirmed(asked.pk)
    [event] = queries.list_history(
        acme, contact_id=Contact.objects.get(address="shop@example.com").pk
    )
    assert (event.source, event.after) == (f"import {done.id} of people.csv", "unconfirmed")


def test_whom_an_import_made_unconfirmed_stays_until_somebody_erases_them(
    acme: int, tmp_path: Path
) -> None:
    people.suppress(acme, "client@example.com")
    files.import_file(acme, files.write_file(tmp_path, CONTENT), mapping=MAPPING)
    form = people.unconfirmed(acme, "form@example.com")
    files.import_file(acme, files.write_file(tmp_path, "email,Status\nform@example.com,pending\n"))
    Contact.objects.update(created_at=people.NOW - timedelta(days=99))

    removed = erasing.remove_unconfirmed(people.NOW)

    assert removed == 1
    assert Contact.objects.get(pk=form).deleted_at is not None
    client = Contact.objects.get(address="client@example.com")
    assert client.is_unconfirmed
    kept = suppressions.list_of_address(acme, address="client@example.com")
    assert [source.actor for source in suppressions.find_sources(kept).values()] == ["bob"]
    erasing.erase(acme, address="client@example.com", actor="bob", now=people.NOW)
    assert queries.list_history(acme, contact_id=client.pk) == []


def test_a_state_of_the_old_tool_ends_a_subscription_here_and_raises_no_consent(
    acme: int, tmp_path: Path
) -> None:
    people.member(acme, "in@example.com", people.news(acme))
    people.leave(acme, "in@example.com", "news")
    people.member(acme, "left@example.com")
    people.member(acme, "client@example.com")

    done = files.import_file(
        acme, files.write_file(tmp_path, CONTENT), list_key="news", mapping=MAPPING
    )

    assert Contact.objects.get(address="left@example.com").state == "unsubscribed"
    # Whom the old tool did not mail may have joined here; who left here stays away.
    assert "client@example.com" in subscribed()
    assert "in@example.com" not in subscribed()
    assert done.kept_back == 6


def test_a_row_that_repeats_an_address_can_end_its_mail(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    content = "email,Status\na@example.com,subscribed\nA@example.com,unsubscribed\n"

    done = files.import_file(
        acme, files.write_file(tmp_path, content), list_key="news", mapping=MAPPING
    )

    assert (done.subscribed, done.kept_back, done.duplicates) == (0, 1, 1)
    assert done.kept_back_reasons == {"old_unsubscribed": 1}


def test_a_row_that_is_refused_for_another_cell_ends_the_mail_of_its_person(
    acme: int, tmp_path: Path
) -> None:
    people.news(acme)
    people.member(acme, "left@example.com")
    people.member(acme, "split@example.com")
    content = "time_zone,Status,email\nPacific Time,unsubscribed,left@example.com\n"
    content += "Pacific Time,bounced,no address\nUTC,unsubscribed\n"
    content += 'UTC,unsubscribed,split@example.com,"a cell too many"\n'

    done = files.import_file(
        acme, files.write_file(tmp_path, content), list_key="news", mapping=MAPPING
    )

    assert done.refused == 4
    assert Contact.objects.get(address="left@example.com").state == "unsubscribed"
    kept = [one.address for one in suppressions.list_page(acme, limit=10)]
    assert kept == ["left@example.com"], "of the others no cell can be trusted"


def test_an_erased_person_is_not_named_again_by_the_state_in_the_old_tool(
    acme: int, tmp_path: Path
) -> None:
    erasing.erase(acme, address="left@example.com", actor="bob", now=people.NOW)

    done = files.import_file(acme, files.write_file(tmp_path, CONTENT), mapping=MAPPING)

    assert done.refused == 1
    kept = suppressions.list_of_address(acme, address="left@example.com")
    assert [one.address for one in kept] == [None]


def test_a_column_is_taken_for_a_state_by_its_name_and_values(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    content = CONTENT.replace("zurückgestellt", "abgemeldet")

    files.import_file(acme, files.write_file(tmp_path, content), list_key="news")

    assert subscribed() == {"in@example.com"}
    rows = [line.split(",") for line in content.splitlines()[1:]]
    for name in ("EMAIL_MARKETING_STATUS", "Статус", "Estado"):
        assert old_states.find_state_columns(("email", name), rows) == (name,)


ANSWERS = {
    "yes@example.com": "yes",
    "day@example.com": "2024-01-31 10:00:00",
    "no@example.com": "FALSE",
    "empty@example.com": "",
    "riddle@example.com": "ask Bob",
}


@pytest.mark.parametrize(
    ("name", "on_list", "left", "unread"),
    [
        ("unsub_time", {"no", "empty"}, {"yes", "day"}, [6]),
        ("Opted Out?", {"no", "empty"}, {"yes", "day"}, [6]),
        ("Abmeldedatum", {"no", "empty"}, {"yes", "day"}, [6]),
        ("EMAIL_BLACKLISTED", {"no", "empty"}, {"yes", "day"}, [6]),
        ("consent", {"yes", "day"}, {"no"}, [5, 6]),
        # Other tools leave the moment empty of whom their users imported or added.
        ("OPTIN_TIME", {"yes", "day", "empty"}, {"no"}, [6]),
        ("Einwilligung am", {"yes", "day", "empty"}, {"no"}, [6]),
        ("Opt-in", {"yes", "day"}, {"no"}, [5, 6]),
        # Whoever did not confirm never joined, and so did not leave.
        ("DOUBLE_OPT-IN", {"yes", "day"}, set(), [5, 6]),
    ],
)
def test_an_opt_out_or_a_consent_is_known_by_its_name_which_says_how_it_is_read(
    acme: int, tmp_path: Path, name: str, on_list: set[str], left: set[str], unread: list[int]
) -> None:
    people.news(acme)
    rows = "".join(f"{address},{said}\n" for address, said in ANSWERS.items())
    path = files.write_file(tmp_path, f"email,{name}\n{rows}")

    done = files.import_file(acme, path, list_key="news")

    assert {address.partition("@")[0] for address in subscribed()} == on_list
    ended = Contact.objects.filter(state="unsubscribed").values_list("address", flat=True)
    assert {address.partition("@")[0] for address in ended} == left
    assert [row for row, column in files.problems(acme, done) if column == name] == unread


def test_an_answer_without_its_question_subscribes_nobody(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    path = files.write_file(tmp_path, "email,Newsletter\na@example.com,ja\nb@example.com,on\n")

    files.import_file(acme, path, list_key="news", mapping={"Newsletter": "old_state"})

    assert subscribed() == set()


def test_of_several_columns_that_say_who_left_the_worst_counts(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    rows = "a@example.com,active,,yes\nb@example.com,active,2024-01-31,yes\n"
    rows += "c@example.com,cleaned,,yes\nd@example.com,active,,no\ne@example.com,active,,maybe\n"
    rows += "f@example.com,pending,,maybe\n"
    path = files.write_file(tmp_path, f"email,Status,Unsubscribed on,Consent\n{rows}")

    done = files.import_file(acme, path, list_key="news")

    assert subscribed() == {"a@example.com"}
    states = Contact.objects.order_by("address").values_list("state", flat=True)
    assert list(states) == ["active", "unsubscribed", "bounced", "unsubscribed", "active", "active"]
    assert {(6, "Consent"), (7, "Consent")} <= set(files.problems(acme, done))
    assert Contact.objects.get(is_unconfirmed=True).address == "f@example.com"


@pytest.mark.parametrize(
    ("header", "rows", "on_list", "unread"),
    [
        # The consent is read by its name, and the other column has only values that say it.
        ("GDPR consent,Newsletter", ["yes,angemeldet", "yes,abgemeldet"], {"a", "b"}, "Newsletter"),
        ("Status,Subscription status", ["active,active", "active,unsubscribed"], {"a"}, None),
    ],
)
def test_every_column_that_says_who_left_is_read_or_named(
    acme: int, tmp_path: Path, header: str, rows: list[str], on_list: set[str], unread: str | None
) -> None:
    people.news(acme)
    lines = [f"{name}@example.com,{row}" for name, row in zip("ab", rows, strict=True)]
    path = files.write_file(tmp_path, "\n".join([f"email,{header}", *lines, ""]))

    started = running.start_import(acme, path, mapping={}, list_key="news", actor="alice")
    running.run_import(acme, path, import_id=started.id, report=lambda _: None)

    assert list(started.unread_states) == ([unread] if unread else [])
    assert {address.partition("@")[0] for address in subscribed()} == on_list


def test_other_columns_stay_attributes(acme: int, tmp_path: Path) -> None:
    people.news(acme)

    for number, column in enumerate(("state,Ohio", "plan,active")):
        name, cell = column.split(",")
        rows = f"email,{name}\nr{number}@example.com,{cell}\n"
        files.import_file(acme, files.write_file(tmp_path, rows), list_key="news")

    assert subscribed() == {"r0@example.com", "r1@example.com"}
    assert all(contact.attributes for contact in Contact.objects.all())


def test_the_words_of_other_tools_are_read() -> None:
    for cell, state in {
        "Angemeldet": OldState.SUBSCRIBED,
        "opted-in": OldState.SUBSCRIBED,
        "подтвержден": OldState.SUBSCRIBED,
        "Отписан": OldState.UNSUBSCRIBED,
        "Désabonné": OldState.UNSUBSCRIBED,
        "dado de baja": OldState.UNSUBSCRIBED,
        "wypisana": OldState.UNSUBSCRIBED,
        "Descadastrado": OldState.UNSUBSCRIBED,
        "hard_bounce": OldState.BOUNCED,
        "nicht abonniert": OldState.NOT_SUBSCRIBED,
        "Beschwerde": OldState.COMPLAINED,
        "yes": OldState.UNKNOWN,
    }.items():
        assert old_states.read_old_state(cell) is state, cell


def test_a_date_or_a_yes_is_the_contrary_in_an_opt_out_and_in_a_consent() -> None:
    for cell in (
        *("2024-01-31", "2024-01-31T10:00:00.000Z", "2024-01-31 10:00:00 +0000", "31.01.2024"),
        *("1/31/24", "01/31/2024 9:05 AM", "Jan 31, 2024", "31. January 2024, 10:00 UTC"),
        *("Ja", "TRUE", "1", "Да", "sí", "x"),
    ):
        opt_out = old_states.read_old_state(cell, StateColumn.OPT_OUT)
        consent = old_states.read_old_state(cell, StateColumn.CONSENT)
        assert (opt_out, consent) == (OldState.UNSUBSCRIBED, OldState.SUBSCRIBED), cell


def test_no_answer_that_could_mean_the_contrary_subscribes() -> None:
    for cell, opt_out, consent in (
        ("0", OldState.SUBSCRIBED, OldState.UNSUBSCRIBED),
        ("NULL", OldState.SUBSCRIBED, OldState.UNKNOWN),
        ("0000-00-00 00:00:00", OldState.SUBSCRIBED, OldState.UNKNOWN),
        ("00.00.0000", OldState.SUBSCRIBED, OldState.UNKNOWN),
        ("00/00/00", OldState.SUBSCRIBED, OldState.UNKNOWN),
        ("opted out", OldState.UNSUBSCRIBED, OldState.UNSUBSCRIBED),
        ("cleaned", OldState.BOUNCED, OldState.BOUNCED),
        ("spam complaint", OldState.COMPLAINED, OldState.COMPLAINED),
        ("pending", OldState.NOT_SUBSCRIBED, OldState.NOT_SUBSCRIBED),
        ("active", OldState.UNKNOWN, OldState.SUBSCRIBED),
        ("2024-01-31 revoked", OldState.UNKNOWN, OldState.UNKNOWN),
    ):
        assert old_states.read_old_state(cell, StateColumn.OPT_OUT) is opt_out, cell
        assert old_states.read_old_state(cell, StateColumn.CONSENT) is consent, cell
