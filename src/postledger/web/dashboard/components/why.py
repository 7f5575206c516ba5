"""Why something stands still, as pages say it: what, since, until, what wakes it, and a button."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from postledger.deliveries.entries import Hold
from postledger.deliveries.explanations.why import Cause, explain_hold, leave_out_commands
from postledger.deliveries.reasons import Reason
from postledger.web.dashboard import formats
from postledger.web.shared.sentences import translate

# These end when a person decides something, and nothing else ends them.
_FOR_A_PERSON = frozenset(
    {
        *("open", "fenced", "planning_stopped"),
        *(Reason.SENDER_BLOCKED, Reason.PROVIDER_BROKEN, Reason.CONTENT_BROKEN),
        *(Reason.BOUNCE_RATE, Reason.COMPLAINT_RATE),
    }
)
_ICONS = {
    Reason.PAUSED: "pause",
    Reason.READY: "send",
    Reason.RETRY: "again",
    Reason.REQUEUED: "again",
    Reason.SENT_AGAIN: "again",
    Reason.SCHEDULED: "clock",
    "cancelled": "stop",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to do about it: a link, or a form of one button."""

    label: Promise | str
    url: str
    is_form: bool = False
    is_step: bool = False  # only for those who may run campaigns


@dataclass(frozen=True, slots=True)
class Why:
    what: Promise | str
    icon: str
    about: str = ""  # which stream, where a page tells of several
    about_url: str = ""
    is_for_person: bool = False
    since: datetime | None = None
    until: datetime | None = None
    begins: datetime | None = None
    wakes: Promise | str = ""
    advice: Promise | str = ""
    evidence: Promise | str = ""
    mails: int | None = None
    mails_url: str = ""
    choices: Sequence[Choice] = ()


def describe_cause(
    cause: Cause, choices: Sequence[Choice] = (), *, names: Mapping[str, str] | None = None
) -> Why:
    """A cause in the words of `why`; `names` are those of actors."""
    is_for_person = cause.code in _FOR_A_PERSON
    plain = leave_out_commands(cause)
    return Why(
        what=name_cause(cause, names or {}),
        icon=find_icon(cause.code),
        is_for_person=is_for_person,
        since=cause.since,
        until=cause.until,
        wakes=plain.resumed_by,
        advice=plain.advice,
        choices=choices,
    )


def name_cause(cause: Cause, names: Mapping[str, str]) -> str:
    """Its sentence, with the name of the person where there is one."""
    if cause.actor and cause.actor in names:
        return _("%(name)s cancelled it.") % {"name": names[cause.actor]}
    return translate(cause.sentence)


def describe_start(begins: datetime) -> Why:
    """Of what was scheduled, while nothing of it has gone."""
    return Why(
        what=_("It is scheduled, and nothing of it has gone yet."), icon="clock", begins=begins
    )


def describe_sender_hold(hold: Hold, sender_url: str) -> Why:
    """Of a sender whose campaign is not launched yet: what comes of a launch meanwhile."""
    waits = _("If it is launched now, its emails wait until that ends; none is lost.")
    if hold.fails_at is not None:
        waits = _("If it is launched now, its emails wait; those that still wait at %(time)s fail.")
        waits %= {"time": formats.spell_moment(hold.fails_at)}
    hold_words = describe_cause(explain_hold(hold), [Choice(_("Look at the sender"), sender_url)])
    return replace(hold_words, what=f"{hold_words.what} {waits}", advice="")


def find_icon(code: str) -> str:
    return "alert" if code in _FOR_A_PERSON else _ICONS.get(code, "clock")
