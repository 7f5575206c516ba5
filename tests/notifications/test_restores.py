"""After a restore, what the lost time may have sent is in doubt, and what is new goes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.deliveries.states import State
from postledger.notifications.fan_out import planner
from postledger.notifications.jobs import documents, intake
from postledger.notifications.models import Event, Notification
from postledger.notifications.sources import sources
from postledger.notifications.sources.sources import SourceFields
from tests import epochs
from tests.notifications import cast, mail_room
from tests.notifications.mail_room import MailRoom

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def kept_epochs(transactional_db: None) -> Iterator[None]:
    yield from epochs.kept()


def test_an_event_of_before_is_in_doubt_and_one_of_afterwards_is_not(room: MailRoom) -> None:
    before = cast.event(room.topic, dedupe_key="before")
    epochs.fall()
    planner.plan_all()
    before.refresh_from_db()

    assert mail_room.states(before) == {"ann": State.IN_DOUBT}
    assert mail_room.states(room.tell(dedupe_key="after")) == {"ann": State.WAITING}


def test_a_change_that_was_first_compared_across_the_lost_time_is_in_doubt(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann"], notify_on=["Open", "Full"])
    fields = {"campusCode": "campus", "termId": "term", "indexNumber": "index"}
    texts = ("courseTitle", "courseString", "sectionIndex", "sectionNumber", "meetingSummary")
    source = sources.create_source(
        room.topic.workspace_id,
        key="registrar",
        topic="open-seats",
        fields=SourceFields(
            id_fields=["index"],
            watched_field="status",
            fields={**fields, **{name: name for name in texts}},
        ),
        actor="alice",
    )

    def take_states(status: str) -> list[State]:
        now = datetime.now(UTC)
        item = {**{name: cast.DATA[name] for name in texts}, "status": status}
        item |= {"campus": "NB", "term": "92026", "index": "10001"}
        taken = sources.take_snapshot(source, [item], taken_at=now, now=now)
        planner.plan_all()
        events = Event.objects.filter(pk__in=[event.id for event in taken.events])
        return [state for event in events for state in mail_room.states(event).values()]

    assert take_states("Closed") == []
    epochs.fall()
    assert take_states("Open") == [State.IN_DOUBT]
    assert take_states("Full") == [State.WAITING]


def test_a_job_for_an_event_of_before_is_in_doubt(settings: Settings) -> None:
    topic = cast.topic(settings, is_by_job=True)
    cast.subscribe(topic, "ann")

    def post_job(event: Event) -> State:
        [row] = Notification.objects.filter(event=event)
        job = documents.build_job(row.pk, workspace_id=topic.workspace_id)
        intake.take_job(topic.workspace_id, job, now=datetime.now(UTC))
        event.refresh_from_db()
        return mail_room.states(event)["ann"]

    before = cast.event(topic, dedupe_key="before")
    planner.plan_all()
    epochs.fall()
    after = cast.event(topic, dedupe_key="after")
    planner.plan_all()

    assert post_job(before) is State.IN_DOUBT
    assert post_job(after) is State.WAITING
