"""The words of runs: their states, what can be done with them, and what was."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.run_steps import Obstacle, Step
from postledger.campaigns.states import RunState
from postledger.deliveries.entries import HoldScope
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State
from postledger.pacing.prospects import Binding
from postledger.web.dashboard import formats
from postledger.web.dashboard.components.badges import Badge

type Word = Promise | str

# Beside the states of runs.
DRAFT = "draft"  # never launched
WAITING = "waiting"  # a run is being sent, and all its mail waits for a later time
# The word and the glyph of each state; the sheets of styles know the same names.
STATES: Mapping[str, tuple[Word, str]] = {
    DRAFT: (gettext_lazy("Draft"), "pen"),
    WAITING: (gettext_lazy("Waiting"), "clock"),
    RunState.PLANNING: (gettext_lazy("Planning"), "clock"),
    RunState.SENDING: (gettext_lazy("Sending"), "send"),
    RunState.PAUSED: (gettext_lazy("Paused"), "pause"),
    RunState.OPEN: (gettext_lazy("Open"), "alert"),
    RunState.SENT: (gettext_lazy("Sent"), "check"),
    RunState.CLOSED: (gettext_lazy("Closed"), "stop"),
    RunState.CANCELLED: (gettext_lazy("Cancelled"), "stop"),
}
OBSTACLES: Mapping[Obstacle, Word] = {
    Obstacle.OVER: gettext_lazy("The run is over."),
    Obstacle.CANCELLED: gettext_lazy("The run was cancelled for good."),
    Obstacle.NOTHING_WAITS: gettext_lazy("Every email has a result already."),
    Obstacle.MAIL_WAITS: gettext_lazy("Possible when no email waits any more."),
    Obstacle.PAUSED_ALREADY: gettext_lazy("The run is paused already."),
    Obstacle.NOT_PAUSED: gettext_lazy("The run itself is not paused."),
    Obstacle.NOTHING_FAILED: gettext_lazy("Nothing has failed."),
    Obstacle.NOBODY_MAILABLE: gettext_lazy(
        "None can be tried again now: their recipients have paused, unsubscribed or complained"
        " since, or their addresses bounced or were suppressed."
    ),
    Obstacle.NOBODY_LEFT: gettext_lazy(
        "Nobody is left over: everybody was mailed or tried. People who were added after the launch"
        " are not part of it."
    ),
    Obstacle.IS_TEST: gettext_lazy("A test has no rest."),
}
# Beside the name of the step, its glyph; a step with an ellipsis asks first.
STEPS: Mapping[Step, tuple[Word, str]] = {
    Step.PAUSE: (gettext_lazy("Pause"), "pause"),
    Step.RESUME: (gettext_lazy("Resume"), "play"),
    Step.CANCEL: (gettext_lazy("Cancel…"), "stop"),
    Step.RETRY: (gettext_lazy("Retry failed…"), "again"),
    Step.SEND_REMAINING: (gettext_lazy("Send to the rest…"), "send"),
    Step.CLOSE: (gettext_lazy("Close…"), "check"),
}
# Of a run that is scheduled.
CHANGE_OR_CANCEL: Word = gettext_lazy("Change or cancel…")
# What sets the pace for the longest time.
BINDINGS: Mapping[Binding, Word] = {
    Binding.RATE_PER_SECOND: gettext_lazy("the rate per second sets the pace"),
    Binding.RATE_PER_HOUR: gettext_lazy("the limit per hour sets the pace"),
    Binding.DAILY_LIMIT: gettext_lazy("the daily limit sets the pace"),
    Binding.QUOTA_EXHAUSTED: gettext_lazy("the provider's quota sets the pace"),
    Binding.OUTSIDE_HOURS: gettext_lazy("working hours set the pace"),
    Binding.CAPACITY: gettext_lazy("as fast as the workers can"),
    Binding.SCHEDULED: gettext_lazy("it is scheduled for later"),
    Binding.HELD: gettext_lazy("it is held"),
}
_EXCLUSIONS: Mapping[str, Word] = {
    "unsubscribed": gettext_lazy("unsubscribed"),
    "bounced": gettext_lazy("bounced before"),
    "complained": gettext_lazy("reported spam"),
    "erased": gettext_lazy("erased on request"),
    "by_hand": gettext_lazy("suppressed by hand"),
    "list_unsubscribed": gettext_lazy("unsubscribed from the list"),
    "list_suppressed": gettext_lazy("suppressed for the list"),
    "list_pending": gettext_lazy("not confirmed for the list"),
    "list_paused": gettext_lazy("paused the list"),
    "snoozed": gettext_lazy("taking a break"),
    "unconfirmed": gettext_lazy("not confirmed"),
    "left_every_list": gettext_lazy("left every list they were on"),
    "on_break": gettext_lazy("taking a break from their lists"),
    "already_mailed": gettext_lazy("mailed by a previous run"),
    "template_missing_locale": gettext_lazy("no text in their language"),
    "subject_required": gettext_lazy("no title for their places"),
    "invalid_template": gettext_lazy("no letter for their places"),
}
_DEEDS: Mapping[str, tuple[Word, str, str]] = {
    "campaign.launched": (gettext_lazy("%(name)s launched it."), "send", "good"),
    "campaign.tested": (gettext_lazy("%(name)s sent it as a test."), "mail", ""),
    "campaign.paused": (gettext_lazy("%(name)s paused it."), "pause", "wait"),
    "campaign.resumed": (gettext_lazy("%(name)s resumed it."), "play", "good"),
    "campaign.cancelled": (gettext_lazy("%(name)s cancelled it."), "stop", ""),
    "campaign.closed": (gettext_lazy("%(name)s closed it with its failures."), "stop", ""),
    "campaign.report_downloaded": (
        gettext_lazy("%(name)s downloaded its report."),
        "download",
        "",
    ),
    "campaign.sent": (gettext_lazy("Every email has a result."), "check", "good"),
}


def make_badge(
    state: str,
    *,
    is_scheduled: bool = False,
    is_waiting: bool = False,
    is_sender_held: bool = False,
    books: Books | None = None,
) -> Badge:
    """Of a run, which may be scheduled and not begun, or wait with all its mail.

    A run without doubts asks for nothing: it is finished, even if some of its mail failed. That a
    sender is held is said with one word everywhere: nobody has paused its run.
    """
    if is_scheduled:
        return Badge(WAITING, "clock", _("Scheduled"))
    if state == RunState.PAUSED and is_sender_held:
        return Badge("person", "alert", _("Held"))
    if state == RunState.SENDING and is_waiting:
        state = WAITING
    if state == RunState.OPEN and books is not None and not books.counts[State.IN_DOUBT]:
        failed = formats.count(books.counts[State.FAILED])
        return Badge("failed", "x", _("Finished, %(number)s failed") % {"number": failed})
    label, icon = STATES[state]
    return Badge(state, icon, label)


def describe_exclusion(reason: str) -> Word:
    return _EXCLUSIONS.get(reason) or reason.replace("_", " ")


def describe_stop(state: State, code: str | None) -> Word:
    """Why the gates let an email not go, in words; empty for other codes."""
    is_stopped = state in {State.SUPPRESSED, State.SKIPPED}
    return _EXCLUSIONS.get(code or "", "") if is_stopped else ""


def describe_resume(run: Progress, *, is_resumed: bool) -> Word:
    """What came of it: a held sender keeps the mail of its runs back."""
    if not any(hold.scope is not HoldScope.STREAM for hold in run.holds):
        done = _("Resumed. It goes on where it stopped.")
        return done if is_resumed else OBSTACLES[Obstacle.NOT_PAUSED]
    if is_resumed:
        return _("Resumed. Its sender is still held, so nothing is sent yet.")
    return _("The run itself is not paused: its sender is held. Release the sender to send.")


def describe_deed(
    action: str, name: str, data: Mapping[str, Any], *, is_scheduled: bool = False
) -> tuple[str, str, str]:
    """An entry of the trail: the sentence, its glyph and its tone."""
    name = formats.isolate(name)
    if action == "campaign.launched" and is_scheduled:
        return _("%(name)s scheduled it.") % {"name": name}, "clock", "good"
    if action == "campaign.retried":
        number = int(data.get("requeued", 0))
        sentence = ngettext(
            "%(name)s retried %(number)s failed email.",
            "%(name)s retried %(number)s failed emails.",
            number,
        )
        return sentence % {"name": name, "number": formats.count(number)}, "again", "wait"
    if action not in _DEEDS:
        return _("%(name)s: %(action)s") % {"name": name, "action": action}, "pen", ""
    deed, icon, tone = _DEEDS[action]
    return str(deed) % {"name": name}, icon, tone
