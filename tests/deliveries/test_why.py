"""All causes that keep mail back are told, with what ends each and what a person can do."""

from dataclasses import replace
from datetime import datetime, timedelta

from postledger.deliveries.entries import AttemptOutcome, Hold, HoldScope
from postledger.deliveries.explanations import remedies, why
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.queries import AttemptFacts, DeliveryFacts, StreamFacts, WaitSummary
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests.deliveries.test_explain import BLOCK, DELIVERY, NOON, PAUSE, STREAM, WORK

HOUR = timedelta(hours=1)
HOURLY = Hold(Reason.RATE_PER_HOUR, NOON, NOON + HOUR, "limits", "", HoldScope.STREAM)
CLOSED = replace(HOURLY, reason=Reason.OUTSIDE_HOURS, until=NOON + 5 * HOUR)


def of_mail(delivery: DeliveryFacts, *holds: Hold) -> list[Cause]:
    return why.list_delivery_causes(delivery, replace(STREAM, holds=holds), now=NOON)


def of_stream(stream: StreamFacts, *waits: WaitSummary) -> list[Cause]:
    return why.list_stream_causes(stream, waits, now=NOON)


def waiting(reason: Reason, due_at: datetime = NOON) -> WaitSummary:
    return WaitSummary(reason, 1, 10, 0, due_at, NOON - HOUR)


def codes(causes: list[Cause]) -> list[str]:
    return [str(cause.code) for cause in causes]


def test_causes_are_told_the_one_that_ends_last_first_and_one_that_has_ended_not_at_all() -> None:
    [first, second] = of_mail(DELIVERY, HOURLY, CLOSED)
    [over] = of_mail(DELIVERY, replace(HOURLY, until=NOON))

    assert (first.code, first.since, first.until) == ("outside_hours", NOON, NOON + 5 * HOUR)
    assert first.sentence == "It is held because it is outside the hours in which mail may go."
    assert (first.resumed_by, first.scope) == ("the next opening comes", HoldScope.STREAM)
    assert first.advice.startswith("Wait, or change the working hours of the sender:")
    assert (second.code, second.until) == ("rate_per_hour", NOON + HOUR)
    assert codes(of_mail(DELIVERY, HOURLY, PAUSE)) == ["paused", "rate_per_hour"]
    assert (over.code, over.until) == ("ready", None)


def test_a_provider_is_quoted_once_and_its_sender_is_named() -> None:
    [cause] = of_mail(DELIVERY, BLOCK)

    assert cause.sentence == (
        "The sender is held because the provider refuses this sender (domain not verified)."
    )
    assert "postledger sender release" in cause.advice


def test_a_mail_that_is_due_later_says_so_beside_the_holds() -> None:
    later = replace(DELIVERY, work=replace(WORK, reason=Reason.SCHEDULED, due_at=NOON + 2 * HOUR))

    assert codes(of_mail(later, HOURLY)) == ["scheduled", "rate_per_hour"]
    assert codes(of_mail(later, CLOSED)) == ["outside_hours", "scheduled"]


def test_a_mail_with_a_worker_or_a_result_waits_for_nothing_else() -> None:
    for where, is_armed in (("worker", False), ("provider", True)):
        work = replace(WORK, holder="w1", lease_until=NOON + HOUR, is_armed=is_armed)
        assert codes(of_mail(replace(DELIVERY, work=work), PAUSE)) == [f"with_{where}"]
    for state in set(State) - {State.WAITING}:
        settled = replace(DELIVERY, state=state, code="X-1", settled_at=NOON, work=None)
        [cause] = of_mail(settled, PAUSE)
        assert (cause.code, cause.since, cause.until) == (state.value, NOON, None)
        assert cause.sentence.endswith("(X-1).")
        assert cause.advice.endswith("."), state


def failed(code: str, outcome: AttemptOutcome = AttemptOutcome.REFUSED) -> DeliveryFacts:
    attempt = AttemptFacts(1, NOON, outcome, State.FAILED, code, "No.")
    return replace(DELIVERY, state=State.FAILED, code=code, work=None, history=[attempt])


def test_a_failure_names_the_command_that_sends_it_again_only_if_that_can_help() -> None:
    cancelled = replace(STREAM, cancelled_at=NOON, cancelled_by="bob")
    [unknown] = of_mail(failed("550 5.1.1"))
    [refused] = of_mail(failed("550 5.7.1"))
    [over] = why.list_delivery_causes(failed("550 5.7.1"), cancelled, now=NOON)

    assert "another try would fail again" in unknown.advice
    assert unknown.advice == remedies.advise(AttemptOutcome.REFUSED, "550 5.1.1")
    id_ = DeliveryId(STREAM.id, DELIVERY.position).uuid()
    assert refused.advice.endswith(f"send it again: postledger requeue {id_}.")
    assert "requeue" not in over.advice


def test_a_cancel_is_the_one_cause_of_a_stream_and_a_fence_stands_beside_holds() -> None:
    cancelled = replace(STREAM, cancelled_at=NOON, cancelled_by="bob", holds=(PAUSE,))
    fenced = replace(STREAM, fenced_since=NOON, holds=(HOURLY,))

    assert codes(of_stream(cancelled, waiting(Reason.READY))) == ["cancelled"]
    assert codes(of_stream(fenced, waiting(Reason.READY))) == ["fenced", "rate_per_hour"]
    assert of_stream(replace(STREAM, holds=(PAUSE,))) == []


def test_a_stream_says_what_its_next_mail_waits_for() -> None:
    waits = (waiting(Reason.SCHEDULED, NOON + 2 * HOUR), waiting(Reason.RETRY, NOON + HOUR))

    [cause] = of_stream(STREAM, *waits)

    assert (cause.code, cause.until, cause.since) == ("retry", NOON + HOUR, NOON - HOUR)
    assert codes(of_stream(STREAM, waiting(Reason.READY), *waits)) == ["ready"]


def test_a_sender_has_its_own_causes_and_each_limit_of_its_streams_once() -> None:
    longer = replace(HOURLY, until=NOON + 2 * HOUR)
    streams = [replace(STREAM, holds=(HOURLY, PAUSE)), replace(STREAM, holds=(longer,))]

    causes = why.list_sender_causes([BLOCK], streams, now=NOON)

    assert [(str(cause.code), cause.until) for cause in causes] == [
        ("sender_blocked", None),
        ("rate_per_hour", NOON + 2 * HOUR),
    ]


def test_a_cause_is_written_for_a_person() -> None:
    [cause] = of_mail(DELIVERY, HOURLY)

    head, *others = why.describe_cause(cause)
    assert head == (
        "rate_per_hour since 2026-11-15 12:00:00 UTC until 2026-11-15 13:00:00 UTC:"
        " It is held because the hourly limit is reached."
    )
    assert others == [
        "  What will move it: the next clock hour starts.",
        "  What you can do: Raise the sender's limit per hour, or wait.",
    ]


def test_a_reader_without_a_shell_is_told_no_command() -> None:
    for reason in Reason:
        told, plain = explain_reason(reason), explain_reason(reason, names_commands=False)
        cause = Cause(reason, "", None, None, told.moved_by, told.advice)
        shown = why.leave_out_commands(cause)

        assert (shown.resumed_by, shown.advice) == (plain.moved_by, plain.advice)
        assert "postledger" not in shown.resumed_by + shown.advice
        for command in filter(None, (told.command, told.more_commands)):
            assert command in told.advice
        assert told.moved_by.endswith(f"({told.command})") == bool(told.command), reason
        assert told.advice.endswith("."), reason
