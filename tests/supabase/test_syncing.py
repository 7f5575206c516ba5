"""Subscribers of Supabase become contacts, and what changes on either side reaches the other."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from postledger.accounts.models import Integration
from postledger.contacts.actions import erasing
from postledger.contacts.models import ConsentEvent, Contact, Subscription, Suppression
from postledger.contacts.states import ContactState
from postledger.supabase import errors, syncing
from postledger.supabase.models import Sync, SyncProblem
from tests.contacts import people
from tests.fakes.postgrest import FakePostgrest, Fault, Seen
from tests.supabase import projects

EARLY = "2026-11-01T00:00:00+00:00"
LATE = "2026-11-15T11:00:00+00:00"
R1 = people.R1


def sync() -> Sync:
    return syncing.sync_all()


def counts(done: Sync) -> tuple[int, int, int, int]:
    return done.created_count, done.renamed_count, done.ended_count, done.written_count


def contact(workspace_id: int, address: str = R1) -> Contact:
    return Contact.objects.get(workspace_id=workspace_id, address__iexact=address, deleted_at=None)


def problems() -> list[tuple[str, str]]:
    rows = SyncProblem.objects.order_by("shown", "failure")
    return list(rows.values_list("shown", "failure"))


def everything() -> list[Any]:
    """All that a sync may change here, column by column."""
    models = (Contact, ConsentEvent, Suppression, Subscription)
    kept = [list(model.objects.order_by("pk").values()) for model in models]
    problem = list(SyncProblem.objects.order_by("pk").values("row_hash", "failure", "since"))
    return [*kept, problem]


def test_thousands_of_subscribers_are_read_page_by_page_and_each_is_taken_once(
    acme: int, globex: int, fake: FakePostgrest
) -> None:
    fake.add_many(2_500)

    done = sync()

    of_acme = Contact.objects.filter(workspace_id=acme)
    assert (done.read_count, counts(done)) == (2_500, (2_500, 0, 250, 0))
    assert of_acme.count() == 2_500
    assert of_acme.filter(state="unsubscribed").count() == 250
    assert of_acme.get(address="S7@example.com").from_name == "Editor 7"
    conditions = [request.query["email"] for request in fake.requests]
    assert [len(condition) > 3 for condition in conditions] == [False, True, True, True]
    assert not Contact.objects.filter(workspace_id=globex).exists()


def test_a_repeat_changes_nothing_on_either_side(acme: int, fake: FakePostgrest) -> None:
    fake.add_many(50)
    fake.add("no address")
    people.contact(acme, "S3@example.com")
    people.bounce(acme, "s3@example.com")
    sync()
    before = everything()
    fake.requests.clear()

    done = sync()

    assert counts(done) == (0, 0, 0, 0)
    assert everything() == before
    assert not fake.list_requests("PATCH")


def test_who_left_or_bounced_there_is_not_mailed_here(acme: int, fake: FakePostgrest) -> None:
    bounce = {"bounce_type": "Permanent", "bounce_subtype": "NoEmail"}
    states = {R1: "unsubscribed", "r2@example.com": "bounced"}
    for address, state in states.items():
        people.contact(acme, address)
        fake.add(address, state, **bounce, status_updated_at=EARLY)

    sync()

    for address, state in states.items():
        person = contact(acme, address)
        assert (person.state, person.bounce_type) == (state, "Permanent")
        assert person.bounce_subtype == "NoEmail"
        assert person.state_changed_at == datetime.fromisoformat(EARLY)
        assert people.find_suppression(acme, address).reason == state
        last = ConsentEvent.objects.filter(contact=person).latest("pk")
        assert (last.action, last.source) == ("imported", "supabase")
        assert (last.before, last.after) == ("active", state)


def test_who_left_or_bounced_here_is_written_there_with_its_reason_and_time(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    people.bounce(acme, subtype="Suppressed")
    people.contact(acme, "r2@example.com")
    people.leave(acme, "r2@example.com")
    fake.add("R1@example.com", "unsubscribed", status_updated_at=LATE, from_name="Ann")
    fake.add("r2@example.com", status_updated_at=None)

    sync()  # takes the wish of the first one, before it is written over
    done = sync()

    assert done.written_count == 1
    assert fake.row("R1@example.com") == {
        "email": "R1@example.com",
        "status": "bounced",
        "bounce_type": "Permanent",
        "bounce_subtype": "Suppressed",
        "status_updated_at": people.NOW.isoformat(),
        "from_name": "Ann",
    }
    assert fake.row("r2@example.com")["status"] == "unsubscribed"
    assert people.state(contact(acme).pk) is ContactState.BOUNCED


def test_a_sync_revives_nobody_and_makes_no_consent(acme: int, fake: FakePostgrest) -> None:
    people.news(acme)
    people.leave(acme, "left@example.com")
    people.contact(acme, "dead@example.com")
    people.bounce(acme, "dead@example.com")
    for email in ("left@example.com", "dead@example.com", "new@example.com"):
        fake.add(email, status_updated_at="2026-11-20T00:00:00Z")

    sync()

    assert contact(acme, "left@example.com").state == "unsubscribed"
    assert contact(acme, "dead@example.com").state == "bounced"
    assert not Subscription.objects.exists()
    born = ConsentEvent.objects.get(contact=contact(acme, "new@example.com"))
    assert (born.action, born.source, born.list_id) == ("imported", "supabase", None)


def test_an_undo_here_outlives_the_leaving_that_supabase_repeats(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add(R1, "unsubscribed", status_updated_at=EARLY)
    sync()
    people.undo(acme)

    sync()

    assert contact(acme).state == "active"
    assert fake.row(R1)["status"] == "active"
    fake.set(R1, status="unsubscribed")
    sync()
    assert contact(acme).state == "unsubscribed"


@pytest.mark.parametrize("keep_back", [people.bounce, people.complain])
@pytest.mark.parametrize("at", [EARLY, LATE, None])
def test_a_leaving_under_a_bounce_or_complaint_comes_to_light_when_that_is_lifted(
    acme: int, fake: FakePostgrest, keep_back: Callable[[int], object], at: str | None
) -> None:
    people.contact(acme)
    keep_back(acme)
    fake.add(R1, "unsubscribed", status_updated_at=at)
    sync()
    before = everything()
    sync()

    assert everything() == before  # once is enough
    assert people.find_suppression(acme).has_left
    people.restore(acme)
    sync()
    assert contact(acme).state == fake.row(R1)["status"] == "unsubscribed"


def test_a_leaving_under_a_bounce_is_written_over_once_it_is_known_here_also_as_undone(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    people.bounce(acme)
    fake.add(R1, "unsubscribed", status_updated_at=LATE)
    fake.add("r2@example.com", "unsubscribed", status_updated_at=EARLY)

    taken = sync()
    people.bounce(acme, "r2@example.com")
    people.undo(acme, "r2@example.com")
    written = sync()

    assert (counts(taken), counts(written)) == ((1, 0, 2, 0), (0, 0, 0, 2))
    assert fake.row(R1)["status"] == fake.row("r2@example.com")["status"] == "bounced"
    assert not people.find_suppression(acme, "r2@example.com").has_left, "it is no news"


@pytest.mark.parametrize(
    "steps", [(people.contact, people.complain), (people.complain, people.contact)]
)
def test_a_complaint_that_was_written_there_does_not_come_back_as_a_wish(
    acme: int, fake: FakePostgrest, steps: tuple[Callable[[int], object], ...]
) -> None:
    for step in steps:
        step(acme)
    fake.add(R1)
    sync()
    sync()

    assert fake.row(R1)["status"] == "unsubscribed"
    assert not people.find_suppression(acme).has_left


def test_a_leaving_counts_that_came_after_an_undo_and_both_during_the_pass(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    people.leave(acme)
    people.undo(acme)
    left_at = people.LATER + timedelta(minutes=1)
    fake.add(R1, "unsubscribed", status_updated_at=left_at)

    syncing.sync_due(people.NOW)  # when the pass began

    person = contact(acme)
    assert person.state == fake.row(R1)["status"] == "unsubscribed"
    last = ConsentEvent.objects.filter(contact=person).latest("pk")
    assert people.NOW <= last.at < left_at  # nothing is recorded of times to come


def test_a_leaving_that_is_read_late_in_a_pass_keeps_its_time(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    left_at = people.NOW + timedelta(milliseconds=10)
    fake.add(R1, "unsubscribed", status_updated_at=left_at)
    fake.before_answer = lambda _: time.sleep(0.02)

    syncing.sync_due(people.NOW)

    assert contact(acme).state_changed_at == left_at


def test_a_bounce_that_an_operator_did_not_lift_counts_after_a_leaving(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    people.leave(acme)
    people.undo(acme)
    people.leave(acme)
    fake.add(R1, "bounced", status_updated_at=EARLY)

    sync()

    assert contact(acme).state == "bounced"
    assert fake.row(R1)["status"] == "bounced"


def test_from_names_follow_supabase_also_when_they_are_taken_away(
    acme: int, fake: FakePostgrest
) -> None:
    fake.add(R1, from_name="Ann")
    sync()
    fake.set(R1, from_name="Bea")
    renamed = sync()
    name = contact(acme).from_name
    fake.set(R1, from_name=None)
    sync()

    assert (renamed.renamed_count, name) == (1, "Bea")
    assert contact(acme).from_name is None


def test_rows_that_cannot_be_taken_are_listed_until_they_are_mended(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme, "gone@example.com")
    people.delete(acme, contact(acme, "gone@example.com").pk)
    people.contact(acme, "forgotten@example.com")
    erasing.erase(acme, address="forgotten@example.com", actor="alice", now=people.NOW)
    for email in ("gone@example.com", "forgotten@example.com", "not@an@address", R1):
        fake.add(email)
    fake.add("odd@example.com", "maybe")
    fake.add("none@example.com", None)
    fake.add("long@example.com", "unsubscribed", from_name="x" * 501)

    done = sync()
    listed = problems()
    since = SyncProblem.objects.get(shown="o***@example.com").since
    fake.set("odd@example.com", status="active")
    fake.set("none@example.com", from_name="still no status")
    sync()

    assert done.created_count == 2
    assert contact(acme, "long@example.com").state == "unsubscribed"
    assert [shown for shown, failure in listed if failure == "not_applied"] == [
        "f***@example.com",
        "g***@example.com",
        "l***@example.com",
        "n***@an@address",
        "n***@example.com",
        "o***@example.com",
    ]
    assert not SyncProblem.objects.filter(shown="o***@example.com").exists()
    assert SyncProblem.objects.get(shown="n***@example.com").since == since
    assert not Contact.objects.filter(
        workspace_id=acme, address__in=["gone@example.com", "forgotten@example.com"]
    ).exclude(deleted_at__isnull=False)


def test_a_row_that_cannot_be_written_is_listed_and_keeps_nobody_back(
    acme: int, fake: FakePostgrest
) -> None:
    for address in (R1, "r2@example.com"):
        people.contact(acme, address)
        people.leave(acme, address)
    fake.add(R1, from_name="Unwritable")
    fake.add("r2@example.com")

    done = sync()

    assert (done.written_count, fake.row(R1)["status"]) == (1, "active")
    assert problems() == [("r***@example.com", "not_written")]


def test_a_row_that_changes_between_reading_and_writing_is_left_to_the_next_pass(
    acme: int, fake: FakePostgrest
) -> None:
    people.contact(acme)
    people.leave(acme)
    fake.add(R1)

    def interfere(request: Seen) -> None:
        if request.method == "PATCH":
            fake.set(R1, status="bounced")

    fake.before_answer = interfere
    sync()

    assert (fake.row(R1)["status"], len(problems())) == ("bounced", 1)
    sync()
    assert (contact(acme).state, problems()) == ("bounced", [])


def test_a_pass_that_fails_in_the_middle_goes_on_exactly_where_it_stopped(
    acme: int, fake: FakePostgrest
) -> None:
    fake.max_rows = 10
    fake.add_many(35)
    for number in (21, 23, 25):
        people.contact(acme, f"s{number}@example.com")
        people.leave(acme, f"s{number}@example.com")

    def fail(seen: Seen) -> None:
        if len(fake.list_requests("PATCH")) == 2:
            fake.faults.extend([Fault(500, retry_after="0")] * 4)

    fake.before_answer = fail
    with pytest.raises(errors.SupabaseUnreachableError):
        sync()
    stopped, taken = Sync.objects.get(), Contact.objects.exclude(from_name=None).count()
    fake.before_answer = lambda _: None
    fake.faults.clear()
    fake.requests.clear()
    done = sync()

    assert (stopped.read_count, taken) == (10, 10)
    assert stopped.trouble is not None
    assert fake.requests[0].query["email"] == f"gt.{stopped.cursor}"
    assert (done.read_count, done.trouble) == (35, None)
    assert Contact.objects.filter(workspace_id=acme).count() == 35
    assert {fake.row(f"S{n}@example.com")["status"] for n in (21, 23, 25)} == {"unsubscribed"}


def test_a_failing_schedule_says_so_in_words_and_in_the_log_without_an_address_or_key(
    acme: int, fake: FakePostgrest, caplog: pytest.LogCaptureFixture
) -> None:
    fake.add(R1)
    projects.change(acme, api_key="another-key")
    with pytest.raises(errors.SupabaseUnauthorizedError, match="--secret api_key=FILE") as refused:
        sync()
    assert "another-key" not in str(refused.value)
    assert not Contact.objects.exists()
    assert "key" in (Sync.objects.get().trouble or "")

    with caplog.at_level(logging.INFO):
        syncing.sync_due(datetime.now(UTC) + timedelta(minutes=2))
        projects.change(acme, api_key=fake.key)
        syncing.sync_due(datetime.now(UTC) + timedelta(minutes=5))

    assert "supabase_not_synced" in caplog.text
    assert "supabase_synced" in caplog.text
    for hidden in (R1, fake.key, "another-key"):
        assert hidden not in caplog.text


def test_the_schedule_begins_a_pass_only_when_the_last_one_is_some_minutes_old(
    acme: int, fake: FakePostgrest
) -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    fake.add(R1)
    syncing.sync_due(now)
    asked = len(fake.requests)
    syncing.sync_due(now + syncing.EVERY - timedelta(seconds=1))

    assert len(fake.requests) == asked
    syncing.sync_due(now + syncing.EVERY)
    assert len(fake.requests) == 2 * asked


def test_the_row_counts_and_the_environment_connects_nothing(
    acme: int, fake: FakePostgrest, settings: Settings
) -> None:
    fake.add(R1)
    settings.SUPABASE_URL = "http://127.0.0.1:1"  # nobody listens there
    settings.SUPABASE_SERVICE_ROLE_KEY = "another-key"
    assert sync().created_count == 1

    Integration.objects.all().delete()
    Sync.objects.all().delete()
    settings.SUPABASE_URL, settings.SUPABASE_SERVICE_ROLE_KEY = fake.url, fake.key
    fake.requests.clear()
    syncing.sync_due(people.NOW)
    assert fake.requests == []
    assert not Sync.objects.exists()


def test_a_project_whose_key_is_lost_stops_no_schedule_and_is_noted_as_its_trouble(
    acme: int, fake: FakePostgrest, caplog: pytest.LogCaptureFixture
) -> None:
    fake.add(R1)
    Integration.objects.update(sealed_settings=b"\x01" + bytes(100))

    syncing.sync_due(people.NOW)
    lost = Sync.objects.get()
    Integration.objects.all().delete()
    projects.connect(acme, fake)
    syncing.sync_due(people.NOW + timedelta(minutes=2))

    assert "integration settings cannot be unsealed" in (lost.trouble or "")
    assert caplog.text.count("supabase_not_synced") == 1
    assert Sync.objects.get().trouble is None
    assert contact(acme).address == R1
