"""An import makes the contacts of its file, once, and never raises a consent."""

from pathlib import Path

import pytest

from postledger.contacts import csv_columns
from postledger.contacts.actions import contacts, erasing, subscriptions
from postledger.contacts.csv_columns import Field
from postledger.contacts.details import Changes, Details, Value
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import ConsentEvent, Contact, Subscription, Suppression
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.imports import queries, running
from postledger.imports.columns import map_columns
from postledger.imports.models import Import, ImportProblem, ImportState
from postledger.imports.refusals import FileChangedError, ImportUnknownError, InvalidMappingError
from tests.contacts import people
from tests.contacts.people import NOW, R1
from tests.imports import files

pytestmark = pytest.mark.django_db

ROWS = (
    "E-mail,First name,Last name,from_name,locale,time_zone,ocd_ids,external_id,City\n"
    f"{R1},Ann,Lee,The Herald,en-GB,Europe/London,"
    "ocd-division/country:us;ocd-division/country:us/state:oh,a-1,Ohio\n"
    "R2@Example.com,,Müller,,,,,,\n"
)


def test_every_column_arrives_where_it_belongs(acme: int, tmp_path: Path) -> None:
    done = files.import_file(acme, files.write_file(tmp_path, ROWS))

    ann, other = Contact.objects.filter(workspace_id=acme).order_by("pk")
    assert (ann.address, ann.name, ann.from_name) == (R1, "Ann Lee", "The Herald")
    assert (ann.locale, ann.time_zone, ann.external_id) == ("en-GB", "Europe/London", "a-1")
    assert ann.ocd_ids == ["ocd-division/country:us", "ocd-division/country:us/state:oh"]
    assert ann.attributes == {"City": "Ohio", "first_name": "Ann", "last_name": "Lee"}
    assert (other.address, other.name, other.from_name) == ("R2@example.com", "Müller", None)
    assert other.attributes == {"last_name": "Müller"}
    assert (other.ocd_ids, other.external_id) == ([], None)
    assert (done.state, done.created, done.done) == (ImportState.FINISHED, 2, 2)


def test_a_mapping_that_is_kept_with_an_import_is_read_back_as_it_was() -> None:
    header = ("Mail", "Given", "surname", "added")
    mapping = {"Mail": "email", "Given": "first_name", "added": "month_first.joined"}

    columns = map_columns(header, mapping)

    assert columns.targets() == {**mapping, "surname": "last_name"}
    assert dict(columns.attributes) == {"first_name": 1, "last_name": 2, "joined": 3}
    assert map_columns(columns.header, columns.targets()) == columns


def test_text_that_the_wire_would_misread_arrives_as_it_is(acme: int, tmp_path: Path) -> None:
    note = 'a\\tb \\N "quoted"\n\tnext\\'
    cells = {
        text: text for text in (note, '"Amigos",Escola', 'the "Escola"', '"a" or "b"', '""', '"')
    }
    # A cell of quoted parts alone is stored without their quotes.
    cells |= {'"Amigos","Escola"': "Amigos, Escola", '"Amigos"': "Amigos"}
    cells |= {'"Amigos", "Escola, 1"': "Amigos, Escola, 1"}
    lines = [
        csv_columns.csv_line([f"r{number}@example.com", "C:\\new\\.", cell], is_raw=True)
        for number, cell in enumerate(cells)
    ]

    files.import_file(acme, files.write_file(tmp_path, f"email,name,TAGS\n{''.join(lines)}"))

    stored = Contact.objects.order_by("address").values_list("attributes__TAGS", flat=True)
    assert list(stored) == list(cells.values())
    assert set(Contact.objects.values_list("name", flat=True)) == {"C:\\new\\."}


def test_a_row_that_gives_a_contact_too_many_attributes_is_refused(
    acme: int, tmp_path: Path
) -> None:
    kept: list[dict[str, Value]] = [
        {f"a{n}": 1 for n in range(99)},
        {f"a{n}": "x" * 500 for n in range(15)},
    ]
    for number, attributes in enumerate(kept, 1):
        people.contact(acme, f"r{number}@example.com", Details(attributes=attributes))
    rows = "".join(f"r{number}@example.com,{'y' * 500},{'z' * 500}\n" for number in (1, 2, 3))

    done = files.import_file(acme, files.write_file(tmp_path, f"email,b,c\n{rows}"))

    assert (done.created, done.updated, done.refused) == (1, 0, 2)
    stored = Contact.objects.order_by("address").values_list("attributes", flat=True)
    assert list(stored)[:2] == kept
    assert files.problems(acme, done) == [(2, ""), (3, "")]


def test_an_empty_cell_changes_nothing_and_attributes_are_merged(acme: int, tmp_path: Path) -> None:
    ohio, texas = (f"ocd-division/country:us/state:{state}" for state in ("oh", "tx"))
    attributes: dict[str, Value] = {"city": "Ohio", "plan": "gold"}
    ann = Details(name="Ann", locale="en", attributes=attributes, ocd_ids=[ohio])
    contact_id = people.contact(acme, details=ann)
    people.contact(acme, "r2@example.com", details=Details(name="Bob", ocd_ids=[ohio]))
    rows = f"{R1.upper()},,de,,40,{texas}\nr2@example.com,Bob,,,,\n"

    done = files.import_file(
        acme, files.write_file(tmp_path, f"email,name,locale,city,age,ocd_ids\n{rows}")
    )

    contact, bob = Contact.objects.order_by("address")
    assert (contact.pk, contact.address, contact.name) == (contact_id, R1, "Ann")
    assert (contact.locale, contact.ocd_ids, bob.ocd_ids) == ("de", [texas], [ohio])
    assert contact.attributes == {"city": "Ohio", "plan": "gold", "age": "40"}
    assert (done.created, done.updated, done.unchanged) == (0, 1, 1)


def test_a_part_of_a_name_makes_one_and_replaces_none(acme: int, tmp_path: Path) -> None:
    files.import_file(acme, files.write_file(tmp_path, ROWS))
    parts = f"email,First name,Last name\n{R1},Anna,\nr2@example.com,,Maier\nnew@example.com,Mia,\n"

    done = files.import_file(acme, files.write_file(tmp_path, parts))

    names = dict(Contact.objects.values_list("address", "name"))
    assert names == {R1: "Ann Lee", "R2@example.com": "Müller", "new@example.com": "Mia"}
    assert Contact.objects.get(address=R1).attributes["first_name"] == "Anna"
    assert (done.created, done.updated) == (1, 2)


def test_a_list_is_joined_with_its_proof_and_the_same_file_again_changes_nothing(
    acme: int, tmp_path: Path
) -> None:
    people.news(acme)
    path = files.write_file(tmp_path, ROWS)

    done = files.import_file(acme, path, list_key="news")

    assert list(Subscription.objects.values_list("state", flat=True)) == ["active", "active"]
    assert people.read_history(acme) == [("imported", "news", None, "active")] * 2
    assert done.subscribed == 2
    before = list(Contact.objects.order_by("pk").values())
    again = files.import_file(acme, path, list_key="news")
    assert (again.unchanged, again.created, again.updated, again.subscribed) == (2, 0, 0, 0)
    assert list(Contact.objects.order_by("pk").values()) == before
    assert len(people.read_history(acme)) == 2


def test_of_an_address_that_comes_twice_the_first_row_wins(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, "email,name\nr1@Example.com,First\nR1@EXAMPLE.COM,Second\n")

    done = files.import_file(acme, path)

    assert Contact.objects.get().name == "First"
    assert (done.created, done.duplicates) == (1, 1)
    assert files.problems(acme, done) == [(3, "email")]


def test_rows_that_are_wrong_are_named_and_the_others_imported(acme: int, tmp_path: Path) -> None:
    content = (
        "email,name,locale,time_zone,ocd_ids\n"
        "nobody,,,,\n"
        "r2@example.com,a\x07b,,,\n"
        "r3@example.com,,Klingonisch,,\n"
        "\n"
        "r4@example.com,,,Mars/Base,\n"
        "r5@example.com,,,,oh\n"
        "r6@example.com,,,,,surplus\n"
        "r7@example.com\n"
        ",,,,\n"
        ",only a name,,,\n"
    )

    done = files.import_file(acme, files.write_file(tmp_path, content))

    contacts = Contact.objects.order_by("address")
    assert [contact.address for contact in contacts] == ["r3@example.com", "r7@example.com"]
    assert files.problems(acme, done) == [
        (2, "email"),
        (3, "name"),
        (4, "locale"),
        (6, "time_zone"),
        (7, "ocd_ids"),
        (8, ""),
        (11, "email"),
    ]
    assert (done.created, done.refused, done.blank, done.done) == (2, 6, 2, 10)


def test_the_error_file_does_not_repeat_addresses(acme: int, tmp_path: Path) -> None:
    path = files.write_file(
        tmp_path, "email\nann.lee@exa mple.com\nbob@example.com\nBob@example.com\n"
    )

    done = files.import_file(acme, path)

    texts = " ".join(
        f"{problem.value} {problem.problem}" for problem in queries.read_problems(acme, done.id)
    )
    assert "ann" not in texts
    assert "Bob" not in texts


def test_an_external_id_of_another_contact_is_refused(acme: int, tmp_path: Path) -> None:
    contacts.create_contact(acme, address=R1, external_id="a-1", actor="alice")
    content = "email,external_id\nr2@example.com,a-1\nr3@example.com,b\nr4@example.com,b\n"
    path = files.write_file(tmp_path, f"{content}{R1},c\n")

    done = files.import_file(acme, path)

    external_ids = Contact.objects.order_by("address").values_list("address", "external_id")
    assert list(external_ids) == [(R1, "a-1"), ("r3@example.com", "b")]
    assert files.problems(acme, done) == [(2, "external_id"), (4, "external_id")]


def test_nobody_who_left_bounced_or_is_suppressed_comes_back(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    kinds = ("left", "left-list", "bounced", "complained", "by-hand", "new")
    for name in ("left", "left-list", "bounced"):
        people.member(acme, f"{name}@example.com")
    people.leave(acme, "left@example.com")
    people.leave(acme, "left-list@example.com", "news")
    people.bounce(acme, "bounced@example.com")
    people.complain(acme, "complained@example.com")
    people.suppress(acme, "by-hand@example.com")
    rows = "".join(f"{kind.upper()}@example.com,Back\n" for kind in kinds)
    event_count = len(people.read_history(acme))

    done = files.import_file(
        acme, files.write_file(tmp_path, f"email,name\n{rows}"), list_key="news"
    )

    states = dict(Contact.objects.values_list("address", "state"))
    assert states == {
        "left@example.com": ContactState.UNSUBSCRIBED,
        "left-list@example.com": ContactState.ACTIVE,
        "bounced@example.com": ContactState.BOUNCED,
        "COMPLAINED@example.com": ContactState.UNSUBSCRIBED,
        "BY-HAND@example.com": ContactState.ACTIVE,
        "NEW@example.com": ContactState.ACTIVE,
    }
    active = Subscription.objects.filter(state="active", contact__state="active")
    assert list(active.values_list("contact__address", flat=True)) == ["NEW@example.com"]
    assert (done.subscribed, done.kept_back) == (1, 5)
    assert people.read_history(acme)[event_count:] == [("imported", "news", None, "active")]


def test_who_was_erased_is_not_imported_again(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    people.member(acme)
    erasing.erase(acme, address=R1, actor="bob", now=NOW)
    path = files.write_file(
        tmp_path, "email,name,city\nR1@Example.com,Ann,Ohio\nr2@example.com,Bob,\n"
    )

    done = files.import_file(acme, path, list_key="news")

    remaining = Contact.objects.filter(deleted_at=None)
    assert [contact.address for contact in remaining] == ["r2@example.com"]
    assert not Contact.objects.filter(name="Ann").exists()
    assert (done.created, done.refused, done.kept_back, done.done) == (1, 1, 0, 2)
    [problem] = queries.read_problems(acme, done.id)
    assert (problem.row, problem.column, problem.value) == (2, "email", "")
    assert "erased" in problem.problem


def test_who_was_erased_is_not_imported_under_a_former_address(acme: int, tmp_path: Path) -> None:
    contact_id = people.contact(acme, "R0@example.com")
    people.contact(acme, "old@example.com")
    for address in ("old2@example.com", "r2@example.com", R1):
        moved = Changes(address=address)
        people.change(acme, contact_id, moved)
    people.contact(acme, "r2@example.com")  # by now somebody else's
    erasing.erase(acme, address=R1, actor="bob", now=NOW)
    path = files.write_file(
        tmp_path, f"email\nr0@example.com\nold2@example.com\nr2@example.com\n{R1}\n"
    )

    done = files.import_file(acme, path)

    assert (done.created, done.refused) == (0, 3)
    remaining = Contact.objects.filter(deleted_at=None).values_list("address", "state")
    assert set(remaining) == {
        ("old@example.com", ContactState.ACTIVE),
        ("r2@example.com", ContactState.ACTIVE),
    }
    assert not Suppression.objects.exclude(address=None).exists()
    assert not ConsentEvent.objects.filter(contact=None).exists()


def test_who_was_erased_elsewhere_or_came_back_themselves_is_imported(
    acme: int, globex: int, tmp_path: Path
) -> None:
    erasing.erase(acme, address=R1, actor="bob", now=NOW)
    people.contact(acme)
    erasing.erase(globex, address="r2@example.com", actor="bob", now=NOW)
    path = files.write_file(tmp_path, f"email,name\n{R1},Ann\nr2@example.com,Bob\n")

    done = files.import_file(acme, path)

    assert (done.created, done.updated, done.refused) == (1, 1, 0)


def test_a_break_and_an_open_question_stay_as_they_are(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    paused = people.member(acme)
    subscriptions.pause(acme, contact_id=paused, list_key="news", origin=people.FORM, now=NOW)
    asked = people.contact(acme, "r2@example.com")
    subscriptions.subscribe(acme, contact_id=asked, list_key="news", origin=people.FORM, now=NOW)

    done = files.import_file(acme, files.write_file(tmp_path, ROWS), list_key="news")

    assert people.subscription(paused) is SubscriptionState.PAUSED
    assert people.subscription(asked) is SubscriptionState.PENDING
    assert (done.subscribed, done.kept_back) == (0, 0)


def test_who_is_unconfirmed_stays_so_unless_the_import_subscribes_them(
    acme: int, tmp_path: Path
) -> None:
    people.news(acme)
    people.news(acme, "offers")
    contact_id, other = people.unconfirmed(acme), people.unconfirmed(acme, "r2@example.com")
    people.ask(acme, contact_id)
    path = files.write_file(tmp_path, f"email,name\n{R1},Ann\nr3@example.com,New\n")

    files.import_file(acme, path)
    without_list = people.is_unconfirmed(contact_id)
    files.import_file(acme, path, list_key="news")
    where_they_asked = people.is_unconfirmed(contact_id)
    summary, _ = files.preview_file(acme, path, list_key="offers")
    done = files.import_file(acme, path, list_key="offers")

    assert (without_list, where_they_asked) == (True, True)
    assert not people.is_unconfirmed(contact_id)
    assert (done.updated, done.unchanged, done.subscribed) == (0, 2, 2)
    assert (summary.updated, summary.unchanged) == (done.updated, done.unchanged)
    assert people.is_unconfirmed(other)
    assert not Contact.objects.get(address="r3@example.com").is_unconfirmed


def test_another_workspaces_list_and_import_are_unknown(
    acme: int, globex: int, tmp_path: Path
) -> None:
    people.news(globex)
    path = files.write_file(tmp_path, ROWS)

    with pytest.raises(ListUnknownError):
        files.import_file(acme, path, list_key="news")
    assert not Import.objects.exists()
    import_id = running.start_import(acme, path, mapping={}, actor="alice").id
    with pytest.raises(ImportUnknownError):
        running.run_import(globex, path, import_id=import_id, report=lambda _: None)


def test_neither_a_file_that_was_changed_is_resumed_nor_a_finished_import_done_again(
    acme: int, tmp_path: Path
) -> None:
    path = files.write_file(tmp_path, ROWS)
    import_id = running.start_import(acme, path, mapping={}, actor="alice").id
    files.write_file(tmp_path, ROWS + "r9@example.com\n")
    with pytest.raises(FileChangedError):
        running.run_import(acme, path, import_id=import_id, report=lambda _: None)
    assert not Contact.objects.exists()

    done = files.import_file(acme, files.write_file(tmp_path, ROWS))
    Contact.objects.update(name="changed by hand")
    again = running.run_import(acme, path, import_id=done.id, report=lambda _: None)
    assert again == done
    assert set(Contact.objects.values_list("name", flat=True)) == {"changed by hand"}


def test_columns_that_make_no_sense_are_refused(acme: int, tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, str]]] = [
        ("name,city", {}),
        ("mail,courriel", {}),
        ("email,city,city", {}),
        ("email,first name,attributes.first_name", {}),
        ("email,city", {"town": "-"}),
        ("email,city", {"city": "place"}),
        ("email," + "x" * 65, {}),
        ("email," + ",".join(f"c{n}" for n in range(101)), {}),
    ]
    for header, mapping in wrong:
        path = files.write_file(tmp_path, f"{header}\n{R1},x\n")
        with pytest.raises(InvalidMappingError):
            files.import_file(acme, path, mapping=mapping)

    assert not Import.objects.exists()


def test_the_first_ten_thousand_problems_are_kept_and_all_counted_in_every_chunk(
    acme: int, tmp_path: Path
) -> None:
    rows = [f"{R1},unsubscribed\n", *["nobody,\n"] * 12_345, "r2@example.com,unsubscribed\n"]
    path = files.write_file(tmp_path, f"email,Unsubscribed\n{''.join(rows)}")

    done = files.import_file(acme, path)

    listed = list(queries.read_problems(acme, done.id))
    assert (done.refused, done.problem_count) == (12_345, 12_347)
    assert (done.kept_back, done.kept_back_reasons) == (2, {"old_unsubscribed": 2})
    assert ImportProblem.objects.count() == 10_000
    assert (listed[0].row, listed[9_999].row, len(listed)) == (2, 10_001, 10_001)
    assert listed[-1].problem == "2,347 more problems are not listed"


def test_columns_are_known_by_their_usual_names() -> None:
    for header, targets in (
        ("Email Address,Language,Time Zone", "email locale time_zone"),
        ("E-Mail-Adresse,Vorname,Nachname,Sprache", "email first_name last_name locale"),
        ("Эл. почта,Имя,Часовой пояс", "email name time_zone"),
        ("Email,Nome,Sobrenome,Fuso horário", "email first_name last_name time_zone"),
        ("Adresse e-mail,Nom,Prénom,Langue", "email last_name first_name locale"),
        ("Courriel,Nom,Fuseau horaire", "email name time_zone"),
        ("email,name,first_name,lang", "email name first_name locale"),
        ("mail,Stadt,locale", "email attributes.Stadt locale"),
    ):
        names = header.split(",")
        assert list(csv_columns.usual_targets(names).values()) == targets.split(), header
        assert map_columns(names, {}).name_of(Field.EMAIL) == names[0]


def test_a_language_is_read_by_its_code_or_its_name(acme: int, tmp_path: Path) -> None:
    read: dict[str, str | None] = {
        "English": "en",
        "PORTUGUES": "pt",
        "русский": "ru",
        "Brazilian Portuguese": "pt-BR",
        "EN": "en",
        "pt_BR": "pt-BR",
        "zh_hant_tw": "zh-Hant-TW",
        "es-419": "es-419",
        **dict.fromkeys(("Chinese", "AT", "de_", "English speaking")),
    }
    rows = "".join(f"r{number:02}@example.com,{cell}\n" for number, cell in enumerate(read))

    done = files.import_file(acme, files.write_file(tmp_path, f"email,Language\n{rows}"))

    locales = Contact.objects.order_by("address").values_list("locale", flat=True)
    assert dict(zip(read, locales, strict=True)) == read
    assert done.problem_count == 4
