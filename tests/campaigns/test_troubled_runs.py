"""What the database refuses of one run is that run's trouble; one that is away is everybody's."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from django.db import OperationalError, connection

from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.contacts.details import Details
from postledger.content import articles
from postledger.content.slices import SliceFields
from postledger.lib import sentences
from postledger.mailing.content_source import ArticleSource
from postledger.mailing.models import Variant
from tests.campaigns import press
from tests.contacts import people
from tests.journeys import stage

pytestmark = pytest.mark.django_db

# Whoever plans a batch of the stream meets this.
FAULT = """
CREATE OR REPLACE FUNCTION public.test_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.stream_id = {stream} THEN {fault} END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER test_fault BEFORE INSERT ON deliveries_batch
FOR EACH ROW EXECUTE FUNCTION public.test_fault();
"""
LOST = "PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60);"


def two(workspace_id: int) -> list[UUID]:
    """Two launches, in the order in which they are planned."""
    press.people(workspace_id, 3)
    return [
        press.launch(workspace_id, press.campaign(workspace_id, tag=tag))
        for tag in ("first", "second")
    ]


def break_(run_id: UUID, fault: str) -> None:
    stream_id = Run.objects.values_list("stream_id", flat=True).get(pk=run_id)
    with connection.cursor() as cursor:
        cursor.execute(FAULT.format(stream=stream_id, fault=fault))


def trouble(run_id: UUID) -> str:
    return sentences.read_document(Run.objects.values_list("trouble", flat=True).get(pk=run_id))


@pytest.fixture
def mended() -> Iterator[None]:
    """The fault is gone in the end: nothing is rolled back in these tests."""
    yield
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION public.test_fault CASCADE")


@contextmanager
def taking_nobody() -> Iterator[None]:
    """Whoever loses the connection gets no other one meanwhile."""
    name = connection.settings_dict["NAME"]
    with psycopg.connect(stage.database(), dbname="postgres", autocommit=True) as other:
        other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            yield
        finally:
            other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@pytest.mark.django_db(transaction=True)
def test_a_run_that_costs_the_connection_keeps_no_other_from_being_planned(
    acme: int, mended: None
) -> None:
    first, second = two(acme)
    break_(first, LOST)

    planning.plan_all()

    assert trouble(first).startswith("internal_error: ")
    assert Run.objects.get(pk=second).planned_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_the_trouble_of_no_run(acme: int, mended: None) -> None:
    first, second = two(acme)
    break_(first, LOST)

    with taking_nobody(), pytest.raises(OperationalError):
        planning.plan_all()

    connection.close()
    assert trouble(first) == trouble(second) == ""


def test_readers_of_very_many_places_with_long_names_get_their_letter(acme: int) -> None:
    places = [f"ocd-division/{secrets.token_urlsafe(180)}" for _ in range(100)]
    articles.create(acme, key="week", title="The week", actor="alice")
    for place in places:
        draft = SliceFields(scope_ocd_id=place, title="News", body_md="A story.", is_published=True)
        articles.add_slice(acme, article_key="week", fields=draft, actor="alice")
    people.contact(acme, "all@example.com", Details(ocd_ids=places))
    people.contact(acme, "most@example.com", Details(ocd_ids=places[1:]))
    people.contact(acme, "most-too@example.com", Details(ocd_ids=places[1:]))

    run = press.launched(acme, press.campaign(acme, content=ArticleSource("week")))

    letters = {address: letter for address, _, _, letter in press.lines(run)}
    assert run.trouble == ""
    assert letters["all@example.com"] != letters["most@example.com"]
    assert letters["most@example.com"] == letters["most-too@example.com"]
    assert Variant.objects.filter(stream_id=run.stream_id).count() == 2
