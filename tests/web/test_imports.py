"""Imports by the API: from the upload to the last problem, one workspace at a time."""

import csv
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DataError, OperationalError, connection

from postledger.contacts.models import Contact
from postledger.imports import uploads as kept
from postledger.imports import worker_jobs
from postledger.imports.models import FilePart, Import, ImportState
from postledger.imports.uploads import KEPT
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from postledger.web.api.imports import received_file as imports_received_file
from tests.contacts import people
from tests.imports import workbooks
from tests.web import uploads
from tests.web.callers import Caller, Reply

WRONG = {
    "nothing but a mark": (b"\xef\xbb\xbf", "no rows"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0", "no workbook, but a picture"),
    "a PDF": (b"%PDF-1.7\n", "PDF"),
    "an open quote": (b'email\n"r1@example.com\n', "quote"),
    "a line without end": (b"email\n" + b"x" * 1_100_000, "longer"),
    "damaged UTF-8": (b"email\n" + "é".encode() * 50 + b"\xff", "damaged"),
    "too many columns": (b",".join(b"c%d" % n for n in range(201)) + b"\n", "columns"),
}


def ask(who: Caller, number: int, verb: str, **wanted: object) -> Reply:
    return who.post(f"/v1/imports/{number}/{verb}", wanted or uploads.WANTED)


def abandon(who: Caller, number: int) -> Reply:
    return who.post(f"/v1/imports/{number}/abandon", None)


def test_a_file_is_brought_tried_started_and_watched(alice: Caller) -> None:
    people.news(alice.workspace_id)
    people.contact(alice.workspace_id)

    reply = uploads.bring(alice, uploads.PEOPLE, file_name="people.csv")
    number = reply.body["id"]
    assert (reply.status, reply.body["state"]) == (201, "uploaded")
    assert reply.body["waiting"]["on"] == "you"
    assert reply.body["upload"] == {
        "encoding": "utf-8",
        "delimiter": ",",
        "header": ["Mail", "name", "=city"],
        "rows": [
            ["r1@example.com", "Ann", "Porto"],
            ["nobody", "Bob", ""],
            ["R1@example.com", "Ann", ""],
        ],
        "suggested": {"Mail": "email", "name": "name", "=city": "attributes.=city"},
        "state_like": [],
    }

    asked = ask(alice, number, "preview")
    assert (asked.status, asked.body["state"]) == (202, "previewing")
    assert asked.body["waiting"]["on"] == "a worker"
    uploads.work()
    tried = uploads.read_import(alice, number)
    assert (tried["state"], tried["done_count"]) == ("uploaded", 0)
    preview = tried["preview"]
    counts = [preview[name] for name in ("created", "updated", "duplicates", "refused")]
    assert counts == [0, 1, 1, 1]
    assert (preview["subscribed"], preview["reasons"]) == (1, {"This is not an email address.": 1})
    assert preview["kept_back_reasons"] == {}
    assert [problem["row"] for problem in preview["problems"]] == [3, 4]
    assert "'' → 'Ann'" in preview["samples"][0]
    assert "r1@example.com" not in str(preview)
    assert not Contact.objects.filter(name="Ann").exists()

    assert ask(alice, number, "start").status == 202
    uploads.work()
    done = uploads.read_import(alice, number)
    assert (done["state"], done["done_count"], done["waiting"]) == ("finished", 3, None)
    assert [done[name] for name in ("created", "updated", "duplicates", "refused")] == [0, 1, 1, 1]
    assert (done["list"], done["subscribed"], done["mapping"]["=city"]) == (
        "news",
        1,
        "attributes.city",
    )
    assert (done["upload"], done["preview"]) == (None, None)
    assert Contact.objects.get().attributes == {"city": "Porto"}
    assert not FilePart.objects.exists()

    rows = list(csv.reader(alice.get(f"/v1/imports/{number}/problems.csv").body.splitlines()))
    assert [row[:3] for row in rows] == [
        ["row", "column", "value"],
        ["3", "Mail", "nobody"],
        ["4", "Mail", rows[2][2]],
    ]
    assert "R1@" not in str(rows)


def test_the_problems_are_safe_for_spreadsheets(alice: Caller) -> None:
    number = uploads.bring_import(alice, b"email,=name\n=cmd(),x\n")
    ask(alice, number, "start", mapping={})
    uploads.work()

    reply = alice.get(f"/v1/imports/{number}/problems.csv")

    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "'=cmd()" in reply.body
    assert ",=" not in reply.body


def test_a_workbook_is_brought_by_its_content_whatever_it_is_called(alice: Caller) -> None:
    for kind in (uploads.XLSX, "application/octet-stream", uploads.CSV):
        reply = uploads.bring(
            alice, workbooks.make_workbook(), kind, file_name="a.xlsx", sheet="Others"
        )
        assert (reply.status, reply.body["upload"]["rows"]) == (201, [["r2@example.com"]])
        assert reply.body["file_name"] == "a.xlsx"
        ask(alice, reply.body["id"], "start", mapping={})
    uploads.work()

    assert Contact.objects.get().address == "r2@example.com"


def test_a_wrong_file_or_a_body_that_is_none_is_refused_and_nothing_is_kept(alice: Caller) -> None:
    for name, (content, part) in {**WRONG, **workbooks.wrong()}.items():
        reply = uploads.bring(alice, content)

        assert (reply.status, reply.body["code"]) == (422, "invalid_import_file"), name
        assert any(word in reply.body["detail"] for word in part.split("|")), name
    for kind in ("application/json", "multipart/form-data; boundary=x", ""):
        reply = uploads.bring(alice, uploads.PEOPLE, kind)
        assert (reply.status, reply.body["code"]) == (415, "unsupported_media_type"), kind
    assert not Import.objects.exists()
    assert not FilePart.objects.exists()


@pytest.mark.slow
def test_a_file_above_50_mebibytes_is_too_large_and_the_command_is_advised(alice: Caller) -> None:
    line = b"r1@example.com\n" * 1024
    fitting = b"email\n" + line * (imports_received_file.LARGEST // len(line))

    large = uploads.bring(
        alice, b"email\n" + line * (imports_received_file.LARGEST // len(line) + 1)
    )
    taken = uploads.bring(alice, fitting)

    assert (large.status, large.body["code"]) == (413, "import_too_large")
    assert "postledger contacts import" in large.body["detail"]
    assert taken.status == 201
    kept_bytes = b"".join(FilePart.objects.order_by("number").values_list("content", flat=True))
    assert kept_bytes == fitting


def test_what_cannot_become_of_a_file_is_refused_at_once(alice: Caller) -> None:
    number = uploads.bring_import(alice)
    wrong: list[tuple[dict[str, object], str]] = [
        ({"mapping": {"Mail": "-"}}, "invalid_mapping"),
        ({"mapping": {"Mail": "email", "none": "name"}}, "invalid_mapping"),
        ({"mapping": uploads.MAPPING, "list": "none"}, "list_unknown"),
        ({"mapping": {"Mail": 5}}, "INVALID_PAYLOAD"),
        ({"maping": {}}, "INVALID_PAYLOAD"),
    ]
    for wanted, code in wrong:
        for verb in ("preview", "start"):
            reply = ask(alice, number, verb, **wanted)
            assert (reply.status, reply.body["code"]) == (422, code), wanted
    assert uploads.read_import(alice, number)["state"] == "uploaded"


def test_each_verb_has_its_states(alice: Caller) -> None:
    people.news(alice.workspace_id)
    number = uploads.bring_import(alice)
    steps = []
    for verb in ("preview", "preview", "start", "start", "preview", "abandon", "abandon", "start"):
        reply = ask(alice, number, verb) if verb != "abandon" else abandon(alice, number)
        steps.append((verb, reply.status, reply.body.get("state") or reply.body["code"]))

    assert steps == [
        ("preview", 202, "previewing"),
        ("preview", 409, "import_not_ready"),
        ("start", 202, "running"),
        ("start", 409, "import_not_ready"),
        ("preview", 409, "import_not_ready"),
        ("abandon", 200, "abandoned"),
        ("abandon", 409, "import_not_ready"),
        ("start", 409, "import_not_ready"),
    ]
    assert not FilePart.objects.exists()
    uploads.work()
    assert not Contact.objects.exists()


@pytest.fixture
def large(alice: Caller) -> int:
    """An import of more than a chunk, which was started."""
    rows = b"".join(b"r%d@example.com\n" % n for n in range(25_000))
    number = uploads.bring_import(alice, b"email\n" + rows)
    ask(alice, number, "start", mapping={})
    return number


def test_a_running_import_that_is_abandoned_keeps_what_it_did(alice: Caller, large: int) -> None:
    chunks = []

    def abandon_after_the_first() -> bool:
        chunks.append(uploads.read_import(alice, large)["done_count"])
        if len(chunks) == 1:
            abandon(alice, large)
        return False

    worker_jobs.do_next_job(abandon_after_the_first)

    ended = uploads.read_import(alice, large)
    counts = (ended["done_count"], ended["created"], Contact.objects.count())
    assert (ended["state"], *counts) == ("abandoned", *chunks[:1] * 3)
    assert 0 < chunks[0] < 25_000
    assert not FilePart.objects.exists()


def test_a_worker_that_is_to_stop_leaves_the_rest_to_the_next(alice: Caller, large: int) -> None:
    worker_jobs.do_next_job(lambda: True)
    half = uploads.read_import(alice, large)
    uploads.work()

    assert (half["state"], half["waiting"]["on"]) == ("running", "a worker")
    assert half["rows_per_second"] > 0
    assert datetime.fromisoformat(half["ends_at"]) >= datetime.fromisoformat(half["changed_at"])
    assert 0 < half["done_count"] < 25_000
    assert uploads.read_import(alice, large)["created"] == 25_000


# What PostgreSQL says when no room is left, of one address.
_FULL = """
CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER is_full BEFORE INSERT ON contacts_contact FOR EACH ROW
WHEN (NEW.address LIKE 'large@%') EXECUTE FUNCTION is_full()
"""


def test_an_import_that_cannot_go_on_says_why_and_lets_the_others_pass(alice: Caller) -> None:
    broken, sound = uploads.bring_import(alice), uploads.bring_import(alice)
    full = uploads.bring_import(alice, b"email\nlarge@example.com\n")
    for number in (broken, sound):
        ask(alice, number, "start", mapping=uploads.MAPPING)
    ask(alice, full, "start", mapping={})
    FilePart.objects.filter(of_import_id=broken).update(content=b"email\nx@example.com\n")
    with connection.cursor() as cursor:
        cursor.execute(_FULL)

    uploads.work()

    for number in (broken, full):
        import_ = uploads.read_import(alice, number)
        assert (import_["state"], import_["done_count"]) == ("running", 0)
        assert import_["waiting"]["on"] == "another try"
    assert "not the file" in uploads.read_import(alice, broken)["waiting"]["why"]
    assert uploads.read_import(alice, sound)["state"] == "finished"


# What is said of a file cannot be stored.
_UNSTORABLE = """
CREATE FUNCTION is_unstorable() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE 'invalid input syntax' USING ERRCODE = 'invalid_text_representation'; END $$;
CREATE TRIGGER is_unstorable BEFORE UPDATE OF trouble ON imports_import FOR EACH ROW
WHEN (NEW.trouble IS NOT NULL) EXECUTE FUNCTION is_unstorable()
"""


@pytest.mark.parametrize("job", ["preview", "start"])
def test_an_import_whose_trouble_cannot_be_stored_lets_the_others_pass(
    alice: Caller, job: str
) -> None:
    broken, sound = uploads.bring_import(alice), uploads.bring_import(alice)
    for number in (broken, sound):
        ask(alice, number, job, mapping=uploads.MAPPING)
    FilePart.objects.filter(of_import_id=broken).update(content=b"")
    with connection.cursor() as cursor:
        cursor.execute(_UNSTORABLE)

    with pytest.raises(DataError):
        uploads.work()
    uploads.work()

    done = uploads.read_import(alice, sound)
    assert done["preview"] if job == "preview" else done["state"] == "finished"
    # In a minute, it is tried again.
    assert not work_leases.held(Work.IMPORT)
    Import.objects.filter(pk=broken).update(due_at=datetime.now(UTC))
    with pytest.raises(DataError):
        uploads.work()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_no_trouble_of_an_import(alice: Caller) -> None:
    number = uploads.bring_import(alice, b"email\nr1@example.com\n")
    ask(alice, number, "start", mapping={})

    def be_cut_off() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return False

    with pytest.raises(OperationalError):
        worker_jobs.do_next_job(be_cut_off)
    connection.close()

    assert uploads.read_import(alice, number)["waiting"]["on"] == "a worker"
    uploads.work()
    assert uploads.read_import(alice, number)["created"] == 1


def test_what_nobody_starts_is_given_up_after_a_week(alice: Caller) -> None:
    number, started = uploads.bring_import(alice), uploads.bring_import(alice)
    ask(alice, started, "start", mapping=uploads.MAPPING)
    now = datetime.now(UTC)

    early = kept.abandon_old_uploads(now + KEPT - timedelta(minutes=1))
    late = kept.abandon_old_uploads(now + KEPT + timedelta(minutes=1))

    assert (early, late) == (0, 1)
    assert uploads.read_import(alice, number)["state"] == "abandoned"
    assert set(FilePart.objects.values_list("of_import_id", flat=True)) == {started}


def test_an_import_of_the_command_is_no_workers(alice: Caller) -> None:
    number = uploads.bring_import(alice)
    Import.objects.filter(pk=number).update(state=ImportState.RUNNING.value, upload=None)

    assert not worker_jobs.do_next_job(lambda: False)
