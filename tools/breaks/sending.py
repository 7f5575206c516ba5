"""Breaks of sending: the dispatcher, the providers and what they report, the pace."""

from tools.breaks.breaks import Break

BREAKS = [
    # Of a lease that is over another worker may have the mails: they would go twice.
    Break(
        "no provider is called in the last seconds of a lease",
        (
            "dispatch/rounds/hand_over.py",
            "if is_late or not (is_witnessed and has_time):",
            "if is_late or not is_witnessed:",
        ),
        tests="tests/dispatch/test_last_moment.py tests/dispatch/test_stopping.py",
        otherwise="tests/dispatch",
    ),
    # The part of SES that was too slow does not know what the others did: a doubt, and no retry.
    Break(
        "a timeout inside SES is a doubt",
        ("providers/ses/outcomes.py", "elif row is _COMMON.slow:", "elif False:"),
        tests="tests/providers/test_ses_outcomes.py tests/providers/test_ses_provider.py",
    ),
    # Else the limit of one recipient's mailbox would slow down everybody's mail.
    Break(
        "a full mailbox throttles no sender",
        (
            "providers/smtp/outcomes.py",
            "if enhanced is not None and enhanced[1] == _MAILBOX:",
            "if False:",
        ),
        tests="tests/providers/test_smtp_outcomes.py",
        otherwise="tests/providers/test_smtp_phases.py",
    ),
    # A process that was stopped meanwhile may have lost its lease.
    Break(
        "no final dot leaves after its time",
        (
            "providers/smtp/transaction.py",
            "        crashpoints.reached(Point.BEFORE_DOT)\n        if self._dot_by.has_passed():",
            "        crashpoints.reached(Point.BEFORE_DOT)\n        if False:",
        ),
        tests="tests/providers/test_final_dot.py",
        otherwise="tests/providers/test_stops.py tests/providers/test_smtp_sessions.py",
    ),
    # A provider that names a time is not asked before it.
    Break(
        "a retry waits as long as the provider asks for",
        (
            "dispatch/retry.py",
            "return max(timedelta(seconds=seconds), retry_after or timedelta())",
            "return timedelta(seconds=seconds)",
        ),
        tests="tests/dispatch/test_retry.py tests/dispatch/test_answers.py",
    ),
    # A caller who reuses a key by mistake learns it, and does not take a receipt for another mail.
    Break(
        "an idempotency key stands for one request",
        ("transactional/idempotency.py", "if bytes(row.digest) != key.digest:", "if False:"),
        tests="tests/transactional/test_idempotency.py",
        otherwise="tests/transactional tests/web/test_sending.py",
    ),
    # SES lists everybody at the domain: who did not complain is not suppressed for it.
    Break(
        "a complaint by one of several blames none of them",
        (
            "providers/ses/events/events.py",
            "len(listed or destinations) > 1",
            "len(listed or destinations) > 50",
        ),
        tests="tests/providers/test_ses_events.py",
        otherwise="tests/feedback",
    ),
    # A pause has no end. Upkeep would fail the mail, and it would be lost.
    Break(
        "mail of a paused run does not fail while its sender is blocked",
        (
            "deliveries/ledger/closing.py",
            "WHERE own.stream_id = s.id AND (own.until IS NULL OR own.until > clock_timestamp())",
            "WHERE own.stream_id = s.id AND own.until > clock_timestamp()",
        ),
        tests="tests/deliveries/test_blocked_senders.py tests/campaigns/test_run_control.py",
    ),
    # No limit may ever be exceeded: mail waits while nobody knows how much was sent.
    Break(
        "a member's daily limit holds while Redis is away",
        (
            "pacing/limits.py",
            "counts = (limits.per_hour, limits.per_day, request.member and request.member.per_day)",
            "counts = (limits.per_hour, limits.per_day)",
        ),
        tests="tests/pacing/test_limiter_refill.py tests/dispatch/test_pace.py",
        otherwise="tests/pacing tests/dispatch",
    ),
    # The doubt at the former address may have arrived.
    Break(
        "who moved to another address while their mail was in doubt is not mailed again",
        (
            "deliveries/lineage.py",
            "d.state IN ('waiting', 'accepted', 'in_doubt')",
            "d.state IN ('waiting', 'accepted')",
        ),
        tests="tests/campaigns/test_moving.py tests/campaigns/test_remaining.py",
        otherwise="tests/campaigns",
    ),
]
