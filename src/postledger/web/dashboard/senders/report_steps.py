"""Has a provider report to us, and tells each step: done, already there, failed, or not yet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from postledger.accounts.models import ProviderAccount, Workspace
from postledger.lib.errors import RefusedError
from postledger.providers import set_up
from postledger.providers.set_up import StepState
from postledger.web.shared.sentences import translate

SES, SENDGRID = "ses", "sendgrid"
# Where this installation takes what they post.
PATHS: Mapping[str, str] = {SES: "/ses-events", SENDGRID: "/sendgrid-events"}
_QUEUE = "queue"
_TITLES: Mapping[str, Promise] = {
    "config-set": gettext_lazy("Configuration set of SES"),
    "topic": gettext_lazy("Topic of SNS"),
    _QUEUE: gettext_lazy("Queue of SQS"),
    "subscription": gettext_lazy("Subscription to the topic"),
    "destination": gettext_lazy("SES reports to the topic"),
    "account": gettext_lazy("Emails name the configuration set"),
    "webhook": gettext_lazy("Event webhook at SendGrid"),
    "signature": gettext_lazy("SendGrid signs what it posts"),
    "key": gettext_lazy("The key of the signature is stored here"),
    "events": gettext_lazy("SendGrid reports to the webhook"),
}
_PLANS: Mapping[str, Sequence[str]] = {
    SES: ("config-set", "topic", _QUEUE, "subscription", "destination", "account"),
    SENDGRID: ("webhook", "signature", "key", "events"),
}


class Outcome(StrEnum):
    DONE = "done"
    PRESENT = "present"
    WAITING = "waiting"  # for somebody else
    FAILED = "failed"
    TO_DO = "to do"


_OUTCOMES: Mapping[StepState, Outcome] = {
    StepState.DONE: Outcome.DONE,
    StepState.PRESENT: Outcome.PRESENT,
    StepState.WAITING: Outcome.WAITING,
    StepState.ABSENT: Outcome.PRESENT,
    StepState.LEFT: Outcome.PRESENT,
}
_WORDS: Mapping[Outcome, tuple[Promise, str, str]] = {  # and the state and glyph of the badge
    Outcome.DONE: (gettext_lazy("Done"), "ok", "check"),
    Outcome.PRESENT: (gettext_lazy("Already there"), "ok", "check"),
    Outcome.WAITING: (gettext_lazy("Waiting"), "waiting", "clock"),
    Outcome.FAILED: (gettext_lazy("Failed"), "person", "alert"),
    Outcome.TO_DO: (gettext_lazy("To do"), "neutral", "list"),
}


@dataclass(frozen=True, slots=True)
class ShownStep:
    subject: str
    outcome: Outcome
    message: str = ""

    @property
    def title(self) -> Promise:
        return _TITLES[self.subject]

    @property
    def badge(self) -> tuple[Promise, str, str]:
        return _WORDS[self.outcome]


def list_plan(kind: str, *, has_queue: bool) -> list[ShownStep]:
    return [
        ShownStep(subject, Outcome.TO_DO) for subject in _list_subjects(kind, has_queue=has_queue)
    ]


def set_up_reports(
    workspace: Workspace, account: ProviderAccount, *, url: str, actor: str
) -> list[ShownStep]:
    """Asks the provider, so call it outside a transaction. Without a URL, SES fills a queue.

    What fails ends it; what was done before stays, and the next time goes on from there.
    """
    shown: list[ShownStep] = []
    try:
        for step in _create(workspace, account, url, actor):
            outcome = _OUTCOMES[step.state]
            shown.append(ShownStep(step.subject, outcome, translate(step.message)))
    except RefusedError as error:
        done = {step.subject for step in shown}
        planned = _list_subjects(account.kind, has_queue=not url)
        missing = [subject for subject in planned if subject not in done]
        failed, *later = missing or [shown[-1].subject]
        shown.append(ShownStep(failed, Outcome.FAILED, translate(error)))
        shown += [ShownStep(subject, Outcome.TO_DO) for subject in later]
    return shown


def _list_subjects(kind: str, *, has_queue: bool) -> list[str]:
    return [subject for subject in _PLANS[kind] if has_queue or subject != _QUEUE]


def _create(
    workspace: Workspace, account: ProviderAccount, url: str, actor: str
) -> Iterator[set_up.Step]:
    # The client of AWS is loaded by who needs it.
    if account.kind == SES:
        from postledger.feedback.report_setup.ses import SesReports

        return SesReports(workspace, account, actor).create(url)
    from postledger.feedback.report_setup.sendgrid import SendGridReports

    return SendGridReports(workspace, account, actor).create(url)
