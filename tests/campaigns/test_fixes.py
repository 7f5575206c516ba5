"""Who failed before anything was handed over gets mail after a fix, and nobody gets it twice."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.contacts.details import Details
from postledger.content import templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.entries import Entry, SeenDelivery
from postledger.deliveries.states import State
from postledger.mailing.content_source import TemplateSource
from postledger.privacy import erasure
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.dispatch import office
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = replace(press.WORDS, body="Hello, {{ name }} of {{ city }}.", required=("city",))


def missing(position: int) -> Entry:
    return entries.invalid(position, code="template_missing_variable")


def move_to(city: str, *numbers: int) -> None:
    """Gives readers the value that their letter requires."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_contact SET attributes = jsonb_build_object('city', %s::text)"
            " WHERE lower(address) = ANY(%s)",
            [city, [f"r{number}@example.com" for number in numbers]],
        )


def failed_run(acme: int, count: int) -> Run:
    """A run of which nobody has the value that the letter requires."""
    press.people(acme, count)
    run = press.launched(acme, press.campaign(acme, content=WORDS))
    cast.judge(run.stream_id, missing)
    return run


def cities(run: Run) -> list[object]:
    return [values.get("city") for _, _, values, _ in press.lines(run)]


def counts(run: Run) -> dict[State, int]:
    books = queries.read_books([run.stream_id])[run.stream_id]
    return {state: count for state, count in books.counts.items() if count}


def findings(*runs: Run) -> list[str]:
    return [str(it) for run in runs for it in audit.audit(run.stream_id).discrepancies]


def test_a_retry_fills_a_mail_with_the_contacts_new_values_unless_it_was_handed_over(
    acme: int,
) -> None:
    run = failed_run(acme, 2)
    move_to("Porto", 0)

    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 2
    assert cities(run) == ["Porto", None]
    assert findings(run) == []
    for _ in range(2):
        cast.book(run.stream_id, press.refused)
    move_to("Lisbon", 0)
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 2
    assert cities(run) == ["Porto", None]


def test_a_retry_brings_no_value_back_of_a_reader_who_is_erased_meanwhile(acme: int) -> None:
    run = failed_run(acme, 2)
    move_to("Porto", 0, 1)

    with collide.uncommitted(partial(requeue_first, run)):
        retry = collide.start(lambda: run_control.retry_failed(acme, run.pk, actor="alice"))
        retry.must_wait()
        erasure.erase(acme, address="r1@example.com", actor="dpo", now=press.NOW)

    assert retry.answer().requeued == 1
    assert values(run) == [{"name": "Reader 0"}, None]


def requeue_first(run: Run) -> list[int]:
    return ledger.requeue(run.stream_id, [SeenDelivery(0, 1)], actor="bob")


def values(run: Run) -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT variables::text FROM deliveries_delivery WHERE stream_id = %s"
            " ORDER BY position",
            [run.stream_id],
        )
        return [None if each is None else json.loads(each) for (each,) in cursor.fetchall()]


def test_a_reader_whose_city_was_missing_gets_the_mail_once_it_is_there(acme: int) -> None:
    press.people(acme, 3)
    move_to("Porto", 1, 2)
    run = press.launched(acme, press.campaign(acme, content=WORDS))
    office.send_all(run.stream_id)
    assert counts(run) == {State.ACCEPTED: 2, State.FAILED: 1}

    move_to("Lisbon", 0)
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 1
    office.send_all(run.stream_id)

    assert counts(run) == {State.ACCEPTED: 3}
    assert cities(run) == ["Lisbon", "Porto", "Porto"]


def test_the_rest_has_whoever_failed_before_a_hand_over_and_they_are_not_retried_in_the_run(
    acme: int,
) -> None:
    run = failed_run(acme, 3)
    move_to("Porto", 0, 1)

    rest = press.rest(run)

    assert press.addresses(rest) == press.addresses(run)
    assert cities(rest) == ["Porto", "Porto", None]
    assert counts(run) == {State.CANCELLED: 3}
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 0
    seen = [SeenDelivery(position, 1) for position in range(3)]
    assert ledger.requeue(run.stream_id, seen, actor="bob") == []
    assert run_control.end_finished_runs() == 1
    assert findings(run, rest) == []


def test_the_rest_has_nobody_who_was_handed_over_or_may_have_been(acme: int) -> None:
    press.people(acme, 5)
    run = press.launched(acme, press.campaign(acme, content=WORDS))
    cast.judge(run.stream_id, missing, size=1)
    cast.book(run.stream_id, lambda at: entries.accepted(at, message_id="m"), size=1)
    cast.book(run.stream_id, press.refused, size=1)
    cast.lose(run.stream_id, size=1)

    rest = press.rest(run)

    assert press.addresses(rest) == press.addresses(run)[:1]
    assert rest.excluded == {"already_mailed": 4}


def test_who_was_handed_over_and_then_cancelled_is_not_in_the_rest(acme: int) -> None:
    press.people(acme, 3)
    run = press.launched(acme, press.campaign(acme, content=WORDS))
    cast.book(
        run.stream_id,
        lambda at: entries.try_later(at, delay=timedelta(hours=1), code="450"),
        size=1,
    )
    press.cancel(run)

    rest = press.rest(run)

    assert press.addresses(rest) == press.addresses(run)[1:]


def test_whom_a_retry_has_taken_is_not_in_the_rest(acme: int) -> None:
    run = failed_run(acme, 3)
    assert run_control.retry_failed(acme, run.pk, actor="alice").requeued == 3

    rest = press.rest(run)

    assert press.addresses(rest) == []
    assert rest.excluded == {"already_mailed": 3}


def test_who_is_kept_back_from_the_rest_stays_a_failure_of_the_run(acme: int) -> None:
    run = failed_run(acme, 2)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_contact SET state = 'unsubscribed' WHERE address = 'r1@example.com'"
        )

    rest = press.rest(run)

    assert press.addresses(rest) == ["R0@example.com"]
    assert counts(run) == {State.CANCELLED: 1, State.FAILED: 1}


def test_whose_language_the_rest_does_not_speak_stays_a_failure_of_the_run(acme: int) -> None:
    templates.create(acme, key="hello", name="Hello", actor="alice")
    add_version(acme, "en", "pt")
    people.contact(acme, "a@example.com", Details(locale="en"))
    people.contact(acme, "b@example.com", Details(locale="pt"))
    run = press.launched(acme, press.campaign(acme, content=TemplateSource("hello")))
    cast.judge(run.stream_id, missing)
    add_version(acme, "en")

    rest = press.rest(run)

    assert press.addresses(rest) == ["a@example.com"]
    assert rest.excluded == {"template_missing_locale": 1}
    assert cast.states(run.stream_id) == {0: State.CANCELLED, 1: State.FAILED}


def add_version(acme: int, *locales: str) -> None:
    texts = [
        Source("News", "Hello, {{ city }}.", Format.MARKDOWN, locale=locale) for locale in locales
    ]
    version = Version(("city",), (), "", tuple(texts))
    templates.add_version(acme, key="hello", version=version, actor="alice")


def test_who_has_mail_at_a_former_address_stays_a_failure_of_the_run(acme: int) -> None:
    run = failed_run(acme, 2)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_contact SET former_addresses = ARRAY['r0@example.com']"
            " WHERE address = 'r1@example.com'"
        )
        cursor.execute(
            "UPDATE deliveries_delivery d SET contact_id = c.id, state = 'in_doubt'"
            " FROM contacts_contact c WHERE d.stream_id = %s AND d.position = 0"
            " AND c.address = 'r1@example.com'",
            [run.stream_id],
        )

    rest = press.rest(run)

    assert press.addresses(rest) == []
    assert cast.states(run.stream_id)[1] is State.FAILED


def test_a_rest_that_fails_leads_to_another_rest_and_each_reader_waits_once(acme: int) -> None:
    run = failed_run(acme, 3)
    second = press.rest(run)
    cast.judge(second.stream_id, missing)

    third = press.rest(run)

    assert [counts(each) for each in (run, second, third)] == [
        {State.CANCELLED: 3},
        {State.CANCELLED: 3},
        {},
    ]
    assert len(press.addresses(third)) == 3


def test_of_a_retry_and_a_rest_at_once_each_reader_is_in_one(acme: int) -> None:
    run = failed_run(acme, 10)
    rest_id = press.launch_rest(acme, run.pk)

    retried, _ = collide.together(
        [
            lambda: run_control.retry_failed(acme, run.pk, actor="bob").requeued,
            lambda: len(press.addresses(press.planned(rest_id))),
        ]
    )
    planning.plan_run(rest_id)

    rest = Run.objects.get(pk=rest_id)
    states = Counter(cast.states(run.stream_id).values())
    assert states[State.WAITING] == retried
    assert states[State.CANCELLED] == len(press.addresses(rest)) == 10 - retried
    assert findings(run, rest) == []
