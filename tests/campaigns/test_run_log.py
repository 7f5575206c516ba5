"""The log tells the life of a campaign, and names nobody."""

from collections.abc import Callable

import pytest
from django.db import transaction
from structlog.testing import capture_logs

from postledger.accounts.models import AuditEntry
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.deliveries import ledger
from tests import cast
from tests.campaigns import press

pytestmark = pytest.mark.django_db(transaction=True)


def logged(act: Callable[[], object]) -> list[dict[str, object]]:
    with capture_logs() as lines:
        act()
    return [dict(line) for line in lines if str(line["event"]).startswith("campaign")]


def test_launch_first_mail_pauses_and_end_are_logged_once_each(acme: int) -> None:
    press.people(acme, 3)
    campaign_id = press.campaign(acme)

    def live() -> None:
        run_id = press.launch(acme, campaign_id)
        planning.plan_run(run_id)
        stream_id = Run.objects.get(pk=run_id).stream_id
        run_control.note_first_mails()
        cast.book(stream_id, press.taken, size=1)
        for _ in range(2):
            run_control.note_first_mails()
            run_control.pause_run(acme, run_id, actor="alice")
        run_control.resume_run(acme, run_id, actor="alice")
        cast.book(stream_id, press.taken)
        for _ in range(2):
            run_control.end_finished_runs()

    lines = logged(live)

    assert [line["event"] for line in lines] == [
        "campaign launched",
        "campaign planned",
        "campaign sent its first mail",
        "campaign paused",
        "campaign resumed",
        "campaign ended",
    ]
    run = Run.objects.get()
    for line in lines:
        assert (line["workspace_id"], line["run_id"]) == (acme, str(run.pk))
        assert (line["campaign_id"], line["log_level"]) == (campaign_id, "info")
        assert "@" not in str(line)
    assert lines[-1]["ended_as"] == "sent"


def test_a_run_that_ends_at_once_and_one_that_is_cancelled_are_logged(acme: int) -> None:
    press.people(acme, 1)
    sent = press.launched(acme, press.campaign(acme))
    cast.book(sent.stream_id, press.taken)
    run = press.launched(acme, press.campaign(acme, tag="cancelled"))

    def cancel() -> None:
        run_control.cancel_run(acme, run.pk, actor="alice")
        ledger.drain(run.stream_id)
        run_control.end_finished_runs()

    at_once, cancelled = logged(run_control.end_finished_runs), logged(cancel)

    assert [line["event"] for line in at_once] == ["campaign sent its first mail", "campaign ended"]
    assert [line["event"] for line in cancelled] == ["campaign cancelled", "campaign ended"]
    assert AuditEntry.objects.filter(action="campaign.cancelled").count() == 1
    assert cancelled[-1]["ended_as"] == "cancelled"


def test_a_test_is_logged_as_one(acme: int) -> None:
    campaign_id = press.campaign(acme)

    def test() -> None:
        press.send_test(acme, campaign_id, "bob@example.com")

    [line] = logged(test)
    planning.plan_run(Run.objects.get().pk)
    cast.book(Run.objects.get().stream_id, press.taken)
    run_control.end_finished_runs()

    assert (line["event"], line["is_test"]) == ("campaign tested", True)
    assert Run.objects.get().ended_as == "sent"
    actions = AuditEntry.objects.filter(action__startswith="campaign.").values_list("action")
    assert [action for (action,) in actions.order_by("pk")] == [
        "campaign.created",
        "campaign.tested",
    ], "the campaign itself was not sent"


def test_a_launch_that_is_rolled_back_is_not_logged(acme: int) -> None:
    press.people(acme, 1)
    campaign_id = press.campaign(acme)

    def launch() -> None:
        with transaction.atomic():
            press.launch(acme, campaign_id)
            transaction.set_rollback(True)

    assert logged(launch) == []
    assert not Run.objects.exists()
