"""What callers wrote about a person is erased too: uploads, keys of requests and their ids."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postledger.contacts import form_blocks
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import Contact, FormBlock
from postledger.deliveries import entries
from postledger.imports import uploads, worker_jobs
from postledger.imports.models import Import, ImportProblem, ImportState
from postledger.lib.ids import DeliveryId
from postledger.privacy import erasure, export
from postledger.transactional import actions as transactional
from tests import cast
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files
from tests.privacy.test_privacy import everything
from tests.transactional.mails import mail

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


@pytest.fixture
def acme() -> int:
    return cast.sender("acme").workspace_id


def upload(workspace_id: int, folder: Path, content: str | bytes) -> int:
    path = files.write_file(folder, content)
    return uploads.store_upload(workspace_id, path, file_name="people.csv", actor="alice")


def erase(workspace_id: int, address: str = R1) -> erasure.Erasure:
    return erasure.erase(workspace_id, address=address, actor="bob", now=NOW)


def state(import_id: int) -> str:
    return str(Import.objects.get(pk=import_id).state)


def test_an_upload_that_names_the_person_is_abandoned_with_its_preview(
    acme: int, tmp_path: Path
) -> None:
    import_id = upload(acme, tmp_path, f"email,time_zone\nr2@example.com,UTC\n{R1},Rosa Luz\n")
    uploads.request_preview(acme, import_id, mapping={}, list_key=None)
    worker_jobs.do_next_job(lambda: False)
    assert ImportProblem.objects.get().value == "Rosa Luz"

    before = everything()

    done = erase(acme)

    after = everything()
    assert (done.uploads, state(import_id)) == (1, ImportState.ABANDONED)
    for trace in (R1, "Rosa Luz", R1.encode().hex().upper()):
        assert (trace in before, trace in after) == (True, False)


def test_a_person_is_recognised_in_any_capitals_encoding_spelling_and_place(
    acme: int, tmp_path: Path
) -> None:
    of_r1: tuple[bytes, ...] = (
        b"email\nR1@Example.COM\n",
        "email\nr2@example.com\n,Reply to <r1@example.com>.\n".encode("utf-16"),
        b'email;name\n"r1@example.com";"Jos\xe9"\n',
        # Begins in the first of two parts, and ends in the second.
        b"email\n" + b"r2@example.com\n" * 69_904 + b"r1@example.com\n",
    )
    others: tuple[tuple[str | bytes, str], ...] = (
        ("email\nr1@bücher.example\n", "r1@xn--bcher-kva.example"),
        ("email\nx@o'brien@हिन्दी.example\n", "o'brien@हिन्दी.example"),
    )
    for content, address in (*((content, R1) for content in of_r1), *others):
        upload(acme, tmp_path, content)

        assert erase(acme, address).uploads == 1, content[:60]


def test_a_person_is_recognised_by_an_earlier_address(acme: int, tmp_path: Path) -> None:
    contact_id = people.contact(acme, "old@example.com")
    contacts.update_contact(
        acme, contact_id=contact_id, changes=Changes(address=R1), actor="alice", now=NOW
    )
    upload(acme, tmp_path, "email\nold@example.com\n")

    assert erase(acme).uploads == 1


def test_a_hundred_addresses_are_looked_for_in_the_time_of_one(acme: int, tmp_path: Path) -> None:
    upload(acme, tmp_path, "email\n" + ("b " * 1000 + "\n") * 500)

    def look_for(count: int) -> float:
        person_addresses = [R1, *(f"b{number}@example.com" for number in range(1, count))]
        began = time.process_time()
        uploads.abandon_uploads_naming(acme, person_addresses=person_addresses, actor="bob")
        return time.process_time() - began

    # A busy machine disturbs some measurements, and not all of them.
    assert min(look_for(100) for _ in range(3)) < 10 * max(look_for(1) for _ in range(3))


def test_a_contact_keeps_its_last_hundred_addresses(acme: int) -> None:
    contact_id = people.contact(acme, "r0@example.com")
    for number in range(1, 103):
        changes = Changes(address=f"r{number}@example.com")
        contacts.update_contact(
            acme, contact_id=contact_id, changes=changes, actor="alice", now=NOW
        )

    kept = Contact.objects.get(pk=contact_id).former_addresses
    assert kept == [f"r{number}@example.com" for number in range(2, 102)]


def test_uploads_of_others_are_kept(acme: int, tmp_path: Path) -> None:
    others = ("maria.r1@example.com", "r1@example.com.br", "r1@example.community")
    own = [upload(acme, tmp_path, f"email\n{other}\n") for other in others]
    theirs = upload(people.workspace("globex"), tmp_path, f"email\n{R1}\n")

    assert erase(acme).uploads == 0
    assert {state(import_id) for import_id in (*own, theirs)} == {ImportState.UPLOADED}


def test_a_running_import_is_left_to_its_end(acme: int, tmp_path: Path) -> None:
    import_id = upload(acme, tmp_path, f"email\n{R1}\n")
    uploads.start_import(acme, import_id, mapping={}, list_key=None, actor="alice")

    assert (erase(acme).uploads, state(import_id)) == (0, ImportState.RUNNING)


def test_what_a_caller_wrote_into_keys_and_request_ids_is_erased(acme: int) -> None:
    receipt = transactional.accept(
        acme,
        mails=[mail(to=R1)],
        request_id=f"welcome {R1}",
        now=NOW,
        idempotency_key=f"key of {R1}",
    )
    delivery = DeliveryId.parse(receipt.ids[0])
    assert delivery is not None
    cast.book(delivery.stream_id, lambda at: entries.accepted(at, message_id="<1>"))

    done = erase(acme)

    assert done.mails == 1
    left = everything()
    assert R1 not in left
    assert R1.encode().hex().upper() not in left


def test_an_export_tells_since_when_no_form_may_mail_the_person(acme: int) -> None:
    before = json.loads(export.export(acme, address=R1, now=NOW))
    form_blocks.block(acme, address="r1+news@example.com")

    document = json.loads(export.export(acme, address=R1, now=NOW))

    assert before["no_forms_since"] is None
    assert datetime.fromisoformat(document["no_forms_since"]) >= NOW


def test_who_wanted_no_mail_of_forms_and_was_erased_gets_none(acme: int) -> None:
    form_blocks.block(acme, address=R1)

    erase(acme)

    assert form_blocks.is_blocked(acme, address=R1, list_key="news")
    assert FormBlock.objects.count() == 1
