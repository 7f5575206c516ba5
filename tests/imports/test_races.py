"""An import and somebody who leaves at the same moment: whoever is first, the no counts."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import connection

from postledger.contacts import lists
from postledger.contacts.actions import contacts, erasing
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.imports import queries, running, uploads, worker_jobs
from postledger.imports.models import FilePart, Import, ImportState
from postledger.imports.queries import ImportProgress
from postledger.imports.refusals import ImportMovedError
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def acme() -> int:
    workspace_id = people.workspace("acme")
    people.news(workspace_id)
    return workspace_id


def _import(workspace_id: int, folder: Path, external_id: str = "") -> ImportProgress:
    path = files.write_file(folder, f"email,name,external_id\n{R1},Ann,{external_id}\n")
    return files.import_file(workspace_id, path, list_key="news")


@pytest.mark.parametrize("key", ["general", "news"])
def test_who_leaves_while_being_imported_has_left(acme: int, tmp_path: Path, key: str) -> None:
    with collide.uncommitted(partial(_import, acme, tmp_path)):
        leaving = collide.start(partial(people.leave, acme, R1, key))
        leaving.must_wait()

    assert leaving.answer()
    contact = Contact.objects.get()
    if key == "general":
        assert contact.state == ContactState.UNSUBSCRIBED
    else:
        assert people.subscription(contact.pk) is SubscriptionState.UNSUBSCRIBED


@pytest.mark.parametrize("key", ["general", "news"])
def test_who_is_imported_while_leaving_is_not_subscribed(
    acme: int, tmp_path: Path, key: str
) -> None:
    with collide.uncommitted(partial(people.leave, acme, R1, key)):
        importing = collide.start(partial(_import, acme, tmp_path))
        importing.must_wait()

    done = importing.answer()
    assert (done.created, done.subscribed, done.kept_back) == (1, 0, 1)
    assert not Subscription.objects.exists()


def test_who_is_erased_while_being_imported_is_gone(acme: int, tmp_path: Path) -> None:
    forget = partial(erasing.erase, acme, address=R1, actor="bob", now=people.NOW)

    with collide.uncommitted(partial(_import, acme, tmp_path)):
        forgetting = collide.start(forget)
        forgetting.must_wait()

    assert forgetting.answer().contacts == 1
    assert not Contact.objects.filter(deleted_at=None).exists()


def test_who_is_imported_while_being_erased_is_refused(acme: int, tmp_path: Path) -> None:
    forget = partial(erasing.erase, acme, address=R1, actor="bob", now=people.NOW)

    with collide.uncommitted(forget):
        importing = collide.start(partial(_import, acme, tmp_path))
        importing.must_wait()

    done = importing.answer()
    assert (done.created, done.refused) == (0, 1)
    assert not Contact.objects.exists()


@pytest.mark.parametrize("table", ["contacts_contact", "contacts_subscription"])
def test_an_import_does_not_wait_for_upkeep_of_a_table(
    acme: int, tmp_path: Path, table: str
) -> None:
    path = files.write_file(
        tmp_path, "email\n" + "".join(f"r{n}@example.com\n" for n in range(1_500))
    )

    def upkeep() -> None:  # the lock of VACUUM, and of an index that is built meanwhile
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")

    with collide.uncommitted(upkeep):
        importing = collide.start(partial(files.import_file, acme, path, list_key="news"))
        has_waited = importing.comes_to_rest()

    assert importing.answer().created == 1_500
    assert not has_waited


def test_statistics_are_taken_as_a_workspace_grows(acme: int, tmp_path: Path) -> None:
    path = files.write_file(
        tmp_path, "email\n" + "".join(f"r{n}@example.com\n" for n in range(1_500))
    )

    files.import_file(acme, path)

    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'contacts_contact'")
        assert cursor.fetchone() == (1_500,)


def test_a_contact_that_is_made_meanwhile_is_subscribed_all_the_same(
    acme: int, tmp_path: Path
) -> None:
    with collide.uncommitted(partial(people.contact, acme)):
        importing = collide.start(partial(_import, acme, tmp_path))
        importing.must_wait()

    done = importing.answer()
    assert (done.created, done.updated, done.subscribed) == (0, 1, 1)
    assert Contact.objects.get().name == "Ann"


def test_an_external_id_that_is_taken_meanwhile_is_a_problem_of_its_row(
    acme: int, tmp_path: Path
) -> None:
    other = partial(
        contacts.create_contact, acme, address="r2@example.com", external_id="x", actor="bob"
    )

    with collide.uncommitted(other):
        importing = collide.start(partial(_import, acme, tmp_path, "x"))
        importing.must_wait()

    done = importing.answer()
    assert (done.created, done.refused) == (0, 1)
    assert Contact.objects.get().address == "r2@example.com"


class _DiedError(Exception):
    pass


def test_of_two_processes_with_one_import_one_does_each_chunk(acme: int, tmp_path: Path) -> None:
    """The other one takes the second of three chunks, and the first finds its import moved."""
    rows = "".join(f"r{n}@example.com\n" for n in range(20_001))
    path = files.write_file(tmp_path, f"email\n{rows}")
    import_id = running.start_import(acme, path, mapping={}, actor="alice").id

    def die(_: ImportProgress) -> None:
        raise _DiedError

    def compete(_: ImportProgress) -> None:
        with pytest.raises(_DiedError):
            collide.start(
                partial(running.run_import, acme, path, import_id=import_id, report=die)
            ).answer()

    with pytest.raises(ImportMovedError):
        running.run_import(acme, path, import_id=import_id, report=compete)

    assert queries.find_progress(acme, import_id).created == Contact.objects.count() == 20_000


def test_two_imports_of_the_same_people_neither_hang_nor_double(acme: int, tmp_path: Path) -> None:
    ways = [range(2_000), range(1_999, -1, -1)]
    paths = [
        files.write_file(
            tmp_path,
            "email\n" + "".join(f"r{n}@example.com\n" for n in way),
            name=f"{number}.csv",
        )
        for number, way in enumerate(ways)
    ]

    done = collide.together(
        [partial(files.import_file, acme, path, list_key="news") for path in paths]
    )

    assert sum(one.created for one in done) == Contact.objects.count() == 2_000
    assert sum(one.subscribed for one in done) == Subscription.objects.count() == 2_000


def test_a_contact_that_is_deleted_meanwhile_is_made_anew(acme: int, tmp_path: Path) -> None:
    old = people.contact(acme)
    delete = partial(contacts.delete_contact, acme, contact_id=old, actor="bob", now=people.NOW)

    with collide.uncommitted(delete):
        importing = collide.start(partial(_import, acme, tmp_path))
        importing.must_wait()

    done = importing.answer()
    assert (done.created, done.updated, done.subscribed) == (1, 0, 1)
    assert Subscription.objects.get().contact_id == Contact.objects.get(deleted_at=None).pk != old


def test_an_old_upload_that_is_started_meanwhile_is_not_given_up(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, f"email\n{R1}\n")
    import_id = uploads.store_upload(acme, path, file_name="people.csv", actor="alice")
    begin = partial(uploads.start_import, acme, import_id, mapping={}, list_key=None, actor="alice")
    later = datetime.now(UTC) + uploads.KEPT + timedelta(minutes=1)

    with collide.uncommitted(begin):
        tidying = collide.start(partial(uploads.abandon_old_uploads, later))
        tidying.must_wait()

    assert tidying.answer() == 0
    assert queries.find_progress(acme, import_id).state is ImportState.RUNNING
    assert FilePart.objects.exists()


def _upload(workspace_id: int, folder: Path) -> int:
    path = files.write_file(folder, f"email,first,second\n{R1},Ann,Bea\n")
    return uploads.store_upload(workspace_id, path, file_name="people.csv", actor="alice")


def _request(workspace_id: int, import_id: int, name_column: str, new_list: str = "") -> None:
    mapping = {"first": "-", "second": "-", name_column: "name"}
    uploads.request_preview(
        workspace_id, import_id, mapping=mapping, list_key=None, new_list=new_list
    )


def _end_and_request_another(workspace_id: int, import_id: int) -> None:
    """Another worker ends the dry run, and a person asks for one of other columns."""
    Import.objects.filter(pk=import_id).update(state=ImportState.UPLOADED.value)
    _request(workspace_id, import_id, "second")


def test_a_dry_run_that_stood_still_is_not_kept_as_that_of_other_columns(
    acme: int, tmp_path: Path
) -> None:
    import_id = _upload(acme, tmp_path)
    _request(acme, import_id, "first")

    with collide.uncommitted(partial(_end_and_request_another, acme, import_id)):
        late = collide.start(partial(worker_jobs.do_next_job, lambda: False))
        late.must_wait()
    late.answer()

    record = Import.objects.get()
    assert (record.state, record.preview) == (ImportState.PREVIEWING, None)


def test_the_trouble_of_a_dry_run_that_stood_still_ends_no_other(acme: int, tmp_path: Path) -> None:
    import_id = _upload(acme, tmp_path)
    _request(acme, import_id, "first")

    def fail_late() -> bool:
        _end_and_request_another(acme, import_id)
        raise OSError

    worker_jobs.do_next_job(fail_late)

    record = Import.objects.get()
    assert (record.state, record.trouble) == (ImportState.PREVIEWING, None)
    assert worker_jobs.do_next_job(lambda: False)
    assert queries.read_state(import_id) is ImportState.UPLOADED


def test_a_dry_run_stops_once_one_of_other_columns_is_wanted(acme: int, tmp_path: Path) -> None:
    import_id = _upload(acme, tmp_path)
    _request(acme, import_id, "first")
    shows: list[int] = []

    def stand_still() -> bool:
        shows.append(1)
        _end_and_request_another(acme, import_id)
        return False

    worker_jobs.do_next_job(stand_still)

    assert shows == [1]
    assert Import.objects.get().preview is None


def test_a_dry_run_with_a_new_list_outlives_a_list_of_its_key(acme: int, tmp_path: Path) -> None:
    import_id = _upload(acme, tmp_path)
    _request(acme, import_id, "first", new_list="Fresh")
    create = partial(lists.create_list, acme, key="fresh", name="Fresh ones", actor="bob")

    with collide.uncommitted(create):
        trying = collide.start(partial(worker_jobs.do_next_job, lambda: False))
        trying.must_wait()
    trying.answer()

    record = Import.objects.get()
    assert record.trouble is None
    assert record.preview is not None
    assert record.preview["subscribed"] == 1
