"""What a person is told about each reason to wait, in the language that is spoken."""

from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from postledger.deliveries.entries import HoldScope
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class Explanation:
    why: str
    moved_by: str
    advice: str  # what a person can do
    then: str = ""  # what follows a hold that has an end, where that is not plain
    command: str = ""  # what ends it
    more_commands: str = ""  # what helps to follow the advice


def explain_reason(
    reason: Reason, *, scope: HoldScope | None = None, names_commands: bool = True
) -> Explanation:
    """`why`, `moved_by` and `then` are parts of sentences, `advice` is whole ones.

    `scope` is that of a hold: no run can be resumed whose sender is paused.
    The commands stand in parentheses, unless the reader has buttons and no shell.
    """
    is_of_sender = scope in {HoldScope.SENDER, HoldScope.ACCOUNT}
    is_paused_sender = is_of_sender and reason is Reason.PAUSED
    source = _PAUSED_SENDER if is_paused_sender else _EXPLANATIONS[reason]
    moved_by, advice = gettext(source.moved_by), gettext(source.advice)
    if names_commands:
        commands = filter(None, (source.more_commands, source.command))
        moved_by = _add(moved_by, source.command)
        advice = f"{_add(advice.removesuffix('.'), ', '.join(commands))}."
    return Explanation(
        gettext(source.why),
        moved_by,
        advice,
        gettext(source.then) if source.then else "",
        source.command,
        source.more_commands,
    )


def _add(text: str, commands: str) -> str:
    return f"{text} ({commands})" if commands else text


_DOCTOR = "postledger doctor"
_RELEASE_SENDER = "postledger sender release"
_RELEASE_STREAM = "postledger stream release"
_NOTHING = gettext_noop("Nothing: it goes on by itself.")
_PAUSED_SENDER = Explanation(
    gettext_noop("a person paused it"),
    gettext_noop("a person releases the sender"),
    gettext_noop("To send, release the sender."),
    command=_RELEASE_SENDER,
)
_EXPLANATIONS: dict[Reason, Explanation] = {
    Reason.READY: Explanation(
        gettext_noop("it is due"),
        gettext_noop("the next free worker takes it"),
        gettext_noop("Nothing. If it lasts, look whether workers run."),
        more_commands=_DOCTOR,
    ),
    Reason.SCHEDULED: Explanation(
        gettext_noop("it is scheduled for later"),
        gettext_noop("its time comes"),
        gettext_noop("Cancel it if it is not to go at that time."),
    ),
    Reason.RETRY: Explanation(
        gettext_noop("the provider asked to try later"),
        gettext_noop("the next attempt is made"),
        gettext_noop("Nothing, unless the provider's answer names what to mend."),
    ),
    Reason.THROTTLED: Explanation(
        gettext_noop("the provider limits our rate"),
        gettext_noop("it is tried again"),
        gettext_noop("Nothing. A rate for the sender or the account avoids it."),
    ),
    Reason.NOT_SENT: Explanation(
        gettext_noop("its call was not started in time"),
        gettext_noop("it is tried again"),
        _NOTHING,
    ),
    Reason.HANDED_BACK: Explanation(
        gettext_noop("its worker stopped and gave it back"),
        gettext_noop("a worker takes it"),
        _NOTHING,
    ),
    Reason.LEASE_LOST: Explanation(
        gettext_noop("its worker was lost"),
        gettext_noop("another worker takes it"),
        gettext_noop("Nothing. If it happens often, look at the log of the workers."),
    ),
    Reason.REQUEUED: Explanation(
        gettext_noop("a person requeued it"),
        gettext_noop("the next free worker takes it"),
        _NOTHING,
    ),
    Reason.SENT_AGAIN: Explanation(
        gettext_noop("it is to be sent again after a doubt"),
        gettext_noop("a worker takes it"),
        _NOTHING,
    ),
    Reason.DISPROVED: Explanation(
        gettext_noop("its doubtful try turned out not to be taken"),
        gettext_noop("a worker takes it"),
        _NOTHING,
    ),
    Reason.RATE_PER_SECOND: Explanation(
        gettext_noop("the rate of its sender or account is used up"),
        gettext_noop("its moment comes within seconds"),
        gettext_noop("Raise the rate of the sender or the account, if the provider allows more."),
    ),
    Reason.RATE_PER_HOUR: Explanation(
        gettext_noop("the hourly limit is reached"),
        gettext_noop("the next clock hour starts"),
        gettext_noop("Raise the sender's limit per hour, or wait."),
    ),
    Reason.DAILY_LIMIT: Explanation(
        gettext_noop("the daily limit is reached"),
        gettext_noop("the next opening comes"),
        gettext_noop(
            "Raise the daily limit of the sender or of the member who launched it, or wait."
        ),
    ),
    Reason.QUOTA_EXHAUSTED: Explanation(
        gettext_noop("the provider's quota is used up"),
        gettext_noop("it is tried again"),
        gettext_noop("Ask the provider for a larger quota, or wait."),
        then=gettext_noop(
            "it is tried again; while no quota is left, it waits longer each time, up to one hour"
        ),
    ),
    Reason.OUTSIDE_HOURS: Explanation(
        gettext_noop("it is outside the hours in which mail may go"),
        gettext_noop("the next opening comes"),
        gettext_noop(
            "Wait, or change the working hours of the sender: on its page, by Edit limits. Those of"
            " the workspace are changed by its operator. A run keeps the delivery window that its"
            " campaign had at the launch."
        ),
        more_commands="postledger workspace hours",
    ),
    Reason.LIMITS_SETTLING: Explanation(
        gettext_noop(
            "a limit was changed, or Redis was emptied, and what was sent meanwhile is being"
            " counted"
        ),
        gettext_noop("it is counted, within seconds"),
        _NOTHING,
    ),
    Reason.LIMITS_UNKNOWN: Explanation(
        gettext_noop("how much was sent is not known while Redis does not answer"),
        gettext_noop("a worker reaches Redis again"),
        gettext_noop("Look whether Redis runs."),
        more_commands=_DOCTOR,
    ),
    Reason.PROVIDER_DOWN: Explanation(
        gettext_noop("the provider does not answer"),
        gettext_noop("the next try reaches it"),
        gettext_noop("Look whether the provider can be reached."),
        more_commands=_DOCTOR,
    ),
    Reason.NO_MEMORY: Explanation(
        gettext_noop("other large mails use the worker's memory"),
        gettext_noop("they are sent, and a worker takes it"),
        gettext_noop("Give the workers more memory, or send smaller attachments."),
    ),
    Reason.WORK_FAILED: Explanation(
        gettext_noop("the worker met an error that nobody foresaw; its log says which"),
        gettext_noop("it is tried again, alone"),
        gettext_noop("Look for the error in the log of the workers, and report it."),
    ),
    Reason.CONTENT_BROKEN: Explanation(
        gettext_noop("no mail can be composed from its content"),
        gettext_noop("a person mends it and releases the stream"),
        gettext_noop("Mend the content, then release it or resume the run."),
        command=_RELEASE_STREAM,
    ),
    Reason.PROVIDER_BROKEN: Explanation(
        gettext_noop("the provider takes mail and does not answer, or breaks down"),
        gettext_noop(
            "it is tried again after a while; after three times a person releases the sender"
        ),
        gettext_noop("Check the account, then release the sender."),
        command=_RELEASE_SENDER,
        more_commands=_DOCTOR,
    ),
    Reason.PAUSED: Explanation(
        gettext_noop("a person paused it"),
        gettext_noop("a person releases it"),
        gettext_noop("To send, release it or resume the run."),
        more_commands=f"{_RELEASE_STREAM}, {_RELEASE_SENDER}",
    ),
    Reason.SENDER_BLOCKED: Explanation(
        gettext_noop("the provider refuses this sender"),
        gettext_noop("the sender is mended and released"),
        gettext_noop("Mend what the provider names, then release the sender."),
        command=_RELEASE_SENDER,
    ),
    Reason.BOUNCE_RATE: Explanation(
        gettext_noop("too many of its mails bounced"),
        gettext_noop(
            "a person removes the addresses that do not work and resumes the run, which counts"
            " afresh then"
        ),
        gettext_noop("Remove the addresses that do not work, then release it or resume the run."),
        command=_RELEASE_STREAM,
    ),
    Reason.COMPLAINT_RATE: Explanation(
        gettext_noop("too many recipients reported it as spam"),
        gettext_noop(
            "a person finds out why, leaves out who did not ask for it and resumes the run, which"
            " counts afresh then"
        ),
        gettext_noop(
            "Remove the contacts that did not ask for it, then release it or resume the run."
        ),
        command=_RELEASE_STREAM,
    ),
    Reason.AUDIENCE_SYNCING: Explanation(
        gettext_noop("the subscribers in Supabase are being read"),
        gettext_noop("it is planned when a pass that began after the launch has ended"),
        gettext_noop("If it lasts, check the connection to Supabase."),
        more_commands=_DOCTOR,
    ),
}
