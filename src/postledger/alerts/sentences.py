"""What people are told about an alert: what happened, and what moves it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, ngettext

from postledger.alerts.detection import Cause
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class Sentences:
    """In the language that is active."""

    title: str
    sentence: str
    advice: str


def describe(cause: Cause, *, subject: str, count: int, data: Mapping[str, object]) -> Sentences:
    match cause:
        case Cause.NO_WORKER:
            return _describe_no_worker()
        case Cause.BOOKS_UNBALANCED:
            return _describe_books(count, data)
        case Cause.SENDER_HELD:
            return _describe_held(subject, count, data)
        case Cause.NO_FEEDBACK:
            return _describe_no_feedback(subject, count)
        case Cause.IN_DOUBT:
            return _describe_doubts(count)
        case Cause.FAILED_NOTIFICATIONS:
            return _describe_failures(count, data)


def _describe_no_worker() -> Sentences:
    return Sentences(
        gettext("No worker is running"),
        gettext("No worker has a recent heartbeat, so no mail is sent."),
        gettext("Start a worker: postledger worker --beat. Mail that waits is then sent."),
    )


def _describe_books(count: int, data: Mapping[str, object]) -> Sentences:
    what = ngettext(
        "A recount of %(count)d stream does not agree with its counters.",
        "A recount of %(count)d streams does not agree with their counters.",
        count,
    )
    return Sentences(
        gettext("The books do not balance"),
        what % {"count": count},
        gettext(
            "Run postledger audit %(stream)s: it names what does not add up. Mail goes on, and"
            " nobody gets a mail twice because of this. Please report it as a bug."
        )
        % {"stream": data.get("stream", "")},
    )


def _describe_held(subject: str, count: int, data: Mapping[str, object]) -> Sentences:
    explanation = explain_reason(Reason(str(data.get("reason"))))
    what = gettext("%(sender)s may not send: %(why)s.") % {
        "sender": subject,
        "why": explanation.why,
    }
    if count:
        waiting = ngettext("%(count)d mail waits.", "%(count)d mails wait.", count)
        what = f"{what} {waiting % {'count': count}}"
    advice = gettext("It sends again when %(moved_by)s.") % {"moved_by": explanation.moved_by}
    fails_at = data.get("fails_at")
    if isinstance(fails_at, str):
        moment = datetime.fromisoformat(fails_at)
        advice = "{} {}".format(
            advice,
            gettext("Otherwise its waiting mail fails from %(moment)s UTC on.")
            % {"moment": f"{moment:%Y-%m-%d %H:%M}"},
        )
    return Sentences(gettext("%(sender)s is held") % {"sender": subject}, what, advice)


def _describe_no_feedback(subject: str, count: int) -> Sentences:
    what = ngettext(
        "%(count)d mail of %(sender)s was accepted, and no event has come for an hour or longer."
        " Bounces and complaints go unnoticed.",
        "%(count)d mails of %(sender)s were accepted, and no event has come for an hour or longer."
        " Bounces and complaints go unnoticed.",
        count,
    )
    return Sentences(
        gettext("No feedback of %(sender)s") % {"sender": subject},
        what % {"count": count, "sender": subject},
        gettext(
            "Run postledger doctor, and look at the topic or the webhook that reports the mail of"
            " its account."
        ),
    )


def _describe_doubts(count: int) -> Sentences:
    what = ngettext(
        "%(count)d mail has been in doubt for more than an hour: it is not known whether the"
        " provider accepted it.",
        "%(count)d mails have been in doubt for more than an hour: it is not known whether the"
        " provider accepted them.",
        count,
    )
    return Sentences(
        gettext("Mails are in doubt"),
        what % {"count": count},
        gettext("Decide about them: count as sent, count as not sent, or send again."),
    )


def _describe_failures(count: int, data: Mapping[str, object]) -> Sentences:
    what = ngettext(
        "%(count)d notification of %(topic)s was given up: its recipient was not told.",
        "%(count)d notifications of %(topic)s were given up: their recipients were not told.",
        count,
    )
    topic = data.get("name", "")
    return Sentences(
        gettext("Notifications of %(topic)s failed") % {"topic": topic},
        what % {"count": count, "topic": topic},
        gettext(
            "Look at the dead letters: mend their cause and requeue them, or discard those that are"
            " of no use any more."
        ),
    )
