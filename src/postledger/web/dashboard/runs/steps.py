"""What a visitor can do with a run: each step possible, or disabled with the reason beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from postledger.accounts.people.roles import Permission
from postledger.campaigns.runs import run_steps
from postledger.campaigns.runs.live_run import LiveRun
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.retry_outlook import RetryOutlook
from postledger.campaigns.runs.run_steps import Step
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.runs import banners, rows, words

# These happen at once, because they can be taken back; the others ask on a page of their own.
AT_ONCE = frozenset({Step.PAUSE, Step.RESUME})


@dataclass(frozen=True, slots=True)
class Button:
    step: Step
    label: Promise | str
    icon: str
    url: str
    asks_first: bool
    reason: Promise | str  # why it is disabled; empty: it is possible
    reason_id: str  # of the place that shows it: neighbours with one reason share the last one's
    shows_reason: bool


def list_head(visitor: Visitor, live: LiveRun, *, now: datetime) -> Sequence[Button]:
    """For the head of the page."""
    first = Step.RESUME if run_steps.is_paused(live.progress.holds) else Step.PAUSE
    buttons = _list(visitor, live, [first, Step.CANCEL])
    if not rows.can_be_replaced(live.progress, now):
        return buttons
    return [buttons[0], replace(buttons[1], label=words.CHANGE_OR_CANCEL)]


def list_ends(visitor: Visitor, live: LiveRun) -> Sequence[Button]:
    """For what is left over."""
    return _list(visitor, live, [Step.RETRY, Step.SEND_REMAINING, Step.CLOSE])


def _list(visitor: Visitor, live: LiveRun, steps: Iterable[Step]) -> Sequence[Button]:
    run = live.progress
    reasons = {step: find_reason(visitor, run, live.retry, step) for step in steps}
    buttons: list[Button] = []
    for step, reason in reversed(reasons.items()):
        is_shared = bool(buttons) and bool(reason) and str(buttons[0].reason) == str(reason)
        button = Button(
            step,
            *words.STEPS[step],
            banners.step_url(visitor.workspace.pk, run, step),
            step not in AT_ONCE,
            reason,
            buttons[0].reason_id if is_shared else f"no-{step}",
            bool(reason) and not is_shared,
        )
        buttons.insert(0, button)
    return buttons


def find_reason(visitor: Visitor, run: Progress, retry: RetryOutlook, step: Step) -> Promise | str:
    """Why the visitor cannot do it now; empty if they can."""
    if not visitor.may(Permission.RUN_CAMPAIGNS):
        return _("Your role only reads campaigns.")
    obstacle = run_steps.find_obstacle(step, run, retry)
    return "" if obstacle is None else words.OBSTACLES[obstacle]
