"""Why work waits, in one word each; `reason_texts` says it to people."""

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
    LIMITS_SETTLING = "limits_settling"  # a limit is new, or Redis is: mails are being counted
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


# The end of such a hold is when the provider is tried again, which may be in vain.
TRIED_AGAIN_REASONS = frozenset(
    {Reason.PROVIDER_DOWN, Reason.PROVIDER_BROKEN, Reason.SENDER_BLOCKED}
)


# Limits and hours make a stream wait by these. No person ends them: a limit stays a limit.
LIMIT_REASONS = frozenset(
    {Reason.RATE_PER_HOUR, Reason.DAILY_LIMIT, Reason.QUOTA_EXHAUSTED, Reason.OUTSIDE_HOURS}
)
