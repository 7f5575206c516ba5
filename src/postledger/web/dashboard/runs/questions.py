"""What a page asks before a step that cannot be taken back: it names the loss, or the price."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns.drafts import drafts
from postledger.campaigns.runs import run_steps
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.retry_outlook import RetryOutlook
from postledger.campaigns.runs.run_steps import Step
from postledger.campaigns.states import RunState
from postledger.deliveries.states import State
from postledger.web.dashboard import formats
from postledger.web.dashboard.runs import rows

# From so many on, a person types the number of emails that will go, or will not.
LARGE = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    campaign_id: int
    campaign_name: str
    heading: str
    sentences: Sequence[str]
    go: str
    stay: str
    code: str = ""  # of the failures, if it is about one cause
    typed: str = ""  # what has to be typed; empty: nothing
    may_change: bool = False  # whether a copy may take the place of the run


def make_question(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    run: Progress,
    step: Step,
    retry: RetryOutlook,
    *,
    code: str | None = None,
    now: datetime,
) -> Question:
    name = drafts.name_campaign(workspace_id, run.campaign_id)
    shown = formats.isolate(name)
    match step:
        case Step.RETRY:
            heading, sentences, go = _ask_to_retry(retry)
        case Step.SEND_REMAINING:
            heading, sentences, go = _ask_to_send_remaining(run, shown, retry)
        case Step.CANCEL:
            heading, sentences, go = _ask_to_cancel(run, shown, is_ahead=rows.is_ahead(run, now))
        case _:
            heading, sentences, go = _ask_to_close(run, shown)
    is_cancel = step is Step.CANCEL
    is_large = is_cancel and run.waiting >= LARGE
    may_change = is_cancel and rows.can_be_replaced(run, now)
    return Question(
        run.campaign_id,
        name,
        heading,
        sentences,
        _("Cancel it") if may_change else go,
        _name_keeping(run, now) if is_cancel else _("Back"),
        code or "",
        formats.count(run.waiting) if is_large else "",
        may_change,
    )


def _name_keeping(run: Progress, now: datetime) -> str:
    """The button that does not cancel, by what the run goes on doing."""
    if rows.find_start(run, now) is not None:
        return _("Keep it scheduled")
    if run.state is RunState.PAUSED:
        return _("Keep it paused")
    return _("Keep it waiting") if rows.is_all_later(run, now) else _("Keep sending")


type _Text = tuple[str, Sequence[str], str]


def _ask_to_cancel(run: Progress, name: str, *, is_ahead: bool) -> _Text:
    waiting = run.waiting
    number = {"number": formats.count(waiting)}
    lost = ngettext(
        "%(number)s person will not get it.", "%(number)s people will not get it.", waiting
    )
    unplanned = _("Its audience is still being planned: nobody who is not planned yet gets it.")
    begun = _(
        "What has been accepted stays accepted, and what is with the provider at this moment may"
        " still go."
    )
    return (
        _("Cancel %(name)s?") % {"name": name},
        [
            *([lost % number] if waiting or run.planned_at else []),
            *([] if run.planned_at else [unplanned]),
            *([] if is_ahead else [begun]),
            _("This cannot be undone; to stop for a while, pause it instead."),
        ],
        ngettext("Cancel %(number)s email", "Cancel %(number)s emails", waiting) % number,
    )


def _ask_to_retry(retry: RetryOutlook) -> _Text:
    if retry.rest:
        return _ask_to_retry_many(retry.rest + sum(retry.tried.values()))
    count = sum(retry.tried.values())
    number = {"number": formats.count(count)}
    return (
        ngettext("Retry %(number)s failed email?", "Retry %(number)s failed emails?", count)
        % number,
        [*describe_stopped(sum(retry.stopped.values())), *_list_prices()],
        ngettext("Retry %(number)s", "Retry %(number)s", count) % number,
    )


def _ask_to_retry_many(most: int) -> _Text:
    """Of so many that not each of them was looked at."""
    left = _(
        "Not tried, and left failed: whose recipient has paused, unsubscribed or complained since,"
        " or whose address bounced or was suppressed."
    )
    heading = _("Retry up to %(number)s failed emails?") % {"number": formats.count(most)}
    return heading, [left, *_list_prices()], _("Retry them")


def _list_prices() -> Sequence[str]:
    return [
        _(
            "Each is tried again from its first attempt. An address that does not exist fails"
            " again, and costs you reputation."
        ),
        _(
            "An email of which nothing was handed over is made with the values that its contact"
            " has now."
        ),
        _(
            "Emails that were in doubt and were counted as not sent are among the failed: if that"
            " was wrong, these people get it twice."
        ),
    ]


def describe_stopped(count: int) -> Sequence[str]:
    """The sentence about those that a retry leaves alone, if there are any."""
    sentence = ngettext(
        "%(number)s more is not tried and stays failed: its recipient has paused, unsubscribed or"
        " complained since, or its address bounced or was suppressed.",
        "%(number)s more are not tried and stay failed: their recipients have paused, unsubscribed"
        " or complained since, or their addresses bounced or were suppressed.",
        count,
    )
    return [sentence % {"number": formats.count(count)}] if count else []


def _ask_to_send_remaining(run: Progress, name: str, retry: RetryOutlook) -> _Text:
    cancelled, left_out = run.books.counts[State.CANCELLED], sum(run.excluded.values())
    most = run_steps.count_remaining(run, retry) + run.waiting
    return (
        _("Send %(name)s to the rest?") % {"name": name},
        [
            _(
                "A new run sends the campaign as it is now to the people of the first audience"
                " whom no run has reached."
            ),
            _describe_rest(most, cancelled + run.waiting, left_out),
            *_describe_moved(retry.moved),
            _("Nobody who was mailed, or tried, gets it again."),
        ],
        _("Send to the rest"),
    )


def _describe_rest(most: int, cancelled: int, left_out: int) -> str:
    emails = ngettext(
        "%(number)s email was cancelled", "%(number)s emails were cancelled", cancelled
    )
    people = ngettext(
        "%(number)s person was left out and is looked at again",
        "%(number)s people were left out and are looked at again",
        left_out,
    )
    return _("At most %(number)s: %(cancelled)s, and %(left_out)s.") % {
        "number": formats.count(most),
        "cancelled": emails % {"number": formats.count(cancelled)},
        "left_out": people % {"number": formats.count(left_out)},
    }


def _describe_moved(count: int) -> Sequence[str]:
    sentence = ngettext(
        "%(number)s email failed because its contact has another address now; the new run sends"
        " to that address.",
        "%(number)s emails failed because their contacts have other addresses now; the new run"
        " sends to those.",
        count,
    )
    return [sentence % {"number": formats.count(count)}] if count else []


def _ask_to_close(run: Progress, name: str) -> _Text:
    failed, in_doubt = run.books.counts[State.FAILED], run.books.counts[State.IN_DOUBT]
    stay_failed = ngettext(
        "%(number)s email stays failed.", "%(number)s emails stay failed.", failed
    )
    stay_in_doubt = ngettext(
        "%(number)s email stays in doubt.", "%(number)s emails stay in doubt.", in_doubt
    )
    return (
        _("Close %(name)s?") % {"name": name},
        [
            stay_failed % {"number": formats.count(failed)},
            stay_in_doubt % {"number": formats.count(in_doubt)},
            _("It asks for nothing any more. You can still retry the failed ones; that opens it."),
        ],
        _("Close with these failures"),
    )
