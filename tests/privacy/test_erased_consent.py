"""No trace of a person lies where nobody looks: before their contact, after it, or in a file."""

import json
from pathlib import Path

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from postledger.contacts import queries, suppressions
from postledger.contacts.actions import contacts, suppression
from postledger.contacts.consent import Origin
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import ConsentEvent, Suppression
from postledger.contacts.unsubscribe_links import GENERAL, UnsubscribeRequest
from postledger.imports.models import ImportProblem
from postledger.privacy import erasure, export
from tests.contacts import people
from tests.contacts.people import LATER, NOW, R1
from tests.imports import files
from tests.privacy.test_privacy import everything

pytestmark = pytest.mark.django_db

PAGE = Origin("page", "recipient", ip="192.0.2.77")
R2 = "r2@example.com"


def leave(workspace_id: int, address: str = R1, key: str = GENERAL) -> None:
    suppression.unsubscribe(
        workspace_id, request=UnsubscribeRequest(address, key), origin=PAGE, now=NOW
    )


def erase(workspace_id: int) -> erasure.Erasure:
    return erasure.erase(workspace_id, address=R1, actor="bob", now=LATER)


def export_person(workspace_id: int) -> dict[str, list[dict[str, object]]]:
    document: dict[str, list[dict[str, object]]] = json.loads(
        export.export(workspace_id, address=R1, now=LATER)
    )
    return document


def test_consents_from_before_there_was_a_contact_are_erased(acme: int, globex: int) -> None:
    people.news(acme)
    leave(acme, "R1@example.com")
    leave(acme, key="news")
    leave(acme, R2)
    leave(globex)
    people.contact(acme)

    done = erase(acme)

    assert (done.contacts, done.consents) == (1, 2)
    left = ConsentEvent.objects.order_by("pk").values_list("workspace_id", "ip")
    assert list(left) == [(acme, PAGE.ip), (globex, PAGE.ip)]
    people.leave(acme, "somebody@example.com")
    with pytest.raises(IntegrityError, match="are only added"):
        ConsentEvent.objects.filter(workspace_id=acme, contact=None).delete()


def test_consents_of_somebody_who_never_was_a_contact_are_erased(acme: int) -> None:
    leave(acme)

    assert erase(acme).consents == 1
    assert not ConsentEvent.objects.exists()
    assert people.find_suppression(acme).has_left


def test_an_old_link_does_not_bring_an_erased_address_back(acme: int) -> None:
    people.news(acme)
    people.member(acme)
    erase(acme)
    for key, lists in ((GENERAL, {None}), ("news", {None, "news"})):
        leave(acme, key=key)

        assert R1 not in everything()
        assert not Suppression.objects.exclude(address=None).exists(), key
        kept = Suppression.objects.filter(has_left=True).values_list("list__key", flat=True)
        assert set(kept) == lists, key


def test_former_addresses_stay_suppressed_unless_somebody_else_has_them_now(acme: int) -> None:
    contact_id = people.contact(acme, "old@example.com")
    for address in ("passed-on@example.com", R1):
        contacts.update_contact(
            acme, contact_id=contact_id, changes=Changes(address=address), actor="alice", now=NOW
        )
    people.contact(acme, "passed-on@example.com")

    erase(acme)

    for address, is_kept_back in (
        (R1, True),
        ("old@example.com", True),
        ("passed-on@example.com", False),
    ):
        status = suppressions.find_status(acme, address=address)
        assert status.has_left == is_kept_back, address


def test_who_came_back_after_being_erased_is_suppressed_by_name(acme: int) -> None:
    people.news(acme)
    erase(acme)
    people.member(acme)

    leave(acme, key="news")

    assert Suppression.objects.get(list__key="news").address == R1


def test_what_error_files_quote_of_a_person_is_erased(
    acme: int, globex: int, tmp_path: Path
) -> None:
    for workspace_id in (acme, globex):
        for address, external_id in ((R1, "crm-7"), (R2, "crm-8")):
            contacts.create_contact(
                workspace_id,
                address=address,
                external_id=external_id,
                details=Details(name="R One"),
                actor="bob",
            )
        rows = "email,external_id\nr3@example.com,crm-7\nr4@example.com,crm-8\n"
        files.import_file(workspace_id, files.write_file(tmp_path, rows, f"{workspace_id}.csv"))

    erase(acme)

    problems = ImportProblem.objects.order_by("pk").values_list(
        "of_import__workspace_id", "row_number", "value"
    )
    assert list(problems) == [
        (acme, 2, ""),
        (acme, 3, "crm-8"),
        (globex, 2, "crm-7"),
        (globex, 3, "crm-8"),
    ]


def test_an_export_holds_deleted_contacts_and_what_keeps_the_address_back(
    acme: int, globex: int
) -> None:
    people.news(acme)
    people.news(globex)
    leave(globex, key="news")
    old = people.member(acme)
    people.delete(acme, old)
    new = people.contact(acme, "R1@example.com")
    leave(acme, key="news")
    leave(acme)

    document = export_person(acme)

    assert export_person(globex)["contacts"] == []
    first, second = document["contacts"]
    assert (first["id"], first["deleted_at"]) == (old, str(NOW))
    assert [one["list_key"] for one in first["subscriptions"]] == ["news"]  # type: ignore[attr-defined]
    assert (second["id"], second["deleted_at"]) == (new, None)
    assert [(one["list_key"], one["reason"]) for one in document["suppressions"]] == [
        (None, "unsubscribed"),
        ("news", "unsubscribed"),
    ]


def test_an_export_tells_what_happened_to_an_address_without_a_contact(
    acme: int, globex: int
) -> None:
    leave(acme)
    leave(acme, R2)
    leave(globex)

    document = export_person(acme)

    assert document["contacts"] == []
    assert [(one["action"], one["ip"]) for one in document["history"]] == [
        ("unsubscribed", PAGE.ip)
    ]


def test_the_contacts_of_an_address_are_found_by_an_index(acme: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, deleted_at)"
            " SELECT %s, 'r' || n || '@example.com', CASE WHEN n %% 2 = 0 THEN now() END"
            " FROM generate_series(1, 20000) AS n",
            [acme],
        )
        cursor.execute("ANALYZE contacts_contact")
    people.contact(acme, "R2@Example.com")

    with CaptureQueriesContext(connection) as captured:
        contact_ids = queries.list_contact_ids(acme, address=R2)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {captured[0]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert len(contact_ids) == 2
    assert "contacts_contact_once" in plan
    assert "contacts_contact_deleted" in plan
    assert "Seq Scan" not in plan
