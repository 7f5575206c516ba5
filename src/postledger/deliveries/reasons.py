"""Why work waits, in one word each, with the sentence a person reads and what will move it."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The closed vocabulary of waits and holds."""

    READY = "ready"  # due: the next free worker takes it
    SCHEDULED = "scheduled"  # planned for a later moment
    RETRY = "retry"  # the provider said not now; the retry policy set the time
    THROTTLED = "throttled"  # the provider limits our rate
    NOT_SENT = "not_sent"  # armed, but the call was not started in time
    HANDED_BACK = "handed_back"  # a stopping worker gave it back
    LEASE_LOST = "lease_lost"  # its worker died or lost touch
    REQUEUED = "requeued"  # a person gave it another chance
    SENT_AGAIN = "sent_again"  # a person or a policy chose to send again after a doubt
    DISPROVED = "disproved"  # evidence showed that the doubtful try was not taken
    RATE_PER_SECOND = "rate_per_second"  # the rate of its sender or account is used up
    RATE_PER_HOUR = "rate_per_hour"  # the sender's hourly limit is reached
    DAILY_LIMIT = "daily_limit"  # the daily limit is reached
    QUOTA_EXHAUSTED = "quota_exhausted"  # the provider's quota is used up
    OUTSIDE_HOURS = "outside_hours"  # outside the working hours, or the hours of a recipient
    LIMITS_UNKNOWN = "limits_unknown"  # Redis does not answer, and limits count in Redis
    PROVIDER_DOWN = "provider_down"  # the provider does not answer; the whole batch waits
    NO_MEMORY = "no_memory"  # large mails use all the memory its worker may take
    WORK_FAILED = "work_failed"  # an error that nobody foresaw, before it was handed over
    CONTENT_BROKEN = "content_broken"  # no mail can be composed from its content
    PROVIDER_BROKEN = "provider_broken"  # the provider raises, or takes mail and never answers
    PAUSED = "paused"  # a person paused it
    SENDER_BLOCKED = "sender_blocked"  # the provider refuses this sender: key, domain, account
    BOUNCE_RATE = "bounce_rate"  # too many mails of a run bounced
    COMPLAINT_RATE = "complaint_rate"  # too many recipients of a run complained
    AUDIENCE_SYNCING = "audience_syncing"  # a run is planned after the next pass over Supabase


# A run stopped itself; after its release it counts afresh.
GUARD_REASONS = frozenset({Reason.BOUNCE_RATE, Reason.COMPLAINT_RATE})


# Limits and hours make a stream wait by these. No person ends them: a limit stays a limit.
LIMIT_REASONS = frozenset(
    {Reason.RATE_PER_HOUR, Reason.DAILY_LIMIT, Reason.QUOTA_EXHAUSTED, Reason.OUTSIDE_HOURS}
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a person is told about a wait."""

    why: str
    moved_by: str
    then: str = ""  # what follows a hold that has an end, where that is not plain


EXPLANATIONS: dict[Reason, Explanation] = {
    Reason.READY: Explanation("it is due", "the next free worker takes it"),
    Reason.SCHEDULED: Explanation("it is scheduled for later", "it is sent at that time"),
    Reason.RETRY: Explanation("the provider asked to try later", "the next attempt is made"),
    Reason.THROTTLED: Explanation("the provider limits our rate", "it is tried again"),
    Reason.NOT_SENT: Explanation("its call was not started in time", "it is tried again"),
    Reason.HANDED_BACK: Explanation("its worker stopped and gave it back", "a worker takes it"),
    Reason.LEASE_LOST: Explanation("its worker was lost", "another worker takes it"),
    Reason.REQUEUED: Explanation("a person requeued it", "the next free worker takes it"),
    Reason.SENT_AGAIN: Explanation("it is to be sent again after a doubt", "a worker takes it"),
    Reason.DISPROVED: Explanation(
        "its doubtful try turned out not to be taken", "a worker takes it"
    ),
    Reason.RATE_PER_SECOND: Explanation(
        "the rate of its sender or account is used up", "its moment comes within seconds"
    ),
    Reason.RATE_PER_HOUR: Explanation("the hourly limit is reached", "the next clock hour starts"),
    Reason.DAILY_LIMIT: Explanation("the daily limit is reached", "the next opening comes"),
    Reason.QUOTA_EXHAUSTED: Explanation(
        "the provider's quota is used up",
        "it is tried again",
        then="it is tried again; while no quota is left, it waits longer each time, up to one hour",
    ),
    Reason.OUTSIDE_HOURS: Explanation(
        "it is outside the hours in which mail may go", "the next opening comes"
    ),
    Reason.LIMITS_UNKNOWN: Explanation(
        "how much was sent is not known while Redis does not answer", "a worker reaches Redis again"
    ),
    Reason.PROVIDER_DOWN: Explanation("the provider does not answer", "the next try reaches it"),
    Reason.NO_MEMORY: Explanation(
        "other large mails use the worker's memory", "they are sent, and a worker takes it"
    ),
    Reason.WORK_FAILED: Explanation(
        "the worker met an error that nobody foresaw; its log says which",
        "it is tried again, alone",
    ),
    Reason.CONTENT_BROKEN: Explanation(
        "no mail can be composed from its content",
        "a person mends it and releases the stream (postledger stream release)",
    ),
    Reason.PROVIDER_BROKEN: Explanation(
        "the provider takes mail and does not answer, or breaks down",
        "it is tried again after a while; after three times a person releases the sender"
        " (postledger sender release)",
    ),
    Reason.PAUSED: Explanation("a person paused it", "a person releases it"),
    Reason.SENDER_BLOCKED: Explanation(
        "the provider refuses this sender",
        "the sender is mended and released (postledger sender release)",
    ),
    Reason.BOUNCE_RATE: Explanation(
        "too many of its mails bounced",
        "a person removes the addresses that do not work and resumes the run, which counts afresh"
        " then (postledger stream release)",
    ),
    Reason.COMPLAINT_RATE: Explanation(
        "too many recipients reported it as spam",
        "a person finds out why, leaves out who did not ask for it and resumes the run, which"
        " counts afresh then (postledger stream release)",
    ),
    Reason.AUDIENCE_SYNCING: Explanation(
        "the subscribers in Supabase are being read",
        "it is planned when a pass that began after the launch has ended",
    ),
}
