"""The loop test: simulator addresses are mailed, and their events come back."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from django.db import connection

from postledger.contacts.models import Contact, Suppression
from postledger.feedback import application, inbox, topics
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.models import UnmatchedEvent
from postledger.workers import emitted_events
from tests.cli import command_line
from tests.dispatch import office
from tests.dispatch.test_provider_pool import open_smtp
from tests.dispatch.test_ses_pipeline import open_ses
from tests.fakes import sns
from tests.fakes.sns import Sink
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses import set_up
from tools.fakes.ses.server import FakeSes

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def applying(store: Callable[[], object]) -> Iterator[None]:
    """Stores and applies events, as a worker does."""
    stopping = threading.Event()

    def work() -> None:
        while not stopping.wait(0.05):
            store()
            application.apply_waiting()
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def store_posts(account_id: int, sink: Sink) -> None:
    """Messages that were stored before are stored once."""
    messages = [
        IncomingMessage(post.envelope["MessageId"], post.envelope["Message"], None)
        for post in list(sink.posts)
    ]
    inbox.store(account_id, messages)


@pytest.mark.slow
def test_every_report_of_the_simulator_comes_back_and_leaves_no_contact_behind(
    tmp_path: Path,
) -> None:
    with serving_in_thread(FakeSes()) as fake, sns.sink() as sink:
        acme = open_ses(fake, tmp_path, configuration_set="main")
        assert acme.account_id is not None
        arn = set_up.connect(fake.service.account, "events", ["main"], [sink.url])
        topics.register_topic(
            acme.workspace_id, acme.account_id, arn=arn, queue_url="", actor="alice"
        )
        with office.dispatching(), applying(partial(store_posts, acme.account_id, sink)):
            first, *lines, last = command_line.run("feedback_test", "news@acme.example")

    assert first.startswith("Sent 5 mails from news@acme.example")
    assert last == "Every report came back."
    told = {line.partition("@")[0]: line for line in lines}
    assert list(told) == ["success", "bounce", "ooto", "complaint", "suppressionlist"]
    for word, report in (
        ("success", ", delivered "),
        ("bounce", ", bounced "),
        ("ooto", ", soft bounced "),
        ("complaint", ", complained "),
        ("suppressionlist", ", on suppression list "),
    ):
        assert "accepted after" in told[word]
        assert report in told[word]
    assert Contact.objects.count() == Suppression.objects.count() == 0
    assert UnmatchedEvent.objects.count() == 0


@pytest.mark.slow
def test_the_sandbox_reports_by_its_own_words(tmp_path: Path) -> None:
    office.open_office(tmp_path)
    with (
        office.dispatching(take_event=emitted_events.offer),
        applying(emitted_events.store_waiting),
    ):
        first, *lines, last = command_line.run("feedback_test", "news@acme.example")

    assert first.startswith("Sent 4 mails")
    assert last == "Every report came back."
    assert [line.partition("@")[0] for line in lines] == [
        *("success", "bounce", "softbounce", "complaint")
    ]
    assert Contact.objects.count() == Suppression.objects.count() == 0


def test_a_mail_whose_events_do_not_come_is_named_after_the_time_limit(tmp_path: Path) -> None:
    with serving_in_thread(FakeSes()) as fake:
        acme = open_ses(fake, tmp_path, configuration_set="main")
        assert acme.account_id is not None
        arn = "arn:aws:sns:us-east-1:123456789012:deaf"
        topics.register_topic(
            acme.workspace_id, acme.account_id, arn=arn, queue_url="", actor="alice"
        )

        refusal = command_line.refusal("feedback_test", "news@acme.example", "--seconds", "0")

    assert refusal.startswith("5 of 5 mails have no report after 0 s.")


def test_a_sender_whose_events_are_not_expected_is_not_tested(tmp_path: Path) -> None:
    with serving_in_thread(FakeSes()) as fake:
        open_ses(fake, tmp_path)
        open_smtp(tmp_path, 25, "globex")
    topicless = command_line.refusal("feedback_test", "news@acme.example")
    by_smtp = command_line.refusal("feedback_test", "news@globex.example")
    unknown = command_line.refusal("feedback_test", "nobody@acme.example")

    assert "no events are expected" in topicless
    assert "is of kind smtp, which has no simulator addresses" in by_smtp
    assert "There is no sender nobody@acme.example" in unknown
