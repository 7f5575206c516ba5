"""What a run's page says on top: why it stands still, and what asks for a decision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns.runs import run_steps
from postledger.campaigns.runs.live_run import LiveRun
from postledger.campaigns.runs.progress import Progress, WaitingMails
from postledger.campaigns.runs.run_steps import Step
from postledger.campaigns.states import RunState
from postledger.deliveries.entries import HoldScope
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import why
from postledger.web.dashboard.components.why import Choice, Why
from postledger.web.dashboard.runs import words

# Mail that waits for these goes within moments: it is listed below and needs no banner.
_PASSING = frozenset({Reason.READY, Reason.RATE_PER_SECOND})


def list_banners(
    workspace_id: int,
    live: LiveRun,
    names: Mapping[str, str],
    *,
    starts_at: datetime | None,
    may_steer: bool,
) -> list[Why]:
    """Every cause that keeps mail back, and first what asks for a decision."""
    run = live.progress
    told = [
        _describe(workspace_id, live, names, cause)
        for cause in live.causes
        if cause.code not in {*_PASSING, RunState.OPEN}
        and not (starts_at and cause.code == Reason.SCHEDULED)
    ]
    if starts_at is not None:
        told.append(why.describe_start(starts_at))
    whys = [*_list_doubts(workspace_id, run), *told, *_list_failures(run)]
    if not may_steer:
        whys = [replace(one, choices=[c for c in one.choices if not c.is_step]) for one in whys]
    return sorted(whys, key=lambda one: not one.is_for_person)


def _list_doubts(workspace_id: int, run: Progress) -> Iterator[Why]:
    number = run.books.counts[State.IN_DOUBT]
    if not number:
        return
    sentence = ngettext(
        "%(number)s email is in doubt: nobody knows whether the provider took it.",
        "%(number)s emails are in doubt: nobody knows whether the provider took them.",
        number,
    )
    yield Why(
        what=sentence % {"number": formats.count(number)},
        icon="doubt",
        is_for_person=True,
        wakes=_("a report of the provider, or your decision"),
        choices=[Choice(_("Decide"), _attention_url(workspace_id, "in-doubt"))],
    )


def _describe(workspace_id: int, live: LiveRun, names: Mapping[str, str], cause: Cause) -> Why:
    run = live.progress
    hold = next(
        (hold for hold in run.holds if (hold.reason, hold.scope) == (cause.code, cause.scope)), None
    )
    if hold is None and cause.code == RunState.CANCELLED:
        return _describe_cancelled(workspace_id, live, names, cause)
    if hold is None:
        return why.describe_cause(cause, names=names)
    if hold.scope is not HoldScope.STREAM:
        link = Choice(_("Look at the sender"), _attention_url(workspace_id, "held"))
        return why.describe_cause(cause, [link])
    if run_steps.find_obstacle(Step.RESUME, run, live.retry) is not None:
        # A limit: nobody ends it, but it may be changed.
        url = reverse("sender", args=[workspace_id, live.sender_id])
        return why.describe_cause(cause, [Choice(_("Look at its limits"), f"{url}#limits")])
    url = step_url(workspace_id, run, Step.RESUME)
    resume = Choice(_("Resume"), url, is_form=True, is_step=True)
    if hold.reason is not Reason.PAUSED:
        return why.describe_cause(cause, [resume])
    return Why(
        what=_("Paused by %(name)s until you resume it.")
        % {"name": formats.isolate(names[hold.actor])},
        icon="pause",
        since=hold.since,
        until=hold.until,
        choices=[resume],
    )


def _describe_cancelled(
    workspace_id: int, live: LiveRun, names: Mapping[str, str], cause: Cause
) -> Why:
    """Nothing of it goes on; those who did not get it may still get another run."""
    told, step = why.describe_cause(cause, names=names), Step.SEND_REMAINING
    if run_steps.find_obstacle(step, live.progress, live.retry) is not None:
        return told
    url = step_url(workspace_id, live.progress, step)
    return replace(
        told,
        advice=_("Send it to the people who did not get it, in a run of its own."),
        choices=[Choice(words.STEPS[step][0], url, is_step=True)],
    )


def _list_failures(run: Progress) -> Iterator[Why]:
    """Of a run that has finished: they ask for nothing, and can be looked at."""
    number = run.books.counts[State.FAILED]
    if run.state is not RunState.OPEN or not number:
        return
    sentence = ngettext(
        "Every email has a result; %(number)s failed.",
        "Every email has a result; %(number)s failed.",
        number,
    )
    yield Why(
        what=sentence % {"number": formats.count(number)},
        icon="check",
        choices=[Choice(_("See why"), "#failed")],
    )


def _attention_url(workspace_id: int, part: str) -> str:
    return f"{reverse('attention', args=[workspace_id])}#{part}"


def step_url(workspace_id: int, run: Progress, step: Step) -> str:
    return reverse(f"run_{step.value}", args=[workspace_id, run.run_id])


def list_waits(live: LiveRun, mails_url: str, *, now: datetime) -> Sequence[Why]:
    """What holds a run that is not over, then all its waiting mail by reason."""
    run = live.progress
    if not run.waiting or run_steps.is_over(run):
        return ()
    holds = [replace(why.describe_cause(cause), advice="") for cause in live.causes if cause.scope]
    return [
        *holds,
        *(_describe_wait(wait, mails_url, now, is_held=bool(run.holds)) for wait in run.waits),
    ]


def _describe_wait(wait: WaitingMails, mails_url: str, now: datetime, *, is_held: bool) -> Why:
    return Why(
        what=wait.why[:1].upper() + wait.why[1:],
        icon=why.find_icon(wait.reason),
        since=wait.since,
        until=wait.next_due_at if wait.next_due_at > now else None,
        # A banner says what ends the hold.
        wakes="" if is_held else explain_reason(wait.reason, names_commands=False).moved_by,
        mails=wait.mails,
        mails_url=f"{mails_url}&state={State.WAITING.value}",
    )
