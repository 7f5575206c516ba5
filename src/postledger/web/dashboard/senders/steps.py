"""The steps from a provider to a sender whose reports come back, told from facts alone."""

from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.accounts.models import Sender
from postledger.accounts.sender_dns import DnsReport
from postledger.deliveries import sender_setup
from postledger.feedback import loop_test
from postledger.feedback.sender_health import SenderHealth
from postledger.lib.check_results import Level
from postledger.web.dashboard.first_steps.steps import Step


def list_first_steps() -> list[Step]:
    """Those of somebody who has no sender yet."""
    return _mark({_("Provider"): ("", False), _("DNS"): ("", False), _("Feedback"): ("", False)})


def list_steps(sender: Sender, report: DnsReport | None, health: SenderHealth | None) -> list[Step]:
    """What is left to set up; nothing where all is done, or where nothing leaves the machine."""
    if sender.account is None or not sender_setup.reaches_people(sender):
        return []
    url = reverse("sender", args=[sender.workspace_id, sender.pk])
    steps = {
        _("Provider"): (url, not sender.account.is_unchecked),
        _("DNS"): (f"{url}#dns", report is not None and is_in_order(report)),
    }
    if loop_test.has_simulator(sender.account.kind):
        reports_url = reverse("sender_reports", args=[sender.workspace_id, sender.pk])
        steps[_("Feedback")] = (reports_url, health is not None and health.is_expected)
        has_report = health is not None and health.last_event_at is not None
        steps[_("First report")] = (f"{url}#loop", has_report)
    marked = _mark(steps)
    return [] if all(step.is_done for step in marked) else marked


def is_in_order(report: DnsReport) -> bool:
    return all(
        verdict.code.level is not Level.PROBLEM and not verdict.code.is_unanswered
        for verdict in report.verdicts
    )


def _mark(steps: dict[str, tuple[str, bool]]) -> list[Step]:
    """The first that is not done is the current one."""
    current = next((title for title, (_url, is_done) in steps.items() if not is_done), None)
    return [
        Step(title, url, is_current=title == current, is_done=is_done)
        for title, (url, is_done) in steps.items()
    ]
